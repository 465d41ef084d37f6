"""The settings of a moses.ini that are neither features nor weights: sections of one value."""

from __future__ import annotations

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.parameters import SECTIONS
from phrasescore.errors import SettingsError, did_you_mean

# these describe the model; a value for them alone would contradict the rest of the file
_STRUCTURE = frozenset(
    name for name in SECTIONS if name.startswith(("feature", "weight", "alternate-weight"))
) | {"mapping"}


def with_section(ini: MosesIni, name: str, value: str) -> MosesIni:
    r"""Return the file with one setting made or changed, every other byte as it was.

    Args:
        ini: The file.
        name: Of the section, e.g. ``cube-pruning-pop-limit``.
        value: Its first value; where the section has several, the others stay.

    Raises:
        SettingsError: Moses knows no such section, or it is one that holds the model itself.

    >>> with_section(MosesIni.parse(b"[distortion-limit]\n6\n"), "distortion-limit", "4").lines
    ('[distortion-limit]', '4', '')
    """
    if name not in SECTIONS:
        raise SettingsError(
            f"Moses knows no section [{name}]{did_you_mean(name, SECTIONS)}",
            remedy="name a setting as it is called in a moses.ini, e.g. search-algorithm",
        )
    if name in _STRUCTURE or not value or any(sign in value for sign in "#\n[]"):
        raise SettingsError(
            f"[{name}] cannot be set to {value!r} in this way",
            remedy="give a plain setting, e.g. search-algorithm=1; weights are for tune",
        )
    if ini.values(name):
        return ini.with_value(name, 0, value)
    end = "" if ini.lines[-1] == "" else "\n"
    text = f"{end}\n[{name}]\n{value}\n".encode("utf-8", "surrogateescape")
    return MosesIni.parse(ini.to_bytes() + text, ini.path)
