"""Words and their normal forms: reading, checking, and remembering what was read.

A file of pairs has one word a line: the word as it is spelt, a tab, its normal form. Either may
consist of several words with spaces between them. Empty lines are the ends of sentences and are
skipped. All text is composed (Unicode NFC), so that the same letter is the same character.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from moses_integration.system_building.corpus.text_preparation import read_text
from phrasescore.errors import CorpusError, counted
from phrasescore.runs.final_names import write_atomically

# a file with more words per entry than this holds sentences
_WORDS_OF_AN_ENTRY = 4.0


@dataclass(frozen=True)
class Words:
    """Words, and their normal forms where these are known.

    Args:
        words: The words, composed, without spaces at the ends.
        forms: Their normal forms, or nothing.
        notes: What was changed in reading.
    """

    words: tuple[str, ...]
    forms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A digest of words and forms."""
        return hashlib.sha256("\n".join((*self.words, "", *self.forms)).encode()).hexdigest()


class _Reader:
    """Reads the entries of one file, and counts what it changes.

    Args:
        path: The file, or ``-`` for standard input.
        lowercase: Whether to lower-case all text.
    """

    def __init__(self, path: str | Path, *, lowercase: bool) -> None:
        self._path, self._lowercase = path, lowercase
        self._recomposed = 0

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the numbers and the text of the lines, the line end of Windows removed."""
        for number, line in enumerate(read_text(self._path), 1):
            yield number, line.removesuffix("\r")

    def entry(self, text: str) -> str:
        """Return a word or form in the spelling that everything compares."""
        composed = unicodedata.normalize("NFC", text.strip())
        self._recomposed += composed != text.strip()
        return composed.lower() if self._lowercase else composed

    def error(self, problem: str, number: int | None, remedy: str) -> CorpusError:
        return CorpusError(problem, path=self._path, line=number, remedy=remedy)

    def notes(self) -> tuple[str, ...]:
        if not self._recomposed:
            return ()
        texts = counted(self._recomposed, "text")
        return (f"{self._path}: {texts} in decomposed Unicode (NFD), composed here (NFC)",)


def read_pairs(path: str | Path, *, lowercase: bool = False) -> Words:
    """Read words and their normal forms.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is not a word, a tab and a form; the text is not UTF-8; there is no
            pair at all; or the file holds sentences.
    """
    reader = _Reader(path, lowercase=lowercase)
    words: list[str] = []
    forms: list[str] = []
    for number, line in reader.lines():
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            raise reader.error(
                "no tab between a word and its normal form"
                if len(columns) == 1
                else f"{len(columns)} columns, where a word and its normal form were expected",
                number,
                "write one word a line: the word, a tab, its normal form",
            )
        word, form = map(reader.entry, columns)
        if not word or not form:
            raise reader.error(
                f"an empty {'form' if word else 'word'}",
                number,
                "remove the line, or fill in what is missing",
            )
        words.append(word)
        forms.append(form)
    if not words:
        raise reader.error(
            "there is no word in it", None, "give lines with a word, a tab and its normal form"
        )
    spaces = sum(text.count(" ") for text in words)
    if spaces / len(words) + 1 > _WORDS_OF_AN_ENTRY:
        raise reader.error(
            f"the entries have {spaces / len(words) + 1:.0f} words on average, so they are "
            "sentences",
            None,
            "write one word a line with its normal form; phrasescore build is for sentences",
        )
    return Words(tuple(words), tuple(forms), reader.notes())


def read_words(path: str | Path, *, lowercase: bool = False) -> Words:
    """Read one word a line; an empty line stays an empty word.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line has several columns, or the text is not UTF-8.
    """
    reader = _Reader(path, lowercase=lowercase)
    words = []
    for number, line in reader.lines():
        if "\t" in line:
            raise reader.error(
                "a tab, where a word alone was expected", number, "give the first column: cut -f 1"
            )
        words.append(reader.entry(line))
    return Words(tuple(words), notes=reader.notes())


@dataclass(frozen=True)
class Memory:
    """The most frequent normal form of every known word.

    Args:
        forms: By word, its most frequent form and how often the word was seen in all.
    """

    forms: dict[str, tuple[str, int]]

    @classmethod
    def from_pairs(cls, pairs: Words) -> Memory:
        """Remember pairs; of forms that are equally frequent, the first one wins."""
        seen: dict[str, Counter[str]] = {}
        for word, form in zip(pairs.words, pairs.forms, strict=True):
            seen.setdefault(word, Counter())[form] += 1
        return cls(
            {word: (forms.most_common(1)[0][0], forms.total()) for word, forms in seen.items()}
        )

    @classmethod
    def read(cls, path: Path) -> Memory:
        """Read what ``write`` wrote.

        Raises:
            InputError: The file cannot be read.
            CorpusError: A line is damaged.
        """
        forms = {}
        for number, line in enumerate(read_text(path), 1):
            match line.split("\t"):
                case word, form, seen if seen.isdecimal():
                    forms[word] = form, int(seen)
                case _:
                    raise CorpusError(
                        "not a word, its form and how often it was seen",
                        path=path,
                        line=number,
                        remedy="train the normaliser again",
                    )
        return cls(forms)

    def write(self, path: str | Path) -> None:
        """Write one word a line: the word, its most frequent form, how often it was seen."""
        lines = (f"{word}\t{form}\t{seen}\n" for word, (form, seen) in self.forms.items())
        write_atomically(path, "".join(lines).encode())

    def form(self, word: str, times: int | None) -> str | None:
        """Return the form of a word that was seen at least so many times, if there is one."""
        form, seen = self.forms.get(word, ("", 0))
        return form if times is not None and seen >= times else None


def share_right(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of words whose form is right (0 to 1)."""
    return sum(map(str.__eq__, found, wanted)) / len(wanted)
