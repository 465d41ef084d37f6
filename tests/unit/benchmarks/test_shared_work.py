"""The minimum work for a table: distinct steps counted by hashes, and their multiply-adds."""

from __future__ import annotations

import numpy as np

from benchmarks.shared_work import Steps, Work, count_work
from phrasescore.model.model_settings import EncoderDecoderSettings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.words.token_sequences import from_lists

Pair = tuple[tuple[int, ...], tuple[int, ...]]


def random_pairs(rng: np.random.Generator, count: int) -> list[Pair]:
    def phrase() -> tuple[int, ...]:
        return tuple(int(word) for word in rng.integers(2, 6, rng.integers(1, 6)))

    return [(phrase(), phrase()) for _ in range(count)]


def counted(pairs: list[Pair], block: int) -> Work:
    blocks = (pairs[at : at + block] for at in range(0, len(pairs), block))
    return count_work(
        (from_lists([list(x) for x, _ in part]), from_lists([list(y) for _, y in part]))
        for part in blocks
    )


def counted_with_sets(pairs: list[Pair]) -> tuple[Steps, Steps]:
    prefixes = [x[:end] for x, _ in pairs for end in range(1, len(x) + 1)]
    states = [(x, y[:end]) for x, y in pairs for end in range(1, len(y) + 1)]
    sources = {x for x, _ in pairs}
    alone = Steps(len(prefixes) + len(pairs), len(pairs), len(states), len(states) + len(pairs))
    n = len(sources)
    shared = Steps(len(set(prefixes)) + n, n, len(set(states)), len(set(states)) + n)
    return alone, shared


def test_steps_are_those_that_sets_of_prefixes_count(rng: np.random.Generator) -> None:
    """For blocks of any size, the numbers of all and distinct steps equal those of prefix sets."""
    pairs = random_pairs(rng, 500)
    alone, shared = counted_with_sets(pairs)
    for block in (500, 64):
        work = counted(pairs, block)
        assert (work.pairs, work.alone, work.shared) == (500, alone, shared)
    assert shared.encoder < alone.encoder


def test_a_step_of_each_kind_costs_the_weights_it_multiplies() -> None:
    """One step of each kind multiplies by each weight matrix once."""
    settings = EncoderDecoderSettings(
        source_vocabulary=7, target_vocabulary=11, hidden=4, embedding=3, maxout=5, rank=2
    )
    weights = dict(EncoderDecoder(settings).named_parameters())
    looked_up = {"source_embedding", "target_embedding"}  # a lookup of a row, not a product
    multiplied = sum(
        weight.numel()
        for name, weight in weights.items()
        if weight.dim() == 2 and name not in looked_up
    )
    assert Steps(1, 1, 1, 1).multiply_adds(settings) == multiplied
