"""A model on disk: a folder of plain files that is safe to open and says when it was damaged.

``model.safetensors`` holds the weights, ``config.json`` what kind of model they are, two text files
the vocabularies, a third the words outside, ``provenance.json`` where it comes from,
``curves.jsonl`` how it learned, and ``SHA256SUMS`` the digest of each. Nothing is pickled.
Who wants the weights alone, as arrays, needs no torch: it is imported where a network is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors
from numpy.typing import NDArray

from phrasescore.errors import ModelError, SettingsError, visible
from phrasescore.model.folder_digests import RETRAIN, check_file, digest_of_folder, read_digests
from phrasescore.model.folder_names import (
    CONFIG,
    FORMAT,
    NEEDED,
    SOURCE_VOCABULARY,
    TARGET_OUTSIDE,
    TARGET_VOCABULARY,
    WEIGHTS,
    replaced,
)
from phrasescore.model.kinds import build, kind_named, read_settings
from phrasescore.model.model_settings import Direction, ModelSettings
from phrasescore.runs.json_files import read_object
from phrasescore.table.phrase_table import Side
from phrasescore.words.outside_words import OutsideWords
from phrasescore.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from phrasescore.model.sequence_model import SequenceModel

_LONGEST = 80  # characters of a name in an error
_KIND = "F32"  # of all weights, as safetensors calls float32


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to score.

    Attributes:
        model: In evaluation mode, on the CPU, float32.
        source_vocabulary: Of the side it reads; ``</s>`` and ``<unk>`` alone where it reads none.
        target_vocabulary: Of the side it predicts.
        digest: SHA-256 over the folder's digests: equal for equal models.
        path: The folder.
    """

    model: SequenceModel
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    digest: str
    path: Path

    @property
    def direction(self) -> Direction:
        """Which side of a table the model reads."""
        return self.model.settings.direction


@dataclass(frozen=True)
class StoredWeights:
    """What a model folder holds, as arrays.

    Attributes:
        settings: Of the model; its kind says what the arrays are.
        source_vocabulary: Of the side it reads; ``</s>`` and ``<unk>`` alone where it reads none.
        target_vocabulary: Of the side it predicts.
        weights: Each by its name; docs/formats.md says their shapes.
        digest: SHA-256 over the folder's digests: equal for equal models.
        path: The folder.
    """

    settings: ModelSettings
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    weights: Mapping[str, NDArray[np.float32]]
    digest: str
    path: Path


@dataclass(frozen=True)
class ModelWords:
    """The words that a model knows, by the side of a text and not by what it reads or predicts.

    Attributes:
        sides: Source, target or both; a model without a source has one side only.
        factor: Which factor of a factored word they are, from 0.
    """

    sides: Mapping[Side, Vocabulary]
    factor: int


def load_words(folder: str | Path) -> ModelWords:
    """Read the vocabularies of a model folder and nothing else, after the same checks.

    Raises:
        ModelError: As ``load_model`` does.
    """
    settings, read, predicted = _opened(Path(folder))
    sides: tuple[Side, Side] = ("source", "target")
    if settings.direction == "target-source":
        sides = ("target", "source")
    known = {sides[1]: predicted}
    if kind_named(settings.kind).reads_source:
        known[sides[0]] = read
    return ModelWords(known, settings.factor)


def load_model(folder: str | Path) -> LoadedModel:
    """Read a model folder, checking every byte of it.

    Raises:
        ModelError: It is not a model folder, or is incomplete, damaged or from a newer version.
    """
    stored = load_weights(folder)
    return LoadedModel(
        _filled(stored).eval(),
        stored.source_vocabulary,
        stored.target_vocabulary,
        stored.digest,
        stored.path,
    )


def load_outside(folder: str | Path) -> OutsideWords:
    """Read the words outside the target vocabulary.

    Raises:
        ModelError: The file is not the one that was written.
    """
    folder = Path(folder)
    check_file(folder, TARGET_OUTSIDE, read_digests(folder))
    return OutsideWords.read(folder / TARGET_OUTSIDE)


def load_weights(folder: str | Path) -> StoredWeights:
    """Read a model folder as arrays, after the same checks, without torch.

    Raises:
        ModelError: As ``load_model`` does; only the arrays' shapes are not looked at.
    """
    folder = Path(folder)
    settings, source, target = _opened(folder)
    weights = _read_weights(folder / WEIGHTS)
    return StoredWeights(settings, source, target, weights, digest_of_folder(folder), folder)


def _read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    weights = {}
    try:
        with safetensors.safe_open(path, framework="numpy") as stored:
            for name in stored.keys():  # noqa: SIM118 - it is no mapping
                kind = stored.get_slice(name).get_dtype()
                if kind != _KIND:
                    problem = f"the weights {_shown(name)} are of the type {kind}, not {_KIND}"
                    raise ModelError(problem, path=path, remedy=RETRAIN)
                weights[name] = stored.get_tensor(name)
    except (safetensors.SafetensorError, OSError) as error:
        problem = f"unreadable weights ({_shown(str(error))})"
        raise ModelError(problem, path=path, remedy=RETRAIN) from None
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise ModelError(
                f"the weights {_shown(name)} have numbers that are not finite",
                path=path,
                remedy="train the model again, perhaps with a lower learning rate",
            )
    return weights


def _opened(folder: Path) -> tuple[ModelSettings, Vocabulary, Vocabulary]:
    """Check a folder; return its settings and the vocabularies it reads and predicts."""
    if not folder.is_dir():
        raise _no_folder(folder)
    config = _read_config(folder)
    digests = read_digests(folder)
    for name in sorted({*NEEDED, *digests}):
        check_file(folder, name, digests)
    try:
        settings = read_settings(config, where=CONFIG)
    except SettingsError as error:
        raise ModelError(error.problem, path=folder, remedy=error.remedy) from None
    source = Vocabulary.from_words([])
    if kind_named(settings.kind).reads_source:
        source = _read_vocabulary(folder, SOURCE_VOCABULARY, settings.source_vocabulary)
    target = _read_vocabulary(folder, TARGET_VOCABULARY, settings.target_vocabulary)
    return settings, source, target


def _no_folder(folder: Path) -> ModelError:
    if replaced(folder).is_dir():
        problem = "training was killed while it replaced this model, which is kept"
        remedy = f"repeat the command of training, or rename {replaced(folder)}"
        return ModelError(problem, path=folder, remedy=remedy)
    problem, remedy = "no such model folder", "train one: phrasescore train"
    return ModelError(problem, path=folder, remedy=remedy)


def _read_config(folder: Path) -> dict[str, Any]:
    if not (folder / CONFIG).is_file():
        raise ModelError(
            f"not a phrasescore model: it has no {CONFIG}",
            path=folder,
            remedy="name the folder that phrasescore train wrote",
        )
    try:
        config = read_object(folder / CONFIG)
    except ValueError as error:
        raise ModelError(f"{CONFIG} is not JSON ({error})", path=folder, remedy=RETRAIN) from None
    number = config.get("format")
    if type(number) is not int or number < 1:
        raise ModelError(
            f"not a phrasescore model: its {CONFIG} names no format number",
            path=folder,
            remedy="name the folder that phrasescore train wrote",
        )
    if number > FORMAT:
        raise ModelError(
            f"a model of format {_shown(str(number))}; this version reads up to {FORMAT}",
            path=folder,
            remedy="update phrasescore",
        )
    return {key: value for key, value in config.items() if key != "format"}


def _read_vocabulary(folder: Path, name: str, size: int) -> Vocabulary:
    if not (folder / name).is_file():
        raise ModelError(f"incomplete: {name} is missing", path=folder, remedy=RETRAIN)
    vocabulary = Vocabulary.read(folder / name)
    if len(vocabulary) != size:
        raise ModelError(
            f"a vocabulary has {len(vocabulary)} words where {CONFIG} says {size}", path=folder
        )
    return vocabulary


def _filled(stored: StoredWeights) -> SequenceModel:
    """Return the network with the weights; nothing is allocated that the weights do not need."""
    import torch

    with torch.device("meta"):
        model = build(stored.settings)
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: value.shape for name, value in stored.weights.items()}
    if expected != found:
        wrong = sorted(set(expected.items()) ^ set(found.items()))[0][0]
        raise ModelError(
            f"the weights are not those of its {CONFIG}: {_shown(wrong)} differs",
            path=stored.path / WEIGHTS,
            remedy=RETRAIN,
        )
    # not to_empty: on the way from meta it imports a computer algebra system, 0.7 s
    weights = {name: torch.from_numpy(v).clone() for name, v in stored.weights.items()}
    model.load_state_dict(weights, assign=True)
    return model


def _shown(text: str) -> str:
    return visible(text.encode("utf-8", "backslashreplace"), _LONGEST)
