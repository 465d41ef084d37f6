"""Memory management of the search changes no result, for sentences of any length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.search import coverage, cube_pruning, stacks
from moses_integration.decoder.settings import (
    CUBE_PRUNING,
    STACK_SEARCH,
    NBestSettings,
    SearchSettings,
)
from moses_integration.ini.moses_ini import MosesIni
from tests.support.plain_cube_pruning import PlainCubePruning
from tests.support.plain_search import PlainSearch
from tests.support.random_system import random_sentences, write_random_system

BOTH = pytest.mark.parametrize("algorithm", [STACK_SEARCH, CUBE_PRUNING])


def lists(ini: MosesIni, sentences: list[tuple[bytes, ...]], algorithm: int) -> list[np.ndarray]:
    """Return the totals of the 50 best derivations of every sentence."""
    settings = replace(
        SearchSettings.from_ini(ini), search_algorithm=algorithm, cube_pruning_diversity=1
    )
    decoder = Decoder(ini, settings=settings)
    found = decoder.decode(decoder.load(sentences), nbest=NBestSettings(50, distinct=False))
    return [decoded.totals for decoded in found]


@BOTH
def test_pauses_for_room_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: int
) -> None:
    """A search that repeatedly runs out of every kind of memory finds equal lists."""
    ini = MosesIni.read(write_random_system(tmp_path, 3, words=12, limit=6, top=6))
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
    found = lists(ini, sentences, algorithm)
    assert len(rooms) > 10
    for one, other in zip(found, expected, strict=True):
        assert one.tolist() == other.tolist()


@BOTH
@pytest.mark.parametrize("length", [63, 64, 65, 130])
def test_long_sentences(tmp_path: Path, algorithm: int, length: int) -> None:
    """For coverages larger than a machine word, the search equals the plain search."""
    ini = MosesIni.read(write_random_system(tmp_path, 5, words=length, limit=2))
    settings = replace(
        SearchSettings.from_ini(ini), search_algorithm=algorithm, stack=4, cube_pruning_pop_limit=20
    )
    decoder = Decoder(ini, settings=settings)
    loaded = decoder.load(random_sentences(5, 1, length, length, words=length, repeats=False))
    kind = PlainCubePruning if algorithm == CUBE_PRUNING else PlainSearch
    expected = kind(loaded, decoder.system.weights, settings).search(0)
    (found,) = decoder.decode(loaded)
    assert expected is not None
    assert found.totals[0] == pytest.approx(expected.total, abs=1e-3)
    assert found.entries().tolist() == [phrase[0] for phrase in expected.phrases()]
