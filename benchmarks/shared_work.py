"""Counts the minimum work of scoring a table: distinct encoder and decoder steps, in multiply-adds.

The encoder needs a step for each distinct prefix of a source; the decoder needs one for each
distinct pair of a source and a target prefix. Prefixes are compared by 64-bit hashes of their ids,
computed one position at a time over all phrases; the probability of a collision among 10^7 prefixes
is about 3 in a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.model.folder import LoadedModel
from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.sequence_model import END
from phrasescore.table.block import read_blocks
from phrasescore.words.token_sequences import TokenSequences

Hashes = NDArray[np.uint64]
_FIRST, _SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT, _ONE = np.uint64(33), np.uint64(1)


@dataclass(frozen=True)
class Steps:
    """The number of times that each part of the network runs for a table.

    Attributes:
        encoder: Steps of the encoder, including </s>.
        sources: Computations once per source, from its summary.
        decoder: Steps of the decoder's recurrent unit.
        rows: Rows of the output layer, each with its log-sum-exp.
    """

    encoder: int
    sources: int
    decoder: int
    rows: int

    def multiply_adds(self, model: EncoderDecoderSettings) -> int:
        """Return the multiply-adds of these steps; each term is the size of a weight matrix."""
        E, H, M, R = model.embedding, model.hidden, model.maxout, model.rank
        encoder = 3 * H * (E + H)
        source = 3 * H * H + H * 2 * M + H * H  # for the unit, the readout, the first state
        decoder = 3 * H * (E + H)
        row = (H + E) * 2 * M + M * R + R * model.target_vocabulary
        return (
            self.encoder * encoder
            + self.sources * source
            + self.decoder * decoder
            + self.rows * row
        )


@dataclass(frozen=True)
class Work:
    """The steps of a table if each pair is computed alone, and if equal steps are shared."""

    pairs: int
    alone: Steps
    shared: Steps

    def to_json(self, model: EncoderDecoderSettings) -> dict[str, object]:
        alone, shared = (steps.multiply_adds(model) for steps in (self.alone, self.shared))
        return {
            "pairs": self.pairs,
            "steps alone": asdict(self.alone),
            "steps shared": asdict(self.shared),
            "multiply-adds alone": alone,
            "multiply-adds shared": shared,
            "savings factor": round(alone / shared, 3),
        }


def _mixed(hashes: Hashes, ids: NDArray[Any]) -> Hashes:
    """Return the hashes of prefixes that are one word longer (MurmurHash3's finaliser)."""
    value = (hashes + _ONE) * _FIRST ^ ids.astype(np.uint64) * _SECOND
    value = (value ^ (value >> _SHIFT)) * _FIRST
    value = (value ^ (value >> _SHIFT)) * _SECOND
    return np.asarray(value ^ (value >> _SHIFT))


def prefix_hashes(phrases: TokenSequences, start: Hashes) -> tuple[list[Hashes], Hashes]:
    """Hash every prefix of every phrase.

    Args:
        phrases: N phrases.
        start: ``(N,)`` the hash of each empty prefix.

    Returns:
        The hashes of prefixes of 1, 2, ... words, an array for each length; and ``(N,)`` the hashes
        of the whole phrases.
    """
    lengths, whole = phrases.lengths, start.copy()
    found = []
    for position in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > position)
        whole[rows] = _mixed(whole[rows], phrases.tokens[phrases.offsets[rows] + position])
        found.append(whole[rows])
    return found, whole


class _Distinct:
    """Counts all hashes and the distinct hashes, block by block."""

    def __init__(self) -> None:
        self.all, self._new, self._known = 0, 0, np.empty(0, np.uint64)
        self._waiting: list[Hashes] = []

    def add(self, hashes: list[Hashes]) -> None:
        self.all += sum(map(len, hashes))
        self._waiting.extend(map(np.unique, hashes))
        if sum(map(len, self._waiting)) > len(self._known) + (1 << 22):
            self._merge()

    def _merge(self) -> None:
        self._known = np.unique(np.concatenate([self._known, *self._waiting]))
        self._waiting = []

    @property
    def distinct(self) -> int:
        self._merge()
        return len(self._known)


def count_work(phrases: Iterator[tuple[TokenSequences, TokenSequences]]) -> Work:
    """Count the steps of pairs, given in blocks of (phrases read, phrases predicted)."""
    prefixes, sources, states = _Distinct(), _Distinct(), _Distinct()
    pairs = 0
    for read, predicted in phrases:
        found, whole = prefix_hashes(read, np.zeros(len(read), np.uint64))
        prefixes.add(found)
        # </s> in between distinguishes "a b" + "c" from "a" + "b c"
        whole = _mixed(whole, np.full(len(read), END))
        sources.add([whole])
        found, _ = prefix_hashes(predicted, whole)
        states.add(found)
        pairs += len(read)
    # </s> needs one more encoder step; the first target word needs a row but no decoder step
    alone = Steps(prefixes.all + pairs, pairs, states.all, states.all + pairs)
    n = sources.distinct
    shared = Steps(prefixes.distinct + n, n, states.distinct, states.distinct + n)
    return Work(pairs, alone, shared)


def work_of_table(table: Path, model: LoadedModel) -> Work:
    """Count the steps of scoring a table with a model."""

    def blocks() -> Iterator[tuple[TokenSequences, TokenSequences]]:
        for block in read_blocks(table):
            ids = (
                model.source_vocabulary.encode_spans(block.token_spans("source")),
                model.target_vocabulary.encode_spans(block.token_spans("target")),
            )
            yield ids if model.direction == "source-target" else ids[::-1]

    return count_work(blocks())
