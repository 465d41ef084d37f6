"""One training run from a phrase table to a model folder: what ``phrasescore train`` does."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import torch

from phrasescore.device import choose_device, has_fast_bf16
from phrasescore.errors import InterruptedWorkError, ResumeError, SettingsError
from phrasescore.model.folder import is_model_folder, save_model
from phrasescore.model.kinds import build
from phrasescore.model.model_settings import (
    ModelSettings,
)
from phrasescore.pairs.training_pairs import Split, TrainingPairs, split
from phrasescore.provenance import provenance, write_json
from phrasescore.training.checkpoint import LATEST
from phrasescore.training.curves import CURVES
from phrasescore.training.evaluation import evaluate
from phrasescore.training.gradient import Processes
from phrasescore.training.loop import Run, Trainer, TrainingInterrupted
from phrasescore.training.recipes import RECIPES
from phrasescore.training.request import TrainingRequest
from phrasescore.training.training_settings import TrainingSettings

_LARGEST_HELD_OUT_SHARE = 20  # of a small table, one in so many pairs at most is held out
_SETTINGS = "settings.json"


def train_model(request: TrainingRequest) -> None:
    """Train a model and write its folder.

    Raises:
        SettingsError: The request cannot be meant, or would overwrite something unasked.
        ResumeError: There is nothing to resume, or it is another run.
        PhraseTableError: The table breaks its format.
    """
    device = choose_device(request.device)
    threads = request.threads or torch.get_num_threads()
    torch.set_num_threads(threads)
    processes = Processes(device)
    try:
        _train(request, device, threads, processes)
    finally:
        processes.close()


def _train(
    request: TrainingRequest, device: torch.device, threads: int, processes: Processes
) -> None:
    say: Callable[[str], None] = _say if processes.leads else _say_nothing
    work = request.work_folder
    if processes.leads:
        _prepare_folders(request)
        request.pairs(work / "pairs")
    processes.wait()  # the others find the encoded pairs
    pairs = request.pairs(work / "pairs")
    for line in pairs.described():
        say(line)
    parts, settings = _settings(request, pairs, device, say)
    model_settings = request.model_settings(pairs)
    _check_resumable(request, work / _SETTINGS, settings, model_settings, processes)
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
    if request.resume:
        trainer.resume()
        say(f"resuming after {trainer.state.updates:,} updates, {trainer.state.seconds:,.0f} s")
    say(
        f"training {sum(p.numel() for p in model.parameters()):,} parameters on "
        f"{len(parts.training):,} pairs ({settings.recipe} recipe, {settings.precision}, {device})"
    )
    try:
        trainer.train()
    except TrainingInterrupted:
        raise InterruptedWorkError(
            "interrupted; the state is saved",
            path=work,
            remedy="the same command with --resume continues",
        ) from None
    if processes.leads:
        _finish(request, trainer, pairs, parts, settings, say)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _say_nothing(text: str) -> None:
    pass


def _prepare_folders(request: TrainingRequest) -> None:
    model, work = request.model, request.work_folder
    if request.resume:
        if not (work / LATEST).exists():
            raise ResumeError("there is no interrupted run to resume", path=work)
        return
    if model.exists() and not (request.overwrite and is_model_folder(model)):
        what = "a model is there already" if is_model_folder(model) else "something else is there"
        remedy = "--overwrite replaces it" if is_model_folder(model) else "name another folder"
        raise SettingsError(what, path=model, remedy=remedy)
    if (work / LATEST).exists() and not request.overwrite:
        raise SettingsError(
            "an interrupted run is there",
            path=work,
            remedy="--resume continues it, --overwrite starts anew",
        )
    for leftover in ("checkpoint.pt", "best.pt", CURVES, _SETTINGS):
        (work / leftover).unlink(missing_ok=True)
    work.mkdir(parents=True, exist_ok=True)


def _settings(
    request: TrainingRequest,
    pairs: TrainingPairs,
    device: torch.device,
    say: Callable[[str], None],
) -> tuple[Split, TrainingSettings]:
    most = len(pairs) // _LARGEST_HELD_OUT_SHARE
    sources, others = (min(wanted, most) for wanted in request.held_out)
    if (sources, others) != request.held_out:
        say(f"a small table: {sources} and {others} pairs are held out, one in twenty at most")
    precision = request.precision
    if precision == "auto":
        fast = request.recipe == "fast" and has_fast_bf16(device)
        precision = "bf16" if fast else "fp32"
    settings = TrainingSettings(
        recipe=request.recipe,
        max_epochs=request.epochs,
        max_seconds=request.max_seconds,
        batch_size=request.batch_size,
        learning_rate=request.learning_rate,
        held_out_sources=sources,
        held_out_pairs=others,
        evaluations=request.evaluations,
        patience=request.patience_in_force,
        seed=request.seed,
        precision="bf16" if precision == "bf16" else "fp32",
    )
    return split(pairs, sources, others, settings.seed), settings


def _check_resumable(
    request: TrainingRequest,
    path: Path,
    settings: TrainingSettings,
    model: ModelSettings,
    processes: Processes,
) -> None:
    """Write the settings of a new run; refuse to resume a run with other ones."""
    asked = {"training": dataclasses.asdict(settings), "model": dataclasses.asdict(model)}
    if not request.resume:
        if processes.leads:
            write_json(path, asked)
        return
    try:
        before = json.loads(path.read_bytes())
        changed = [
            f"{name} was {before[part].get(name)} and is now {value}"
            for part, values in asked.items()
            for name, value in values.items()
            if before[part].get(name) != value
        ]
    except (OSError, ValueError, KeyError, AttributeError):
        raise ResumeError("not the work folder of a training run", path=path.parent) from None
    if changed:
        raise ResumeError(
            f"the interrupted run had other settings: {'; '.join(changed)}",
            path=path.parent,
            remedy="resume with the same options, or start anew with --overwrite",
        )


def _finish(
    request: TrainingRequest,
    trainer: Trainer,
    pairs: TrainingPairs,
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
    record["inputs"] = dict(zip(map(str, request.inputs), pairs.digests, strict=True))
    record["held_out"] = figures
    record["training"] = {
        "updates": trainer.state.updates,
        "words": trainer.state.words,
        "seconds": round(trainer.state.seconds, 1),
    }
    vocabularies = pairs.source.vocabulary, pairs.target.vocabulary
    save_model(request.model, model, vocabularies, record, request.work_folder / CURVES)
    shutil.rmtree(request.work_folder)
    say(f"wrote {request.model}/")
