"""What the decoder found for one sentence: derivations with their features, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.loaded_input import LoadedInput


@dataclass(frozen=True)
class SentenceStatistics:
    """What the search of one sentence cost.

    Attributes:
        words: Source words.
        options: Translation options of all spans.
        hypotheses: Hypotheses that were kept at some time.
        complete: Hypotheses that cover the sentence.
        asked: Words that neural language models were asked for.
        histories: Histories that went through one for that.
        seconds: Time it took.
    """

    words: int = 0
    options: int = 0
    hypotheses: int = 0
    complete: int = 0
    asked: int = 0
    histories: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class DecodedSentence:
    """The translations of one sentence, the best first.

    An empty sentence has one translation without phrases; a sentence that cannot be covered has
    none.

    Args:
        sentence: Its number in the loaded input, from 0.
        loaded: The input it is from.
        derivations: The N derivations; one, unless a list was asked for.
        features: Their unweighted feature values, in the order of the layout, shape (N, F).
        totals: Their model scores, shape (N,).
        statistics: What the search cost.
        first: The number of its input's first sentence, where that is a part of a file.
        own_features: Values of features of our own by name, each of shape (N, components).
    """

    sentence: int
    loaded: LoadedInput
    derivations: Derivations
    features: NDArray[np.float64]
    totals: NDArray[np.float64]
    statistics: SentenceStatistics = SentenceStatistics()
    first: int = 0
    own_features: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of the sentence in its file, from 0."""
        return self.first + self.sentence

    def __len__(self) -> int:
        return len(self.totals)

    def entries(self, number: int = 0) -> NDArray[np.int32]:
        """Return the table entries of one derivation, in the order they are applied."""
        begin, end = self.derivations.offsets[number : number + 2]
        return self.derivations.entries[begin:end]

    def source(self) -> list[bytes]:
        """Return the words of the source sentence."""
        numbers = self.loaded.source.sentences[self.sentence].tolist()
        return [self.loaded.source.words.word(number) for number in numbers]

    def words(self, number: int = 0) -> list[bytes]:
        """Return the target words of one derivation."""
        return [word for entry in self.entries(number) for word in self.loaded.target_words(entry)]
