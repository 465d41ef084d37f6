"""chrF and TER of candidates: sacrebleu's statistics of single sentences.

Computed once for every distinct translation of a sentence. sacrebleu splits words at every
Unicode space; those inside words are replaced first, so that a word is what Moses takes for one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tuning.metrics.metric_scores import CHRF_ORDERS

_SPACE_IN_WORD = re.compile(r"[^\S ]")
# a letter that no text has
_STAND_IN = "\ue000"


def as_text(line: bytes) -> str:
    """Return a line as text whose only spaces are those between words."""
    return _SPACE_IN_WORD.sub(_STAND_IN, line.decode("utf-8", "replace"))


class SacrebleuStatistics:
    """chrF and TER of candidates, by sacrebleu."""

    def __init__(self, references: Sequence[Sequence[bytes]]) -> None:
        self._chrf = CHRF(char_order=CHRF_ORDERS)
        self._ter = TER(case_sensitive=True)
        self._references = [
            [as_text(line) for line in lines] for lines in zip(*references, strict=True)
        ]
        self._prepared: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._known: dict[tuple[int, bytes], NDArray[np.int32]] = {}

    def score(self, sentences: NDArray[np.int32], lines: Sequence[bytes]) -> NDArray[np.int32]:
        """Return (N, 20): chrF's counts of each order, then edits and words times references."""
        rows = [
            self._of(sentence, line)
            for sentence, line in zip(sentences.tolist(), lines, strict=True)
        ]
        return np.stack(rows) if rows else np.zeros((0, 3 * CHRF_ORDERS + 2), np.int32)

    def _of(self, sentence: int, line: bytes) -> NDArray[np.int32]:
        row = self._known.get((sentence, line))
        if row is None:
            row = self._known[sentence, line] = self._computed(sentence, as_text(line))
        return row

    def _computed(self, sentence: int, text: str) -> NDArray[np.int32]:
        references = self._references[sentence]
        if sentence not in self._prepared:
            self._prepared[sentence] = (
                self._chrf._extract_reference_info(references),
                self._ter._extract_reference_info(references),
            )
        for_chrf, for_ter = self._prepared[sentence]
        chrf = self._chrf._compute_segment_statistics(text, for_chrf)
        edits, words = self._ter._compute_segment_statistics(text, for_ter)
        count = len(references)
        return np.array([*chrf, edits * count, round(words * count)], np.int32)
