"""What models say of candidates: ln p of whole translations, or of the phrases they are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.nbest.segmentation import PhrasePair
from phrasescore.errors import ModelError, SettingsError
from phrasescore.runs.progress import Progress
from phrasescore.scoring.block_scoring import ScoringModel
from phrasescore.scoring.probability_column import FLOOR_LN
from phrasescore.table.block import read_blocks
from phrasescore.table.phrase_table import Side, scored_tokens
from phrasescore.words.token_sequences import TokenSequences, from_lists
from phrasescore.words.word_table import WordTable

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@dataclass(frozen=True)
class Candidate:
    """One candidate of a list.

    Args:
        source: The words of the sentence that it translates; none where no model reads them.
        words: Its own.
        phrases: What it is made of, in the order of the target; none where no model asks.
    """

    source: tuple[bytes, ...]
    words: tuple[bytes, ...]
    phrases: tuple[PhrasePair, ...]


@dataclass(frozen=True)
class NBestModel:
    """A model and the feature that its scores become.

    Args:
        name: What the feature is called in the list.
        model: What scores; it may read either side.
        factor: Which factor of a factored word it reads, from 0.
        of_sentences: Whether it scores whole translations; otherwise their phrases.
        reads_source: Whether it reads a source at all.
    """

    name: str
    model: ScoringModel
    factor: int = 0
    of_sentences: bool = False
    reads_source: bool = True

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SettingsError(
                f"a feature cannot be called {self.name!r}",
                remedy="use letters and digits only, a letter first, as mert-moses.pl requires",
            )

    def ln_p(self, pairs: Sequence[PhrasePair]) -> NDArray[np.float64]:
        """Return ln p of pairs of texts, ``(N,)``.

        Raises:
            ModelError: A score is not a number.
        """
        read, predicted = (
            from_lists([vocabulary.encode(self._tokens(pair, side)) for pair in pairs])
            for side, vocabulary in self.model.sides
        )
        if not self.reads_source:
            read = TokenSequences(read.tokens[:0], np.zeros_like(read.offsets))
        ln_p = self.model.scorer.score(read, predicted)
        if np.isnan(ln_p).any():
            what = "translation" if self.of_sentences else "phrase pair"
            raise ModelError(
                f"the model {self.model.name} gives no number for a {what}",
                remedy="train it again; its parameters are not finite",
            )
        return ln_p

    def _tokens(self, pair: PhrasePair, side: Side) -> list[bytes]:
        text = pair[0] if side == "source" else pair[1]
        # Moses prints surfaces alone unless it is told otherwise
        return scored_tokens(text, side, self.factor if b"|" in text else 0)


@dataclass(frozen=True)
class CopiedWords:
    """Tells words that Moses copied or dropped from those of the phrase table.

    Args:
        table_words: The words that the table translates by themselves; ``None``: not known.
    """

    table_words: AbstractSet[bytes] | None

    def has(self, pair: PhrasePair) -> bool:
        """Whether a pair is an unknown word, copied or dropped, and not from the table."""
        source, target = pair
        return (
            self.table_words is not None
            and target in (source, b"")
            and b" " not in source
            and source not in self.table_words
        )


def ln_p_of_sentences(
    model: NBestModel, candidates: Sequence[Candidate]
) -> tuple[list[float], int]:
    """Return ln p of each candidate, and how many distinct ones were scored.

    Candidates of one sentence share the work of reading it and that of their common prefixes; for
    a model of the other direction each distinct candidate is read.
    """
    pairs = [(b" ".join(each.source), b" ".join(each.words)) for each in candidates]
    distinct = sorted(set(pairs))
    known = dict(zip(distinct, model.ln_p(distinct).tolist(), strict=True))
    return [known[pair] for pair in pairs], len(distinct)


def ln_p_of_phrases(
    model: NBestModel, candidates: Sequence[Candidate], copied: CopiedWords
) -> tuple[list[float], int, int]:
    """Return the sum of ln p of each candidate's phrases, each floored at -100 as Moses does.

    That is what the decoder itself would have computed from a column of the phrase table.

    Returns:
        The sums, how many distinct pairs were scored, and how many were copied and get 0.
    """
    zero = {pair for each in candidates for pair in each.phrases if copied.has(pair)}
    distinct = sorted({pair for each in candidates for pair in each.phrases} - zero)
    ln_p = np.maximum(model.ln_p(distinct), FLOOR_LN)
    known = dict(zip(distinct, ln_p.tolist(), strict=True))
    sums = [sum(known.get(pair, 0.0) for pair in each.phrases) for each in candidates]
    return sums, len(distinct), sum(pair in zero for each in candidates for pair in each.phrases)


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
