"""The result of an experiment: BLEU of each system and seed, and what of it is not chance."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import References, bleu_of_sums
from phrasescore.errors import CorpusError
from phrasescore.files import read_lines
from phrasescore.resuming.stamps import Stamps
from tuning.experiment.experiment_file import SystemSettings
from tuning.experiment.plan import TEXTS, Plan
from tuning.metrics.resampling import bootstrap, randomization_p_value
from tuning.metrics.significance import TRIALS

_SEED = 12345


@dataclass(frozen=True)
class Gain:
    """What a system gains over the first one, seeds of both taken together.

    Args:
        bleu: The difference of the means over seeds.
        p_value: Of approximate randomisation: translations as they are.
        bootstrap_p_value: Of the bootstrap over sentences and seeds: other seeds, too.
        low: Of the bootstrap's 95 % interval.
        high: The same.
    """

    bleu: float
    p_value: float
    bootstrap_p_value: float
    low: float
    high: float

    @classmethod
    def of(cls, first: NDArray[np.int64], second: NDArray[np.int64]) -> Gain:
        """Compare (seeds, sentences, 9) of the first system and of another."""
        means = [float(bleu_of_sums(runs.sum(1)).mean()) for runs in (first, second)]
        p_value = randomization_p_value(first, second, bleu_of_sums, TRIALS, _SEED)
        drawn = bootstrap(first, second, bleu_of_sums, TRIALS, _SEED)
        return cls(means[1] - means[0], p_value, drawn.p_value, drawn.low, drawn.high)


@dataclass(frozen=True)
class Score:
    """The score of a system on one text.

    Args:
        bleu: 0 to 1, one for each seed.
        gain: What the first system lacks; none for the first itself.
    """

    bleu: tuple[float, ...]
    gain: Gain | None = None

    @property
    def mean(self) -> float:
        """Over seeds."""
        return statistics.fmean(self.bleu)

    @property
    def deviation(self) -> float | None:
        """The standard deviation over seeds (n - 1); none of a single one."""
        return statistics.stdev(self.bleu) if len(self.bleu) > 1 else None


@dataclass(frozen=True)
class Row:
    """One system in the table.

    Args:
        system: Which.
        seeds: Those that are done.
        scores: By text; empty where no seed is done.
        tuning_seconds: By the clock, one for each seed.
        tuning_cpu_seconds: Of the processor, one for each seed.
        resumed: Whether a tuning was interrupted, so that its times miss a part.
    """

    system: SystemSettings
    seeds: tuple[int, ...] = ()
    scores: tuple[tuple[str, Score], ...] = ()
    tuning_seconds: tuple[float, ...] = ()
    tuning_cpu_seconds: tuple[float, ...] = ()
    resumed: bool = False

    def score(self, text: str) -> Score | None:
        """The score on ``dev`` or ``test``, if there is one."""
        return dict(self.scores).get(text)


def collect(plan: Plan, stamps: Stamps) -> tuple[Row, ...]:
    """Score what is translated so far.

    Raises:
        CorpusError: A translation has another number of lines than its references.
    """
    texts = {text: _Text(plan.reference(text)) for text in TEXTS}
    baseline: dict[str, NDArray[np.int64]] = {}
    rows = []
    for system in plan.settings.systems:
        seeds = tuple(seed for seed in plan.settings.seeds if _is_done(plan, system, seed))
        if system.not_run or not seeds:
            rows.append(Row(system))
            continue
        scores = []
        for text in TEXTS:
            files = [plan.translation(system, seed, text) for seed in seeds]
            counted = texts[text].statistics(files)
            scores.append((text, _score(counted, baseline.get(text))))
            if system is plan.settings.systems[0]:
                baseline[text] = counted
        rows.append(_timed(Row(system, seeds, tuple(scores)), plan, stamps))
    return tuple(rows)


def _is_done(plan: Plan, system: SystemSettings, seed: int) -> bool:
    return all(plan.translation(system, seed, text).exists() for text in TEXTS)


class _Text:
    """The references of one text."""

    def __init__(self, path: Path) -> None:
        self._references = References.read([path])

    def statistics(self, files: Sequence[Path]) -> NDArray[np.int64]:
        """Return (seeds, sentences, 9) of translations."""
        return np.stack([self._of(file) for file in files]).astype(np.int64)

    def _of(self, file: Path) -> NDArray[np.int32]:
        lines = list(read_lines(file))
        if len(lines) != len(self._references):
            raise CorpusError(
                f"{len(lines)} translations of {len(self._references)} sentences",
                path=file,
                remedy="delete the file and run the experiment again",
            )
        return self._references.score(np.arange(len(lines)), lines).matrix()


def _score(system: NDArray[np.int64], baseline: NDArray[np.int64] | None) -> Score:
    """Score (seeds, sentences, 9), against those of the first system if it is not this one."""
    bleu = tuple(bleu_of_sums(system.sum(1)).tolist())
    return Score(bleu, None if baseline is None else Gain.of(baseline, system))


def _timed(row: Row, plan: Plan, stamps: Stamps) -> Row:
    found = [stamps.read(plan.tuning_step(row.system, seed)) for seed in row.seeds]
    known = [stamp for stamp in found if stamp is not None]
    return Row(
        row.system,
        row.seeds,
        row.scores,
        tuple(stamp.seconds for stamp in known),
        tuple(stamp.cpu_seconds for stamp in known),
        any(stamp.attempts > 1 for stamp in known),
    )
