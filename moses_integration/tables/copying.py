"""Copies a system into a new folder: filtered to one text, or with all its files.

In a filtered system, the phrase tables and reordering tables in text form keep, byte for byte and
in order, the lines whose source phrase is in the text; everything else is used where it is. In a
packed system, all paths are relative to the folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from moses_integration.ini import model_files
from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.text.preparation import carry_settings
from phrasescore.errors import InputError, PhraseTableError, ResumeError, SettingsError, located
from phrasescore.runs.file_kinds import only_regular_files, refuse_pipe
from phrasescore.runs.final_names import file_name, open_output, scratch_folder, write_atomically
from phrasescore.runs.json_files import JsonError, read_object
from phrasescore.runs.ledger import Entry, refuse_another
from phrasescore.runs.lock import held
from phrasescore.runs.progress import Progress
from phrasescore.runs.results import RESULT, Count, Record, parse_record
from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import INSPECTED_LINES, PIPES, is_rule, phrase_tokens

INI_NAME = "moses.ini"
_REORDERING = "LexicalReordering"
# longer phrases are few: they are not in the set of phrases, but searched for in the text
_LONGEST_IN_SET = 7
_BLOCK = 1 << 24


@dataclass(frozen=True)
class FilteredTable:
    """A filtered table: the feature that uses it, and its lines before and after filtering."""

    name: str
    lines: Count
    kept: Count


@dataclass(frozen=True)
class FilterRecord(Record):
    """The record of ``filter``: digests of the ini file and of the texts, and the tables."""

    kind: ClassVar[str] = "filter"
    asked: dict[str, str]
    tables: tuple[FilteredTable, ...]


class PhraseFilter:
    """Tests whether a source phrase occurs in a text.

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
        """Return whether a phrase, with any blanks, occurs in a line of the text."""
        # the lines of one source are adjacent in a table, so remember the last answer
        if phrase != self._last[0]:
            words = _words(phrase)
            joined = b" ".join(words)
            is_short = len(words) <= _LONGEST_IN_SET
            found = joined in self._phrases if is_short else b" %b " % joined in self._text
            self._last = (phrase, found)
        return self._last[1]


def _words(line: bytes) -> list[bytes]:
    # only the factor before a bar is looked up in the tables that are filtered
    return [word.partition(b"|")[0] for word in phrase_tokens(line.strip(b"\r"))]


def filter_table(source: str | Path, output: str | Path, phrases: PhraseFilter) -> tuple[int, int]:
    """Copy the lines whose source phrase occurs in a text.

    Args:
        source: A table.
        output: The filtered table; gzip if the name ends in ``.gz``.
        phrases: The phrases of the text.

    Returns:
        How many lines the table has, and how many were kept.

    Raises:
        InputError: The table cannot be read.
        PhraseTableError: The file is not a table, or holds hierarchical rules.
    """
    lines = kept = 0
    with (
        open_input(source) as stream,
        Progress(f"filtering {Path(source).name}", unit="lines") as progress,
        open_output(output) as writer,
    ):
        block = stream.readlines(_BLOCK)
        _check_first_lines(block[:INSPECTED_LINES] or [b""], source)
        while block:
            chosen = [line for line in block if phrases.occurs(line.partition(PIPES)[0])]
            # Moses's loader of reordering tables ignores a last line without a line feed
            if chosen and not chosen[-1].endswith(b"\n"):
                chosen[-1] += b"\n"
            writer.write(b"".join(chosen))
            lines, kept = lines + len(block), kept + len(chosen)
            progress.advance(len(block))
            block = stream.readlines(_BLOCK)
    return lines, kept


def _check_first_lines(lines: Sequence[bytes], path: str | Path) -> None:
    line = lines[0]
    problem, remedy = "", "correct the path in the moses.ini"
    if not line:
        problem = "the file is empty, where a table was expected"
    elif PIPES not in line:
        problem = "no ||| in the first line, where a table was expected"
    elif b"\r" in line.rstrip(b"\r\n"):
        problem = "a carriage return within the first line: lines have to end in a line feed"
        remedy = "convert it, for example with tr '\\r' '\\n'"
    elif all(map(is_rule, lines)):
        problem = "the table holds hierarchical rules, which cannot be filtered"
        remedy = "write filterable=false into the line of its feature in the moses.ini"
    if problem:
        raise PhraseTableError(problem, path=path, line=1, remedy=remedy)


def filter_system(
    ini: MosesIni, text: Sequence[bytes], folder: str | Path
) -> tuple[MosesIni, list[FilteredTable]]:
    """Filter the tables of a system to a text, once; a second call finds the finished folder.

    Args:
        ini: The system; its paths resolve against the current directory.
        text: The text to translate.
        folder: The new folder, which appears when everything in it is complete.

    Returns:
        The system with absolute paths to the filtered tables, also written to
        ``folder/moses.ini``, and the tables filtered (none the second time).

    Raises:
        InputError: A table does not exist or is damaged, or the name of its feature cannot be the
            name of a file.
        ResumeError: The folder was made from other inputs, or another process is making it.
    """
    folder = Path(folder).absolute()
    filtered = [(line, filtered_name(ini, line)) for line in filter(is_filterable, ini.features)]
    asked = {
        "ini": hashlib.sha256(ini.to_bytes()).hexdigest(),
        "text": hashlib.sha256(b"\n".join(text)).hexdigest(),
    }
    with held(folder), only_regular_files(folder):
        if folder.exists():
            return _filtered(folder, asked), []
        tables = [model_files.find_model_file(line.options["path"]) for line, _ in filtered]
        phrases = PhraseFilter(text)
        done: list[FilteredTable] = []
        with scratch_folder(folder, 0o777) as part:
            for (line, name), table in zip(filtered, tables, strict=True):
                done.append(FilteredTable(line.name, *filter_table(table, part / name, phrases)))
                place = model_files.absolute_if_possible(folder / name)
                ini = ini.with_feature_option(line.name, "path", place)
            FilterRecord(asked, tuple(done)).write(part / RESULT)
            carry_settings(ini.path, part)
            words = sorted({word for line in text for word in _words(line)})
            write_atomically(part / model_files.FILTER_WORDS, b"\n".join(words))
            write_atomically(part / INI_NAME, ini.to_bytes())
            part.rename(folder)
    return ini, done


def _filtered(folder: Path, asked: dict[str, str]) -> MosesIni:
    """Return the system of a folder that `filter_system` has finished for the same inputs."""
    remedy = "name a new folder, or delete this one"
    try:
        record = parse_record(read_object(folder / RESULT), FilterRecord)
    except (OSError, JsonError, SettingsError):
        record = None
    if record is None:
        raise ResumeError("the folder has no record of filtering", path=folder, remedy=remedy)
    refuse_another(Entry(record.asked), Entry(asked), folder, remedy)
    return MosesIni.read(folder / INI_NAME)


def filtered_name(ini: MosesIni, feature: FeatureLine) -> str:
    """Return the file name of a feature's filtered table.

    Raises:
        InputError: The name of the feature cannot be the name of a file.
    """
    with located(ini.path, feature.line):
        return file_name(feature.name, ".gz")


def is_filterable(feature: FeatureLine) -> bool:
    """Return whether a feature reads a text table whose source phrases are words of the input."""
    options = feature.options
    if feature.kind not in {*TEXT_TABLE_KINDS, _REORDERING} or "path" not in options:
        return False
    if model_files.find_binary_file(options["path"], feature.kind):
        return False
    return options.get("filterable") != "false" and options.get("input-factor", "0") == "0"


def pack_system(ini: MosesIni, folder: Path) -> dict[str, Path]:
    """Copy a system into a new folder, which appears when it is complete.

    Args:
        ini: The system. If it was read from a folder, what rescores is copied, too.
        folder: The new folder.

    Returns:
        The original of each file and model that the ini names, by its name in the new folder.

    Raises:
        SettingsError: Something has the name of the folder.
        InputError: A file is missing, or has a form of several files.
    """
    # imported here, because it loads compiled code, which `filter` and `report` do not need
    from moses_integration.ini.rescoring_file import carry_rescoring

    if os.path.lexists(folder):
        raise SettingsError("the name is taken", path=folder, remedy="name a new folder")
    ini.refuse_rewriting()
    packed, originals = ini, dict[str, Path]()
    with scratch_folder(folder, 0o777) as part:
        for line, key, named in model_files.named_paths(ini):
            found = model_files.find_model_file(named, line.kind)
            option = "" if key == "path" else f"{key}."
            with located(ini.path, line.line):
                name = file_name(f"{line.name}.{option}{found.name}", "")
            _copy(found, part / name)
            originals[name] = found
            # Moses adds the ending of a binary form to the path in the ini
            ending = found.name.removeprefix(Path(named).name) if found.suffix != ".gz" else ""
            packed = packed.with_feature_option(line.name, key, name.removesuffix(ending))
        for index, named in enumerate(ini.values("weight-file")):
            found, name = model_files.find_model_file(ini.resolved(named)), f"weights{index}"
            _copy(found, part / name)
            originals[name] = found
            packed = packed.with_value("weight-file", index, name)
        carry_settings(ini.path, part)
        carry_rescoring(ini.base, part)
        write_atomically(part / INI_NAME, packed.to_bytes())
        part.rename(folder)
    return originals


def _copy(found: Path, copy: Path) -> None:
    if found.is_dir():
        from phrasescore.model.folder import copy_model

        copy_model(found, copy)
        return
    if found.name.endswith(".idx"):
        remedy = "name the text table in the moses.ini, or its compact form (.minphr, .minlexr)"
        problem = "a binary table of several files, which is not copied"
        raise InputError(problem, path=found, remedy=remedy)
    refuse_pipe(found)
    shutil.copyfile(found, copy)
