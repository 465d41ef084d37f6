"""Memory management of the search changes no result, for sentences of any length."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.decoder.search import coverage, cube_pruning, stacks
from moses_integration.decoder.settings import CUBE_PRUNING, STACK_SEARCH, NBestSettings
from tests.support.plain_cube_pruning import PlainCubePruning
from tests.support.plain_search import PlainSearch
from tests.support.random_system import random_sentences, write_random_system
from tests.unit.moses_integration.decoder.test_search_against_enumeration import (
    check_agreement,
    decoder_of,
)

BOTH = pytest.mark.parametrize("algorithm", [STACK_SEARCH, CUBE_PRUNING])


def lists(ini: Path, sentences: list[tuple[bytes, ...]], algorithm: int) -> list[list[float]]:
    """Return the totals of the 50 best derivations of every sentence."""
    decoder = decoder_of(ini, search_algorithm=algorithm, cube_pruning_diversity=1)
    found = decoder.decode(decoder.load(sentences), nbest=NBestSettings(50, distinct=False))
    return [decoded.totals.tolist() for decoded in found]


@BOTH
def test_pauses_for_room_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: int
) -> None:
    """A search that repeatedly runs out of every kind of memory finds equal lists."""
    ini = write_random_system(tmp_path, 3, words=12, limit=6, top=6)
    sentences = random_sentences(3, 4, 10, 12, words=12)
    expected = lists(ini, sentences, algorithm)
    rooms: list[int] = []
    for module, constant, least in (
        (stacks, "_FIRST_RECORDS", 2),
        (coverage, "_FIRST_COVERAGES", 2),
        (cube_pruning, "_FIRST_EDGES", 1),
        (cube_pruning, "_FIRST_RANKED", 1),
        (cube_pruning, "_FIRST_CELLS", 1),
        (cube_pruning, "_FIRST_SEEN", 1),
    ):
        monkeypatch.setattr(module, constant, least)
    for kind in (stacks.Stacks, coverage.Coverages, cube_pruning.Cubes):
        original = kind.with_room

        def counted(*arguments: object, original: object = original) -> object:
            rooms.append(1)
            return original(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(kind, "with_room", counted)
    assert lists(ini, sentences, algorithm) == expected
    assert len(rooms) > 10


@BOTH
@pytest.mark.parametrize("length", [63, 64, 65, 130])
def test_long_sentences(tmp_path: Path, algorithm: int, length: int) -> None:
    """For coverages larger than a machine word, the search equals the plain search."""
    ini = write_random_system(tmp_path, 5, words=length, limit=2)
    decoder = decoder_of(ini, search_algorithm=algorithm, stack=4, cube_pruning_pop_limit=20)
    loaded = decoder.load(random_sentences(5, 1, length, length, words=length, repeats=False))
    kind = PlainCubePruning if algorithm == CUBE_PRUNING else PlainSearch
    assert check_agreement(loaded, decoder, kind, tolerance=1e-3) == 1
