"""Nothing in a moses.ini is ignored: what the decoder does not do is an error with its line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields

from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.moses_ini import FeatureLine, MosesIni, code_of, section_of
from moses_integration.ini.parameters import SECTIONS, SHORT_NAMES
from phrasescore.errors import IniError, did_you_mean

# what every feature function of Moses accepts; the last three change nothing here
_COMMON_OPTIONS = frozenset(
    [
        "name",
        "num-features",
        "tuneable",
        "tuneable-components",
        "require-sorting-after-source-context",
        "verbosity",
        "filterable",
    ]
)
_FACTORS = frozenset(["input-factor", "output-factor"])
# class -> the options it may have beside these; cache-size, order, load and lazyken change how
# Moses loads, not what it computes
OPTIONS = {
    "UnknownWordPenalty": frozenset[str](),
    "WordPenalty": frozenset[str](),
    "PhrasePenalty": frozenset(["per-phrase-table"]),
    "PhraseDictionaryMemory": _FACTORS | {"path", "table-limit", "cache-size"},
    "LexicalReordering": _FACTORS | {"path", "type", "default-scores"},
    "Distortion": frozenset[str](),
    "KENLM": frozenset(["path", "factor", "order", "load", "lazyken", "oov-feature"]),
    "FeedForwardLM": frozenset(["path", "normalised", "unknown"]),
}
# sections that are read elsewhere, or that change nothing but messages
_READ = frozenset(
    [
        "feature",
        "weight",
        "weight-add",
        "mapping",
        "input-factors",
        "output-factors",
        *(field.name.replace("_", "-") for field in fields(SearchSettings)),
        "threads",
        "verbose",
        "description",
        "no-cache",
    ]
)
# sections that are harmless as long as they say what is the default
_DEFAULT_ONLY = {
    "inputtype": "0",
    "xml-input": "pass-through",
    "stack-diversity": "0",
    "early-discarding-threshold": "0",
    "translation-option-threshold": "0",
    "monotone-at-punctuation": "false",
    "early-distortion-cost": "false",
    "phrase-drop-allowed": "false",
    "disable-discarding": "false",
}
_OUTPUT_HINTS = {
    "n-best-list": "use --nbest and --nbest-size",
    "input-file": "use -i",
    "output-unknowns": "use --output-unknowns",
    "report-segmentation": "use -t",
    "print-alignment-info": "use --print-alignment-info",
}
_REPLACEMENTS = {
    **dict.fromkeys(("SRILM", "IRSTLM"), "KENLM reads the same ARPA file"),
    **dict.fromkeys(
        ("PhraseDictionaryCompact", "PhraseDictionaryOnDisk", "ProbingPT"),
        "name the text table that it was made from, as PhraseDictionaryMemory",
    ),
}


def check_sections(ini: MosesIni) -> None:
    """Refuse sections that this decoder would have to ignore.

    Raises:
        IniError: The first of them, with its line.
    """
    for name in ini.sections:
        if name in _READ:
            continue
        if name in _DEFAULT_ONLY and set(ini.values(name)) == {_DEFAULT_ONLY[name]}:
            continue
        line = _section_line(ini, name)
        if name in _DEFAULT_ONLY:
            value = " ".join(ini.values(name))
            raise IniError(
                f"[{name}] is {value}, and the embedded decoder knows only {_DEFAULT_ONLY[name]}",
                path=ini.path,
                line=line,
                remedy="delete the section, or decode with Moses",
            )
        if name in SECTIONS:
            raise IniError(
                f"the embedded decoder does not know the section [{name}]",
                path=ini.path,
                line=line,
                remedy=_OUTPUT_HINTS.get(name, "delete it, or decode with Moses"),
            )
        guess = SHORT_NAMES.get(name)
        hint = f" (did you mean {guess}?)" if guess else did_you_mean(name, SECTIONS)
        raise IniError(
            f"unknown section [{name}]{hint}",
            path=ini.path,
            line=line,
            remedy="correct or delete it; Moses refuses it too",
        )
    for name in ("input-factors", "output-factors"):
        if set(ini.values(name)) - {"0"}:
            raise IniError(
                f"[{name}] names other factors than 0",
                path=ini.path,
                line=_section_line(ini, name),
                remedy="decode factored models with Moses",
            )


def _section_line(ini: MosesIni, name: str) -> int | None:
    """Return the number of the line that opens a section."""
    for number, line in enumerate(ini.lines, 1):
        code = code_of(line)
        if code and section_of(code) == name:
            return number
    return None


def check_feature(ini: MosesIni, line: FeatureLine) -> None:
    """Refuse a feature class or an option that this decoder does not know.

    Raises:
        IniError: What it is, with its line.
    """
    if line.kind not in OPTIONS:
        raise IniError(
            f"the embedded decoder has no feature class {line.kind}"
            f"{did_you_mean(line.kind, OPTIONS)}",
            path=ini.path,
            line=line.line,
            remedy=_REPLACEMENTS.get(line.kind, "remove the feature, or decode with Moses"),
        )
    known: Collection[str] = _COMMON_OPTIONS | OPTIONS[line.kind]
    for key, value in line.options.items():
        if key not in known:
            raise IniError(
                f"the embedded decoder knows no option {key} of {line.kind}"
                f"{did_you_mean(key, known)}",
                path=ini.path,
                line=line.line,
                remedy="correct or remove it, or decode with Moses",
            )
        if key in (*_FACTORS, "factor") and value != "0":
            raise IniError(
                f"{line.name} uses factor {value}, and the embedded decoder knows only factor 0",
                path=ini.path,
                line=line.line,
                remedy="decode factored models with Moses",
            )
    if "path" in OPTIONS[line.kind] and not line.options.get("path"):
        raise IniError(f"{line.name} has no path", path=ini.path, line=line.line)
