"""Compares the search with scores computed from the text files by the features' definitions."""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.settings import NBestSettings, SearchSettings
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.language_model.automaton import EMPTY_STATE
from tests.support.plain_back_off import PlainLanguageModel
from tests.support.random_system import write_random_system

LN_10 = math.log(10)
MONOTONE, SWAP, OTHER = 0, 1, 2


@dataclass(frozen=True)
class Pair:
    """A phrase pair: ln of its table scores and orientation probabilities, and its words."""

    target: tuple[bytes, ...]
    scores: tuple[float, ...]
    orientations: tuple[float, ...]
    unknown: bool = False


class Definitions:
    """The whole system as dictionaries, and the score of every derivation of a sentence.

    Args:
        ini: The ini of a random system.
        limit: The distortion limit of the system.
        top: The table limit of the system.
    """

    def __init__(self, ini: Path, limit: int, top: int) -> None:
        self.weights = dict(MosesIni.read(ini).weights)
        self.limit, self.top = limit, top
        self.lm = PlainLanguageModel(ini.parent / "lm.arpa")
        rows = [line.split(b" ||| ") for line in self._lines(ini.parent / "reordering")]
        orientations = {(row[0], row[1]): self._ln(row[2]) for row in rows}
        self.pairs: dict[bytes, list[Pair]] = defaultdict(list)
        for source, target, scores, *_ in (
            line.split(b" ||| ") for line in self._lines(ini.parent / "table")
        ):
            words = tuple(target.split(b" "))
            pair = Pair(words, self._ln(scores), orientations[source, target])
            self.pairs[source].append(pair)
        for found in self.pairs.values():
            found.sort(key=self._future, reverse=True)
            del found[top:]

    @staticmethod
    def _lines(path: Path) -> list[bytes]:
        return path.read_bytes().split(b"\n")[:-1]

    @staticmethod
    def _ln(field: bytes) -> tuple[float, ...]:
        return tuple(math.log(float(score)) for score in field.split(b" "))

    def _dot(self, name: str, values: tuple[float, ...]) -> float:
        return sum(w * v for w, v in zip(self.weights[name], values, strict=True))

    def _own(self, pair: Pair) -> float:
        """Return the part of a phrase's score that does not depend on other phrases."""
        total = self._dot("PhrasePenalty0", (1,)) - self._dot("WordPenalty0", (len(pair.target),))
        if pair.unknown:
            return total + self._dot("UnknownWordPenalty0", (-100,))
        return total + self._dot("TranslationModel0", pair.scores)

    def _lm(self, state: int, words: tuple[bytes, ...]) -> tuple[float, int]:
        total = 0.0
        for word in words:
            number = self.lm.end_word if word == b"</s>" else self.lm.word_id(word)
            log10, state = self.lm.score(state, number)
            total += log10
        return self._dot("LM0", (LN_10 * total,)), state

    def _future(self, pair: Pair) -> float:
        return self._own(pair) + self._lm(EMPTY_STATE, pair.target)[0]

    def options(self, words: tuple[bytes, ...]) -> dict[tuple[int, int], list[Pair]]:
        """Return the phrase pairs of every span; unknown words are copied."""
        spans = {}
        for start in range(len(words)):
            for end in range(start, len(words)):
                found = self.pairs.get(b" ".join(words[start : end + 1]), [])
                if not found and start == end:
                    found = [Pair(words[start : end + 1], (), (0.0,) * 6, unknown=True)]
                spans[start, end] = found
        return spans

    def totals(self, words: tuple[bytes, ...]) -> Iterator[float]:
        """Yield the model score of every derivation."""
        spans = self.options(words)

        def extend(
            covered: frozenset[int], before: tuple[int, int], forward: tuple[float, ...],
            state: int, score: float,
        ) -> Iterator[float]:  # fmt: skip
            if len(covered) == len(words):
                yield score + self._lm(state, (b"</s>",))[0]
                return
            gap = min(set(range(len(words))) - covered)
            for (start, end), pairs in spans.items():
                span = set(range(start, end + 1))
                jump = abs(before[1] + 1 - start)
                way_back = end + 1 - gap if start != gap else 0
                if span & covered or 0 <= self.limit < max(jump, way_back):
                    continue
                turn = OTHER
                if start == before[1] + 1:
                    turn = MONOTONE
                elif before[0] == end + 1:
                    turn = SWAP
                for pair in pairs:
                    reordering = [0.0] * 6
                    reordering[turn] = pair.orientations[turn]
                    reordering[3 + turn] = forward[3 + turn]
                    lm, after = self._lm(state, pair.target)
                    total = score + self._own(pair) + lm - self._dot("Distortion0", (jump,))
                    total += self._dot("LexicalReordering0", tuple(reordering))
                    following = covered | span
                    yield from extend(following, (start, end), pair.orientations, after, total)

        yield from extend(frozenset(), (-1, -1), (0.0,) * 6, self.lm.begin_state, 0.0)


@given(
    seed=st.integers(0, 2**20),
    sentence=st.lists(st.integers(0, 4), min_size=3, max_size=5),
    limit=st.integers(-1, 4),
    top=st.integers(1, 2),
    algorithm=st.sampled_from([0, 1]),
)
def test_best_list_is_that_of_the_definitions(
    seed: int, sentence: list[int], limit: int, top: int, algorithm: int
) -> None:
    """Without pruning, the 20 best totals equal those of exhaustive enumeration."""
    words = tuple(b"s%d" % word for word in sentence)
    with tempfile.TemporaryDirectory() as folder:
        path = write_random_system(Path(folder), seed, limit=limit, top=top)
        ini = MosesIni.read(path)
        settings = replace(
            SearchSettings.from_ini(ini),
            **{"search_algorithm": algorithm, "cube_pruning_pop_limit": 10**6},
            **{"stack": 0, "beam_threshold": 0.0},
        )
        decoder = Decoder(ini, settings=settings)
        wanted = NBestSettings(20, distinct=False)
        (found,) = decoder.decode(decoder.load([words]), nbest=wanted)
        expected = sorted(Definitions(path, limit, top).totals(words), reverse=True)[:20]
    assert found.totals.tolist() == pytest.approx(expected, abs=1e-4)
