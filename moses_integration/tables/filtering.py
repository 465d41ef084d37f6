"""A system cut down to what one text can use: tables filtered to its phrases, all columns kept.

Phrase tables and reordering tables in text form are filtered; everything else is used as it is.
Kept lines are copied byte for byte, in order.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import InputError, PhraseTableError, ResumeError
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import file_name, hidden, remove_parts, write_atomically
from phrasescore.runs.identity import file_state
from phrasescore.runs.json_files import JsonError, read_object, write_json
from phrasescore.runs.lock import held
from phrasescore.table.block_stream import BlockStream
from phrasescore.table.input_files import open_input

INI_NAME = "moses.ini"
# what a folder, or the part of one, was made from, and the tables that it has
_RECORD = "filtered.json"
_UNFINISHED = ("part", "journal")
_REORDERING = "LexicalReordering"
_PIPES = b"|||"
# longer phrases are looked for in the text itself, one by one: there are hardly any
_LONGEST_IN_SET = 7
_BLOCK = 1 << 24


class PhraseFilter:
    """Which source phrases occur in a text.

    Args:
        lines: The text; words are separated by spaces and tabs.

    >>> PhraseFilter([b"a b c"]).occurs(b"b c"), PhraseFilter([b"a b c"]).occurs(b"a c")
    (True, False)
    """

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._phrases: set[bytes] = set()
        texts = []
        for line in lines:
            words = _words(line)
            texts.append(b" ".join(words))
            for begin in range(len(words)):
                for end in range(begin + 1, min(begin + _LONGEST_IN_SET, len(words)) + 1):
                    self._phrases.add(b" ".join(words[begin:end]))
        self._text = b" \n ".join([b"", *texts, b""])
        self._last: tuple[bytes, bool] = (b"", False)

    def occurs(self, phrase: bytes) -> bool:
        """Tell whether a phrase, with any blanks, occurs in a line of the text."""
        if phrase != self._last[0]:
            self._last = (phrase, self._looked_up(_words(phrase)))
        return self._last[1]

    def _looked_up(self, words: list[bytes]) -> bool:
        joined = b" ".join(words)
        if len(words) <= _LONGEST_IN_SET:
            return joined in self._phrases
        return b" " + joined + b" " in self._text


def _words(line: bytes) -> list[bytes]:
    return [word for word in line.replace(b"\t", b" ").strip(b"\r").split(b" ") if word]


@dataclass(frozen=True)
class FilteredTable:
    """What filtering one table did.

    Args:
        name: The feature that uses it.
        lines: How many lines it had.
        kept: How many are left.
    """

    name: str
    lines: int
    kept: int


@dataclass(frozen=True)
class _Counts:
    """How many lines were read, and how many of them stay."""

    lines: int = 0
    kept: int = 0


def filter_table(
    source: str | Path,
    output: str | Path,
    phrases: PhraseFilter,
    signature: dict[str, Any] | None = None,
) -> tuple[int, int]:
    """Copy the lines whose source phrase occurs; return how many there were and how many stay.

    Args:
        source: A table.
        output: Where to; gzip if the name ends in ``.gz``.
        phrases: Those that occur.
        signature: What decides the output, for a run that goes on where another was killed.
    """

    def work(block: list[bytes], counts: _Counts) -> tuple[bytes, _Counts]:
        chosen = [line for line in block if phrases.occurs(line.partition(_PIPES)[0])]
        # the text loader of reordering tables ignores a last line without a line feed
        kept = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in chosen)
        return kept, _Counts(counts.lines + len(block), counts.kept + len(chosen))

    stream = BlockStream(
        read=lambda _, done: itertools.islice(_line_lists(source), done, None),
        work=work,
        nothing=_Counts(),
        unlike="another table or text",
        what=f"filtering {Path(source).name}",
        unit="lines",
    )
    counts, _ = stream.write(output, signature)
    return counts.lines, counts.kept


def _line_lists(path: str | Path) -> Iterator[list[bytes]]:
    with open_input(path) as stream:
        block = stream.readlines(_BLOCK)
        if not block or _PIPES not in block[0]:
            raise PhraseTableError(
                "the file is empty, where a table was expected"
                if not block
                else "no ||| in the first line, where a table was expected",
                path=path,
                line=1,
                remedy="correct the path in the moses.ini",
            )
        if b"\r" in block[0].rstrip(b"\r\n"):
            raise PhraseTableError(
                "a carriage return within the first line: lines have to end in a line feed",
                path=path,
                line=1,
                remedy="convert it, for example with tr '\\r' '\\n'",
            )
        while block:
            yield block
            block = stream.readlines(_BLOCK)


def filter_system(
    ini: MosesIni, text: Sequence[bytes], folder: str | Path
) -> tuple[MosesIni, list[FilteredTable]]:
    """Filter the tables of a system to a text, once; a second call finds what the first left.

    Args:
        ini: The system; its paths resolve against the current directory.
        text: What will be translated.
        folder: Gets its name only when everything in it is whole. What a killed call has done
            stays beside it, for the same call.

    Returns:
        The system with absolute paths to the filtered tables, also written to
        ``folder/moses.ini``, and what was filtered (nothing the second time).

    Raises:
        InputError: A table does not exist or is damaged, or what its feature is called cannot be
            the name of a file.
        ResumeError: Something else stands in the place of its part, or another process makes it.
    """
    folder = Path(folder).absolute()
    names = [
        (feature, filtered_name(ini, feature)) for feature in ini.features if is_filterable(feature)
    ]
    asked = _asked(ini, text)
    part = hidden(folder, "part")
    with (
        held(folder),  # which removes what a killed call left of its own
        only_regular_files(folder),
        only_regular_files(part),
    ):
        if (folder / INI_NAME).exists():
            return MosesIni.read(folder / INI_NAME), []
        tables = [find_model_file(each.options["path"], ini=ini.path).path for each, _ in names]
        done = _done(part, asked, [name for _, name in names])
        phrases = PhraseFilter(text)
        try:
            for (feature, name), table in zip(names, tables, strict=True):
                if name not in done:
                    signature = {**asked, "table": file_state(table)}
                    done[name] = filter_table(table, part / name, phrases, signature)
                    write_json(part / _RECORD, {"asked": asked, "tables": done})
                ini = ini.with_feature_option(feature.name, "path", str(folder / name))
        except InputError:
            shutil.rmtree(part)  # a table that must be repaired will be another one
            raise
        write_atomically(part / INI_NAME, ini.to_bytes())
        part.rename(folder)
    return ini, [FilteredTable(feature.name, *done[name]) for feature, name in names]


def is_filtered(ini: MosesIni, text: Sequence[bytes], folder: Path) -> bool:
    """Tell whether a folder has all of what ``filter_system`` would make of these."""
    with contextlib.suppress(OSError, JsonError, KeyError):
        same: bool = read_object(folder / _RECORD)["asked"] == _asked(ini, text)
        return same and (folder / INI_NAME).exists()
    return False


def _asked(ini: MosesIni, text: Sequence[bytes]) -> dict[str, str]:
    return {
        "ini": hashlib.sha256(ini.to_bytes()).hexdigest(),
        "text": hashlib.sha256(b"\n".join(text)).hexdigest(),
    }


def _done(part: Path, asked: dict[str, str], names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the tables that a killed call has filtered, or make the folder anew for this one."""
    if part.is_symlink() or (part.exists() and not part.is_dir()):
        raise _foreign(part)
    part.mkdir(parents=True, exist_ok=True)
    for name in (_RECORD, INI_NAME, *names):
        remove_parts(part / name)  # left by a call that was killed
    # only who holds the folder takes the locks in it, so these are left over, too
    locks = tuple(f"{hidden(part / name, 'lock').name}." for name in names)
    for path in part.iterdir():
        # one, what took over from one, or a part of either, which has one more dot in front
        if f"{path.name.replace('..', '.', 1)}.".startswith(locks) and not path.is_dir():
            path.unlink()
    unfinished = (hidden(part / name, ending).name for name in names for ending in _UNFINISHED)
    ours = {_RECORD, INI_NAME, *names, *unfinished}
    if any(path.name not in ours for path in part.iterdir()):
        raise _foreign(part)
    with contextlib.suppress(OSError, JsonError, KeyError):
        content = read_object(part / _RECORD)
        if content["asked"] == asked:
            return _whole_tables(part, content["tables"], names)
    shutil.rmtree(part)
    part.mkdir()
    write_json(part / _RECORD, {"asked": asked, "tables": {}})
    return {}


def _whole_tables(part: Path, recorded: Any, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the counts of the tables that a record has, and that are there."""
    whole = {}
    for name in names if isinstance(recorded, dict) else ():
        counts = recorded.get(name)
        counted = isinstance(counts, list) and list(map(type, counts)) == [int, int]
        if counted and (part / name).is_file():
            whole[name] = (counts[0], counts[1])
    return whole


def _foreign(part: Path) -> ResumeError:
    return ResumeError(
        "this stands where tables are filtered, and has something else in it",
        path=part,
        remedy="move it away",
    )


def filtered_name(ini: MosesIni, feature: FeatureLine) -> str:
    """Return what the filtered table of a feature is called in its folder.

    Raises:
        InputError: What the feature is called cannot be the name of a file.
    """
    try:
        return file_name(feature.name, ".gz", of="feature")
    except InputError as error:
        raise error.at(ini.path, feature.line) from None


def is_filterable(feature: FeatureLine) -> bool:
    """Tell whether a feature reads a table in text form whose source side is the input's words."""
    if feature.kind not in {*TEXT_TABLE_KINDS, _REORDERING} or "path" not in feature.options:
        return False
    if feature.options.get("filterable") == "false" or find_binary_file(
        feature.options["path"], feature.kind
    ):
        return False
    return feature.options.get("input-factor", "0") == "0"
