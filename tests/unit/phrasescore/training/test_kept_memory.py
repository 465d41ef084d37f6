"""Memory that training frees is used again, and given back once training ends."""

from __future__ import annotations

import multiprocessing
import resource
import sys

import pytest
import torch

from phrasescore.training.optimization.crew import keep_freed_memory, release_freed_memory

_NUMBERS = 40 << 18  # 40 MB, more than the allocator ever keeps by itself
_PAGES = 4 * _NUMBERS // resource.getpagesize()
_UNTIL_REUSED = 16  # remainders of aligned pieces lie between the first ones and keep them apart


def faults() -> int:
    """Return how many pages the system clears to fill a large piece of memory and free it again."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.empty(_NUMBERS).fill_(1.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def count_faults(found: multiprocessing.SimpleQueue[tuple[int, int, int]]) -> None:
    """Count them as it is by itself, with freed memory kept, and given back again."""
    by_itself = faults()
    keep_freed_memory()
    kept = [faults() for _ in range(_UNTIL_REUSED)][-1]
    release_freed_memory()
    found.put((by_itself, kept, faults()))


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is another")
def test_freed_memory_is_used_again() -> None:
    """In a process of its own, because the allocator serves all of a process."""
    context = multiprocessing.get_context("spawn")
    found: multiprocessing.SimpleQueue[tuple[int, int, int]] = context.SimpleQueue()
    process = context.Process(target=count_faults, args=(found,))
    process.start()
    process.join()
    assert process.exitcode == 0
    by_itself, kept, after = found.get()
    if by_itself < _PAGES // 2:
        pytest.skip("pages of this system are larger than it says, or its allocator another")
    assert kept < _PAGES // 100
    assert after > _PAGES // 2
