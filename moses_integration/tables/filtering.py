"""A system cut down to what one text can use: tables filtered to its phrases, all columns kept.

Phrase tables and reordering tables in text form are filtered; everything else is used as it is.
Kept lines are copied byte for byte, in order.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import InputError
from phrasescore.file_names import file_name
from phrasescore.files import open_input, open_output, write_atomically
from phrasescore.progress import Progress

INI_NAME = "moses.ini"
_REORDERING = "LexicalReordering"
_PIPES = b"|||"
# longer phrases are looked for in the text itself, one by one: there are hardly any
_LONGEST_IN_SET = 7
_BLOCK = 1 << 20


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


def filter_table(source: str | Path, output: str | Path, phrases: PhraseFilter) -> tuple[int, int]:
    """Copy the lines whose source phrase occurs; return how many there were and how many stay."""
    lines = kept = 0
    with (
        open_input(source) as table,
        open_output(output) as filtered,
        Progress(f"filtering {Path(source).name}", unit="lines") as progress,
    ):
        while block := table.readlines(_BLOCK):
            chosen = [line for line in block if phrases.occurs(line.partition(_PIPES)[0])]
            # the text loader of reordering tables ignores a last line without a line feed
            filtered.writelines(line if line.endswith(b"\n") else line + b"\n" for line in chosen)
            lines += len(block)
            kept += len(chosen)
            progress.advance(len(block))
    return lines, kept


def filter_system(
    ini: MosesIni, text: Sequence[bytes], folder: str | Path
) -> tuple[MosesIni, list[FilteredTable]]:
    """Filter the tables of a system to a text, once; a second call finds what the first left.

    Args:
        ini: The system; its paths resolve against the current directory.
        text: What will be translated.
        folder: Gets its name only when everything in it is whole.

    Returns:
        The system with absolute paths to the filtered tables, also written to
        ``folder/moses.ini``, and what was filtered (nothing the second time).

    Raises:
        InputError: A table does not exist or is damaged, or what its feature is called cannot be
            the name of a file.
    """
    folder = Path(folder).absolute()
    names = [
        (feature, filtered_name(ini, feature)) for feature in ini.features if is_filterable(feature)
    ]
    if (folder / INI_NAME).exists():
        return MosesIni.read(folder / INI_NAME), []
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    phrases = PhraseFilter(text)
    reports = []
    for feature, name in names:
        found = find_model_file(feature.options["path"], ini=ini.path)
        reports.append(FilteredTable(feature.name, *filter_table(found.path, part / name, phrases)))
        ini = ini.with_feature_option(feature.name, "path", str(folder / name))
    write_atomically(part / INI_NAME, ini.to_bytes())
    part.rename(folder)
    return ini, reports


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
