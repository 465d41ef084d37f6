"""Phrase tables in Moses's binary forms: whether they are whole, and how many scores they have.

The number of scores is fixed when a binary table is made. Moses compares it with num-features only
for compact tables; with the other two it crashes. Sources: PhraseDictionaryCompact.cpp,
PhraseDecoder.cpp, BlockHashIndex.cpp, OnDiskWrapper.cpp and probingpt/storing.cpp of mosesdecoder
34452895f.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from moses_integration.doctor.findings import Finding, Place
from moses_integration.ini.feature_kinds import component_count
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError, InputError, PhraseTableError
from phrasescore.table.input_files import whole_number

_LONG = struct.Struct("<Q")
_LARGEST = 1 << 40
_INT = struct.Struct("<i")


@dataclass(frozen=True)
class _Form:
    """A binary form: the file that tells, how it is read, and how it is made."""

    file: Callable[[str], Path]
    scores: Callable[[Path], int]
    command: str


def compact_scores(path: Path) -> int:
    """Read the number of scores of a compact table (.minphr), which follows its index.

    Raises:
        PhraseTableError: The file ends before that.
    """
    with path.open("rb") as stream:
        _skip(stream, 16)
        index = _long(stream)
        stream.seek(16 + min(index, _LARGEST))
        # of the landmarks: two flags, two numbers; four arrays, with the bytes of an element
        _skip(stream, 1 + 1 + 8 + 8)
        for size in (4, 4, 1, 8):
            _skip(stream, _long(stream) * size)
        _skip(stream, 8)
        coding, scores = _INT.unpack(_read(stream, 4))[0], _long(stream)
    if not 0 <= coding <= 2 or not 0 < scores < 1 << 16:
        raise PhraseTableError("not a compact phrase table", path=path)
    return scores


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise PhraseTableError(
            "the file ends too early", path=stream.name, remedy="make the binary table again"
        )
    return data


def _long(stream: BinaryIO) -> int:
    number: int = _LONG.unpack(_read(stream, 8))[0]
    return number


def _skip(stream: BinaryIO, size: int) -> None:
    # a file that is not a table could name any size
    stream.seek(min(size, _LARGEST), 1)


def _named_number(path: Path, name: str) -> int:
    """Read a number from a file of lines ``name number``."""
    for line in path.read_bytes().split(b"\n"):
        words = line.split()
        if len(words) == 2 and words[0] == name.encode():
            number = whole_number(words[1], _LARGEST)
            if number is not None:
                return number
    raise PhraseTableError(
        f"the line {name} is missing", path=path, remedy="make the binary table again"
    )


_FORMS = {
    "PhraseDictionaryCompact": _Form(
        lambda path: Path(path if path.endswith(".minphr") else f"{path}.minphr"),
        compact_scores,
        "processPhraseTableMin -in TABLE.gz -out NAME -nscores {}",
    ),
    "PhraseDictionaryOnDisk": _Form(
        lambda path: Path(path) / "Misc.dat",
        lambda path: _named_number(path, "NumScores"),
        "CreateOnDiskPt 1 1 {} 20 2 TABLE.gz FOLDER",
    ),
    "ProbingPT": _Form(
        lambda path: Path(path) / "config",
        lambda path: _named_number(path, "num_scores"),
        "CreateProbingPT --num-scores {} --input-pt TABLE.gz --output-dir FOLDER",
    ),
}


def binary_table_findings(ini: MosesIni) -> Iterator[Finding]:
    """Compare every binary phrase table of an ini with its line."""
    for line in ini.features:
        if line.kind in _FORMS and "path" in line.options:
            yield from _table_findings(ini, line, _FORMS[line.kind])


def _table_findings(ini: MosesIni, line: FeatureLine, form: _Form) -> Iterator[Finding]:
    place = Place(ini.path, line.line)
    try:
        declared = component_count(line.kind, line.options)
    except IniError:
        return  # said elsewhere
    command = form.command.format(declared)
    file = form.file(line.options["path"])
    if not file.is_file():
        yield place.error(f"{line.kind} reads {file}, which does not exist", command)
        return
    try:
        scores = form.scores(file)
    except InputError as error:
        yield Finding.of(error, str(file))
        return
    if scores != declared:
        yield place.error(
            f"the binary table {line.options['path']} has {scores} scores, but the ini says "
            f"num-features={declared}; Moses would crash or refuse it",
            f"make it again from the text table with all columns: {command}",
        )
    else:
        yield place.note(f"a binary table with {scores} scores, whose lines are not checked")
