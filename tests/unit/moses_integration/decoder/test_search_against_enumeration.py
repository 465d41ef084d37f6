"""Compares the compiled search with exhaustive enumeration and with the plain search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.loading.source_phrases import child
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

Phrase = tuple[int, int, int]  # entry, first and last source word
WIDE = {"stack": 0, "beam_threshold": 0.0}


def decoder_of(ini: Path, **settings: object) -> Decoder:
    """Make a decoder with settings that override the ini's."""
    read = MosesIni.read(ini)
    return Decoder(read, settings=replace(SearchSettings.from_ini(read), **settings))  # type: ignore[arg-type]


def entries_by_span(
    loaded: LoadedInput, decoder: Decoder, sentence: int
) -> dict[tuple[int, int], list[int]]:
    """Return the entries of each span within the table limit."""
    options = loaded.model(decoder.system.weights).options
    words = loaded.source.sentences[sentence].tolist()
    found = {}
    for start in range(len(words)):
        phrase = 0
        for end in range(start, len(words)):
            phrase = child(loaded.source.trie, phrase, words[end])
            first, last = options.first[phrase : phrase + 2].tolist()
            if last > first:
                found[start, end] = options.entry[first:last].tolist()
    return found


def all_derivations(
    spans: dict[tuple[int, int], list[int]], length: int, limit: int
) -> Iterator[list[Phrase]]:
    """Yield every order of phrases that covers the sentence within the distortion limit."""

    def extend(done: list[Phrase], covered: frozenset[int]) -> Iterator[list[Phrase]]:
        if len(covered) == length:
            yield done
            return
        gap = min(set(range(length)) - covered)
        behind = done[-1][2] + 1 if done else 0
        for (start, end), entries in spans.items():
            words = frozenset(range(start, end + 1))
            if words & covered or 0 <= limit < abs(behind - start):
                continue
            # the jump from the end of the phrase to the first gap must be within the limit
            if 0 <= limit < end + 1 - gap and start != gap:
                continue
            for entry in entries:
                yield from extend([*done, (entry, start, end)], covered | words)

    yield from extend([], frozenset())


def totals_of(
    loaded: LoadedInput, decoder: Decoder, derivations: Sequence[Sequence[Phrase]]
) -> np.ndarray:
    """Score derivations by the definitions of the features."""
    phrases = np.array([phrase for one in derivations for phrase in one], np.int32)
    offsets = np.cumsum([0, *map(len, derivations)], dtype=np.int64)
    columns = [np.ascontiguousarray(phrases[:, column]) for column in range(3)]
    values = loaded.tables.values(Derivations(offsets, *columns), decoder.layout.size)
    return values @ decoder.system.weights


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("algorithm", [0, CUBE_PRUNING])
def test_without_pruning_the_best_of_all_derivations_is_found(
    tmp_path: Path, seed: int, limit: int, algorithm: int
) -> None:
    """On three to five words, results and n-best lists equal exhaustive enumeration."""
    ini = write_random_system(tmp_path, seed, limit=limit, top=2)
    decoder = decoder_of(ini, search_algorithm=algorithm, cube_pruning_pop_limit=100_000, **WIDE)
    check_best_of_all(decoder.load(random_sentences(seed, 3, 3, 5)), decoder, limit)


def check_best_of_all(
    loaded: LoadedInput,
    decoder: Decoder,
    limit: int,
    further: Callable[[list[bytes]], float] = lambda words: 0.0,
) -> None:
    """Check that n-best lists have the best of all derivations.

    ``further`` scores the words of a translation with the features that `totals_of` leaves out.
    """
    for found in decoder.decode(loaded, nbest=NBestSettings(10, distinct=False)):
        length = len(loaded.source.sentences[found.sentence])
        spans = entries_by_span(loaded, decoder, found.sentence)
        every = list(all_derivations(spans, length, limit))
        totals = totals_of(loaded, decoder, every)
        for at, derivation in enumerate(every):
            totals[at] += further([w for one in derivation for w in loaded.target_words(one[0])])
        assert len(found) == min(10, len(every))
        assert found.totals == pytest.approx(np.sort(totals)[::-1][: len(found)], abs=1e-4)
        assert found.features @ decoder.system.weights == pytest.approx(found.totals, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (PlainSearch, {"stack": 1, "beam_threshold": 0.0}),
        (PlainSearch, {"stack": 3, "beam_threshold": 0.0}),
        (PlainSearch, {"stack": 10, "beam_threshold": 0.3}),
        (PlainSearch, {"stack": 200, "beam_threshold": 1e-5}),
        (PlainCubePruning, {"cube_pruning_pop_limit": 1}),
        (PlainCubePruning, {"cube_pruning_pop_limit": 7}),
        (PlainCubePruning, {"cube_pruning_pop_limit": 20, "stack": 3}),
        (PlainCubePruning, {"cube_pruning_pop_limit": 3, "cube_pruning_diversity": 2}),
    ],
)
@pytest.mark.parametrize("limit", [-1, 2])
def test_prunes_as_the_plain_search_does(
    tmp_path: Path, seed: int, kind: type[PlainSearch], settings: dict[str, float], limit: int
) -> None:
    """With small stacks, beams and pop limits, both searches have equal results."""
    ini = write_random_system(tmp_path, seed, limit=limit, words=8, top=6)
    algorithm = CUBE_PRUNING if kind is PlainCubePruning else STACK_SEARCH
    decoder = decoder_of(ini, search_algorithm=algorithm, **settings)
    loaded = decoder.load(random_sentences(seed, 4, 4, 8, words=8, repeats=False))
    check_agreement(loaded, decoder, kind)


def check_agreement(
    loaded: LoadedInput, decoder: Decoder, kind: type[PlainSearch], tolerance: float = 1e-4
) -> int:
    """Check that both searches give equal phrases, or none; return how many sentences have some."""
    plain, translated = kind(loaded, decoder.system.weights, decoder.system.settings), 0
    for found in decoder.decode(loaded):
        expected = plain.search(found.sentence)
        assert len(found) == (expected is not None)
        if expected is not None:
            translated += 1
            assert found.totals[0] == pytest.approx(expected.total, abs=tolerance)
            assert found.entries().tolist() == [phrase[0] for phrase in expected.phrases()]
    return translated
