"""The summaries c that a model makes of phrases, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.phrases import PhraseList
from phrasescore.errors import ModelError
from phrasescore.model.folder import LoadedModel
from phrasescore.model.kinds import must_summarise
from phrasescore.runs.progress import Progress
from phrasescore.scoring.phrase_summaries import PhraseSummaries

Vectors = NDArray[np.float32]

_PHRASES_AT_ONCE = 16_384


class SummaryVectors:
    """Summaries of the phrases that a model reads.

    Args:
        loaded: The model.
        folder: Its folder, for errors.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Attributes:
        size: H, the numbers of a summary.

    Raises:
        ModelError: Models of its kind have none.
    """

    def __init__(self, loaded: LoadedModel, folder: str | Path, device: str = "auto") -> None:
        must_summarise(loaded.model.settings, folder)
        self._summaries = PhraseSummaries(loaded.model, device)
        self._folder = folder
        self.size = self._summaries.size

    def blocks(self, phrases: PhraseList) -> Iterator[Vectors]:
        """Yield the summaries of some thousand phrases at a time, in their order.

        Raises:
            ModelError: The model gives no numbers.
        """
        with Progress("reading phrases", len(phrases), "phrases") as progress:
            for begin in range(0, len(phrases), _PHRASES_AT_ONCE):
                rows = np.arange(begin, min(begin + _PHRASES_AT_ONCE, len(phrases)))
                yield self.of(phrases, rows)
                progress.advance(len(rows))

    def of(self, phrases: PhraseList, rows: NDArray[np.int64] | None = None) -> Vectors:
        """Return the summaries of all or some phrases, ``(N, H)``."""
        ids = phrases.ids if rows is None else phrases.ids.select(rows)
        found = self._summaries.of(ids)
        if not np.isfinite(found).all():
            raise ModelError(
                "the summaries of some phrases are no finite numbers",
                path=self._folder,
                remedy="train the model again, perhaps with a lower learning rate",
            )
        return found
