"""Make a moses.ini do without one of its features: its line goes, and so do its weights."""

from __future__ import annotations

from moses_integration.ini.feature_kinds import PHRASE_TABLE_KINDS
from moses_integration.ini.lines import parse_weights
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import REWRITING_SECTIONS
from phrasescore.errors import IniError

# Moses dies at the first unknown word without it
_NEEDED = frozenset(["UnknownWordPenalty"])
_MAPPED = PHRASE_TABLE_KINDS | {"Generation"}
_WEIGHT_SECTIONS = ("weight-add", "weight")


def without_feature(ini: MosesIni, name: str) -> MosesIni:
    r"""Return an ini without a feature's line and its weights, every other byte as it was.

    Weights of single sparse features, ``Name_sparse``, go with it. So what
    ``with_language_model`` added is taken away again.

    Args:
        ini: What to edit.
        name: The feature, as weights and n-best lists call it.

    Raises:
        IniError: There is no such feature, or others, or ``[mapping]``, would not mean the same
            without it.

    >>> ini = MosesIni.parse(b"[feature]\nDistortion\nWordPenalty\n[weight]\nDistortion0= 1\n")
    >>> without_feature(ini, "Distortion0").to_bytes()
    b'[feature]\nWordPenalty\n[weight]\n'
    """
    ini.refuse_old_style()
    line = ini.feature(name)
    _refuse_needed(ini, line)
    _refuse_other_sections(ini, name)
    names = {feature.name for feature in ini.features}
    gone = {line.line}
    for section in _WEIGHT_SECTIONS:
        for number, text in ini.value_lines(section):
            owner = parse_weights(text)[0]
            if name in (owner, owner.partition("_")[0]) and owner not in names - {name}:
                gone.add(number)
    return ini.without_lines(gone)


def _refuse_needed(ini: MosesIni, line: FeatureLine) -> None:
    why = remedy = ""
    if line.kind in _MAPPED:
        why = "is a step of the translation itself, which [mapping] counts"
        remedy = "remove it by hand, together with its step in [mapping]"
    elif line.kind in _NEEDED:
        why = "is needed: Moses dies at the first unknown word without it"
        remedy = "give it the weight that you want in its place"
    elif (other := _called_otherwise(ini, line)) is not None:
        why = f"has no name of its own, and {other} would get another name without it"
        remedy = f"give {other} its name=, as it is called now"
    if why:
        raise IniError(f"{line.name} {why}", path=ini.path, line=line.line, remedy=remedy)


def _called_otherwise(ini: MosesIni, gone: FeatureLine) -> str | None:
    """Return a feature that is called by its class and number, and would get another number."""
    if gone.options.get("name"):
        return None
    for line in ini.features:
        unnamed = line.kind == gone.kind and not line.options.get("name")
        if unnamed and line.line > gone.line:
            return line.name
    return None


def _refuse_other_sections(ini: MosesIni, name: str) -> None:
    for section in sorted(REWRITING_SECTIONS | {"alternate-weight-setting"}):
        for number, text in ini.value_lines(section):
            if name in text:
                raise IniError(
                    f"[{section}] names {name}, too",
                    path=ini.path,
                    line=number,
                    remedy="write what the section says into [feature] and [weight] first",
                )
