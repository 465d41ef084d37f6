"""The training loop: update, evaluate, keep the best, save, stop; the same after a resume."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import phrasescore.compiled  # noqa: F401  (it chooses the cache folder before numba is imported)
from phrasescore.compiling.watch import compiling_seconds
from phrasescore.model.sequence_model import SequenceModel
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.interruption import StopRequest
from phrasescore.runs.progress import Progress
from phrasescore.training.batches import (
    STRETCH,
    Passes,
    PlannedBatch,
    bucket_plan,
    seen_once,
    share,
    uniform_plan,
)
from phrasescore.training.checkpoint import (
    BEST,
    LATEST,
    TrainingState,
    another_refused,
    load_checkpoint,
    save_checkpoint,
)
from phrasescore.training.evaluation import CURVES, Curves, HeldOutFigure, better_size, described
from phrasescore.training.optimization.process_group import Processes
from phrasescore.training.optimization.updates import LEAST_SHARE, Updates, Work
from phrasescore.training.pairs import EncodedPairs, Split
from phrasescore.training.recipes import recipe_of
from phrasescore.training.training_settings import TrainingSettings

# A run that ends after some time gives evaluations a fifth of it: on a slow machine, and where much
# is held out, they would leave nothing for training.
_TRAINING_PER_EVALUATION = 4.0


@dataclasses.dataclass(frozen=True)
class Run:
    """What a training run works on and where.

    Attributes:
        model: On its device, initialised.
        pairs: All pairs.
        split: Which of them are trained on, and which are held out.
        settings: How to train.
        folder: The work folder.
        threads: Cores to use.
        processes: Those that share the work.
        checkpoint_every: Seconds between saved states.
        tensorboard: A folder for TensorBoard, or ``None``.
    """

    model: SequenceModel
    pairs: EncodedPairs
    split: Split
    settings: TrainingSettings
    folder: Path
    threads: int
    processes: Processes
    checkpoint_every: float = 300.0
    tensorboard: Path | None = None


class Trainer:
    """Trains ``run.model``; afterwards it holds the weights that the recipe keeps.

    Args:
        run: What to train on what.
        say: Where lines for the user go.
    """

    def __init__(self, run: Run, say: Callable[[str], None]) -> None:
        self.run, self._say = run, say
        self._settings = run.settings
        self._processes = run.processes
        self._recipe, size, self._highest_rate = recipe_of(
            run.settings, len(run.split.training), run.model.settings
        )
        self._dtype = torch.bfloat16 if run.settings.precision == "bf16" else None
        rare = None
        if run.settings.learns_from != "phrases" and run.settings.recipe == "fast":
            rows = run.split.training
            rare = seen_once(run.pairs.source, rows), seen_once(run.pairs.target, rows)
        learnt = run.pairs, run.split.training
        self._passes = Passes(*learnt, self._recipe.plan, size, run.settings.seed)
        self.plan_held_out = uniform_plan
        if run.settings.learns_from != "phrases":
            self.plan_held_out = bucket_plan
        work = Work(
            model=run.model,
            pairs=run.pairs,
            settings=run.settings,
            optimizer=self._recipe.optimizer,
            plan=self.plan_held_out,
            dtype=self._dtype,
            largest=self._largest(),
            least=LEAST_SHARE[run.settings.learns_from],
            rare=rare,
        )
        self._updates = Updates(work, run.threads, run.processes)
        self._rate = 0.0
        self._stop = StopRequest()
        self.state = TrainingState()
        self.processor_share = 1.0  # of the time of training, when this process had a core

    def resume(self) -> None:
        """Take up the state of the work folder's latest checkpoint.

        Raises:
            ResumeError: It is damaged, or another model's.
        """
        path = self.run.folder / LATEST
        self.state, weights, optimizer = load_checkpoint(path)
        with another_refused(path):
            self._updates.take_up(weights, optimizer["moments"])

    def go_on_from(
        self, weights: dict[str, torch.Tensor], state: TrainingState, curves: Path
    ) -> None:
        """Take up a finished model, whose weights count as the best so far.

        Args:
            weights: Its ``state_dict``.
            state: How far its run came.
            curves: Its learning curve, if there is one.
        """
        self._updates.take_up(weights, torch.zeros_like(self._updates.moments))
        self.state = state
        if self._processes.leads:
            if self._recipe.keeps_best:
                save_checkpoint(self.run.folder / BEST, state, weights)
            if curves.exists():
                write_atomically(self.run.folder / CURVES, curves.read_bytes())

    def train(self) -> None:
        """Train until the epochs, the time or the patience are used up.

        Raises:
            KeyboardInterrupt: On Ctrl-C, SIGTERM or SIGHUP, with the state saved.
        """
        curves = None
        if self._processes.leads:
            curves = Curves(self.run.folder / CURVES, self.state.updates, self.run.tensorboard)
        self._resumed_seconds = self.state.seconds
        self._start = self._last_checkpoint = time.monotonic()
        self._compiled = compiling_seconds()
        self._evaluation_began = self._evaluation_ended = self._seconds()
        processor_start = time.process_time()
        with self._stop.listening(), self._progress() as progress:
            while not self._finished():
                self._epoch(progress, curves)
        seconds = max(time.monotonic() - self._start, 1e-9)
        self.processor_share = (time.process_time() - processor_start) / seconds
        if self._processes.leads and (self.run.folder / BEST).exists():
            best = load_checkpoint(self.run.folder / BEST)[1]
            with another_refused(self.run.folder / BEST):
                self.run.model.load_state_dict(best)

    def held_out(self) -> tuple[HeldOutFigure | None, HeldOutFigure | None]:
        """Score what is held out, by source and drawn at random, in the parameters' own type."""
        split = self.run.split
        rows = split.held_out_sources, split.held_out_pairs
        sources, pairs = (self._updates.evaluate(each, exact=True) for each in rows)
        return sources, pairs

    def close(self) -> None:
        """End what works for the trainer; it can train and score no more."""
        self._updates.close()

    def _largest(self) -> int:
        """Return how many pairs are worked on at once, at most: a batch is of one stretch."""
        parts = self.run.split
        held_out = len(parts.held_out_sources), len(parts.held_out_pairs)
        return max(min(len(parts.training), STRETCH), *held_out)

    def _epoch(self, progress: Progress, curves: Curves | None) -> None:
        for batch in self._passes.batches(self.state.epoch, self.state.position):
            self._update(batch, progress)
            if self._evaluation_due(batch.is_last):
                self._evaluate(curves)
                if self._finished():
                    return
            self._save_if_due()
            if self._finished():
                return
        self.state.epoch += 1
        self.state.position = 0

    def _update(self, batch: PlannedBatch, progress: Progress) -> None:
        state, processes = self.state, self._processes
        rate = self._recipe.rate(
            self._highest_rate, state.updates, self._fraction(), begun=state.begun
        )
        # one constant for all batches, so that each pair weighs the same
        scale = 1.0 / batch.words_per_batch if self._recipe.mean_loss else 1.0
        mine = share(batch.rows, processes.rank, processes.world)
        loss = self._updates(mine, state.updates, rate, scale, state.begun)
        self._rate = rate
        state.updates += 1
        state.position += 1
        state.words += batch.words
        state.loss += loss * processes.world
        state.loss_words += batch.words
        state.seconds = self._seconds()
        progress.advance(batch.words, self._note())

    def _note(self) -> str:
        note = f"nll {self.state.loss / self.state.loss_words:.3f}"
        if self._settings.max_seconds is not None:
            # how many words fit into the time is not known before
            left = max(0.0, self._settings.max_seconds - self.state.seconds)
            note += f", at most {left:,.0f} s left"
        return note

    # -- time ----------------------------------------------------------------------------------

    def _seconds(self) -> float:
        """Seconds of training by the clock, without those that numba compiled in."""
        compiled = compiling_seconds() - self._compiled
        return self._resumed_seconds + time.monotonic() - self._start - compiled

    @property
    def passes(self) -> float:
        """Passes over the pairs so far."""
        return self.state.words / max(1, self._passes.words)

    def _fraction(self) -> float:
        """The part of the run that is done, 0 to 1: by epochs or by time, whichever is more."""
        by_epochs = by_time = 0.0
        if self._settings.max_epochs:
            by_epochs = self.passes / self._settings.max_epochs
        if self._settings.max_seconds:
            by_time = self._processes.agree(self._seconds()) / self._settings.max_seconds
        return min(1.0, max(by_epochs, by_time))

    def _finished(self) -> bool:
        settings, state = self._settings, self.state
        if settings.max_epochs is not None and state.epoch >= settings.max_epochs:
            return True
        if settings.max_seconds is not None and self._fraction() >= 1.0:
            return True
        return bool(settings.patience and state.since_best >= settings.patience)

    def _progress(self) -> Progress:
        total = None
        if self._settings.max_epochs is not None:
            total = float(self._settings.max_epochs * self._passes.words)
        return Progress("training", total, "words", done=self.state.words)

    # -- evaluation ----------------------------------------------------------------------------

    def _evaluation_due(self, pass_ends: bool) -> bool:
        if self._settings.evaluations is None:
            return pass_ends
        last = pass_ends and self.state.epoch + 1 == self._settings.max_epochs
        fraction = self._fraction()
        due = int(fraction * self._settings.evaluations) > self.state.evaluations
        if due and self._settings.max_seconds is not None and fraction < 1.0:
            took = self._evaluation_ended - self._evaluation_began
            trained = self._seconds() - self._evaluation_ended
            due = bool(self._processes.agree(float(trained >= _TRAINING_PER_EVALUATION * took)))
        return last or due

    def _evaluate(self, curves: Curves | None) -> None:
        run, state = self.run, self.state
        self._evaluation_began = self._seconds()
        sources = self._updates.evaluate(run.split.held_out_sources)
        pairs = self._updates.evaluate(run.split.held_out_pairs)
        self._evaluation_ended = self._seconds()
        passed = int(self._fraction() * (self._settings.evaluations or 0))
        is_first = not state.evaluations
        state.evaluations = max(state.evaluations + 1, passed)
        # unseen sources tell memory from knowledge; without them the other figure must do
        watched = sources or pairs
        # without held-out pairs the last weights count as the best
        nll = self._processes.agree(watched.nll if watched else -float(state.evaluations))
        point = self._point(sources, pairs)
        state.loss, state.loss_words = 0.0, 0
        state.since_best = 0 if nll < state.best_nll else state.since_best + 1
        state.best_nll = min(nll, state.best_nll)
        if curves is not None:
            if state.since_best == 0 and self._recipe.keeps_best:
                save_checkpoint(run.folder / BEST, state, run.model.state_dict())
            curves.add(point)
            self._say(described(point, self._settings.learns_from == "text"))
            if is_first and self._settings.max_seconds is not None:
                self._advise(self._settings.max_seconds)

    def _advise(self, seconds: float) -> None:
        passes = self.passes / max(self._fraction(), 1e-9)
        size = better_size(self.run.model.settings, passes)
        if size is not None and self._settings.recipe == "fast":
            self._say(
                f"at this rate the run makes {passes:.1f} passes over the pairs in {seconds:,.0f} "
                f"s; a smaller model sees more and learns more in that time: try --hidden {size}"
            )

    def _point(self, sources: HeldOutFigure | None, pairs: HeldOutFigure | None) -> dict[str, Any]:
        state = self.state
        seconds = self._seconds()
        return {
            "updates": state.updates,
            "epoch": round(self.passes, 3),
            "seconds": round(seconds, 1),
            "words_per_second": round(state.words / max(seconds, 1e-9)),
            "learning_rate": self._rate,
            "training_nll": state.loss / max(1, state.loss_words),
            "held_out_sources_nll": sources.nll if sources else None,
            "held_out_pairs_nll": pairs.nll if pairs else None,
        }

    # -- stopping and saving -------------------------------------------------------------------

    def _save_if_due(self) -> None:
        # with several processes the leading one's signal counts, so that all stop together
        stop = bool(self._processes.agree(float(self._stop.made)))
        due = time.monotonic() - self._last_checkpoint >= self.run.checkpoint_every
        if (due or stop) and self._processes.leads:
            save_checkpoint(
                self.run.folder / LATEST,
                self.state,
                self.run.model.state_dict(),
                {"moments": self._updates.moments},
            )
            self._last_checkpoint = time.monotonic()
        if stop:
            raise KeyboardInterrupt
