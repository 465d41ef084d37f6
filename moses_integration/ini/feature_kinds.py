"""The classes of Moses's feature functions: number of values, statefulness, tuning.

`FEED_FORWARD_LM` is a class of this project only: real Moses refuses a moses.ini with it.

Source: the constructors of the feature functions, and Factory.cpp, of mosesdecoder 34452895f.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phrasescore.errors import IniError, visible
from phrasescore.table.input_files import whole_number

TRUE, FALSE = ("1", "true", "yes", "y"), ("0", "false", "no", "n")
_MAX_COMPONENTS = 10_000  # a limit for one feature; no real table has this many scores
_SHOWN = 30


@dataclass(frozen=True)
class FeatureKind:
    """A class of feature functions.

    Args:
        components: The number of dense values unless ``num-features`` is given.
        stateful: Whether the values depend on more than the phrase.
        tuneable: Whether the feature is tuned unless ``tuneable`` is given.
    """

    components: int = 1
    stateful: bool = False
    tuneable: bool = True


# classes whose path is a table of phrase pairs
_PHRASE_TABLE_KINDS = """
PhraseDictionaryMemory PhraseDictionaryBinary PhraseDictionaryOnDisk PhraseDictionaryCompact
PhraseDictionaryScope3 PhraseDictionaryMultiModel PhraseDictionaryMultiModelCounts
PhraseDictionaryGroup PhraseDictionaryALSuffixArray PhraseDictionaryTransliteration
PhraseDictionaryDynamicCacheBased PhraseDictionaryCache PhraseDictionaryFuzzyMatch
PhraseDictionaryMemoryPerSentence PhraseDictionaryMemoryPerSentenceOnDemand
PhraseDictionaryBitextSampling Mmsapt ProbingPT RuleTable
"""
PHRASE_TABLE_KINDS = frozenset(_PHRASE_TABLE_KINDS.split())
# the classes of phrase tables in text form
TEXT_TABLE_KINDS = frozenset(["PhraseDictionaryMemory", "PhraseDictionaryScope3", "RuleTable"])
# the commands that make binary tables from text tables; ``{}`` becomes the number of scores
BINARISERS = {
    "PhraseDictionaryCompact": "processPhraseTableMin -nscores {} -in TABLE -out NAME",
    "PhraseDictionaryOnDisk": "CreateOnDiskPt 1 1 {} 20 2 TABLE FOLDER",
    "ProbingPT": "CreateProbingPT --num-scores {} --input-pt TABLE --output-dir FOLDER",
}
_LANGUAGE_MODEL_KINDS = """
KENLM SRILM IRSTLM RANDLM DALM MaxEntLM NeuralLM BilingualNPLM ReloadingLM OxLM OxFactoredLM
OxFactoredMaxentLM OxSourceFactoredLM OxTreeLM SyntacticLanguageModel ExampleLM
InMemoryPerSentenceOnDemandLM
"""
LANGUAGE_MODEL_KINDS = frozenset(_LANGUAGE_MODEL_KINDS.split())
# a class that Moses does not have: a neural language model in the search of the embedded decoder
FEED_FORWARD_LM = "FeedForwardLM"
OWN_KINDS = frozenset([FEED_FORWARD_LM])

# the other classes, grouped by their number of values
_STATEFUL = {
    0: """PhraseBoundaryFeature TargetBigramFeature TargetNgramFeature TreeStructureFeature
    LexicalReordering""",  # LexicalReordering: see component_count
    1: "Distortion CoveredReferenceFeature VW",
    2: "TargetConstituentAdjacencyFeature TargetPreferencesFeature RDLM",
    3: "ExampleStatefulFF",
    5: "OpSequenceModel DesegModel",
    6: "PhraseOrientationFeature",
}
_STATELESS = {
    0: """PhraseLengthFeature PhrasePairFeature WordTranslationFeature SourceWordDeletionFeature
    TargetWordInsertionFeature SparseHieroReorderingFeature SoftMatchingFeature
    ReferenceComparison CorrectionPattern""",
    1: """WordPenalty PhrasePenalty Generation InputFeature SyntaxInputWeight GlobalLexicalModel
    Model1Feature RulePairUnlexicalizedSource DynamicCacheBasedLanguageModel SpanLength SyntaxRHS
    RuleScope NieceTerminal CountNonTerms""",
    2: """PhraseDistanceFeature UnalignedWordCountFeature HyperParameterAsWeight
    SourceGHKMTreeInputMatchFeature ExampleStatelessFF""",
    6: "SoftSourceSyntacticConstraintsFeature",
}

FEATURE_KINDS: dict[str, FeatureKind] = {
    **dict.fromkeys(PHRASE_TABLE_KINDS, FeatureKind()),
    **dict.fromkeys(LANGUAGE_MODEL_KINDS | OWN_KINDS, FeatureKind(stateful=True)),
    **{
        kind: FeatureKind(count, stateful)
        for kinds, stateful in ((_STATEFUL, True), (_STATELESS, False))
        for count, names in kinds.items()
        for kind in names.split()
    },
    # features of these classes are tuned only if their line has ``tuneable=true``
    "UnknownWordPenalty": FeatureKind(tuneable=False),
    "DeleteRules": FeatureKind(tuneable=False),
    "MaxSpanFreeNonTermSource": FeatureKind(tuneable=False),
    "SetSourcePhrase": FeatureKind(0, tuneable=False),
    "ConstrainedDecoding": FeatureKind(stateful=True, tuneable=False),
    "ControlRecombination": FeatureKind(0, stateful=True, tuneable=False),
    "BleuScoreFeature": FeatureKind(stateful=True, tuneable=False),
}

# options of all feature functions of Moses; the last three do not affect scores
_COMMON_OPTIONS = """name num-features tuneable tuneable-components
require-sorting-after-source-context verbosity filterable"""
COMMON_OPTIONS = frozenset(_COMMON_OPTIONS.split())
FACTOR_OPTIONS = frozenset(["input-factor", "output-factor"])
# class of the embedded decoder -> its options besides the common options; cache-size, order, load
# and lazyken affect how Moses loads a model, not the scores
OPTIONS = {
    "UnknownWordPenalty": frozenset[str](),
    "WordPenalty": frozenset[str](),
    "PhrasePenalty": frozenset(["per-phrase-table"]),
    "PhraseDictionaryMemory": FACTOR_OPTIONS | {"path", "table-limit", "cache-size"},
    "LexicalReordering": FACTOR_OPTIONS | {"path", "type", "default-scores"},
    "Distortion": frozenset[str](),
    "KENLM": frozenset(["path", "factor", "order", "load", "lazyken", "oov-feature"]),
    "FeedForwardLM": frozenset(["path", "normalised", "unknown"]),
}
# the parts of a lexical reordering type that determine the number of values
_ORIENTATIONS = {"msd": 3, "mslr": 4, "monotonicity": 2, "leftright": 2}


def component_count(kind: str, options: Mapping[str, str]) -> int:
    """Return the number of dense values of a feature.

    Args:
        kind: The class of the feature, one of ``FEATURE_KINDS``.
        options: The options on the line of the feature.

    Raises:
        IniError: ``num-features`` is not a number of plausible size, or a lexical reordering model
            has no type.

    >>> component_count("LexicalReordering", {"type": "wbe-msd-bidirectional-fe-allff"})
    6
    """
    if kind in LANGUAGE_MODEL_KINDS:
        # language models ignore num-features
        return 2 if options.get("oov-feature", "0").lower() in TRUE else 1
    if kind == "LexicalReordering":
        return _reordering_count(options)
    text = options.get("num-features")
    if text is None or kind in OWN_KINDS:
        return FEATURE_KINDS[kind].components
    count = whole_number(text, _MAX_COMPONENTS)
    if count is None:
        shown = visible(text.encode("utf-8", "surrogateescape"), _SHOWN)
        raise IniError(
            f"num-features is '{shown}', expected a whole number up to {_MAX_COMPONENTS:,}"
        )
    return count


def _reordering_count(options: Mapping[str, str]) -> int:
    parts = options.get("type", "").split("-")
    counts = [_ORIENTATIONS[part] for part in parts if part in _ORIENTATIONS]
    if not counts:
        raise IniError(
            f"LexicalReordering has the type {options.get('type', '')!r}, which names none of "
            f"{', '.join(_ORIENTATIONS)}"
        )
    each = 1 if "collapseff" in parts else counts[-1]
    return 2 * each if "bidirectional" in parts else each
