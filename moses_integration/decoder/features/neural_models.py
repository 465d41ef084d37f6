"""Neural language models of a system: what they make of an input, and what the search must know.

Words that all models of a system take for the same share a number, from 0 on; the boundary of a
sentence has the number behind them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from moses_integration.language_model.neural import InputNetwork
from phrasescore.model.folder import StoredWeights
from phrasescore.words.vocabulary import UNK_ID, OutsideWords


class NeuralTerms(NamedTuple):
    """What a search must know of neural language models, one of which has a weight at least.

    Attributes:
        first: First word of each option in ``words``, shape (options + 1,).
        words: The target words of all options, by number.
        boundary: The number of the sentence's boundary.
        longest: Words of the longest option.
        stand_in: What an n-gram model says in their place of the words of an option whose history
            is in it, weighted, shape (options,).
        lm_weights: The weights of n-gram models, with those of the neural models at the one that
            stands in for them, shape (models,).
        weights: The weights of the neural models.
    """

    first: NDArray[np.int64]
    words: NDArray[np.int32]
    boundary: int
    longest: int
    stand_in: NDArray[np.float64]
    lm_weights: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class NeuralModels:
    """The neural language models of a system, prepared for one input.

    Args:
        networks: Each of them.
        components: Their places in the feature vector, shape (models,).
        numbers: The number of every target word of the input, shape (target words,).
        boundary: The number of the sentence's boundary.
    """

    networks: tuple[InputNetwork, ...]
    components: NDArray[np.int64]
    numbers: NDArray[np.int32]
    boundary: int

    @property
    def context(self) -> int:
        """Words of the longest history that a model looks at; 0 where there is no model."""
        return max((network.context for network in self.networks), default=0)

    @classmethod
    def of(
        cls,
        stored: Sequence[StoredWeights],
        outside: Sequence[OutsideWords | None],
        normalised: Sequence[bool],
        components: Sequence[int],
        words: Sequence[bytes],
    ) -> NeuralModels:
        """Prepare models for an input.

        Args:
            stored: The models.
            outside: The words among which each shares p(<unk>) out; ``None``: an unknown word has
                the whole of it.
            normalised: Whether the scores of each are to be ln p (`InputNetwork`).
            components: Their places in the feature vector.
            words: The target words of the input.
        """
        ids = np.array(
            [model.target_vocabulary.encode(words) for model in stored], np.int32
        ).reshape(len(stored), len(words))
        shares = np.zeros(ids.shape)
        for model, known in enumerate(outside):
            if known is not None:
                for word in np.flatnonzero(ids[model] == UNK_ID).tolist():
                    shares[model, word] = known.ln_share(words[word])
        # words that are the same to every model, with the same shares
        kinds, numbers = np.unique(np.vstack([ids, shares]), axis=1, return_inverse=True)
        networks = [
            InputNetwork(model, own.astype(np.int32).tolist(), share.tolist(), normalised=whole)
            for model, own, share, whole in zip(
                stored, kinds[: len(stored)], kinds[len(stored) :], normalised, strict=True
            )
        ]
        return cls(
            tuple(networks),
            np.array(components, np.int64),
            numbers.reshape(-1).astype(np.int32),
            kinds.shape[1],
        )


def products_on_one_core(models: NeuralModels) -> AbstractContextManager[object]:
    """Keep numpy's products on the core of their caller: a search has a thread for each core."""
    if not models.networks:
        return contextlib.nullcontext()
    return threadpool_limits(1, user_api="blas")
