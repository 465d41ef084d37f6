"""Model folders: plain files that are safe to open and whose damage is detected.

A folder holds the weights (``model.safetensors``), the settings (``config.json``), the origin
(``provenance.json``), the learning curve (``curves.jsonl``) and digests (``SHA256SUMS``). Text
files hold the vocabularies, and the words outside the target vocabulary. Nothing is pickled. Torch
is imported only to build a network. The decoder reads the weights as numpy arrays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import safetensors
from numpy.typing import NDArray

from phrasescore.errors import ModelError, SettingsError, quoted, visible
from phrasescore.model.kinds import KINDS, Direction, Kind, ModelSettings, kind_named, read_settings
from phrasescore.runs.final_names import remove, scratch_folder, write_atomically
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.json_files import JsonObject, read_object, write_json
from phrasescore.runs.results import RESULT, Count, Number, Record, Seconds
from phrasescore.table.phrase_table import SIDES, Side
from phrasescore.words.byte_pairs import BYTE_PAIRS, BytePairs
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, OutsideWords, Vocabulary

if TYPE_CHECKING:
    from phrasescore.model.sequence_model import SequenceModel
    from phrasescore.table.block import TokenSpans

# the version of the format; raise it when older programs cannot read new folders (2: byte pairs)
FORMAT, _WITHOUT_BYTE_PAIRS = 2, 1
CONFIG, WEIGHTS = "config.json", "model.safetensors"
SOURCE_VOCABULARY, TARGET_VOCABULARY = "source.vocabulary.txt", "target.vocabulary.txt"
TARGET_OUTSIDE = "target.outside.txt"
PROVENANCE, CURVES = "provenance.json", "curves.jsonl"
DIGESTS = "SHA256SUMS"
NEEDED = (CONFIG, WEIGHTS, TARGET_VOCABULARY, TARGET_OUTSIDE, PROVENANCE)
ALL = (*NEEDED, SOURCE_VOCABULARY, BYTE_PAIRS, CURVES, RESULT, DIGESTS)


def is_model_folder(folder: Path) -> bool:
    """Tell whether ``save_model`` seems to have written this folder."""
    return (folder / CONFIG).is_file() and (folder / DIGESTS).is_file()


def _damaged(path: Path, problem: str) -> ModelError:
    return ModelError(problem, path=path, remedy="copy the folder again, or train the model again")


def write_digests(folder: Path) -> None:
    """Write the digests of all files of a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.name != DIGESTS)
    digests = "".join(f"{sha256_of(folder / name)}  {name}\n" for name in names)
    write_atomically(folder / DIGESTS, digests.encode())


def read_digests(folder: Path) -> dict[str, str]:
    """Return the expected digest of each file by name.

    Raises:
        ModelError: The digests are missing.
    """
    if not (folder / DIGESTS).is_file():
        raise _damaged(folder, f"incomplete: {DIGESTS} is missing")
    text = (folder / DIGESTS).read_text("utf-8", errors="replace")
    parts = [line.partition("  ") for line in text.split("\n")]
    return {name: digest for digest, _, name in parts if name}


def check_file(folder: Path, name: str, digests: Mapping[str, str]) -> None:
    """Check that a file exists and has the expected digest.

    Raises:
        ModelError: The file is missing or damaged.
    """
    # accept only names of the listing, because a name in SHA256SUMS may point outside of the folder
    if name not in {path.name for path in folder.iterdir()} or not (folder / name).is_file():
        raise _damaged(folder, f"incomplete: {quoted(name)} is missing")
    if digests.get(name) != sha256_of(folder / name):
        raise _damaged(folder, f"damaged: {name} is not the file that was written")


_KIND = "F32"  # the type of all weights: the name of float32 in safetensors


@dataclass(frozen=True)
class TrainingRecord(Record):
    """The record in a model's folder, and in the work folder of its training.

    Args:
        config: The settings of the model; empty until the model is finished.
        provenance: The provenance of the model; empty until the model is finished.
    """

    kind: ClassVar[str] = "train"
    config: dict[str, object] = field(default_factory=dict)
    provenance: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class CurvePoint:
    """An evaluation during training: a line of ``curves.jsonl``, with losses in nats per word.

    Args:
        updates: Number of updates so far.
        epoch: Number of passes over the pairs so far.
        seconds: Wall-clock seconds of training so far.
        words_per_second: Target words trained on per second.
        learning_rate: Learning rate of the last update.
        training_nll: Nats per word in the updates since the last evaluation.
        held_out_sources_nll: Loss on pairs of held-out sources, or on held-out sentences.
        held_out_pairs_nll: Loss on pairs held out at random.
    """

    updates: Count
    epoch: Number
    seconds: Seconds
    words_per_second: Number | None = None
    learning_rate: Number | None = None
    training_nll: Number | None = None
    held_out_sources_nll: Number | None = None
    held_out_pairs_nll: Number | None = None


@dataclass(frozen=True)
class LoadedModel:
    """A model that was loaded from a folder.

    Attributes:
        settings: Everything that determines the shapes and the meaning of the weights.
        source_vocabulary: Words that the model reads; only ``</s>`` and ``<unk>`` for a language
            model.
        target_vocabulary: Words that the model predicts.
        weights: Arrays by name; docs/model-folder.md lists their shapes.
        digest: Digest of the folder; equal folders have equal digests.
        path: The folder.
    """

    settings: ModelSettings
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    weights: Mapping[str, NDArray[np.float32]]
    digest: str
    path: Path

    @cached_property
    def model(self) -> SequenceModel:
        """The network with these weights, in evaluation mode, on the CPU, float32.

        Raises:
            ModelError: The weights do not have the names and shapes that the settings require.
        """
        import torch

        from phrasescore.model.sequence_model import build

        with torch.device("meta"):  # allocates no memory for other weights
            model = build(self.settings)
        expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
        found = {name: value.shape for name, value in self.weights.items()}
        if expected != found:
            wrong = sorted(set(expected.items()) ^ set(found.items()))[0][0]
            problem = f"the weights do not match {CONFIG}: {quoted(wrong)} differs"
            raise _damaged(self.path / WEIGHTS, problem)
        # to_empty is not used: for meta tensors it imports a computer algebra system, in 0.7 s
        weights = {name: torch.from_numpy(values) for name, values in self.weights.items()}
        model.load_state_dict(weights, assign=True)
        return model.eval()

    @property
    def direction(self) -> Direction:
        """The direction of the model: ``source-target`` or ``target-source``."""
        return self.settings.direction

    @property
    def sides(self) -> dict[Side, Vocabulary]:
        """Vocabularies by side of a corpus; the side that the model reads, if any, comes first."""
        read, predicted = SIDES if self.direction == "source-target" else SIDES[::-1]
        if not kind_named(self.settings.kind).reads_source:
            return {predicted: self.target_vocabulary}
        return {read: self.source_vocabulary, predicted: self.target_vocabulary}

    @property
    def predicted(self) -> Side:
        """The side of a corpus that the model predicts."""
        return list(self.sides)[-1]

    def encode(self, texts: Sequence[TokenSpans]) -> tuple[TokenSequences, TokenSequences]:
        """Return the ids of N texts that the model reads, and of N texts that it predicts.

        For a language model, the sequences to read are empty.

        Args:
            texts: The tokens of sources and targets; for a language model, of the texts alone.
        """
        *read, predicted = texts if self.direction == "source-target" else texts[::-1]
        targets = self.target_vocabulary.encode_spans(predicted)
        if not read:
            return TokenSequences(targets.tokens[:0], np.zeros_like(predicted.offsets)), targets
        return self.source_vocabulary.encode_spans(read[0]), targets

    def unsuitable_kind(self, problem: str, remedy: str) -> ModelError:
        """Return the error that says why a model of this kind cannot be used."""
        option = kind_named(self.settings.kind).option
        return ModelError(f"a model of kind {option} {problem}", path=self.path, remedy=remedy)

    def must_read_a_source(self) -> None:
        """Raise a ModelError if the model is a language model, which reads no source."""
        if not kind_named(self.settings.kind).reads_source:
            raise self.unsuitable_kind(
                "is a language model, which reads no source",
                "use it with score-text or nbest; ini add-language-model gives one of kind "
                "feed-forward-lm to the decoder",
            )

    def must_be_of_phrases(self) -> None:
        """Raise a ModelError if the model scores sentences or texts, not phrases."""
        self.must_read_a_source()
        if kind_named(self.settings.kind).of_sentences:
            raise self.unsuitable_kind(
                "has learnt from sentences, but a phrase table has phrases",
                "name a phrase model; score-text and translate are for models of sentences",
            )

    def must_write_targets(self) -> None:
        """Raise a ModelError if the model cannot generate targets for source phrases."""
        self.must_be_of_phrases()
        if self.direction == "target-source":
            raise self.unsuitable_kind(
                "with --direction target-source writes source phrases",
                "name a model trained with --direction source-target",
            )

    def must_summarise(self) -> None:
        """Raise a ModelError if the model has no summary c of a source."""
        if not kind_named(self.settings.kind).summarises:
            having = " and ".join(each.option for each in KINDS if each.summarises)
            remedy = f"add --words for its word vectors; models of kind {having} have summaries"
            raise self.unsuitable_kind("makes no summary of a phrase", remedy)


def read_kind(folder: str | Path) -> Kind:
    """Return the kind of a model without reading the model.

    Raises:
        ModelError: The folder is not a model.
    """
    config = _read_config(Path(folder))
    try:
        return kind_named(str(config.get("kind", KINDS[0].name)))
    except SettingsError as error:
        raise ModelError(error.problem, path=folder, remedy=error.remedy) from None


def load_model(folder: str | Path) -> LoadedModel:
    """Load a model folder after checking the digest of every file, and build its network.

    Raises:
        ModelError: The folder is not a model, is incomplete or damaged, or has a newer format.
    """
    loaded = load_weights(folder)
    loaded.model  # noqa: B018 - its errors are raised here
    return loaded


def load_outside(folder: str | Path) -> OutsideWords:
    """Read the words outside the target vocabulary.

    Raises:
        ModelError: The file is missing or damaged.
    """
    folder = Path(folder)
    check_file(folder, TARGET_OUTSIDE, read_digests(folder))
    return OutsideWords.read(folder / TARGET_OUTSIDE)


def load_weights(folder: str | Path) -> LoadedModel:
    """Load a model folder without torch; the network is built when it is first used.

    Raises:
        ModelError: As in ``load_model``, except that the shapes of the arrays are not checked.
    """
    folder = Path(folder)
    if not folder.is_dir():
        problem, remedy = "no such model folder", "train one: phrasescore train"
        raise ModelError(problem, path=folder, remedy=remedy)
    config = _read_config(folder)
    digests = read_digests(folder)
    is_cut = config.pop("format") > _WITHOUT_BYTE_PAIRS
    for name in sorted({*NEEDED, *([BYTE_PAIRS] if is_cut else []), *digests}):
        check_file(folder, name, digests)
    try:
        settings = read_settings(config, where=CONFIG)
    except SettingsError as error:
        raise ModelError(error.problem, path=folder, remedy=error.remedy) from None
    pairs = BytePairs.read(folder / BYTE_PAIRS) if is_cut else None
    source = Vocabulary.from_words([])
    if kind_named(settings.kind).reads_source:
        source = _read_vocabulary(folder, SOURCE_VOCABULARY, settings.source_vocabulary, pairs)
    target = _read_vocabulary(folder, TARGET_VOCABULARY, settings.target_vocabulary, pairs)
    weights = _read_weights(folder / WEIGHTS)
    # equal folders have equal files of digests
    return LoadedModel(settings, source, target, weights, sha256_of(folder / DIGESTS), folder)


def _read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    weights = {}
    try:
        with safetensors.safe_open(path, framework="numpy") as stored:
            for name in stored.keys():  # noqa: SIM118 - `stored` is not a mapping
                kind = stored.get_slice(name).get_dtype()
                if kind != _KIND:
                    problem = f"the weights {quoted(name)} are of the type {kind}, not {_KIND}"
                    raise _damaged(path, problem)
                weights[name] = stored.get_tensor(name)
    except (safetensors.SafetensorError, OSError, ValueError, OverflowError) as error:
        raise _damaged(path, f"the weights cannot be read ({quoted(str(error))})") from None
    for name, values in weights.items():
        if not np.isfinite(values).all():
            problem = f"the weights {quoted(name)} have numbers that are not finite"
            remedy = "train the model again, perhaps with a lower learning rate"
            raise ModelError(problem, path=path, remedy=remedy)
    return weights


def _no_model(folder: Path, why: str) -> ModelError:
    remedy = "name the folder that phrasescore train wrote"
    return ModelError(f"not a phrasescore model: {why}", path=folder, remedy=remedy)


def _read_config(folder: Path) -> JsonObject:
    if not (folder / CONFIG).is_file():
        raise _no_model(folder, f"it has no {CONFIG}")
    try:
        config = read_object(folder / CONFIG)
    except ValueError as error:
        raise _damaged(folder, f"{CONFIG} is not JSON ({error})") from None
    number = config.get("format")
    if type(number) is not int or number < 1:
        raise _no_model(folder, f"its {CONFIG} has no format number")
    if number > FORMAT:
        shown = quoted(str(number))
        problem = f"the model has format {shown}, but this version reads up to {FORMAT}"
        raise ModelError(problem, path=folder, remedy="update phrasescore")
    return config


def _read_vocabulary(folder: Path, name: str, size: int, pairs: BytePairs | None) -> Vocabulary:
    if not (folder / name).is_file():
        raise _damaged(folder, f"incomplete: {name} is missing")
    vocabulary = Vocabulary.read(folder / name, pairs)
    if len(vocabulary) != size:
        problem = f"a vocabulary has {len(vocabulary)} words, but {CONFIG} says {size}"
        raise ModelError(problem, path=folder)
    return vocabulary


def save_model(
    folder: Path,
    model: SequenceModel,
    vocabularies: tuple[Vocabulary, Vocabulary],
    provenance: dict[str, object],
    *,
    curves: Path | None = None,
    outside: OutsideWords = NO_OUTSIDE_WORDS,
) -> None:
    """Write a model folder atomically.

    Args:
        folder: The folder.
        model: A model on any device.
        vocabularies: Source and target; the source of a language model is not written.
        provenance: Versions, inputs and settings.
        curves: A learning curve to copy into the folder.
        outside: The words outside the target vocabulary.

    Raises:
        SettingsError: There is a file or folder of this name.
    """
    from safetensors import torch as torch_files

    if os.path.lexists(folder):
        raise SettingsError("the name is taken", path=folder, remedy="name another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder, 0o777) as part:
        weights = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
        write_atomically(part / WEIGHTS, torch_files.save(weights))
        byte_pairs = vocabularies[1].byte_pairs
        number = _WITHOUT_BYTE_PAIRS if byte_pairs is None else FORMAT
        write_json(part / CONFIG, {"format": number, **dataclasses.asdict(model.settings)})
        if byte_pairs is not None:
            byte_pairs.write(part / BYTE_PAIRS)
        if kind_named(model.settings.kind).reads_source:
            vocabularies[0].write(part / SOURCE_VOCABULARY)
        vocabularies[1].write(part / TARGET_VOCABULARY)
        outside.write(part / TARGET_OUTSIDE)
        write_json(part / PROVENANCE, provenance)
        config = dataclasses.asdict(model.settings)
        TrainingRecord(config, dict(provenance)).write(part / RESULT)
        if curves is not None and curves.exists():
            write_atomically(part / CURVES, curves.read_bytes())
        write_digests(part)
        part.rename(folder)


def copy_model(folder: Path, copy: Path) -> None:
    """Copy a model folder atomically, unless the copy is there; it may replace another model.

    Raises:
        ModelError: The model is incomplete or damaged.
        SettingsError: Something else has the name of the copy.
    """
    digests = read_digests(folder)
    if is_model_folder(copy) and read_digests(copy) == digests:
        return
    refuse_foreign(copy)
    copy.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(copy, 0o777) as part:
        for name in digests:
            check_file(folder, name, digests)
            write_atomically(part / name, (folder / name).read_bytes())
        write_atomically(part / DIGESTS, (folder / DIGESTS).read_bytes())
        remove(copy)
        part.rename(copy)


def refuse_foreign(folder: Path) -> None:
    """Raise an error unless the path is free, or a model folder without foreign files.

    Raises:
        SettingsError: Something else has this name, or the model folder contains foreign files.
    """
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not is_model_folder(folder):
        raise SettingsError(
            "the name is taken, but not by a model", path=folder, remedy="name another folder"
        )
    known = set(ALL)
    with contextlib.suppress(ModelError, OSError):  # newer versions may add files to SHA256SUMS
        known |= read_digests(folder).keys()
    found = folder.iterdir()
    if others := sorted(
        each.name for each in found if each.name not in known or not each.is_file()
    ):
        foreign = visible(os.fsencode(others[0]), 80)
        problem = f"the model folder contains {foreign}, which training did not write"
        raise SettingsError(problem, path=folder, remedy="move it away, or name another folder")
