"""A model on disk: a folder of plain files that is safe to open and says when it was damaged.

``model.safetensors`` holds the weights, ``config.json`` what kind of model they are, two text files
the vocabularies, a third the words outside, ``provenance.json`` where it comes from,
``curves.jsonl`` how it learned, and ``SHA256SUMS`` the digest of each. Nothing is pickled.
Who wants the weights alone, as arrays, needs no torch: it is imported where a network is made.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from phrasescore.errors import ModelError, SettingsError
from phrasescore.files import write_atomically
from phrasescore.model.folder_digests import (
    DIGESTS,
    RETRAIN,
    check_file,
    digest_of_folder,
    read_digests,
    write_digests,
)
from phrasescore.model.kinds import build, kind_named, read_settings
from phrasescore.model.model_settings import Direction, ModelSettings
from phrasescore.provenance import write_json
from phrasescore.table.phrase_table import Side
from phrasescore.words.outside_words import OutsideWords
from phrasescore.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from phrasescore.model.sequence_model import SequenceModel

FORMAT = 1  # raised when a folder of today could no longer be read
CONFIG, WEIGHTS = "config.json", "model.safetensors"
SOURCE_VOCABULARY, TARGET_VOCABULARY = "source.vocabulary.txt", "target.vocabulary.txt"
TARGET_OUTSIDE = "target.outside.txt"
PROVENANCE, CURVES = "provenance.json", "curves.jsonl"
_NEEDED = (CONFIG, WEIGHTS, TARGET_VOCABULARY, PROVENANCE)


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


def save_model(
    folder: Path,
    model: SequenceModel,
    vocabularies: tuple[Vocabulary, Vocabulary],
    provenance: dict[str, Any],
    *,
    curves: Path | None = None,
    outside: OutsideWords | None = None,
) -> None:
    """Write a model folder; it gets its name when it is whole, and replaces an older one.

    Args:
        folder: Its name.
        model: On any device.
        vocabularies: Source and target; only the target's is written where it reads no source.
        provenance: Where it comes from.
        curves: A learning curve to keep beside it.
        outside: The words outside the target vocabulary.
    """
    from safetensors import torch as torch_files

    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        weights = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
        write_atomically(part / WEIGHTS, torch_files.save(weights))
        write_json(part / CONFIG, {"format": FORMAT, **dataclasses.asdict(model.settings)})
        if kind_named(model.settings.kind).reads_source:
            vocabularies[0].write(part / SOURCE_VOCABULARY)
        vocabularies[1].write(part / TARGET_VOCABULARY)
        if outside is not None:
            outside.write(part / TARGET_OUTSIDE)
        write_json(part / PROVENANCE, provenance)
        if curves is not None and curves.exists():
            write_atomically(part / CURVES, curves.read_bytes())
        write_digests(part)
        if folder.exists():
            shutil.rmtree(folder)
        part.replace(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def is_model_folder(folder: Path) -> bool:
    """Tell whether a folder looks like one that :func:`save_model` wrote."""
    return (folder / CONFIG).is_file() and (folder / DIGESTS).is_file()


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
    model = build(stored.settings)
    _fill(model, stored)
    return LoadedModel(
        model.eval(),
        stored.source_vocabulary,
        stored.target_vocabulary,
        stored.digest,
        stored.path,
    )


def load_outside(folder: str | Path) -> OutsideWords | None:
    """Read the words outside the target vocabulary; ``None`` from a folder that does not say them.

    Raises:
        ModelError: The file is not the one that was written.
    """
    folder = Path(folder)
    digests = read_digests(folder)
    if TARGET_OUTSIDE not in digests:
        return None
    check_file(folder, TARGET_OUTSIDE, digests)
    return OutsideWords.read(folder / TARGET_OUTSIDE)


def load_weights(folder: str | Path) -> StoredWeights:
    """Read a model folder as arrays, after the same checks, without torch.

    Raises:
        ModelError: As ``load_model`` does; only the arrays' shapes are not looked at.
    """
    folder = Path(folder)
    settings, source, target = _opened(folder)
    try:
        read = safetensors.numpy.load_file(folder / WEIGHTS)
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(
            f"unreadable weights ({error})", path=folder / WEIGHTS, remedy=RETRAIN
        ) from None
    weights = {name: value.astype(np.float32, copy=False) for name, value in read.items()}
    return StoredWeights(settings, source, target, weights, digest_of_folder(folder), folder)


def _opened(folder: Path) -> tuple[ModelSettings, Vocabulary, Vocabulary]:
    """Check a folder; return its settings and the vocabularies it reads and predicts."""
    if not folder.is_dir():
        raise ModelError("no such model folder", path=folder, remedy="train one: phrasescore train")
    config = _read_config(folder)
    digests = read_digests(folder)
    for name in sorted({*_NEEDED, *digests}):
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


def _read_config(folder: Path) -> dict[str, Any]:
    if not (folder / CONFIG).is_file():
        raise ModelError(
            f"not a phrasescore model: it has no {CONFIG}",
            path=folder,
            remedy="name the folder that phrasescore train wrote",
        )
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except ValueError:
        raise ModelError(f"{CONFIG} is not JSON", path=folder, remedy=RETRAIN) from None
    if not isinstance(config, dict) or not isinstance(config.get("format"), int):
        raise ModelError(
            f"not a phrasescore model: its {CONFIG} names no format number",
            path=folder,
            remedy="name the folder that phrasescore train wrote",
        )
    if config["format"] > FORMAT:
        raise ModelError(
            f"a model of format {config['format']}; this version reads up to {FORMAT}",
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


def _fill(model: SequenceModel, stored: StoredWeights) -> None:
    import torch

    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: value.shape for name, value in stored.weights.items()}
    if expected != found:
        wrong = sorted(set(expected.items()) ^ set(found.items()))[0][0]
        raise ModelError(
            f"the weights are not those of its {CONFIG}: {wrong} differs",
            path=stored.path / WEIGHTS,
            remedy=RETRAIN,
        )
    model.load_state_dict({name: torch.from_numpy(v) for name, v in stored.weights.items()})
