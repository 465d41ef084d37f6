"""The names of the sections that a moses.ini may have, in the new style and in the old style.

Moses refuses an ini with an unknown section. The short name of a section, such as ``dl`` for
``distortion-limit``, works only on the command line: Moses accepts a section ``[dl]`` but never
reads it. mert-moses.pl writes such sections for the short switches in its ``--decoder-flags``.

Source: Parameter.cpp of mosesdecoder 34452895f.
"""

from __future__ import annotations

# the sections of a new-style file, by topic in this order: model, input, search, choice among
# hypotheses, unknown words, server
_SECTIONS = """
feature feature-add feature-overwrite feature-name-overwrite mapping weight weight-add
weight-file weight-overwrite alternate-weight-setting
input-factors input-file inputtype factor-delimiter placeholder-factor xml-input
xml-brackets start-translation-id context-string context-weights context-window
link-param-count recover-input-path spe-src spe-trg spe-aln
search-algorithm stack stack-diversity beam-threshold early-discarding-threshold
disable-discarding max-partial-trans-opt max-trans-opt-per-coverage max-phrase-length
translation-option-threshold phrase-drop-allowed distortion-limit distortion
monotone-at-punctuation early-distortion-cost cube-pruning-pop-limit
cube-pruning-diversity cube-pruning-lazy-scoring cube-pruning-deterministic-search
decoding-graph-backoff max-chart-span non-terminals rule-limit source-label-overlap
unknown-lhs default-non-term-for-empty-range-only s2t-parsing-algorithm time-out
segment-time-out threads no-cache clean-lm-cache minphr-memory minlexr-memory
minimum-bayes-risk mbr-size mbr-scale lminimum-bayes-risk consensus-decoding lmbr-p
lmbr-r lmbr-thetas lmbr-map-weight lmbr-pruning-factor lattice-hypo-set mira references
drop-unknown mark-unknown unknown-word-prefix unknown-word-suffix lmodel-oov-feature
output-unknowns always-create-direct-transopt output-factors
server daemon server-port server-log serial server-maxconn server-maxconn-backlog
server-keepalive-maxconn server-keepalive-timeout server-timeout session-timeout
session-cache-size
"""
# the sections that change only what Moses prints beside or around its translations
_OUTPUT_SECTIONS = """
verbose version show-weights description config report-all-factors
print-id print-passthrough print-passthrough-in-n-best print-all-derivations
translation-details translation-all-details tree-translation-details output-hypo-score
output-word-graph print-alignment-info alignment-output-file sort-word-alignment
report-segmentation report-segmentation-enriched output-search-graph
output-search-graph-extended unpruned-search-graph output-search-graph-slf
include-lhs-in-search-graph output-search-graph-pb output-search-graph-hypergraph
n-best-list labeled-n-best-list n-best-trees n-best-factor
report-all-factors-in-n-best lattice-samples include-segmentation-in-n-best
print-alignment-info-in-n-best
"""
OUTPUT_SECTIONS = frozenset(_OUTPUT_SECTIONS.split())
SECTIONS = frozenset(_SECTIONS.split()) | OUTPUT_SECTIONS

# the sections that only files older than [feature] lines use; Moses converts such a file when it
# reads it
_OLD_STYLE_SECTIONS = """
ttable-file ttable-limit lmodel-file lmodel-dub slmodel-file slmodel-factor
slmodel-beam distortion-file generation-file global-lexical-file dlm-model glm-feature
phrase-pair-feature phrase-boundary-source-feature phrase-boundary-target-feature
phrase-length-feature target-word-insertion-feature source-word-deletion-feature
word-translation-feature input-scores text-type weight-t weight-l weight-d weight-w
weight-u weight-i weight-e weight-p weight-lr weight-lex weight-generation weight-slm
weight-bl weight-dlm weight-glm weight-wt weight-pp weight-pb
"""
OLD_STYLE_SECTIONS = frozenset(_OLD_STYLE_SECTIONS.split())

# sections that override [feature] or [weight]
REWRITING_SECTIONS = frozenset(
    ["feature-add", "feature-overwrite", "feature-name-overwrite", "weight-overwrite"]
)

# short names of switches, each with its section; a section with a short name has no effect
_SHORT_NAMES = """
f config, i input-file, v verbose, fd factor-delimiter, b beam-threshold,
edt early-discarding-threshold, s stack, sd stack-diversity, wf weight-file,
tot translation-option-threshold, dd disable-discarding, da phrase-drop-allowed,
th threads, dl distortion-limit, mp monotone-at-punctuation, edc early-distortion-cost,
cbp cube-pruning-pop-limit, cbd cube-pruning-diversity, cbls cube-pruning-lazy-scoring,
cbds cube-pruning-deterministic-search, mbr minimum-bayes-risk, lmbr lminimum-bayes-risk,
con consensus-decoding, du drop-unknown, mu mark-unknown, xi xml-input, xb xml-brackets,
aws alternate-weight-setting, dpb decoding-graph-backoff, r recover-input-path,
T translation-details, Tall translation-all-details, Ttree tree-translation-details,
t report-segmentation, tt report-segmentation-enriched, owg output-word-graph,
osg output-search-graph, osgx output-search-graph-extended, usg unpruned-search-graph,
slf output-search-graph-slf, lhssg include-lhs-in-search-graph, pb output-search-graph-pb,
slm weight-slm, bl weight-bl, d weight-d, dlm weight-dlm, lr weight-lr, g weight-generation,
I weight-i, lm weight-l, lex weight-lex, glm weight-glm, wt weight-wt, pp weight-pp,
tm weight-t, w weight-w, u weight-u, e weight-e, gl global-lexical-file
"""
SHORT_NAMES = dict(pair.split() for pair in _SHORT_NAMES.split(","))
