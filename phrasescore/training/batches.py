"""Passes over the training pairs, cut into batches of tensors.

A plan cuts pairs into index arrays. The arrays depend only on the pairs, the seed and the index of
the pass, so a resumed training sees the same batches. To limit memory, a large table is planned in
stretches. A stretch consists of many short runs of successive pairs from all parts of the table, so
its batches are almost as mixed as the batches of a shuffled table.

If the shortlist has room for every word of a text, the text contains no ``<unk>``. A model of this
text would give new target words no probability, and new source words a random vector. By the
estimate of Good and Turing, new words are about as frequent as words that occur once. For sentences
and texts, the recipe ``fast`` therefore replaces words that occur once by ``<unk>`` in half of the
pairs of each batch, drawn at random.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from phrasescore.model.sequence_model import END, UNKNOWN, Batch
from phrasescore.training.pairs import EncodedPairs, PhraseSide, Remainder
from phrasescore.words.token_sequences import as_matrix

Indices = NDArray[np.int64]
# arguments of a plan: source lengths, target lengths, batch size, random numbers
Plan = Callable[[Indices, Indices, int, np.random.Generator], list[Indices]]


def uniform_plan(
    source_lengths: Indices, target_lengths: Indices, size: int, rng: np.random.Generator
) -> list[Indices]:
    """Cut the pairs into batches in random order; all pairs of a batch have the same lengths.

    Batches have no padding. A batch holds about as many words as ``size`` average pairs, so short
    pairs come in larger batches.

    Args:
        source_lengths: ``(N,)`` how many words each source has, without </s>.
        target_lengths: ``(N,)`` how many words each target has, without </s>.
        size: Pairs of average length in a batch.
        rng: Random numbers for the order.

    Returns:
        Arrays of positions in ``0 .. N - 1``; each position occurs once.
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
    """Cut the pairs into groups of batches, each group sorted by length, as the authors did.

    Within a group, the batches of the shortest pairs come first. The result has the same form as
    in :func:`uniform_plan`.

    Args:
        source_lengths: ``(N,)``.
        target_lengths: ``(N,)``.
        size: Pairs in a batch.
        rng: Random numbers for the order.
        batches: Number of batches in a group.
        max_length: Maximum length of a phrase; pairs with a longer phrase are left out.
    """
    longest = np.maximum(source_lengths, target_lengths)
    order = rng.permutation(np.flatnonzero(longest <= (max_length or np.inf)))
    found: list[Indices] = []
    for first in range(0, len(order), size * batches):
        part = order[first : first + size * batches]
        part = part[np.argsort(longest[part], kind="stable")]
        found.extend(np.split(part, range(size, len(part), size)))
    return found


# for phrases, with the values of the authors' options sort_k_batches and seqlen
paper_plan = functools.partial(_sorted_plan, batches=10, max_length=30)
# the same plan for sentences (Bahdanau et al., appendix B.2)
paper_sentence_plan = functools.partial(_sorted_plan, batches=20)


def bucket_plan(
    source_lengths: Indices, target_lengths: Indices, size: int, rng: np.random.Generator
) -> list[Indices]:
    """Cut the pairs into batches of similar lengths, in random order.

    Sentences have too many combinations of lengths for :func:`uniform_plan`, so batches have some
    padding. Padding included, a batch holds about as many words as ``size`` average pairs, or
    fewer. Arguments and result are as in :func:`uniform_plan`.
    """
    order = rng.permutation(len(source_lengths))
    order = order[np.lexsort((source_lengths[order], target_lengths[order]))]
    budget = size * (float((source_lengths + target_lengths).mean()) + 2) if len(order) else 0.0
    batches: list[Indices] = []
    first, widest = 0, 0
    sources = source_lengths[order].tolist()
    targets = target_lengths[order].tolist()  # ascending: the last pair of a batch is its longest
    for at, (source, target) in enumerate(zip(sources, targets, strict=True)):
        widest = max(widest, source)
        if at > first and (at + 1 - first) * (widest + target + 2) > budget:
            batches.append(order[first:at])
            first, widest = at, source
    batches.append(order[first:])
    return [batches[at] for at in rng.permutation(len(batches)) if len(batches[at])]


def make_batch(pairs: EncodedPairs, rows: Indices) -> Batch:
    """Gather the given rows of the pairs into one batch; shorter phrases are padded with </s>."""
    source, source_lengths = map(torch.from_numpy, as_matrix(pairs.source.select(rows)))
    target, target_lengths = map(torch.from_numpy, as_matrix(pairs.target.select(rows)))
    is_padded = any((each != each[0]).any() for each in (source_lengths, target_lengths))
    return Batch(source, target, (source_lengths, target_lengths) if is_padded else None)


def in_few_shapes(batch: Batch) -> Batch:
    """Pad a batch to rounded sizes, so that the sizes of many batches are equal.

    The lengths of both sides become multiples of 4, and the number of pairs a multiple of 16. The
    added pairs have no words, and a target length of -1: not even their final </s> counts.
    """
    B, more = len(batch.source), -len(batch.source) % 16
    source, target = (
        functional.pad(ids, (0, -ids.shape[1] % 4, 0, more), value=END)
        for ids in (batch.source, batch.target)
    )
    source_lengths, target_lengths = batch.lengths or (
        torch.full((B,), ids.shape[1]) for ids in (batch.source, batch.target)
    )
    source_lengths = functional.pad(source_lengths, (0, more))
    target_lengths = functional.pad(target_lengths, (0, more), value=-1)
    return Batch(source, target, (source_lengths, target_lengths))


STRETCH = 1 << 21  # maximum number of pairs planned at a time
_RUN = 1 << 10  # number of successive pairs of the table that stay in the same stretch


@dataclass(frozen=True)
class PlannedBatch:
    """A batch of a pass.

    Attributes:
        rows: ``(B,)`` rows of the pairs.
        words: Number of target words, </s> included.
        words_per_batch: Mean of ``words`` over the batches of the stretch.
        is_last: Whether this is the last batch of the pass.
    """

    rows: Indices
    words: int
    words_per_batch: float
    is_last: bool


class Passes:
    """The passes of a training run; for given pairs, a pass depends only on its index and the seed.

    Args:
        pairs: All pairs.
        rows: Rows of the training pairs.
        plan: Cuts pairs into batches.
        size: Number of pairs of average length in a batch.
        seed: Seed of the order.

    Attributes:
        words: Number of target words, or of their pieces, in a pass, </s> included.
        pieces: Mean number of pieces of a word.
    """

    def __init__(
        self, pairs: EncodedPairs, rows: Remainder, plan: Plan, size: int, seed: int
    ) -> None:
        self._pairs, self._rows, self._plan, self._size, self._seed = pairs, rows, plan, size, seed
        target = pairs.target

        def total(count: Callable[[Indices], int]) -> int:
            parts = (rows[first : first + STRETCH] for first in range(0, len(rows), STRETCH))
            return len(rows) + sum(map(count, parts))

        self.words = total(lambda part: int(target.lengths(part).sum()))
        is_cut = target.vocabulary.byte_pairs is not None
        self.pieces = self.words / total(target.words) if is_cut else 1.0

    def batches(self, number: int, done: int = 0) -> Iterator[PlannedBatch]:
        """Yield the batches of a pass after the first ``done`` batches."""
        rng = np.random.default_rng([self._seed, number])
        runs = np.arange(-(-len(self._rows) // _RUN))
        if len(self._rows) > STRETCH:
            runs = rng.permutation(runs)
        for first in range(0, len(runs), STRETCH // _RUN):
            part = runs[first : first + STRETCH // _RUN]
            places = (part[:, None] * _RUN + np.arange(_RUN)).ravel()
            rows = self._rows[places[places < len(self._rows)]]
            source, target = self._pairs.lengths(rows)
            plan = self._plan(source, target, self._size, rng)
            average = (int(target.sum()) + len(target)) / max(1, len(plan))
            ends = first + STRETCH // _RUN >= len(runs)
            for at in range(done, len(plan)):
                words = int(target[plan[at]].sum()) + len(plan[at])
                yield PlannedBatch(rows[plan[at]], words, average, ends and at == len(plan) - 1)
            done = max(0, done - len(plan))


SHARE = 0.5  # share of the pairs whose rare words become <unk>; other pairs teach the words
_ROWS_AT_ONCE = 1 << 16


def seen_once(side: PhraseSide, rows: Remainder) -> Tensor:
    """Return a mask of the words that occur once in the training sentences, ``(V,)``.

    No word is marked if words outside the shortlist are at least as frequent as the words that
    :func:`with_unknown` would replace, because the words outside already teach ``<unk>``.

    Args:
        side: One side of all pairs.
        rows: Rows of the training pairs.
    """
    counts = word_counts(side, rows)
    once = counts == 1
    once[UNKNOWN] = False
    return torch.from_numpy(once & (counts[UNKNOWN] < SHARE * once.sum()))


def word_counts(side: PhraseSide, rows: Remainder | Indices) -> Indices:
    """Return how often each word occurs in some rows, ``(V,)``, without </s>."""
    counts = np.zeros(len(side.vocabulary), np.int64)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        tokens = side.select(rows[begin : begin + _ROWS_AT_ONCE]).tokens
        counts += np.bincount(tokens, minlength=len(counts))
    return counts


def with_unknown(batch: Batch, rare: tuple[Tensor, Tensor], generator: torch.Generator) -> Batch:
    """Return a batch in which half of the pairs, drawn at random, have ``<unk>`` for rare words.

    Both sides of a pair are changed, or neither. A rare source word usually has a rare translation,
    so the model learns to translate ``<unk>`` by ``<unk>``, and, from the other pairs, the word by
    its translation.

    Args:
        batch: A batch on any device.
        rare: ``(V,)`` masks of rare source and target words, on the same device.
        generator: Random numbers, on the same device.
    """
    pairs = len(batch.target)
    drawn = torch.rand((pairs, 1), generator=generator, device=batch.target.device) < SHARE
    source, target = (
        ids.masked_fill(words[ids] & drawn, UNKNOWN)
        for words, ids in zip(rare, (batch.source, batch.target), strict=True)
    )
    return dataclasses.replace(batch, source=source, target=target)
