"""Statistics of candidates against references, for any objective."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu.statistics import ReferenceLength, References
from phrasescore.table.input_files import read_lines
from tuning.metrics.metric_scores import ALL_COLUMNS
from tuning.metrics.metric_settings import LengthName, Objective

if TYPE_CHECKING:
    from tuning.metrics.text_scores import SacrebleuStatistics


class CandidateStatistics:
    """Scores candidates of a text against its references.

    Args:
        paths: R reference files of the same S lines.
        objective: What the statistics must serve.
        length: Which of several reference lengths counts in BLEU.

    Raises:
        CorpusError: The files have different numbers of lines.
    """

    def __init__(
        self, paths: Sequence[str | Path], objective: Objective, length: LengthName = "closest"
    ) -> None:
        self.references = References.read(paths, length=ReferenceLength(length))
        self.objective = objective
        self._more: SacrebleuStatistics | None = None
        if not objective.is_bleu:
            from tuning.metrics.text_scores import SacrebleuStatistics

            self._more = SacrebleuStatistics([list(read_lines(path)) for path in paths])

    @property
    def needs_words(self) -> bool:
        """Whether the words themselves are needed beside their ids."""
        return self._more is not None

    @property
    def columns(self) -> int:
        """K, how many statistics each candidate has."""
        return BLEU_COLUMNS if self._more is None else ALL_COLUMNS

    def __len__(self) -> int:
        return len(self.references)

    def score(
        self,
        sentences: NDArray[np.int32],
        tokens: NDArray[np.int32],
        offsets: NDArray[np.int64],
        words: Sequence[bytes] = (),
    ) -> NDArray[np.int32]:
        """Return (N, K) the statistics of candidates.

        Args:
            sentences: (N,) which sentence each translates.
            tokens: Their words as ids of ``references.vocabulary``.
            offsets: (N + 1,) where each begins in ``tokens``.
            words: N lines; not looked at where ``needs_words`` is false.
        """
        bleu = self.references.score_tokens(sentences, tokens, offsets)
        if self._more is None:
            return bleu
        return np.hstack([bleu, self._more.score(sentences, words)])

    def score_lines(
        self, sentences: NDArray[np.int32], lines: Sequence[bytes]
    ) -> NDArray[np.int32]:
        """Return (N, K) the statistics of candidates given as lines of words."""
        return self.score(sentences, *self.references.encode(lines), lines)
