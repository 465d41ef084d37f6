"""Filters a system to one text: its tables keep the lines whose source phrase is in the text.

Phrase tables and reordering tables in text form are filtered; everything else is used as it is.
Kept lines are copied byte for byte, in order.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import InputError, PhraseTableError, ResumeError, SettingsError
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import (
    file_name,
    hidden,
    remove,
    whole_names,
    write_atomically,
)
from phrasescore.runs.identity import file_state
from phrasescore.runs.json_files import JsonError, read_object
from phrasescore.runs.lock import held
from phrasescore.runs.results import RESULT, FilteredTable, FilterRecord, parse_record
from phrasescore.runs.steps import DIGESTS, Step, Steps
from phrasescore.table.block_stream import BlockStream
from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import phrase_tokens

INI_NAME = "moses.ini"
_STEPS = "steps"  # the stamps of finished tables, until the whole folder is finished
_UNFINISHED = ("part", "journal")
_REORDERING = "LexicalReordering"
_PIPES = b"|||"
# the few longer phrases are searched for in the text itself
_LONGEST_IN_SET = 7
_BLOCK = 1 << 24


class PhraseFilter:
    """A test for the source phrases that occur in a text.

    Args:
        lines: The text; words are separated by spaces and tabs.

    Attributes:
        digest: SHA-256 of the words of the text.

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
        self.digest = hashlib.sha256(self._text).hexdigest()
        self._last: tuple[bytes, bool] = (b"", False)

    def occurs(self, phrase: bytes) -> bool:
        """Return whether a phrase, with any blanks, occurs in a line of the text."""
        # lines of one source stand together in a table, so remember the last answer
        if phrase != self._last[0]:
            words = _words(phrase)
            joined = b" ".join(words)
            if len(words) <= _LONGEST_IN_SET:
                self._last = (phrase, joined in self._phrases)
            else:
                self._last = (phrase, b" " + joined + b" " in self._text)
        return self._last[1]


def _words(line: bytes) -> list[bytes]:
    return phrase_tokens(line.strip(b"\r"))


@dataclass(frozen=True)
class LineCounts:
    """The number of lines of a table, and the number kept."""

    lines: int = 0
    kept: int = 0


def filter_table(source: str | Path, output: str | Path, phrases: PhraseFilter) -> LineCounts:
    """Copy the lines whose source phrase occurs, and count lines.

    The same call continues where an earlier one was killed.

    Args:
        source: A table.
        output: The filtered table; gzip if the name ends in ``.gz``.
        phrases: The phrases that occur.
    """

    def work(block: list[bytes], counts: LineCounts) -> tuple[bytes, LineCounts]:
        chosen = [line for line in block if phrases.occurs(line.partition(_PIPES)[0])]
        # the text loader of reordering tables ignores a last line without a line feed
        kept = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in chosen)
        return kept, LineCounts(counts.lines + len(block), counts.kept + len(chosen))

    return (
        BlockStream(
            # the table is identified by size and modification time: hashing it takes too long
            inputs=[],
            asked={"text": phrases.digest, "table": file_state(source)},
            read=lambda _, done: itertools.islice(_line_lists(source), done, None),
            work=work,
            nothing=LineCounts(),
            what=f"filtering {Path(source).name}",
            unit="lines",
        )
        .write(output)
        .counts
    )


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
    """Filter the tables of a system to a text, once; a second call finds the finished folder.

    Args:
        ini: The system; its paths resolve against the current directory.
        text: The text to translate.
        folder: The new folder, which gets its name when everything in it is complete. The work of
            a killed call stays beside it, and the same call continues it.

    Returns:
        The system with absolute paths to the filtered tables, also written to
        ``folder/moses.ini``, and the tables filtered (none the second time).

    Raises:
        InputError: A table does not exist or is damaged, or the name of its feature cannot be the
            name of a file.
        ResumeError: Something else has the name of the unfinished folder, or another process is
            making the folder.
    """
    folder = Path(folder).absolute()
    names = [
        (feature, filtered_name(ini, feature)) for feature in ini.features if is_filterable(feature)
    ]
    request = _request(ini, text)
    part = hidden(folder, "part")
    with (
        held(folder),  # also removes the lock of a killed call
        only_regular_files(folder),
        only_regular_files(part),
    ):
        if (folder / INI_NAME).exists():
            return MosesIni.read(folder / INI_NAME), []
        tables = [find_model_file(each.options["path"], ini=ini.path).path for each, _ in names]
        _prepare(part, [name for _, name in names])
        phrases = PhraseFilter(text)
        done: list[FilteredTable] = []
        try:
            for (feature, name), table in zip(names, tables, strict=True):
                counts = _filtered_once(table, part / name, phrases, f"table{len(done)}")
                done.append(FilteredTable(feature.name, **counts))
                ini = ini.with_feature_option(feature.name, "path", str(folder / name))
        except InputError:
            shutil.rmtree(part)  # once the table is repaired, its part would be stale
            raise
        FilterRecord(request, tuple(done)).write(part / RESULT)
        write_atomically(part / INI_NAME, ini.to_bytes())
        shutil.rmtree(part / _STEPS, ignore_errors=True)
        part.rename(folder)
    return ini, done


def is_filtered(ini: MosesIni, text: Sequence[bytes], folder: Path) -> bool:
    """Return whether a folder is the finished result of ``filter_system`` for these inputs."""
    with contextlib.suppress(OSError, JsonError, SettingsError):
        record = parse_record(read_object(folder / RESULT))
        same = isinstance(record, FilterRecord) and record.asked == _request(ini, text)
        return same and (folder / INI_NAME).exists()
    return False


def _request(ini: MosesIni, text: Sequence[bytes]) -> dict[str, str]:
    """Return the digests that identify a filtered system."""
    return {
        "ini": hashlib.sha256(ini.to_bytes()).hexdigest(),
        "text": hashlib.sha256(b"\n".join(text)).hexdigest(),
    }


def _prepare(part: Path, names: Sequence[str]) -> None:
    """Create the unfinished folder, or clean up the one that a killed call has left."""
    if part.is_symlink() or (part.exists() and not part.is_dir()):
        raise _foreign(part)
    part.mkdir(parents=True, exist_ok=True)
    locks = tuple(hidden(name, "lock").name for name in names)
    stamps = (f"{_STEPS}/table{number}.json" for number in range(len(names)))
    unfinished = (hidden(name, ending).name for name in names for ending in _UNFINISHED)
    ours = {RESULT, INI_NAME, _STEPS, f"{_STEPS}/{DIGESTS}", *stamps, *names, *unfinished}
    found = whole_names(part)
    if any(name not in ours and not name.startswith(locks) for name in found.values()):
        raise _foreign(part)
    for path, name in found.items():
        # this process holds the lock of the folder, so all parts and locks inside are stale
        if name.startswith(locks) or path.name != Path(name).name:
            remove(path)


def _filtered_once(
    table: Path, output: Path, phrases: PhraseFilter, name: str
) -> Mapping[str, int]:
    """Filter a table, unless a killed call has finished it; return the counts of its lines."""
    settings = {"text": phrases.digest, "table": file_state(table)}
    steps = Steps(output.parent / _STEPS)
    steps.do(
        Step(name, None, settings, (), (output,), intermediate=True),
        lambda: {"counts": dataclasses.asdict(filter_table(table, output, phrases))},
    )
    stamp = steps.read(name)
    assert stamp is not None
    return stamp.counts


def _foreign(part: Path) -> ResumeError:
    return ResumeError(
        "the filtered tables belong here, but this folder has something else in it",
        path=part,
        remedy="move it away",
    )


def filtered_name(ini: MosesIni, feature: FeatureLine) -> str:
    """Return the name of a feature's filtered table in its folder.

    Raises:
        InputError: The name of the feature cannot be the name of a file.
    """
    try:
        return file_name(feature.name, ".gz", "feature")
    except InputError as error:
        raise error.at(ini.path, feature.line) from None


def is_filterable(feature: FeatureLine) -> bool:
    """Return whether a feature reads a text table whose source side is words of the input."""
    if feature.kind not in {*TEXT_TABLE_KINDS, _REORDERING} or "path" not in feature.options:
        return False
    if feature.options.get("filterable") == "false" or find_binary_file(
        feature.options["path"], feature.kind
    ):
        return False
    return feature.options.get("input-factor", "0") == "0"
