"""Small texts to score: references, and translations by a poor system."""

from __future__ import annotations

import numpy as np

_TEXT = "le la chat chien noir blanc mange voit dort un une petit grand et dans rue maison ."
_WORDS = _TEXT.split(" ")


def references(sentences: int = 40) -> list[str]:
    """Return fixed sentences of five to twelve words."""
    rng = np.random.default_rng(7)
    return [" ".join(rng.choice(_WORDS, rng.integers(5, 13))) for _ in range(sentences)]


def noisy_translations(rng: np.random.Generator, share: float, sentences: int = 40) -> list[str]:
    """Return the references with a share of the words lost or replaced."""
    texts = []
    for line in references(sentences):
        kept = [word for word in line.split(" ") if rng.random() > share / 2]
        texts.append(" ".join(w if rng.random() > share else str(rng.choice(_WORDS)) for w in kept))
    return texts
