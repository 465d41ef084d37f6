"""The training loop: updates, evaluations, checkpoints, and resuming a stopped run."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path

import click
import torch

from phrasescore.compiled import compiling_seconds
from phrasescore.errors import CorpusError
from phrasescore.model.folder import CURVES, CurvePoint, load_model
from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.sequence_model import SequenceModel
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.interruption import stop_requests
from phrasescore.runs.progress import Progress
from phrasescore.training import checkpoint
from phrasescore.training.batches import Passes, PlannedBatch, seen_once
from phrasescore.training.evaluation import HeldOutFigure, add_point, begin_curve, described
from phrasescore.training.model_size import hidden_for, passes_of
from phrasescore.training.optimization.updates import Updates
from phrasescore.training.pairs import EncodedPairs, Split
from phrasescore.training.recipes import recipe_of
from phrasescore.training.settings import TrainingSettings

# Under --max-time, an evaluation waits until the updates since the previous evaluation have taken
# four times as long as that evaluation. Otherwise, on a slow machine or with many held-out pairs,
# evaluations would take all of the time.
_TRAINING_PER_EVALUATION = 4.0
# The number of passes is foretold after these seconds, or after this share of the time if less.
_SECONDS_TO_FORETELL, _SHARE_TO_FORETELL = 5.0, 0.1


def say(text: str) -> None:
    """Print a line for the user."""
    click.echo(text, err=True)


class Trainer:
    """Trains ``model`` and leaves the best or the last weights in it, as the recipe decides.

    Args:
        model: An initialised model on its device.
        pairs: All pairs.
        split: The training pairs and the held-out pairs.
        settings: Settings with defaults filled in (:meth:`TrainingSettings.in_force`).
    """

    def __init__(
        self, model: SequenceModel, pairs: EncodedPairs, split: Split, settings: TrainingSettings
    ) -> None:
        self.model, self.pairs, self.split, self.settings = model, pairs, split, settings
        self._folder = settings.work_folder
        rows = split.training
        self.recipe, size, self._highest_rate = recipe_of(settings, len(rows), model.settings)
        self._passes = Passes(pairs, rows, self.recipe.plan, size, settings.seed)
        rare = None
        if settings.learns_from != "phrases" and settings.recipe == "fast":
            once = seen_once(pairs.source, rows), seen_once(pairs.target, rows)
            rare = once[0].to(model.device), once[1].to(model.device)
        self._updates = Updates(model, pairs, settings, self.recipe, rare)
        self._rate = 0.0
        self.state = checkpoint.TrainingState()
        self.advises_size = True

    def resume(self) -> None:
        """Continue from the latest checkpoint of the work folder.

        Raises:
            ResumeError: The checkpoint is damaged, or belongs to another model.
        """
        path = self._folder / checkpoint.LATEST
        self.state, weights, moments = checkpoint.load_checkpoint(path)
        with checkpoint.another_refused(path):
            if moments is None:
                raise ValueError("it lacks the moments of the optimiser")
            self._updates.restore(weights, moments)

    def extend(self, folder: Path) -> None:
        """Continue from the finished model in a folder; its weights count as the best so far."""
        weights = load_model(folder).model.state_dict()
        self._updates.restore(weights, torch.zeros_like(self._updates.moments))
        self.state = checkpoint.finished_state(folder)
        if self.recipe.keeps_best:
            checkpoint.save_checkpoint(self._folder / checkpoint.BEST, self.state, weights)
        if (folder / CURVES).exists():
            write_atomically(self._folder / CURVES, (folder / CURVES).read_bytes())

    def speed(self, seconds: float) -> float:
        """Return the passes in a second, measured on some seconds of updates.

        The learning rate is 0, but the moments change, so the trainer cannot train afterwards.
        """
        start, words = 0.0, 0
        passes = map(self._passes.batches, itertools.count())
        for number, batch in enumerate(itertools.chain.from_iterable(passes)):
            self._updates(batch.rows, number, 0.0, 1.0)
            now = time.monotonic()
            if not number:
                start = now  # the first update has compiled its code
                continue
            words += batch.words
            if now - start >= seconds:
                break
        return words / self._passes.words / max(now - start, 1e-9)

    def train(self) -> None:
        """Train until the limit of epochs, time or patience is reached.

        Raises:
            CorpusError: The recipe leaves out all pairs.
            KeyboardInterrupt: On Ctrl-C, SIGTERM or SIGHUP, after the state has been saved.
        """
        begin_curve(self._folder / CURVES, self.state.updates)
        self._resumed_seconds = self.state.seconds
        self._last_checkpoint = time.monotonic()
        self._start_clock()
        self._first_update = self.state.updates
        self._evaluated_seconds = 0.0
        self._foretells_at = math.inf
        if self.settings.max_time is not None:
            wait = min(_SECONDS_TO_FORETELL, _SHARE_TO_FORETELL * self.settings.max_time)
            self._foretells_at = self.state.seconds + wait
        self._next_evaluation = self._seconds()
        epochs = self.settings.max_epochs
        words = None if epochs is None else epochs * self._passes.words / self._passes.pieces
        self._progress = Progress("training", words, "words", done=self.words)
        with stop_requests() as self._stops, self._progress:
            while not self._finished():
                self._epoch()
        if (self._folder / checkpoint.BEST).exists():
            best = checkpoint.load_checkpoint(self._folder / checkpoint.BEST)[1]
            with checkpoint.another_refused(self._folder / checkpoint.BEST):
                self.model.load_state_dict(best)

    def held_out(self, *, exact: bool) -> tuple[HeldOutFigure | None, HeldOutFigure | None]:
        """Score held-out sources and held-out pairs, as in :meth:`Updates.evaluate`."""
        rows = self.split.held_out_sources, self.split.held_out_pairs
        sources, pairs = (self._updates.evaluate(each, exact=exact) for each in rows)
        return sources, pairs

    def close(self) -> None:
        """End the processes that share the work; the trainer cannot be used after this."""
        self._updates.close()

    def _epoch(self) -> None:
        for batch in self._passes.batches(self.state.epoch, self.state.position):
            self._update(batch)
            if self._evaluation_due(batch.is_last):
                self._evaluate()
            if self._finished():
                return
            self._save_if_due()
        if not self.state.position:
            raise CorpusError(
                "each pair has a phrase that is too long for the recipe, so all pairs are left out",
                remedy=f"leave out --recipe {self.settings.recipe}",
            )
        self.state.epoch += 1
        self.state.position = 0

    def _update(self, batch: PlannedBatch) -> None:
        state = self.state
        self._rate = self.recipe.rate(
            self._highest_rate, state.updates, self._fraction(), begun=state.begun
        )
        # divide by the mean batch size of the stretch (see `batches`): all its words weigh the same
        scale = 1.0 / batch.words_per_batch if self.recipe.mean_loss else 1.0
        loss = self._updates(batch.rows, state.updates, self._rate, scale, state.begun)
        if state.updates == self._first_update:
            self._start_clock()  # this update has compiled its code
            self._first_passes = self.passes
        state.updates += 1
        state.position += 1
        state.words += batch.words
        state.loss += loss
        state.loss_words += batch.words
        state.seconds = self._seconds()
        self._progress.advance(batch.words / self._passes.pieces, self._note())
        if state.seconds > self._foretells_at:
            self._foretell()

    def _foretell(self) -> None:
        """Print how many passes the time allows, and which size would suit it better."""
        self._foretells_at = math.inf
        now, end = self.state.seconds, self.settings.max_time or 0.0
        trained = now - self._resumed_seconds - self._evaluated_seconds
        speed = (self.passes - self._first_passes) / trained
        passes = self.passes + speed * max(0.0, end - now)
        text = f"at this speed, {passes:.2f} passes over the {self.settings.examples} in the time"
        model = self.model.settings
        if isinstance(model, EncoderDecoderSettings) and self.settings.learns_from == "phrases":
            units = hidden_for("phrases", passes=passes, measured=model.hidden)
            if units < model.hidden and self.advises_size:
                text += (
                    f"; a model with --hidden {units} would make "
                    f"{passes_of(units, passes, model.hidden, 'phrases'):.2f}, and learn more"
                )
        elif passes < 1.0:
            text += "; a smaller --hidden would make more"
        say(text)

    def _note(self) -> str:
        note = f"nll {self._loss:.3f}"
        if self.settings.max_time is not None:
            # under --max-time the total number of words is unknown, so the progress bar has no ETA
            left = max(0.0, self.settings.max_time - self.state.seconds)
            note += f", at most {left:,.0f} s left"
        return note

    # -- time ----------------------------------------------------------------------------------

    def _start_clock(self) -> None:
        self._start, self._compiled = time.monotonic(), compiling_seconds()

    def _seconds(self) -> float:
        """Return wall-clock seconds of training, without the time that numba spent compiling."""
        compiled = compiling_seconds() - self._compiled
        return self._resumed_seconds + time.monotonic() - self._start - compiled

    @property
    def words(self) -> float:
        """Number of target words so far, </s> included."""
        return self.state.words / self._passes.pieces

    @property
    def _loss(self) -> float:
        """Nats per word since the last evaluation."""
        return self.state.loss / max(1, self.state.loss_words) * self._passes.pieces

    @property
    def passes(self) -> float:
        """Number of passes over the pairs so far."""
        return self.state.words / max(1, self._passes.words)

    def _fraction(self) -> float:
        """Return how much of the run is done (0 to 1), by epochs or by time, whichever is more."""
        settings = self.settings
        by_epochs = self.passes / settings.max_epochs if settings.max_epochs else 0.0
        by_time = self._seconds() / settings.max_time if settings.max_time else 0.0
        return min(1.0, max(by_epochs, by_time))

    def _finished(self) -> bool:
        settings, state = self.settings, self.state
        if settings.max_epochs is not None and state.epoch >= settings.max_epochs:
            return True
        # at least one update: the first one may compile code, so the clock starts again after it
        is_late = settings.max_time is not None and state.updates and self._fraction() >= 1.0
        return bool(is_late or self.is_out_of_patience)

    @property
    def is_out_of_patience(self) -> bool:
        """Whether the last evaluations have brought no gain."""
        return bool(self.settings.patience and self.state.since_best >= self.settings.patience)

    # -- evaluation ----------------------------------------------------------------------------

    def _evaluation_due(self, pass_ends: bool) -> bool:
        if self.settings.evaluations is None:
            return pass_ends
        last = pass_ends and self.state.epoch + 1 == self.settings.max_epochs
        fraction = self._fraction()
        due = int(fraction * self.settings.evaluations) > self.state.evaluations
        if due and self.settings.max_time is not None and fraction < 1.0:
            due = self._seconds() >= self._next_evaluation
        return last or due

    def _evaluate(self) -> None:
        state = self.state
        began = self._seconds()
        sources, pairs = self.held_out(exact=False)
        seconds = self._seconds()
        self._evaluated_seconds += seconds - began
        self._next_evaluation = seconds + _TRAINING_PER_EVALUATION * (seconds - began)
        passed = int(self._fraction() * (self.settings.evaluations or 0))
        state.evaluations = max(state.evaluations + 1, passed)
        # pairs of unseen sources measure generalisation; without them, watch the held-out pairs
        watched = sources or pairs
        # without any, pretend that the loss falls, so that the last weights count as the best
        nll = watched.nll if watched else -float(state.evaluations)
        point = CurvePoint(
            updates=state.updates,
            epoch=round(self.passes, 3),
            seconds=round(seconds, 1),
            words_per_second=round(self.words / max(seconds, 1e-9)),
            learning_rate=self._rate,
            training_nll=self._loss,
            held_out_sources_nll=sources.nll if sources else None,
            held_out_pairs_nll=pairs.nll if pairs else None,
        )
        state.loss, state.loss_words = 0.0, 0
        state.since_best = 0 if nll < state.best_nll else state.since_best + 1
        state.best_nll = min(nll, state.best_nll)
        if state.since_best == 0 and self.recipe.keeps_best:
            checkpoint.save_checkpoint(
                self._folder / checkpoint.BEST, state, self.model.state_dict()
            )
        add_point(self._folder / CURVES, point)
        say(described(point, self.settings.learns_from == "text"))

    # -- stopping and saving -------------------------------------------------------------------

    def _save_if_due(self) -> None:
        stop = bool(self._stops)
        due = time.monotonic() - self._last_checkpoint >= self.settings.seconds_between_checkpoints
        if due or stop:
            path, weights = self._folder / checkpoint.LATEST, self.model.state_dict()
            checkpoint.save_checkpoint(path, self.state, weights, self._updates.moments)
            self._last_checkpoint = time.monotonic()
        if stop:
            raise KeyboardInterrupt
