"""Files that are named by mistake instead of a phrase table, recognised by their first lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LookAlike:
    """Another format: what it is called, and what to do about it."""

    name: str
    remedy: str


# fewer lines could sum to one by chance
_LINES_THAT_TELL_REORDERING = 5
_NUMBER = rb"[0-9.]+(?:[eE][+-]?[0-9]+)?"
_LEXICAL = re.compile(rb"[^ ]+ [^ ]+ " + _NUMBER + rb"\s*")
_ALIGNMENT = re.compile(rb"\s*[0-9]+-[0-9]+(?:\s+[0-9]+-[0-9]+)*\s*")
_NAMED_SCORES = re.compile(rb"\s*[^\s=]+= .*")
_HIERO_SCORES = re.compile(rb"\s*[^\s=|]+=[-+0-9.].*")


def look_alike(lines: Sequence[bytes]) -> LookAlike | None:
    """Tell what a file is if its first lines, without line feeds, show another known format."""
    for recognised, kind in _KINDS:
        if recognised(lines):
            return kind
    return None


def _compressed(lines: Sequence[bytes]) -> bool:
    return lines[0].startswith((b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"))


def _binary(lines: Sequence[bytes]) -> bool:
    return any(b"\0" in line for line in lines)


def _returns_alone(lines: Sequence[bytes]) -> bool:
    # as the first line, and all that follows it, when no line feed ends it
    return any(b"|||" in rest for rest in lines[0].split(b"\r")[1:])


def _compact_text(lines: Sequence[bytes]) -> bool:
    return lines[0].strip() == b"1"


def _arpa(lines: Sequence[bytes]) -> bool:
    return any(line.strip() == b"\\data\\" for line in lines[:10])


def _columns(lines: Sequence[bytes]) -> list[bytes]:
    return lines[0].split(b"|||")


def _hiero(lines: Sequence[bytes]) -> bool:
    columns = _columns(lines)
    label = columns[0].strip()
    bracketed = label.startswith(b"[") and label.endswith(b"]") and b" " not in label
    return bracketed and len(columns) >= 4 and bool(_HIERO_SCORES.fullmatch(columns[3]))


def _nbest(lines: Sequence[bytes]) -> bool:
    columns = _columns(lines)
    return (
        len(columns) >= 4
        and columns[0].strip().isdigit()
        and bool(_NAMED_SCORES.fullmatch(columns[2]))
    )


def _extract(lines: Sequence[bytes]) -> bool:
    columns = _columns(lines)
    return len(columns) >= 3 and bool(_ALIGNMENT.fullmatch(columns[2]))


def _reordering(lines: Sequence[bytes]) -> bool:
    if len(lines) < _LINES_THAT_TELL_REORDERING:
        return False
    return all(_sums_to_one_per_direction(line.split(b"|||")) for line in lines)


def _sums_to_one_per_direction(columns: Sequence[bytes]) -> bool:
    # three orientations (msd) or four (mslr), for one direction or for two
    if len(columns) not in (2, 3):
        return False
    try:
        scores = [float(score) for score in columns[-1].split()]
    except ValueError:
        return False
    for orientations in (3, 4):
        groups = [scores[i : i + orientations] for i in range(0, len(scores), orientations)]
        if len(scores) in (orientations, 2 * orientations) and all(
            abs(sum(group) - 1.0) < 1e-3 for group in groups
        ):
            return True
    return False


def _lexical(lines: Sequence[bytes]) -> bool:
    return all(b"|||" not in line and _LEXICAL.fullmatch(line) for line in lines)


def _plain_text(lines: Sequence[bytes]) -> bool:
    return bool(lines[0].strip()) and all(b"|||" not in line for line in lines)


_MAKE = "give the text phrase table that train-model.perl writes (phrase-table.gz)"
_KINDS: tuple[tuple[Callable[[Sequence[bytes]], bool], LookAlike], ...] = (
    (_compressed, LookAlike("a bzip2, xz or zstd file", "compress it with gzip instead")),
    (
        _binary,
        LookAlike(
            "a binary file, perhaps a compact (.minphr), probing or on-disk table, or in UTF-16",
            "give the text phrase table that it was made from, and binarise the result again",
        ),
    ),
    (
        _returns_alone,
        LookAlike(
            "a text whose lines end in carriage returns alone",
            "turn them into line feeds with tr '\\r' '\\n'",
        ),
    ),
    (
        _compact_text,
        LookAlike("a rule table in Moses's compact text format (its first line is 1)", _MAKE),
    ),
    (_arpa, LookAlike("an ARPA language model", _MAKE)),
    (
        _hiero,
        LookAlike(
            "a Hiero rule table ([X] ||| source ||| target ||| name=cost)",
            "convert it to Moses's rules: source [X] ||| target [X] ||| probabilities",
        ),
    ),
    (_nbest, LookAlike("an n-best list (id ||| translation ||| name= values ||| total)", _MAKE)),
    (
        _extract,
        LookAlike(
            "a file of extracted phrase pairs, without scores",
            "give the scored table, which Moses's steps 6 and later write (phrase-table.gz)",
        ),
    ),
    (_reordering, LookAlike("a lexicalised reordering table", _MAKE)),
    (_lexical, LookAlike("a lexical translation table (word word probability)", _MAKE)),
    (_plain_text, LookAlike("plain text (there is no ||| in it)", _MAKE)),
)
