"""The second step of decoding: models and programs choose among the candidates of the search.

The scores of the candidates of many sentences are computed together. A candidate's second score is
the weighted sum of the values that an n-best list shows, so decoding chooses what ``nbest`` and
``rerank`` choose from such a list. Torch is imported when a model scores its first candidate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.output import DecodedSentence, phrase_pairs, surface
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.rescoring_file import RESCORING, Rescoring
from phrasescore.errors import SettingsError, did_you_mean
from phrasescore.table.phrase_table import words_of

if TYPE_CHECKING:
    from moses_integration.nbest.rescoring import Candidate, NBestModel

# how many sentences are scored and written together: their lists must fit into memory, and a killed
# run loses only unwritten ones
BLOCK = 100


class Rescorer:
    """Reorders the candidates of sentences by their second scores.

    Args:
        rescoring: The content of ``rescoring.json``.
        system: The folder of the system.
        layout: The features of the search.
        scorers: The command of each program, by the name of its feature.

    Attributes:
        candidates: The maximum number of candidates of a sentence.

    Raises:
        IniError: The second weights do not fit the features.
        SettingsError: The commands do not have the names of the programs.
    """

    def __init__(
        self, rescoring: Rescoring, system: Path, layout: FeatureLayout, scorers: Mapping[str, str]
    ) -> None:
        self._rescoring, self._system = rescoring, system
        self.candidates = rescoring.candidates
        self._weights = rescoring.flat_weights(layout, system)
        self._programs = rescoring.commands(scorers, system)

    @classmethod
    def of_system(
        cls, system: str, layout: FeatureLayout, scorers: Mapping[str, str]
    ) -> Rescorer | None:
        """Return what rescores in the system of a folder; ``None`` if nothing does."""
        rescoring = Rescoring.read(system)
        known = rescoring.scorers if rescoring is not None else ()
        for name in set(scorers).difference(known):
            raise SettingsError(
                f"a program for the feature {name}{did_you_mean(name, known)}",
                remedy=f"name a folder whose {RESCORING} has this feature",
            )
        return cls(rescoring, Path(system), layout, scorers) if rescoring is not None else None

    def identity(self) -> dict[str, object]:
        """Return everything that the second scores depend on, as JSON values."""
        device = None
        if self._rescoring.models:
            from phrasescore.model.device import choose_device

            device = str(choose_device("auto"))
        return {"rescoring": asdict(self._rescoring), "of": self._programs, "device": device}

    @cached_property
    def _models(self) -> list[NBestModel]:
        """The models, loaded.

        Raises:
            ModelError: A model is missing, damaged, or not the one of ``rescoring.json``.
        """
        from moses_integration.nbest.rescoring import NBestModel

        return [*map(NBestModel.load, self._rescoring.names, self._rescoring.folders(self._system))]

    def best_first(self, found: Iterator[DecodedSentence]) -> Iterator[DecodedSentence]:
        """Yield sentences with reordered candidates, whose totals are the second scores."""
        while block := list(itertools.islice(found, BLOCK)):
            scores, begin = self._scores(block), 0
            for decoded in block:
                end = begin + len(decoded)
                own = {name: values[begin:end, None] for name, values in scores.items()}
                values = [*decoded.nbest_features().values(), *own.values()]
                sums = (as_listed(np.column_stack(values)) * self._weights).sum(1)
                yield decoded.ranked(sums, own)
                begin = end

    def _scores(self, block: Sequence[DecodedSentence]) -> dict[str, NDArray[np.float64]]:
        """Return (candidates of all sentences,) scores of each model and program, by name."""
        from moses_integration.nbest.rescoring import score_candidates, scores_of_program

        candidates = list(itertools.chain.from_iterable(map(self._candidates, block)))
        if not candidates:
            return {name: np.empty(0) for name in self._rescoring.names}
        table_words = known_words(block[0]) if self._needs_phrases else None
        _, columns = score_candidates(self._models, candidates, table_words)
        for name, command in self._programs.items():
            columns.append(scores_of_program(name, command, candidates))
        return dict(zip(self._rescoring.names, map(np.array, columns), strict=True))

    @cached_property
    def _needs_phrases(self) -> bool:
        return not all(model.kind.of_sentences for model in self._models)

    def _candidates(self, decoded: DecodedSentence) -> Iterator[Candidate]:
        from moses_integration.nbest.rescoring import Candidate

        source = tuple(decoded.source())
        for number in range(len(decoded)):
            words = words_of(surface(decoded, number, trace=False))
            phrases = phrase_pairs(decoded, number) if self._needs_phrases else ()
            yield Candidate(source, tuple(words), tuple(phrases))


def known_words(decoded: DecodedSentence) -> set[bytes]:
    """Return the words of an input that a table has as source phrases."""
    loaded = decoded.loaded
    known = np.flatnonzero(~loaded.unknown_words)
    return {loaded.source.words.word(word) for word in known.tolist()}


def as_listed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round (N, F) values to the six digits that n-best lists show.

    >>> as_listed(np.array([[-1.23456789, 0.5]])).tolist()
    [[-1.23457, 0.5]]
    """
    text = "%.6g " * values.size % tuple(values.ravel().tolist())
    return np.fromstring(text, sep=" ").reshape(values.shape)
