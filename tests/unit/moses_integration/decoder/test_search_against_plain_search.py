"""Compares the compiled search with the plain search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.settings import CUBE_PRUNING, SearchSettings
from moses_integration.ini.moses_ini import MosesIni
from tests.support.plain_cube_pruning import PlainCubePruning
from tests.support.plain_search import PlainSearch
from tests.support.random_system import random_sentences, write_random_system


def decoder_of(ini: Path, **settings: object) -> Decoder:
    """Make a decoder with settings that override the ini's."""
    read = MosesIni.read(ini)
    return Decoder(read, settings=replace(SearchSettings.from_ini(read), **settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("stack", "beam"), [(1, 0.0), (3, 0.0), (10, 0.3), (200, 1e-5)])
@pytest.mark.parametrize("limit", [-1, 2])
def test_prunes_as_the_plain_search_does(
    tmp_path: Path, seed: int, stack: int, beam: float, limit: int
) -> None:
    """With small stacks and beams, the compiled search gives the results of the plain search."""
    ini = write_random_system(tmp_path, seed, limit=limit, words=8, top=6)
    decoder = decoder_of(ini, stack=stack, beam_threshold=beam)
    loaded = decoder.load(random_sentences(seed, 4, 4, 8, words=8, repeats=False))
    check_agreement(loaded, decoder, PlainSearch)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("stack", "pop_limit", "diversity"), [(200, 1, 0), (200, 7, 0), (3, 20, 0), (200, 3, 2)]
)
@pytest.mark.parametrize("limit", [-1, 2])
def test_pops_as_the_plain_cube_pruning_does(
    tmp_path: Path, seed: int, stack: int, pop_limit: int, diversity: int, limit: int
) -> None:
    """With low pop limits and a diversity setting, results equal plain cube pruning."""
    ini = write_random_system(tmp_path, seed, limit=limit, words=8, top=6)
    decoder = decoder_of(
        ini,
        search_algorithm=CUBE_PRUNING,
        stack=stack,
        cube_pruning_pop_limit=pop_limit,
        cube_pruning_diversity=diversity,
    )
    loaded = decoder.load(random_sentences(seed, 4, 4, 8, words=8, repeats=False))
    check_agreement(loaded, decoder, PlainCubePruning)


def check_agreement(loaded: LoadedInput, decoder: Decoder, kind: type[PlainSearch]) -> None:
    """Check that the compiled and the plain search give equal phrases, or both none."""
    plain = kind(loaded, decoder.system.weights, decoder.system.settings)
    for found in decoder.decode(loaded):
        expected = plain.search(found.sentence)
        assert len(found) == (expected is not None)
        if expected is not None:
            assert found.totals[0] == pytest.approx(expected.total, abs=1e-4)
            assert found.entries().tolist() == [phrase[0] for phrase in expected.phrases()]
