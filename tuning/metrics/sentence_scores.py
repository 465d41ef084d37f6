"""How good one candidate is by itself: the smoothed objective of its own statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu.statistics import BleuStatistics, sentence_bleu
from tuning.metrics.objective import Objective, score_of_sums

_CHRF_ONLY, _TER_ONLY = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])


def sentence_scores(statistics: NDArray[np.int16], objective: Objective) -> NDArray[np.float64]:
    """Return (N,) the objective of each of (N, K) statistics, with BLEU smoothed by adding one."""
    bleu = sentence_bleu(BleuStatistics.from_matrix(statistics[:, :BLEU_COLUMNS]))
    if objective.is_bleu:
        return bleu
    rows = statistics.astype(np.float64)
    chrf = np.array([score_of_sums(row, _CHRF_ONLY) for row in rows])
    ter = np.array([score_of_sums(row, _TER_ONLY) for row in rows])
    return objective.bleu * bleu + objective.chrf * chrf + objective.ter * ter
