"""One run of ``phrasescore train``, from the input files to the model folder."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.model.device import choose_device, has_fast_bf16
from phrasescore.model.folder import (
    CURVES,
    PROVENANCE,
    TrainingRecord,
    is_model_folder,
    load_weights,
    refuse_foreign,
    save_model,
)
from phrasescore.model.sequence_model import END, SequenceModel, build
from phrasescore.runs import ledger
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import refuse_link, remove, remove_parts
from phrasescore.runs.identity import provenance
from phrasescore.runs.interruption import interruptible
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.lock import held
from phrasescore.runs.results import RESULT
from phrasescore.training import evaluation
from phrasescore.training.batches import word_counts
from phrasescore.training.checkpoint import BEST, LATEST, another_refused
from phrasescore.training.encoding import encode
from phrasescore.training.loop import Trainer, say
from phrasescore.training.model_size import hidden_for, passes_of
from phrasescore.training.pairs import EncodedPairs, Split, split
from phrasescore.training.recipes import RECIPES, batch_size_for
from phrasescore.training.settings import TrainingSettings

_PAIRS = "pairs"
_FINISHED, _REPLACED = "model", "replaced"  # the new model and the old one, in the work folder
_LIMITS = ("max_epochs", "max_seconds")  # limits of training, which may grow
_CHOICE = "chosen.json"  # the sizes that the run has chosen, in the work folder
# To choose a size, updates of a small model are timed, for some seconds or a share of the time.
_PROBED, _SECONDS_TO_PROBE, _SHARE_TO_PROBE = 200, 3.0, 0.02
# Dropout shifts ln Z of a self-normalised model. After training, the mean of ln Z is therefore
# measured on about this many sentences and subtracted.
_SENTENCES_TO_CENTRE = 1000
_MIN_FOR_BF16 = 32_000  # pairs of a batch times hidden units; below it bfloat16 gains nothing
_LEARNT = 0.95  # share of a unigram model's nats per word above which a warning is printed
# at most one pair in this many is held out by source, and at most one at random
_LARGEST_HELD_OUT_SHARE = 20
# what an earlier run has left: no model, one to be trained further, or exactly the requested one
_Earlier = Literal["nothing", "extendable", "trained"]


def train_model(settings: TrainingSettings) -> None:
    """Train a model and write its folder, or continue where the same call was stopped.

    Raises:
        SettingsError: The settings contradict each other, or something would be overwritten.
        ResumeError: The model, finished or not, was begun with other settings, or another process
            is training it.
        PhraseTableError: The phrase table violates its format.
        InterruptedWorkError: A signal arrived; the state is saved.
    """
    settings.check()
    device = choose_device(settings.device)
    settings = dataclasses.replace(settings, threads=settings.threads or torch.get_num_threads())
    torch.set_num_threads(settings.threads or 1)
    work = settings.work_folder
    with interruptible(work, without="--overwrite"), _place_for(settings.model, work):
        _train(settings, device)


@contextlib.contextmanager
def _place_for(model: Path, work: Path) -> Iterator[None]:
    """Lock the model's name; remove a new work folder if the run is refused."""
    model.parent.mkdir(parents=True, exist_ok=True)
    with held(model), only_regular_files(work):
        for path in (model, work):
            remove_parts(path)
        refuse_link(work)
        ledger.check_owner(work)
        is_new = ledger.read_entry(work / ledger.RECORD) is None
        if os.path.lexists(work / _FINISHED):  # a run was killed when it had finished
            _give_name(model, work)
        try:
            yield
        except (InputError, SettingsError):
            if is_new and not (work / LATEST).exists():
                ledger.remove_work(work)
            raise


def _give_name(model: Path, work: Path) -> None:
    """Give the finished model in a work folder its name; after a kill, the next run goes on.

    An older model of this name is kept in the work folder until the new model has the name.
    """
    for folder in (model, work / _FINISHED):
        refuse_foreign(folder)
    if os.path.lexists(model):
        remove(work / _REPLACED)
        model.rename(work / _REPLACED)
    (work / _FINISHED).rename(model)
    ledger.remove_work(work)


def _train(settings: TrainingSettings, device: torch.device) -> None:
    precision = _precision(settings, device)
    asked = ledger.entry_of(settings.recorded(precision), settings.files)
    earlier = _earlier_model(settings, asked)
    if earlier == "trained":
        say(
            f"{settings.model}/ is trained already, with the same options and input; a larger "
            "--max-time or --max-epochs trains it further"
        )
        return
    pairs = _encode(settings, asked).in_direction(settings.direction or "source-target")
    for line in pairs.described():
        say(line)
    any_precision = device.type == "cpu" and settings.precision == "auto"
    limit = len(pairs) // _LARGEST_HELD_OUT_SHARE
    sources, others = (min(wanted, limit) for wanted in settings.held_out_of(len(pairs)))
    settings = dataclasses.replace(
        settings.in_force(), held_out_sources=sources, held_out_pairs=others, precision=precision
    )
    parts = split(pairs, sources, others, settings.seed)
    if is_chosen := settings.chooses_hidden:
        settings = settings.sized(_chosen_hidden(settings, pairs, parts, earlier))
    model = _new_model(settings, pairs, parts).to(device)
    rows = settings.batch_size or batch_size_for(len(pairs))
    is_small = settings.learns_from == "phrases" and rows * model.settings.hidden < _MIN_FOR_BF16
    if any_precision and is_small:
        settings = dataclasses.replace(settings, precision="fp32")
    trainer = Trainer(model, pairs, parts, settings)
    trainer.advises_size = not is_chosen
    if (settings.work_folder / LATEST).exists():
        trainer.resume()
        say(f"resuming after {trainer.state.updates:,} updates, {trainer.state.seconds:,.0f} s")
    elif earlier == "extendable":
        trainer.extend(settings.model)
        say(
            f"training {settings.model}/ further, after {trainer.state.updates:,} updates, "
            f"{trainer.state.seconds:,.0f} s"
        )
    say(
        f"training {sum(p.numel() for p in model.parameters()):,} parameters on "
        f"{len(parts.training):,} {settings.examples} ({settings.recipe} recipe, "
        f"{settings.precision}, {device})"
    )
    with contextlib.closing(trainer):
        trainer.train()
        _finish(trainer, asked)


def _chosen_hidden(
    settings: TrainingSettings, pairs: EncodedPairs, parts: Split, earlier: _Earlier
) -> int:
    """Return the hidden units of an earlier run's model, or as many as the time allows.

    Times of different sizes were measured on CPUs; a GPU takes the usual size.
    """
    choice = settings.work_folder / _CHOICE
    if (settings.work_folder / LATEST).exists():
        with another_refused(choice):
            hidden = read_object(choice)["hidden"]
            if hidden not in range(1, settings.usual_hidden + 1):
                raise ValueError(f"no run chooses {hidden!r} hidden units")
            return int(hidden)
    hidden = settings.usual_hidden
    if earlier == "extendable":
        hidden = load_weights(settings.model).settings.hidden
    elif choose_device(settings.device).type == "cpu":
        probe, time, kind = settings.sized(_PROBED), settings.max_time or 0.0, settings.learns_from
        model = _new_model(probe, pairs, parts)
        with contextlib.closing(Trainer(model, pairs, parts, probe)) as trainer:
            passes = time * trainer.speed(min(_SECONDS_TO_PROBE, _SHARE_TO_PROBE * time))
        words = word_counts(pairs.target, parts.training).sum() if kind == "sentences" else math.inf
        hidden = hidden_for(kind, float(words), passes, _PROBED)
        say(
            f"choosing --hidden {hidden}: at the speed of this machine, such a model makes "
            f"{passes_of(hidden, passes, _PROBED, kind):.2f} passes over the pairs in the time"
        )
    write_json(choice, {"hidden": hidden})  # for a call that resumes from a checkpoint
    return hidden


def _precision(settings: TrainingSettings, device: torch.device) -> Literal["bf16", "fp32"]:
    if settings.precision != "auto":
        return settings.precision
    return "bf16" if settings.recipe == "fast" and has_fast_bf16(device) else "fp32"


def _earlier_model(settings: TrainingSettings, asked: ledger.Entry) -> _Earlier:
    """Tell whether to extend or keep an earlier run's model; refuse a folder that is no model."""
    model, work = settings.model, settings.work_folder
    found: _Earlier = "nothing"
    if settings.overwrite:
        ledger.remove_work(work)
    elif not (work / LATEST).exists() and is_model_folder(model):
        try:
            found = _finished_model(settings, asked)
        except (ResumeError, SettingsError):
            # otherwise a run that replaces the model was killed before its first checkpoint
            if not (work / ledger.RECORD).exists():
                raise
    if found == "trained":
        ledger.remove_work(work)
    else:
        refuse_foreign(model)
    return found


def _finished_model(settings: TrainingSettings, asked: ledger.Entry) -> _Earlier:
    """Tell whether a finished model is what is asked for, or has lower limits.

    Raises:
        ResumeError: The model has other settings or another input.
        SettingsError: The model's settings are unknown.
    """
    try:
        record = read_object(settings.model / PROVENANCE)
        known = ledger.Entry(dict(record["settings"]), list(record["input_digests"]), finished=True)
    except (OSError, ValueError, LookupError, TypeError):
        raise SettingsError(
            "this folder holds a model, but not the options and input that it was trained with",
            path=settings.model,
            remedy="give --overwrite to replace it",
        ) from None
    if settings.precision == "auto":  # which may choose another precision on another machine
        known.settings["precision"] = asked.settings["precision"]
    remedy = (
        "give --overwrite to replace it; larger limits (--max-time, --max-epochs) train it further"
    )
    ledger.refuse_another(known, asked, settings.model, remedy, settings.files, _LIMITS)
    limits = ((known.settings.get(name), asked.settings.get(name)) for name in _LIMITS)
    return "extendable" if any(a != b for a, b in limits) else "trained"


def _encode(settings: TrainingSettings, asked: ledger.Entry) -> EncodedPairs:
    """Prepare the work folder; encode the input into it, unless an earlier run has done so."""
    work = settings.work_folder
    remedy = "give the same options and input as before, or start again with --overwrite"
    ledger.begin(work, asked, settings.files, remedy)
    if not (work / LATEST).exists():
        for leftover in (BEST, CURVES):
            (work / leftover).unlink(missing_ok=True)
    TrainingRecord().write(work / RESULT)
    return encode(settings, work / _PAIRS)


def _new_model(settings: TrainingSettings, pairs: EncodedPairs, parts: Split) -> SequenceModel:
    """Return a model with initial weights."""
    sizes = len(pairs.source.vocabulary), len(pairs.target.vocabulary)
    model = build(settings.model_settings(*sizes))
    recipe = RECIPES[settings.learns_from, settings.recipe]
    model.initialise(torch.Generator().manual_seed(settings.seed), recipe.initialisation)
    if recipe.initialisation == "scaled":
        counts = word_counts(pairs.target, parts.training)
        counts[END] = len(parts.training)
        model.expect_words(torch.from_numpy(counts))
    return model


def _finish(trainer: Trainer, asked: ledger.Entry) -> None:
    """Report how well the trained model predicts held-out pairs, and write the model's folder."""
    model, settings, state = trainer.model, trainer.settings, trainer.state
    pairs, plan = trainer.pairs, trainer.recipe.plan_held_out
    rows = trainer.split.training
    if model.settings.is_self_normalised:
        sample = rows[:: max(1, len(rows) // _SENTENCES_TO_CENTRE)]
        model.centre(evaluation.normalisers(model, pairs, sample, plan)[0])
    held_out = trainer.held_out(exact=True)
    evaluation.refuse_divergence(settings.model, model, held_out)
    figures: dict[str, Any] = {}
    unseen = "unseen sentences" if settings.learns_from == "text" else "pairs of unseen sources"
    names = ("held_out_sources", unseen), ("held_out_pairs", "unseen pairs drawn at random")
    for (name, what), figure in zip(names, held_out, strict=True):
        if figure is not None:
            figures[name] = dataclasses.asdict(figure)
            say(
                f"{figure.pairs:,} {what}: {figure.nll:.4f} nats per word (</s> counted), "
                f"perplexity {figure.perplexity:.2f}"
            )
    if model.settings.is_self_normalised and figures:
        mean, deviation = evaluation.normalisers(model, pairs, trainer.split.held_out_sources, plan)
        figures["ln Z"] = {"mean": mean, "deviation": deviation}
        say(f"ln Z of unseen words: mean {mean:.4f}, deviation {deviation:.4f}")
    say(
        f"saw {trainer.words:,.0f} words in {state.updates:,} updates: {trainer.passes:.2f} passes "
        f"over the {settings.examples}"
    )
    if settings.max_epochs != 0:
        _warn(trainer, held_out)
    record = provenance(settings=asked.settings)
    record["inputs"] = dict(zip(map(str, settings.files), asked.inputs, strict=True))
    record["input_digests"] = asked.inputs  # in their order, whatever the files are called
    record["held_out"] = figures
    record["training"] = {
        "precision": settings.precision,
        "updates": state.updates,
        "words": state.words,
        "seconds": round(state.seconds, 1),
        "passes": float(f"{trainer.passes:.4g}"),
        "hidden": model.settings.hidden,
        "epoch": state.epoch,
        "position": state.position,
        **({"continued_after_updates": state.begun} if state.begun else {}),
    }
    vocabularies = pairs.source.vocabulary, pairs.target.vocabulary
    work, outside = settings.work_folder, pairs.target.outside
    finished, curves = work / _FINISHED, work / CURVES
    save_model(finished, model, vocabularies, record, curves=curves, outside=outside)
    _give_name(settings.model, work)
    say(f"wrote {settings.model}/")


def _warn(trainer: Trainer, held_out: Sequence[evaluation.HeldOutFigure | None]) -> None:
    """Print a warning if the model predicts hardly better than the frequencies of words."""
    limit, parts = trainer.settings.max_epochs, trainer.split
    more = "--max-epochs" if limit and trainer.passes >= limit else "--max-time"
    further = f"the same command with a larger {more} trains it further"
    if trainer.is_out_of_patience:
        further = "it has stopped getting better, so it needs more text"
    for figure, rows in zip(held_out, (parts.held_out_sources, parts.held_out_pairs), strict=True):
        if figure is None:
            continue
        known = evaluation.frequency_nll(trainer.pairs.target, parts.training, rows)
        if figure.nll > _LEARNT * known:
            say(
                f"warning: the model has hardly learnt anything: {figure.nll:.3f} nats per word, "
                f"where word frequencies alone give {known:.3f}; {further}"
            )
            return
        break
    if trainer.passes < 1:
        say(f"warning: the model saw only {trainer.passes:.0%} of its text; {further}")
