"""A translation system as its ini declares it: features, settings, weights and loaded models."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.features import FeatureSet
from moses_integration.decoder.loading.parsed_tables import Arrays, ParsedTables
from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.model_files import find_model_file
from moses_integration.language_model.automaton import AutomatonTables
from moses_integration.language_model.back_off import ArrayLanguageModel, read_language_model
from moses_integration.language_model.neural import read_feed_forward_lm
from phrasescore.errors import IniError
from phrasescore.model.folder import StoredWeights, load_outside
from phrasescore.runs.identity import sha256_of
from phrasescore.words.vocabulary import OutsideWords
from phrasescore.words.word_table import WordArrays, WordTable

_LARGEST_WEIGHT = 1_000_000  # scores are summed up in single precision

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class System:
    """What an ini says, understood.

    Args:
        ini: The ini's path, for errors.
        features: Its features.
        settings: The bounds of the search.
        weights: Its weights in the order of the feature vector, shape (F,).
    """

    ini: str
    features: FeatureSet
    settings: SearchSettings
    weights: NDArray[np.float64]

    def find(self, path: str, line: int) -> Path:
        """Find a file that a line of the ini names.

        Raises:
            InputError: There is no such file.
        """
        found = find_model_file(path, ini=self.ini)
        if found.note:
            _log.warning("%s:%d: %s", self.ini, line, found.note)
        return found.path


def flat_weights(
    layout: FeatureLayout, weights: Mapping[str, Sequence[float]]
) -> NDArray[np.float64]:
    """Return weights in the order of the feature vector.

    Raises:
        IniError: They do not fit the features, or one is no number that scores can be weighed with.
    """
    flat = layout.flatten(weights)
    for name, values in weights.items():
        if not np.all(np.abs(np.asarray(values, np.float64)) <= _LARGEST_WEIGHT):
            raise IniError(
                f"a weight of {name} is not a number from {-_LARGEST_WEIGHT:,} to "
                f"{_LARGEST_WEIGHT:,}",
                remedy="give numbers such as 0.2",
            )
    return flat


@dataclass(frozen=True)
class LoadedModels:
    """The language models of a system, in its order.

    Args:
        ngrams: The n-gram models.
        neural: The neural language models.
        outside: Of each of these, the words among which it shares p(<unk>) out, or ``None``.
    """

    ngrams: tuple[ArrayLanguageModel, ...]
    neural: tuple[StoredWeights, ...]
    outside: tuple[OutsideWords | None, ...]

    @classmethod
    def of(cls, system: System, parsed: ParsedTables) -> LoadedModels:
        """Load the models that a system names.

        Raises:
            InputError: One cannot be read, is damaged, or is of a kind that decoding cannot ask.
        """
        features = system.features
        neural = [system.find(model.path, model.line) for model in features.neural_models]
        return cls(
            tuple(
                _load_ngram_model(system.find(model.path, model.line), parsed)
                for model in features.language_models
            ),
            tuple(map(read_feed_forward_lm, neural)),
            tuple(
                load_outside(path) if model.shares_unknown else None
                for path, model in zip(neural, features.neural_models, strict=True)
            ),
        )


def _load_ngram_model(path: Path, parsed: ParsedTables) -> ArrayLanguageModel:
    """Read an ARPA file or a KenLM binary, or take what was parsed of it before.

    Raises:
        LanguageModelError: It is neither, or damaged.
        InputError: It cannot be read.
    """

    def parse() -> Arrays:
        return _to_arrays(read_language_model(path))

    return _from_arrays(parsed.get(("language model", sha256_of(path)), parse))


def _to_arrays(model: ArrayLanguageModel) -> Arrays:
    return {
        "numbers": np.array([model.order, model.begin_state, model.end_word]),
        **{f"words_{name}": getattr(model.words.arrays, name) for name in WordArrays._fields},
        **{f"tables_{name}": getattr(model.tables, name) for name in AutomatonTables._fields},
    }


def _from_arrays(arrays: Arrays) -> ArrayLanguageModel:
    words = WordTable()
    words.arrays = WordArrays(*(arrays[f"words_{name}"] for name in WordArrays._fields))
    order, begin_state, end_word = (int(number) for number in arrays["numbers"])
    return ArrayLanguageModel(
        order,
        words,
        AutomatonTables(*(arrays[f"tables_{name}"] for name in AutomatonTables._fields)),
        begin_state,
        end_word,
    )
