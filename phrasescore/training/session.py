"""One training run from a phrase table to a model folder: what ``phrasescore train`` does."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
import torch

from phrasescore.device import choose_device, has_fast_bf16
from phrasescore.errors import ResumeError, SettingsError
from phrasescore.files import sha256_of
from phrasescore.model.folder import build, is_model_folder, save_model
from phrasescore.model.model_settings import Direction, Formulation, ModelSettings
from phrasescore.pairs.phrase_pairs import PairSettings, PhrasePairs, Split, load_pairs, split
from phrasescore.pairs.table_encoding import encode_table
from phrasescore.provenance import provenance
from phrasescore.resuming.interruption import interruptible
from phrasescore.resuming.lock import held
from phrasescore.table.block import can_be_read_again
from phrasescore.training.checkpoint import LATEST
from phrasescore.training.curves import CURVES
from phrasescore.training.earlier_run import SETTINGS, TABLE, check_trained, go_on_or_begin
from phrasescore.training.evaluation import evaluate
from phrasescore.training.gradient import Processes
from phrasescore.training.loop import Run, Trainer
from phrasescore.training.recipes import RECIPES
from phrasescore.training.training_settings import RecipeName, TrainingSettings

_DEFAULT_EPOCHS = 10
_LARGEST_HELD_OUT_SHARE = 20  # of a small table, one in so many pairs at most is held out
# what a request says beside what the weights depend on
_OF_NO_CONSEQUENCE = {
    *("table", "model", "device", "threads", "checkpoint_every", "tensorboard"),
    *("resume", "overwrite"),
}


@dataclass(frozen=True)
class TrainingRequest:
    """What the user asked for; ``None`` where the default depends on something else."""

    table: Path
    model: Path
    recipe: RecipeName = "fast"
    max_epochs: int | None = None
    max_seconds: float | None = None
    patience: int = 5
    evaluations: int = 10
    hidden: int = 1000
    embedding: int = 100
    maxout: int | None = None
    rank: int = 100
    formulation: Formulation = "code"
    direction: Direction = "source-target"
    source_words: int = 15000
    target_words: int = 15000
    factor: int = 0
    batch_size: int | None = None
    learning_rate: float | None = None
    held_out_sources: int = 5000
    held_out_pairs: int = 5000
    seed: int = 1
    precision: str = "auto"
    device: str = "auto"
    threads: int | None = None
    checkpoint_every: float = 300.0
    tensorboard: Path | None = None
    resume: bool = False
    overwrite: bool = False

    @property
    def work_folder(self) -> Path:
        """Where the state of the run is until the model is whole."""
        return self.model.with_name(f"{self.model.name}.training")

    @property
    def epochs(self) -> int | None:
        """Passes over the pairs; ``None`` where time alone ends the training."""
        if self.max_epochs is None and self.max_seconds is None:
            return _DEFAULT_EPOCHS
        return self.max_epochs

    @property
    def maxout_units(self) -> int:
        """Maxout units, half of the hidden ones by default."""
        return self.maxout or max(1, self.hidden // 2)


def train_model(request: TrainingRequest) -> None:
    """Train a model and write its folder, or go on where the same call was stopped.

    Raises:
        SettingsError: The request cannot be meant, or would overwrite something unasked.
        ResumeError: The model, finished or not, was begun with other settings; another process
            trains it; or there is nothing to resume.
        PhraseTableError: The table breaks its format.
        InterruptedWorkError: A signal came; the state is saved.
    """
    device = choose_device(request.device)
    threads = request.threads or torch.get_num_threads()
    torch.set_num_threads(threads)
    processes = Processes(device)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(interruptible(request.work_folder, without="--overwrite"))
            if processes.leads:
                request.model.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(request.model))
            _train(request, device, threads, processes)
    finally:
        processes.close()


def _train(
    request: TrainingRequest, device: torch.device, threads: int, processes: Processes
) -> None:
    say: Callable[[str], None] = _say if processes.leads else _say_nothing
    work = request.work_folder
    precision = _precision(request, device)
    asked: dict[str, Any] = {}
    trained, pairs = False, None
    if processes.leads:
        asked = _asked(request, precision)
        trained = _is_trained(request, asked)
        if trained:
            say(f"{request.model}/ is trained already, with the same options and table")
        else:
            pairs = _encoded(request, asked)
    # the others wait here for the encoded pairs
    if processes.agree(float(trained)):
        return
    if pairs is None:
        pairs = load_pairs(work / "pairs")
    pairs = pairs.in_direction(request.direction)
    say(f"{pairs.lines:,} lines, {len(pairs):,} distinct pairs")
    say(f"the encoder reads {pairs.source.coverage}")
    say(f"the decoder writes {pairs.target.coverage}")
    parts, settings = _settings(request, pairs, precision, say)
    model_settings = _model_settings(request, pairs)
    model = build(model_settings)
    initialisation = RECIPES[settings.recipe].initialisation
    model.initialise(torch.Generator().manual_seed(settings.seed), initialisation)
    run = Run(
        model.to(device),
        pairs,
        parts,
        settings,
        folder=work,
        threads=threads,
        processes=processes,
        checkpoint_every=request.checkpoint_every,
        tensorboard=request.tensorboard if processes.leads else None,
    )
    trainer = Trainer(run, say)
    if (work / LATEST).exists():
        trainer.resume()
        say(f"resuming after {trainer.state.updates:,} updates, {trainer.state.seconds:,.0f} s")
    say(
        f"training {sum(p.numel() for p in model.parameters()):,} parameters on "
        f"{len(parts.training):,} pairs ({settings.recipe} recipe, {settings.precision}, {device})"
    )
    trainer.train()
    if processes.leads:
        _finish(request, asked, trainer, pairs, parts, settings, say)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _say_nothing(text: str) -> None:
    pass


def _precision(request: TrainingRequest, device: torch.device) -> Literal["bf16", "fp32"]:
    if request.precision == "auto":
        fast = request.recipe == "fast" and has_fast_bf16(device)
    else:
        fast = request.precision == "bf16"
    return "bf16" if fast else "fp32"


def _asked(request: TrainingRequest, precision: str) -> dict[str, Any]:
    """Return all that the weights depend on, as JSON values; of a pipe no table."""
    again = can_be_read_again(request.table)
    options = {
        name: value for name, value in vars(request).items() if name not in _OF_NO_CONSEQUENCE
    }
    return options | {
        "max_epochs": request.epochs,
        "maxout": request.maxout_units,
        "precision": precision,
        TABLE: sha256_of(request.table) if again else None,
    }


def _is_trained(request: TrainingRequest, asked: dict[str, Any]) -> bool:
    """Tell whether the model that is asked for is there; refuse if something else is."""
    model, work = request.model, request.work_folder
    if model.exists() and not is_model_folder(model):
        raise SettingsError("something else is there", path=model, remedy="name another folder")
    if request.overwrite:
        (work / SETTINGS).unlink(missing_ok=True)
    elif not (work / SETTINGS).exists():
        if model.exists():
            # automatic precision is another one on another machine
            check_trained(model, asked, any_precision=request.precision == "auto")
            shutil.rmtree(work, ignore_errors=True)
            return True
        if request.resume:
            raise ResumeError("there is no interrupted run to resume", path=work)
    return False


def _encoded(request: TrainingRequest, asked: dict[str, Any]) -> PhrasePairs:
    """Make the work folder ready, and encode the table there unless an earlier run did."""
    work, folder = request.work_folder, request.work_folder / "pairs"
    settings = PairSettings(request.source_words, request.target_words, request.factor)
    if asked[TABLE] is not None:
        go_on_or_begin(work, asked)
        return encode_table(request.table, folder, settings)
    # what comes through a pipe is known when it is encoded
    pairs = encode_table(request.table, folder, settings)
    digests = "".join(sha256_of(path) for path in sorted(folder.iterdir()))
    asked[TABLE] = hashlib.sha256(digests.encode()).hexdigest()
    go_on_or_begin(work, asked)
    return pairs


def _settings(
    request: TrainingRequest,
    pairs: PhrasePairs,
    precision: Literal["bf16", "fp32"],
    say: Callable[[str], None],
) -> tuple[Split, TrainingSettings]:
    most = len(pairs) // _LARGEST_HELD_OUT_SHARE
    sources, others = min(request.held_out_sources, most), min(request.held_out_pairs, most)
    if (sources, others) != (request.held_out_sources, request.held_out_pairs):
        say(f"a small table: {sources} and {others} pairs are held out, one in twenty at most")
    settings = TrainingSettings(
        recipe=request.recipe,
        max_epochs=request.epochs,
        max_seconds=request.max_seconds,
        batch_size=request.batch_size,
        learning_rate=request.learning_rate,
        held_out_sources=sources,
        held_out_pairs=others,
        evaluations=request.evaluations,
        patience=request.patience,
        seed=request.seed,
        precision=precision,
    )
    return split(pairs, sources, others, settings.seed), settings


def _model_settings(request: TrainingRequest, pairs: PhrasePairs) -> ModelSettings:
    return ModelSettings(
        source_vocabulary=len(pairs.source_vocabulary),
        target_vocabulary=len(pairs.target_vocabulary),
        hidden=request.hidden,
        embedding=request.embedding,
        maxout=request.maxout_units,
        rank=request.rank,
        formulation=request.formulation,
        direction=request.direction,
        factor=request.factor,
    )


def _finish(
    request: TrainingRequest,
    asked: Mapping[str, Any],
    trainer: Trainer,
    pairs: PhrasePairs,
    parts: Split,
    settings: TrainingSettings,
    say: Callable[[str], None],
) -> None:
    model = trainer.run.model
    figures: dict[str, Any] = {}
    for name, rows, what in (
        ("held_out_sources", parts.held_out_sources, "pairs of unseen sources"),
        ("held_out_pairs", parts.held_out_pairs, "unseen pairs drawn at random"),
    ):
        figure = evaluate(model, pairs, rows)
        if figure is not None:
            figures[name] = dataclasses.asdict(figure)
            say(
                f"{figure.pairs:,} {what}: {figure.nll:.4f} nats per word (</s> counted), "
                f"perplexity {figure.perplexity:.2f}"
            )
    record = provenance(settings=dataclasses.asdict(settings))
    record["inputs"] = {str(request.table): pairs.table_sha256}
    record["asked"] = dict(asked)
    record["held_out"] = figures
    record["training"] = {
        "updates": trainer.state.updates,
        "words": trainer.state.words,
        "seconds": round(trainer.state.seconds, 1),
    }
    vocabularies = pairs.source_vocabulary, pairs.target_vocabulary
    save_model(request.model, model, vocabularies, record, request.work_folder / CURVES)
    shutil.rmtree(request.work_folder)
    say(f"wrote {request.model}/")
