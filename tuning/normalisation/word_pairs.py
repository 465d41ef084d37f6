"""Words with their normal forms: reading, remembering the most frequent forms, and scoring.

A file of pairs has one word per line: the word as it is spelt, a tab, its normal form. Both may
contain spaces. Empty lines, which end sentences, are skipped, and so are normal forms without a
word, which many corpora have where the editor added a word. All text is converted to
composed characters (Unicode NFC), so that equal letters are equal characters.

The measures follow Bollmann (2019), "A Large-Scale Comparison of Historical Text Normalization
Systems", section 4.2. Word accuracy is the share of words with the correct form; the error rate is
the mean over words of the Levenshtein distance divided by the length of the normal form.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from moses_integration.text.preparation import read_text
from phrasescore.errors import CorpusError, counted
from phrasescore.runs.final_names import write_atomically
from phrasescore.table.input_files import whole_number
from tuning.metrics.metric_settings import TEST_SEED, ScoreTable, points

# a file whose entries have more words than this on average holds sentences
_MAX_MEAN_WORDS = 4.0
_PAIRS = "write one word on each line: the word, a tab, its normal form"
_DRAWS = 1000
_LONGEST_WORD = 300  # characters


@dataclass(frozen=True)
class Words:
    """Words, with their normal forms if these are known.

    Args:
        words: The words, composed, without spaces at the ends.
        forms: The normal form of each word; empty if the forms are not known.
        notes: Notes for the user about changes made while reading.
    """

    words: tuple[str, ...]
    forms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A digest of words and forms."""
        return hashlib.sha256("\n".join((*self.words, "", *self.forms)).encode()).hexdigest()


def read_pairs(path: str | Path, *, lowercase: bool = False) -> Words:
    """Read words and their normal forms.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is not a word, a tab and a form; the text is not UTF-8; there is no
            pair at all; or the file holds sentences.
    """
    rows, notes = _read_columns(path, ("a word", "its normal form"), lowercase=lowercase)
    if not rows:
        raise CorpusError("the file contains no words", path=path, remedy=_PAIRS)
    mean = sum(word.count(" ") + 1 for word, _ in rows) / len(rows)
    if mean > _MAX_MEAN_WORDS:
        raise CorpusError(
            f"the entries have {mean:.0f} words on average, so they are sentences",
            path=path,
            remedy=f"{_PAIRS}; phrasescore build is for sentences",
        )
    words, forms = zip(*rows, strict=True)
    return Words(words, forms, notes)


def read_words(path: str | Path, *, lowercase: bool = False) -> Words:
    """Read one word per line; an empty line stays an empty word.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line has several columns, or the text is not UTF-8.
    """
    rows, notes = _read_columns(path, ("a word",), lowercase=lowercase)
    return Words(tuple(word for (word,) in rows), notes=notes)


def _read_columns(
    path: str | Path, names: tuple[str, ...], *, lowercase: bool
) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Read the columns of each line, composed and without outer spaces; return them with notes.

    If several columns are expected, empty lines and lines without a word are skipped, and no other
    column may be empty.
    """
    rows = []
    recomposed = wordless = 0
    for number, line in enumerate(read_text(path), 1):
        texts = [text.strip() for text in line.removesuffix("\r").split("\t")]
        several = len(names) > 1
        if several and not texts[0] and len(texts) <= len(names):
            wordless += any(texts)
            continue
        if len(texts) != len(names) or (several and not all(texts)):
            problem = f"{counted(len(texts), 'column')}; expected {' and '.join(names)}"
            if len(texts) == len(names):
                problem = f"{names[texts.index('')]} is empty"
            remedy = _PAIRS if several else "give the first column: cut -f 1"
            raise CorpusError(problem, path=path, line=number, remedy=remedy)
        composed = [unicodedata.normalize("NFC", text) for text in texts]
        for name, text in zip(names, composed, strict=True):
            if len(text) > _LONGEST_WORD:
                raise CorpusError(
                    f"{name} of {len(text):,} characters, expected at most {_LONGEST_WORD}",
                    path=path,
                    line=number,
                    remedy="split or remove it",
                )
        recomposed += sum(map(str.__ne__, composed, texts))
        rows.append(tuple(text.lower() if lowercase else text for text in composed))
    notes = []
    if recomposed:
        texts_read = counted(recomposed, "text")
        notes.append(f"{path}: {texts_read} in decomposed Unicode (NFD), composed here (NFC)")
    if wordless:
        notes.append(f"{path}: {counted(wordless, 'normal form')} without a word skipped")
    return rows, tuple(notes)


@dataclass(frozen=True)
class Memory:
    """The most frequent normal form of every known word.

    Args:
        forms: Each word, mapped to its most frequent form and the number of the word's occurrences.
    """

    forms: dict[str, tuple[str, int]]

    @classmethod
    def from_pairs(cls, pairs: Words) -> Memory:
        """Remember each word's most frequent form (the first, if several are equally frequent)."""
        seen: dict[str, Counter[str]] = {}
        for word, form in zip(pairs.words, pairs.forms, strict=True):
            seen.setdefault(word, Counter())[form] += 1
        most = {word: (forms.most_common(1)[0][0], forms.total()) for word, forms in seen.items()}
        return cls(most)

    @classmethod
    def read(cls, path: Path) -> Memory:
        """Read a file that ``write`` wrote.

        Raises:
            InputError: The file cannot be read.
            CorpusError: A line is damaged.
        """
        forms = {}
        for number, line in enumerate(read_text(path), 1):
            match line.split("\t"):
                case word, form, seen if (times := whole_number(seen, 10**15)) is not None:
                    forms[word] = form, times
                case _:
                    raise CorpusError(
                        "not a word, its form and how often it was seen",
                        path=path,
                        line=number,
                        remedy="train the normaliser again",
                    )
        return cls(forms)

    def write(self, path: str | Path) -> None:
        """Write one line per word: the word, its most frequent form, the word's occurrences."""
        lines = (f"{word}\t{form}\t{seen}\n" for word, (form, seen) in self.forms.items())
        write_atomically(path, "".join(lines).encode())

    def form(self, word: str, times: int | None) -> str | None:
        """Return the form of a word seen at least ``times`` times; ``None`` for other words."""
        form, seen = self.forms.get(word, ("", 0))
        return form if times is not None and seen >= times else None


def share_right(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of words with the correct form, from 0 to 1."""
    return sum(map(str.__eq__, found, wanted)) / len(wanted)


@dataclass(frozen=True)
class Score:
    """A mean over words, with its 95 % interval by the bootstrap (Koehn 2004)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{points(self.mean)} ({points(self.low)}–{points(self.high)})"


@dataclass(frozen=True)
class WordScores:
    """The scores of a set of words.

    Args:
        name: The name of the set.
        words: The number of words.
        accuracy: The share of words with the correct form.
        cer: The character error rate.
    """

    name: str
    words: int
    accuracy: Score
    cer: Score

    @classmethod
    def from_forms(cls, name: str, found: Sequence[str], wanted: Sequence[str]) -> WordScores:
        """Compare forms with the correct ones."""
        rows = [
            (form == right, Levenshtein.distance(form, right) / len(right))
            for form, right in zip(found, wanted, strict=True)
        ]
        values = np.array(rows, np.float64)
        rng, count = np.random.default_rng(TEST_SEED), len(values)
        drawn = [values[rng.integers(count, size=count)].mean(0) for _ in range(_DRAWS)]
        figures = np.stack([values.mean(0), *np.percentile(drawn, [2.5, 97.5], axis=0)])
        accuracy, cer = (Score(*column) for column in figures.T.tolist())
        return cls(name, count, accuracy, cer)


def score_table(scores: Sequence[WordScores]) -> ScoreTable:
    """Return a table of the scores."""
    rows = [[each.name, f"{each.words:,}", str(each.accuracy), str(each.cer)] for each in scores]
    return ScoreTable(["", "words", "accuracy", "CER"], rows)


def evaluate(
    best: Mapping[str, Sequence[str]], pairs: Words, memory: Memory
) -> tuple[WordScores, ...]:
    """Compare the best form of each word with its normal form; known words are remembered.

    Returns:
        The scores of all words, of known and unknown words, and of leaving all words unchanged.
    """
    found = [best[word][0] for word in pairs.words]
    known = np.array([word in memory.forms for word in pairs.words])
    groups = {
        "all words": np.ones(len(known), np.bool_), "known words": known, "unknown words": ~known
    }  # fmt: skip
    scores = [
        WordScores.from_forms(name, [*compress(found, chosen)], [*compress(pairs.forms, chosen)])
        for name, chosen in groups.items()
        if chosen.any()
    ]
    return (*scores, WordScores.from_forms("unchanged", pairs.words, pairs.forms))
