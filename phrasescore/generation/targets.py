"""What a search is asked for, and the targets that it found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import SettingsError
from phrasescore.words.token_sequences import TokenSequences

# of the longest target without --max-length: times the source's words, and at least
_TIMES_SOURCE, _SHORTEST_LIMIT = 3, 10


@dataclass(frozen=True)
class TargetSettings:
    """Which targets are allowed.

    Args:
        max_length: Words without </s>, at which a target must end; ``None``: three times the words
            of its source, and at least 10.
        unknown: Whether ``<unk>`` may be one of the words.
        length_bounds: Whether a target has at least half as many words as its source, and without
            ``max_length`` at most three times as many symbols, </s> counted on both sides, as in
            the program of Bahdanau et al. (2014).
    """

    max_length: int | None = None
    unknown: bool = True
    length_bounds: bool = False

    def limits(self, source_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (N,) how many words the targets of each source may have."""
        if self.max_length is not None:
            return np.full(len(source_lengths), self.max_length, np.int64)
        if self.length_bounds:
            return _TIMES_SOURCE * (source_lengths + 1) - 1
        return np.maximum(_TIMES_SOURCE * source_lengths, _SHORTEST_LIMIT)

    def least(self, source_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (N,) how many words the targets of each source must have."""
        if not self.length_bounds:
            return np.zeros(len(source_lengths), np.int64)
        return np.minimum((source_lengths + 1) // 2, self.limits(source_lengths))


@dataclass(frozen=True)
class BeamSettings:
    """How to search for the most probable targets.

    Args:
        size: Hypotheses of each source that are alive or finished at a time.
        best: How many targets of each source to return, at most ``size``.
        length_normalisation: Rank by ln p divided by the words, </s> counted.
    """

    size: int = 10
    best: int = 10
    length_normalisation: bool = False

    def __post_init__(self) -> None:
        if self.best > self.size:
            raise SettingsError(
                f"a beam of {self.size} cannot give the {self.best} best targets",
                remedy=f"give --beam at least {self.best}, or a smaller --nbest-size",
            )


@dataclass(frozen=True)
class SampleSettings:
    """How to draw targets at random.

    Args:
        count: How many to draw for each source.
        seed: For the random numbers; those of a source depend on it and on the source's number.
        temperature: Words are drawn from softmax(ln p / temperature); 1 is the model itself.
        best: How many distinct targets of each source to return; ``None``: all that were drawn.
    """

    count: int
    seed: int = 1
    temperature: float = 1.0
    best: int | None = None


@dataclass(frozen=True)
class Targets:
    """Targets of N sources, those of a source together, the best first.

    Args:
        offsets: (N + 1,) the targets of source n are ``offsets[n]`` to ``offsets[n + 1]``.
        words: Their ids, without </s>.
        ln_p: (targets,) ln p(target and </s> | source).
        counts: (targets,) how often each was drawn; 1 each where they were searched for.
    """

    offsets: NDArray[np.int64]
    words: TokenSequences
    ln_p: NDArray[np.float64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ln_p)


@dataclass(frozen=True)
class Found:
    """Targets that ended at one step of a search.

    Args:
        owners: (targets,) the source of each.
        words: (targets, steps) their ids.
        ln_p: (targets,) with </s>.
        counts: (targets,).
    """

    owners: NDArray[np.int64]
    words: NDArray[np.int32]
    ln_p: NDArray[np.float64]
    counts: NDArray[np.int64]


def ranking_scores(
    ln_p: NDArray[np.float64], lengths: NDArray[np.int64], length_normalisation: bool
) -> NDArray[np.float64]:
    """Return what targets are ranked by: ln p, or ln p divided by the words, </s> counted."""
    return ln_p / (lengths + 1) if length_normalisation else ln_p


def ranked(
    found: list[Found], sources: int, best: int | None, *, length_normalisation: bool = False
) -> Targets:
    """Put targets in the order of their sources and, of each, of their ln p.

    Args:
        found: Of the steps of one search, in their order; what ended earlier wins a tie.
        sources: N.
        best: How many targets of a source to keep; ``None`` for all.
        length_normalisation: Order by ln p divided by the words, </s> counted.
    """
    owners = np.concatenate([each.owners for each in found])
    ln_p = np.concatenate([each.ln_p for each in found])
    counts = np.concatenate([each.counts for each in found])
    lengths = np.concatenate([np.full(len(f.owners), f.words.shape[1], np.int64) for f in found])
    tokens = np.concatenate([each.words.ravel() for each in found])
    score = ranking_scores(ln_p, lengths, length_normalisation)
    order = np.lexsort((np.arange(len(owners)), -score, owners))
    begins = np.searchsorted(owners[order], np.arange(sources + 1))
    if best is not None:
        rank = np.arange(len(order)) - begins[owners[order]]
        order = order[rank < best]
        begins = np.searchsorted(owners[order], np.arange(sources + 1))
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    words = TokenSequences(tokens.astype(np.int32), offsets).select(order)
    return Targets(begins.astype(np.int64), words, ln_p[order], counts[order])
