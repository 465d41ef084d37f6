"""Which phrase pairs make which batch, and the batches as tensors.

A plan is a list of index arrays for one pass over the data; it depends on the seed and the pass
alone, so that a resumed run meets the batches it would have met.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from phrasescore.model.sequence_model import END, Batch
from phrasescore.training.training_pairs import PairSide
from phrasescore.words.token_sequences import as_matrix

Indices = npt.NDArray[np.int64]
# source lengths, target lengths, batch size, random numbers
Plan = Callable[[Indices, Indices, int, np.random.Generator], list[Indices]]

PAPER_MAX_LENGTH = 30  # the authors' seqlen: longer phrases are left out
PAPER_SORTED_BATCHES = 10  # the authors' sort_k_batches for phrases
SENTENCE_SORTED_BATCHES = 20  # and for sentences (Bahdanau et al., appendix B.2)


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


def paper_plan(
    source_lengths: Indices,
    target_lengths: Indices,
    size: int,
    rng: np.random.Generator,
) -> list[Indices]:
    """Cut the pairs into batches as the authors did: groups of ten batches, sorted by length.

    Pairs with a phrase of over 30 words are left out. Inside a group, batches come out shortest
    first. Arguments and result as in :func:`uniform_plan`.
    """
    longest = np.maximum(source_lengths, target_lengths)
    order = rng.permutation(np.flatnonzero(longest <= PAPER_MAX_LENGTH))
    return _sorted_groups(order, longest, size, size * PAPER_SORTED_BATCHES)


def paper_sentence_plan(
    source_lengths: Indices,
    target_lengths: Indices,
    size: int,
    rng: np.random.Generator,
) -> list[Indices]:
    """Cut pairs of sentences into batches as the authors did: groups of twenty, sorted by length.

    Arguments and result as in :func:`uniform_plan`.
    """
    order = rng.permutation(len(source_lengths))
    longest = np.maximum(source_lengths, target_lengths)
    return _sorted_groups(order, longest, size, size * SENTENCE_SORTED_BATCHES)


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


def make_batch(source: PairSide, target: PairSide, pairs: Indices) -> Batch:
    """Gather the given pairs into one batch; shorter phrases are padded with </s>."""
    source_ids, source_lengths = as_matrix(source.select(pairs), END)
    target_ids, target_lengths = as_matrix(target.select(pairs), END)
    lengths = None
    if _differ(source_lengths) or _differ(target_lengths):
        lengths = torch.from_numpy(source_lengths), torch.from_numpy(target_lengths)
    return Batch(
        torch.from_numpy(source_ids),
        torch.from_numpy(target_ids),
        lengths,
        words=int(target_lengths.sum()) + len(pairs),
    )


def _differ(lengths: Indices) -> bool:
    return bool((lengths != lengths[0]).any())


def share(pairs: Indices, rank: int, world: int) -> Indices:
    """Return the part of a batch that process ``rank`` of ``world`` works on."""
    return pairs[rank::world]


def _sorted_groups(order: Indices, longest: Indices, size: int, group: int) -> list[Indices]:
    batches: list[Indices] = []
    for first in range(0, len(order), group):
        part = order[first : first + group]
        part = part[np.argsort(longest[part], kind="stable")]
        batches.extend(np.split(part, range(size, len(part), size)))
    return batches
