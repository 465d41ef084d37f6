"""One training run from what it reads to a model folder: what ``phrasescore train`` does."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import click
import torch

from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.model.device import choose_device, has_fast_bf16
from phrasescore.model.folder import (
    is_model_folder,
    load_model,
    put_right,
    refuse_others,
    save_model,
)
from phrasescore.model.kinds import build
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import END
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import remove_parts
from phrasescore.runs.identity import provenance, sha256_of
from phrasescore.runs.interruption import interruptible
from phrasescore.runs.lock import held
from phrasescore.runs.system_errors import full_disk_named
from phrasescore.training.batches import word_counts
from phrasescore.training.checkpoint import LATEST
from phrasescore.training.earlier_run import finished_state, go_on_or_begin, is_longer_asked
from phrasescore.training.evaluation import (
    CURVES,
    HeldOutFigure,
    frequency_nll,
    normalisers,
    refuse_divergence,
    warning_of,
)
from phrasescore.training.loop import Run, Trainer
from phrasescore.training.optimization.process_group import Processes
from phrasescore.training.pairs import EncodedPairs, Split, split
from phrasescore.training.recipes import batch_size_for, recipe_named
from phrasescore.training.request import TrainingRequest
from phrasescore.training.training_settings import INPUT, TrainingSettings
from phrasescore.training.work_folder import PAIRS, SETTINGS, is_begun, remove_work

# dropout moves ln Z, which is put right over this many sentences that were trained on
_SENTENCES_TO_CENTRE = 1000
_LEAST_FOR_BF16 = 32_000  # pairs of a batch times hidden units
_LARGEST_HELD_OUT_SHARE = 20  # of a small table, at most one pair in this many is held out
# what an earlier call has left under the model's name: a model to train further, or a whole one
_NOTHING, _SHORTER, _TRAINED = range(3)


def train_model(request: TrainingRequest) -> None:
    """Train a model and write its folder, or continue where the same call was stopped.

    Raises:
        SettingsError: The request cannot be meant, or would overwrite something unasked.
        ResumeError: The model, finished or not, was begun with other settings; another process
            trains it.
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
                stack.enter_context(_place_for(request))
            _train(request, device, threads, processes)
    finally:
        processes.close()


@contextlib.contextmanager
def _place_for(request: TrainingRequest) -> Iterator[None]:
    """Have the model's place to ourselves; what is refused leaves nothing there."""
    model, work = request.model, request.work_folder
    made = [folder for folder in model.absolute().parents if not folder.exists()]
    model.parent.mkdir(parents=True, exist_ok=True)
    begun = False
    try:
        with held(model), only_regular_files(work):
            for path in (model, work):
                remove_parts(path)
            put_right(model)
            begun = is_begun(work)
            try:
                yield
            except (InputError, SettingsError):
                if not begun and not (work / LATEST).exists():
                    remove_work(work)
                raise
    except (InputError, SettingsError, ResumeError):
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _train(
    request: TrainingRequest, device: torch.device, threads: int, processes: Processes
) -> None:
    say: Callable[[str], None] = _say if processes.leads else _say_nothing
    work = request.work_folder
    precision = _precision(request, device)
    asked: dict[str, Any] = {}
    earlier = _NOTHING
    if processes.leads:
        asked = request.asked(precision)
        earlier = _earlier_model(request, asked)
        if earlier == _TRAINED:
            say(
                f"{request.model}/ is trained already, with the same options and input; a larger "
                "--max-time or --max-epochs trains it further"
            )
        else:
            _encode(request, asked)
    # the others wait here for the encoded pairs
    earlier = int(processes.agree(float(earlier)))
    if earlier == _TRAINED:
        return
    pairs = request.pairs(work / PAIRS)
    for line in pairs.described():
        say(line)
    if device.type == "cpu" and request.precision == "auto" and _is_small(request, len(pairs)):
        precision = "fp32"
    parts, settings = _settings(request, pairs, precision, say)
    model_settings = request.model_settings(pairs)
    model = build(model_settings)
    recipe = recipe_named(settings.recipe, settings.learns_from)
    model.initialise(torch.Generator().manual_seed(settings.seed), recipe.initialisation)
    if isinstance(model, EncoderDecoder) and recipe.initialisation == "scaled":
        counts = word_counts(pairs.target, parts.training)
        counts[END] = len(parts.training)
        model.expect_words(torch.from_numpy(counts))
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
    elif earlier == _SHORTER:
        trainer.go_on_from(
            load_model(request.model).model.state_dict(),
            finished_state(request.model),
            request.model / CURVES,
        )
        say(
            f"training {request.model}/ further, after {trainer.state.updates:,} updates, "
            f"{trainer.state.seconds:,.0f} s"
        )
    what = "sentences" if settings.learns_from == "text" else "pairs"
    say(
        f"training {sum(p.numel() for p in model.parameters()):,} parameters on "
        f"{len(parts.training):,} {what} ({settings.recipe} recipe, {settings.precision}, {device})"
    )
    with contextlib.closing(trainer):
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


def _is_small(request: TrainingRequest, pairs: int) -> bool:
    """Tell whether products end before it has paid to convert what they multiply to bfloat16."""
    kind = request.described_kind
    hidden = request.sizes.get("hidden", getattr(kind.settings, "hidden", 0))
    rows = request.batch_size or batch_size_for(pairs)
    return kind.learns_from == "phrases" and rows * hidden < _LEAST_FOR_BF16


def _earlier_model(request: TrainingRequest, asked: dict[str, Any]) -> int:
    """Tell whether a model is there that is asked for, or may be trained further; refuse others."""
    model, work = request.model, request.work_folder
    found = _NOTHING
    # automatic precision is another one on another machine
    any_precision = request.precision == "auto"
    if request.overwrite:
        remove_work(work)
    elif not (work / SETTINGS).exists():
        if is_model_folder(model):
            found = _SHORTER
            if not is_longer_asked(model, asked, any_precision=any_precision):
                remove_work(work)
                return _TRAINED
    elif not (work / LATEST).exists() and is_model_folder(model):
        # killed before its first checkpoint: a longer run of this model, or one to replace it
        with contextlib.suppress(ResumeError, SettingsError):
            if is_longer_asked(model, asked, any_precision=any_precision):
                found = _SHORTER
    refuse_others(model)
    return found


def _encode(request: TrainingRequest, asked: dict[str, Any]) -> None:
    """Make the work folder ready, and encode the input there unless an earlier run did."""
    work, folder = request.work_folder, request.work_folder / PAIRS
    go_on_or_begin(work, asked)
    with full_disk_named(folder):
        request.encode(folder)
    if asked[INPUT] is not None:
        return
    # what comes through a pipe is known when it is encoded
    digests = "".join(sha256_of(path) for path in sorted(folder.iterdir()))
    asked[INPUT] = hashlib.sha256(digests.encode()).hexdigest()
    go_on_or_begin(work, asked)


def _settings(
    request: TrainingRequest,
    pairs: EncodedPairs,
    precision: Literal["bf16", "fp32"],
    say: Callable[[str], None],
) -> tuple[Split, TrainingSettings]:
    most, asked = len(pairs) // _LARGEST_HELD_OUT_SHARE, request.held_out_of(len(pairs))
    sources, others = (min(wanted, most) for wanted in asked)
    kind = request.described_kind
    if (sources, others) != asked:
        what = "text" if kind.of_sentences else "table"
        held_out = f"{sources:,} and {others:,} pairs are"
        if not kind.reads_source:
            held_out = f"{sources:,} are"
        say(f"a small {what}: {held_out} held out, one in twenty at most")
    settings = TrainingSettings(
        recipe=request.recipe,
        learns_from=kind.learns_from,
        max_epochs=request.epochs,
        max_seconds=request.max_seconds,
        batch_size=request.batch_size,
        learning_rate=request.learning_rate,
        held_out_sources=sources,
        held_out_pairs=others,
        evaluations=request.evaluations_in_force,
        patience=request.patience_in_force,
        dropout=request.regularisation[0],
        label_smoothing=request.regularisation[1],
        seed=request.seed,
        precision=precision,
    )
    return split(pairs, sources, others, settings.seed), settings


def _warn(
    trainer: Trainer,
    parts: Split,
    figures: tuple[HeldOutFigure | None, HeldOutFigure | None],
    say: Callable[[str], None],
) -> None:
    """Say so if the run was too short to teach the model anything."""
    compared = None
    for figure, rows in zip(figures, (parts.held_out_sources, parts.held_out_pairs), strict=True):
        if figure is not None and compared is None:
            known = frequency_nll(trainer.run.pairs.target, parts.training, rows)
            compared = figure.nll, known
    warning = warning_of(
        trainer.passes,
        compared,
        timed=trainer.run.settings.max_seconds is not None,
        processor_share=trainer.processor_share,
    )
    if warning is not None:
        say(f"warning: {warning}")


def _finish(
    request: TrainingRequest,
    asked: Mapping[str, Any],
    trainer: Trainer,
    pairs: EncodedPairs,
    parts: Split,
    settings: TrainingSettings,
    say: Callable[[str], None],
) -> None:
    model = trainer.run.model
    if isinstance(model, FeedForwardLm) and model.settings.self_normalise:
        sample = parts.training[:: max(1, len(parts.training) // _SENTENCES_TO_CENTRE)]
        model.centre(normalisers(model, pairs, sample, trainer.plan_held_out)[0])
    figures: dict[str, Any] = {}
    of_text = settings.learns_from == "text"
    unseen = "unseen sentences" if of_text else "pairs of unseen sources"
    held_out = trainer.held_out()
    measured = [
        (name, figure, what)
        for figure, (name, what) in zip(
            held_out,
            (("held_out_sources", unseen), ("held_out_pairs", "unseen pairs drawn at random")),
            strict=True,
        )
    ]
    refuse_divergence(request.model, model, (figure for _, figure, _ in measured))
    for name, figure, what in measured:
        if figure is not None:
            figures[name] = dataclasses.asdict(figure)
            say(
                f"{figure.pairs:,} {what}: {figure.nll:.4f} nats per word (</s> counted), "
                f"perplexity {figure.perplexity:.2f}"
            )
    if isinstance(model, FeedForwardLm) and model.settings.self_normalise and figures:
        mean, deviation = normalisers(model, pairs, parts.held_out_sources, trainer.plan_held_out)
        figures["ln Z"] = {"mean": mean, "deviation": deviation}
        say(f"ln Z of their words: mean {mean:.4f}, deviation {deviation:.4f}")
    state = trainer.state
    what = "sentences" if of_text else "pairs"
    say(
        f"saw {state.words:,} words in {state.updates:,} updates: {trainer.passes:.2f} passes over "
        f"the {what}"
    )
    if settings.max_epochs != 0:
        _warn(trainer, parts, held_out, say)
    record = provenance(settings=dataclasses.asdict(settings))
    record["inputs"] = dict(zip(map(str, request.files), pairs.digests, strict=True))
    record["asked"] = dict(asked)
    record["held_out"] = figures
    record["training"] = {
        "updates": state.updates,
        "words": state.words,
        "seconds": round(state.seconds, 1),
        "passes": round(trainer.passes, 3),
        "epoch": state.epoch,
        "position": state.position,
        **({"continued_after_updates": state.begun} if state.begun else {}),
    }
    vocabularies = pairs.source.vocabulary, pairs.target.vocabulary
    curves, outside = request.work_folder / CURVES, pairs.target.outside
    save_model(request.model, model, vocabularies, record, curves=curves, outside=outside)
    remove_work(request.work_folder)
    say(f"wrote {request.model}/")
