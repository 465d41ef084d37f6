"""Score the candidates of an n-best list with phrase models, and add the scores as features.

The value of a candidate is the sum of ln p of its phrase pairs, each floored at -100, as the
decoder itself would have computed it from a column of the phrase table. Every pair is scored once,
in however many candidates and sentences it occurs. Memory does not depend on the list's length.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moses_integration.nbest.format import CUT_REMEDY, CUT_SHORT
from moses_integration.nbest.segmentation import PhrasePair, phrase_pairs
from phrasescore.errors import ModelError, NBestError, SettingsError, counted
from phrasescore.files import STANDARD_STREAM, open_input, open_output, read_lines
from phrasescore.progress import Progress
from phrasescore.scoring.block_scoring import ScoringModel
from phrasescore.scoring.probability_column import FLOOR_LN
from phrasescore.table.block import read_blocks
from phrasescore.table.phrase_table import phrase_tokens, scored_tokens
from phrasescore.words.token_sequences import from_lists
from phrasescore.words.word_table import WordTable

LINES_PER_CHUNK = 20_000
_MOST_REMEMBERED = 1_000_000
_PIPES = b"|||"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@dataclass(frozen=True)
class NBestModel:
    """A model and the feature that its scores become.

    Args:
        name: What the feature is called in the list.
        model: What scores; it may read either side.
        factor: Which factor of a factored word it reads, from 0.
    """

    name: str
    model: ScoringModel
    factor: int = 0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SettingsError(
                f"a feature cannot be called {self.name!r}",
                remedy="use letters and digits only, a letter first, as mert-moses.pl requires",
            )

    def ln_p(self, pairs: Sequence[PhrasePair]) -> list[float]:
        """Score distinct pairs, and floor the scores as Moses does.

        Raises:
            ModelError: A score is not a number.
        """
        # pairs with the same source are neighbours, so that it is encoded once
        order = sorted(range(len(pairs)), key=pairs.__getitem__)
        sides = {
            "source": [self._tokens(pairs[row][0], "source") for row in order],
            "target": [self._tokens(pairs[row][1], "target") for row in order],
        }
        read, predicted = (
            from_lists([vocabulary.encode(tokens) for tokens in sides[side]])
            for side, vocabulary in self.model.sides
        )
        ln_p = self.model.scorer.score(read, predicted)
        if np.isnan(ln_p).any():
            raise ModelError(
                f"the model {self.model.name} gives no number for a phrase pair",
                remedy="train it again; its parameters are not finite",
            )
        values = np.empty(len(pairs))
        values[order] = np.maximum(ln_p, FLOOR_LN)
        return list(map(float, values))

    def _tokens(self, phrase: bytes, side: str) -> list[bytes]:
        # Moses prints surfaces alone unless it is told otherwise
        factor = self.factor if b"|" in phrase else 0
        return scored_tokens(phrase, "source" if side == "source" else "target", factor)


@dataclass(frozen=True)
class NBestReport:
    """What was done.

    Args:
        candidates: How many lines the list has.
        pairs: How many phrase pairs they are made of, each use counted.
        scored: How many of those were scored, because they had not been before.
        copied: How many are unknown words that Moses copied or dropped, and that get 0.
    """

    candidates: int
    pairs: int
    scored: int
    copied: int

    def __str__(self) -> str:
        text = f"{counted(self.candidates, 'candidate')} of {counted(self.pairs, 'phrase pair')}, "
        text += f"{self.scored:,} of them scored"
        return text + (f"; {self.copied:,} unknown words get 0" if self.copied else "")


def rescore_nbest(
    path: str | Path,
    source: str | Path,
    output: str | Path,
    models: Sequence[NBestModel],
    table_words: AbstractSet[bytes] | None = None,
    *,
    lines_per_chunk: int = LINES_PER_CHUNK,
) -> NBestReport:
    """Write an n-best list with one more feature for each model; every other byte stays.

    Args:
        path: The list, plain or gzip, with the phrases of each candidate.
        source: The text it translates, a line for each sentence.
        output: Where to; it gets its name when it is whole; ``-`` is standard output.
        models: At least one.
        table_words: The words that the phrase table translates by themselves; others were copied
            or dropped by Moses and get 0, as they do from a table. ``None``: they get the model's
            score.
        lines_per_chunk: How many lines to hold at a time.

    Raises:
        NBestError: The list breaks its format, does not say of which phrases its candidates are
            made, does not fit the source, or has such a feature already.
        SettingsError: Two features have the same name, or the output is the list itself.
    """
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise SettingsError(f"two features are called {names[0]}", remedy="give each its --name")
    if str(output) != STANDARD_STREAM and Path(path).resolve() == Path(output).resolve():
        raise SettingsError(
            "the output is the list itself", path=output, remedy="name another output with -o"
        )
    sentences = [tuple(phrase_tokens(line.removesuffix(b"\r"))) for line in read_lines(source)]
    rescorer = _Rescorer(str(path), sentences, models, table_words)
    with (
        open_input(path) as stream,
        open_output(output) as written,
        Progress("rescoring", unit="candidates") as progress,
    ):
        first = 1
        while lines := list(itertools.islice(stream, lines_per_chunk)):
            written.writelines(rescorer.rescored(lines, first))
            first += len(lines)
            progress.advance(len(lines))
    return rescorer.report()


class _Rescorer:
    """Adds features to lines, and remembers the pairs that were scored."""

    def __init__(
        self,
        path: str,
        sentences: Sequence[tuple[bytes, ...]],
        models: Sequence[NBestModel],
        table_words: AbstractSet[bytes] | None,
    ) -> None:
        self._path, self._sentences, self._models = path, sentences, models
        self._table_words = table_words
        self._known: dict[PhrasePair, tuple[float, ...]] = {}
        self._candidates = self._pairs = self._scored = self._copied = 0

    def report(self) -> NBestReport:
        return NBestReport(self._candidates, self._pairs, self._scored, self._copied)

    def rescored(self, lines: Sequence[bytes], first: int) -> Iterator[bytes]:
        """Yield lines with their new features.

        Args:
            lines: With their line feeds.
            first: The number of the first one.
        """
        read = []
        for number, line in enumerate(lines, first):
            try:
                read.append(self._read(line))
            except NBestError as error:
                raise error.at(self._path, number) from None
        self._score({pair for _, pairs in read for pair in pairs})
        zero = (0.0,) * len(self._models)
        for columns, pairs in read:
            self._candidates += bool(columns[1:])
            values = [self._known[pair] for pair in pairs] or [zero]
            yield self._with_features(columns, [sum(each) for each in zip(*values, strict=True)])

    def _read(self, line: bytes) -> tuple[list[bytes], list[PhrasePair]]:
        """Split a line into columns and find its pairs; a blank line has neither."""
        if not line.endswith(b"\n"):
            raise NBestError(CUT_SHORT, remedy=CUT_REMEDY)
        columns = line.split(_PIPES, 6)
        if not line.strip():
            return columns, []
        if len(columns) < 4:
            raise NBestError(
                f"{counted(len(columns), 'column')}, expected at least 4 "
                "(sentence ||| words ||| features ||| total)",
                remedy=CUT_REMEDY,
            )
        number = columns[0].strip(b" ")
        if not number.isdigit() or int(number) >= len(self._sentences):
            raise NBestError(
                f"sentence {number[:40].decode('utf-8', 'replace')!r}, but the source has "
                f"{len(self._sentences):,} (from 0)",
                remedy="name the text that the list was made from as --source",
            )
        for model in self._models:
            if b" %s= " % model.name.encode() in columns[2]:
                raise NBestError(
                    f"there is a feature {model.name} already", remedy="give another --name"
                )
        pairs = phrase_pairs([column.rstrip(b"\n") for column in columns], self._source(number))
        self._pairs += len(pairs)
        kept = [pair for pair in pairs if not self._is_copied(pair)]
        self._copied += len(pairs) - len(kept)
        return columns, kept

    def _source(self, number: bytes) -> tuple[bytes, ...]:
        return self._sentences[int(number)]

    def _is_copied(self, pair: PhrasePair) -> bool:
        """Whether a pair is an unknown word, copied or dropped, and not from the table."""
        source, target = pair
        return (
            self._table_words is not None
            and target in (source, b"")
            and b" " not in source
            and source not in self._table_words
        )

    def _score(self, pairs: set[PhrasePair]) -> None:
        if len(self._known) + len(pairs) > _MOST_REMEMBERED:
            self._known = {pair: self._known[pair] for pair in pairs if pair in self._known}
        new = sorted(pairs - self._known.keys())
        if not new:
            return
        self._scored += len(new)
        values = [model.ln_p(new) for model in self._models]
        self._known.update(zip(new, zip(*values, strict=True), strict=True))

    def _with_features(self, columns: list[bytes], values: Sequence[float]) -> bytes:
        if len(columns) < 4:
            return _PIPES.join(columns)
        features = columns[2]
        end = len(features.rstrip(b" "))
        added = b"".join(
            b" %s= %.6g" % (model.name.encode(), value)
            for model, value in zip(self._models, values, strict=True)
        )
        return _PIPES.join(
            [*columns[:2], features[:end] + added + (features[end:] or b" "), *columns[3:]]
        )


def read_table_words(table: str | Path) -> set[bytes]:
    """Find the words that a phrase table translates by themselves.

    Raises:
        InputError: The table cannot be read.
        PhraseTableError: It breaks the format.
    """
    words = WordTable()
    with Progress("reading the words of the table", unit="lines") as progress:
        for block in read_blocks(table):
            spans = block.token_spans("source")
            alone = spans.offsets[:-1][np.diff(spans.offsets) == 1]
            words.add_spans(spans.data, spans.begins[alone], spans.ends[alone])
            progress.advance(len(block))
    return set(words.words())
