"""Feed-forward language models for tests: random ones, copies of n-gram models, a plain reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore.model.folder import load_weights
from phrasescore.model.kinds import FeedForwardLmSettings
from tests.support.random_models import save_random_model


def save_random_language_model(
    folder: Path, words: Sequence[bytes], order: int = 4, seed: int = 1, **more: Any
) -> Path:
    """Write a small model whose scores differ from history to history."""
    more = {"order": order, "embedding": 5, "hidden": 9, "spread": 0.6, **more}
    return save_random_model(folder, [], words, seed=seed, kind="feed-forward-lm", **more)


END = 0  # the id of the sentence end


class PlainNeuralModel:
    """A model folder evaluated by the definition of the network, word by word, in float64."""

    def __init__(self, folder: Path) -> None:
        stored = load_weights(folder)
        assert isinstance(stored.settings, FeedForwardLmSettings)
        self.order, self._words = stored.settings.order, stored.target_vocabulary
        self._weights = {name: value.astype(float) for name, value in stored.weights.items()}

    def ids(self, words: Sequence[bytes]) -> list[int]:
        """Return the model's ids of words."""
        return self._words.encode(words)

    def logits(self, history: Sequence[int]) -> np.ndarray:
        """Return the input of the softmax after the word ids of a sentence so far, shape (V,)."""
        weights, start = self._weights, len(self._weights["embedding"]) - 1
        ids = [start] * (self.order - 1) + list(history)
        ids = ids[len(ids) - self.order + 1 :]
        read = np.concatenate([weights["embedding"][word] for word in ids])
        hidden = np.maximum(read @ weights["input_weight"] + weights["input_bias"], 0)
        hidden = np.maximum(hidden @ weights["hidden_weight"] + weights["hidden_bias"], 0)
        logits: np.ndarray = weights["output_words"] @ hidden + weights["output_bias"]
        return logits

    def word(self, history: Sequence[int], word: int, *, normalised: bool = True) -> float:
        """Return ln p of a word id after a history, or its logit."""
        logits = self.logits(history)
        return float(logits[word] - (np.log(np.exp(logits).sum()) if normalised else 0.0))

    def sentence(self, words: Sequence[bytes], *, normalised: bool = True) -> float:
        """Return ln p of a sentence with its end, or the sum of its logits."""
        ids = [*self.ids(words), END]
        return sum(self.word(ids[:at], ids[at], normalised=normalised) for at in range(len(ids)))
