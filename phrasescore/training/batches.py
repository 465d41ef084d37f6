"""Passes over the pairs that are learnt from, cut into batches, as tensors.

A plan cuts pairs into index arrays; it depends on the seed and the pass alone, so that a resumed
run meets the same batches. Memory does not grow with the pairs: a large table is gone through in
stretches. Each is made of many short runs of pairs from all over the table, so that its batches are
nearly as mixed as if all pairs had been shuffled.

Words seen once: where the shortlist has room for every word of a text, no ``<unk>`` occurs there. A
model would give a new word to be written no probability, and a new word to be read random numbers.
New words come about as often as words that occur once in the text (Good and Turing), so a share of
these become ``<unk>``, drawn anew for each batch.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.sequence_model import END, UNKNOWN, Batch
from phrasescore.training.pairs import EncodedPairs, PhraseSide, Remainder
from phrasescore.words.token_sequences import as_matrix

Indices = npt.NDArray[np.int64]
# source lengths, target lengths, batch size, random numbers
Plan = Callable[[Indices, Indices, int, np.random.Generator], list[Indices]]


def uniform_plan(
    source_lengths: Indices,
    target_lengths: Indices,
    size: int,
    rng: np.random.Generator,
) -> list[Indices]:
    """Cut the pairs into batches of one source and one target length each, in random order.

    No batch has padding. A batch holds about as many words as ``size`` average pairs, so that
    short pairs come in larger batches.

    Args:
        source_lengths: ``(N,)`` words of each source, without </s>.
        target_lengths: ``(N,)`` likewise.
        size: Pairs of average length in a batch.
        rng: Where the order comes from.

    Returns:
        Arrays of positions in ``0 .. N - 1``; together each position once.
    """
    steps = source_lengths + target_lengths + 2  # the </s> of both sides
    budget = size * float(steps.mean()) if len(steps) else 0.0
    order = rng.permutation(len(steps))
    widest = int(target_lengths.max(initial=0)) + 1
    shape = (source_lengths * widest + target_lengths)[order]
    order = order[np.argsort(shape, kind="stable")]
    edges = np.flatnonzero(np.diff(np.sort(shape))) + 1
    batches: list[Indices] = []
    for bucket in np.split(order, edges):
        if len(bucket):
            rows = max(1, round(budget / float(steps[bucket[0]])))
            batches.extend(np.split(bucket, range(rows, len(bucket), rows)))
    return [batches[at] for at in rng.permutation(len(batches))]


def _sorted_plan(
    source_lengths: Indices,
    target_lengths: Indices,
    size: int,
    rng: np.random.Generator,
    *,
    batches: int,
    max_length: int | None = None,
) -> list[Indices]:
    """Cut the pairs into batches as the authors did: groups of some batches, sorted by length.

    Inside a group, batches come out shortest first. Arguments and result as in
    :func:`uniform_plan`, and:

    Args:
        source_lengths: ``(N,)``.
        target_lengths: ``(N,)``.
        size: Pairs in a batch.
        rng: Where the order comes from.
        batches: Of a group.
        max_length: Pairs with a phrase of more words are left out.
    """
    longest = np.maximum(source_lengths, target_lengths)
    fits = longest <= (max_length or np.inf)
    order = rng.permutation(np.flatnonzero(fits))
    found: list[Indices] = []
    for first in range(0, len(order), size * batches):
        part = order[first : first + size * batches]
        part = part[np.argsort(longest[part], kind="stable")]
        found.extend(np.split(part, range(size, len(part), size)))
    return found


# the authors' sort_k_batches and seqlen for phrases
paper_plan = functools.partial(_sorted_plan, batches=10, max_length=30)
# and for sentences (Bahdanau et al., appendix B.2)
paper_sentence_plan = functools.partial(_sorted_plan, batches=20)


def bucket_plan(
    source_lengths: Indices,
    target_lengths: Indices,
    size: int,
    rng: np.random.Generator,
) -> list[Indices]:
    """Cut the pairs into batches of about the same lengths, in random order.

    Sentences have too many pairs of lengths for :func:`uniform_plan`, so batches have some padding.
    With it a batch holds at most about as many words as ``size`` average pairs. Arguments and
    result as there.
    """
    order = rng.permutation(len(source_lengths))
    order = order[np.lexsort((source_lengths[order], target_lengths[order]))]
    budget = size * (float((source_lengths + target_lengths).mean()) + 2) if len(order) else 0.0
    batches: list[Indices] = []
    first, widest = 0, 0
    sources = source_lengths[order].tolist()
    targets = target_lengths[order].tolist()  # ascending: the last is the longest of its batch
    for at, (source, target) in enumerate(zip(sources, targets, strict=True)):
        widest = max(widest, source)
        if at > first and (at + 1 - first) * (widest + target + 2) > budget:
            batches.append(order[first:at])
            first, widest = at, source
    batches.append(order[first:])
    return [batches[at] for at in rng.permutation(len(batches)) if len(batches[at])]


def make_batch(pairs: EncodedPairs, rows: Indices) -> Batch:
    """Gather the given rows of the pairs into one batch; shorter phrases are padded with </s>."""
    source_ids, source_lengths = as_matrix(pairs.source.select(rows), END)
    target_ids, target_lengths = as_matrix(pairs.target.select(rows), END)
    lengths = None
    if _differ(source_lengths) or _differ(target_lengths):
        lengths = torch.from_numpy(source_lengths), torch.from_numpy(target_lengths)
    return Batch(
        torch.from_numpy(source_ids),
        torch.from_numpy(target_ids),
        lengths,
        words=int(target_lengths.sum()) + len(rows),
    )


def _differ(lengths: Indices) -> bool:
    return bool((lengths != lengths[0]).any())


def share(pairs: Indices, rank: int, world: int) -> Indices:
    """Return the part of a batch that process ``rank`` of ``world`` works on."""
    return pairs[rank::world]


STRETCH = 1 << 21  # pairs, at most
_RUN = 1 << 10  # pairs that stay together


@dataclass(frozen=True)
class PlannedBatch:
    """A batch of a pass.

    Attributes:
        rows: ``(B,)`` which pairs.
        words: Their target words, with a </s> for each.
        words_per_batch: What the batches of its stretch have on average.
        is_last: Whether the pass ends with it.
    """

    rows: Indices
    words: int
    words_per_batch: float
    is_last: bool


class Passes:
    """All passes of a run; each depends on the seed and its number alone.

    Args:
        pairs: All pairs.
        rows: Which of them are learnt from.
        plan: Cuts pairs into batches.
        size: Pairs of average length in a batch.
        seed: For the orders.

    Attributes:
        words: Target words of a pass, with a </s> for each pair.
    """

    def __init__(
        self, pairs: EncodedPairs, rows: Remainder, plan: Plan, size: int, seed: int
    ) -> None:
        self._pairs, self._rows, self._plan, self._size, self._seed = pairs, rows, plan, size, seed
        parts = (rows[first : first + STRETCH] for first in range(0, len(rows), STRETCH))
        self.words = len(rows) + sum(int(pairs.target.lengths(part).sum()) for part in parts)

    def batches(self, number: int, done: int = 0) -> Iterator[PlannedBatch]:
        """Yield the batches of a pass, from 0, without the first that are done."""
        rng = np.random.default_rng([self._seed, number])
        runs = np.arange(-(-len(self._rows) // _RUN))
        if len(self._rows) > STRETCH:
            runs = rng.permutation(runs)
        for first in range(0, len(runs), STRETCH // _RUN):
            rows = self._rows_of(runs[first : first + STRETCH // _RUN])
            source, target = self._pairs.lengths(rows)
            plan = self._plan(source, target, self._size, rng)
            average = (int(target.sum()) + len(target)) / max(1, len(plan))
            ends = first + STRETCH // _RUN >= len(runs)
            for at in range(done, len(plan)):
                words = int(target[plan[at]].sum()) + len(plan[at])
                yield PlannedBatch(rows[plan[at]], words, average, ends and at == len(plan) - 1)
            done = max(0, done - len(plan))

    def _rows_of(self, runs: Indices) -> Indices:
        """Return the rows of some runs, one after the other."""
        places = (runs[:, None] * _RUN + np.arange(_RUN)).ravel()
        return self._rows[places[places < len(self._rows)]]


SHARE = 0.5  # the rest teaches the words themselves
_ROWS_AT_ONCE = 1 << 16


def seen_once(side: PhraseSide, rows: Remainder) -> NDArray[np.bool_]:
    """Return which words occur once in some sentences, ``(V,)``.

    None counts where at least as many words are outside the shortlist as :func:`with_unknown`
    would replace: they teach ``<unk>`` already.

    Args:
        side: Where the sentences are.
        rows: Which of them.
    """
    counts = word_counts(side, rows)
    once: NDArray[np.bool_] = counts == 1
    once[UNKNOWN] = False
    return once & (counts[UNKNOWN] < SHARE * once.sum())


def word_counts(side: PhraseSide, rows: Remainder | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each word stands in some phrases or sentences, ``(V,)``; </s> does not."""
    counts = np.zeros(len(side.vocabulary), np.int64)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        tokens = side.select(rows[begin : begin + _ROWS_AT_ONCE]).tokens
        counts += np.bincount(tokens, minlength=len(counts))
    return counts


def with_unknown(batch: Batch, rare: tuple[Tensor, Tensor], generator: torch.Generator) -> Batch:
    """Return a batch in which a share of the pairs have ``<unk>`` for their rare words.

    One draw decides both sides of a pair. A rare source word mostly has a rare translation: read
    as ``<unk>`` it is to be translated as ``<unk>``, and read as itself as that translation.

    Args:
        batch: On any device.
        rare: ``(V,)`` bool each, which source and target words are rare; on the same device.
        generator: Draws; on the same device.
    """
    pairs = len(batch.target)
    drawn = torch.rand((pairs, 1), generator=generator, device=batch.target.device) < SHARE
    source, target = (
        ids.masked_fill(words[ids] & drawn, UNKNOWN)
        for words, ids in zip(rare, (batch.source, batch.target), strict=True)
    )
    return dataclasses.replace(batch, source=source, target=target)
