"""The division of an improvement's time among its steps, by measured costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuning.improvement.plan import Parts
from tuning.loop.tuning_settings import TuningSettings

ROUNDS, _FEWEST_ROUNDS = TuningSettings.rounds, 2
_FEWEST_OF_BASELINE = 4  # four rounds end at most 0.5 BLEU below eight (docs/tuning.md)
# Shares of the time that the tuning of the baseline and a tuning with new parts may take. On
# English-Hausa's dev set, six more rounds after the second bring 0.22 BLEU, and models that were
# trained for minutes nothing. There are up to two tunings with new parts, which begin with the
# weights of the tuned baseline.
_BASELINE_SHARE, _TUNING_SHARE, _TUNINGS = 0.25, 0.1, 2
# seconds that a neural language model adds to decoding a word: 0.001 to 0.006 on three pairs, on
# two busy cores
_NEURAL = 0.002
_OPTIMISED = 1.5  # the time of a round, relative to decoding the dev set once
_RESCORED = 4.0  # the time of rescoring, relative to the same: 2.4 to 5.4 on five pairs of news
_LEAST_TRAINING = 0.25  # share of the time; without training, nothing can help


@dataclass(frozen=True)
class Costs:
    """What tuning costs on this machine.

    Args:
        decoding: The seconds of decoding the dev set once, without new parts.
        round: The seconds of a round of tuning without new parts.
        words: The words of the dev set.
    """

    decoding: float
    round: float
    words: int

    @classmethod
    def foreseen(cls, decoding: float, words: int) -> Costs:
        """Return the costs before the first tuning."""
        return cls(decoding, _OPTIMISED * decoding, words)

    @property
    def of_baseline(self) -> float:
        """The seconds of the whole time for a round of the baseline's tuning."""
        return _OPTIMISED * self.decoding / _BASELINE_SHARE

    @property
    def with_parts(self) -> float:
        """The seconds of the whole time for a round of a tuning with new parts."""
        return self._round_with_parts / _TUNING_SHARE

    @property
    def _round_with_parts(self) -> float:
        return self.round + _NEURAL * self.words

    @property
    def comparing(self) -> float:
        """The seconds of decoding the dev set with the baseline and with the new system."""
        return (2 + _RESCORED) * self.decoding + _NEURAL * self.words

    @property
    def _rescoring(self) -> float:
        """The seconds of rescoring the dev set in both tunings with new parts and at the end."""
        return (_TUNINGS + 1) * _RESCORED * self.decoding

    def rounds_of_baseline(self, time: float | None) -> int:
        """Return the rounds of the baseline's tuning."""
        return max(_FEWEST_OF_BASELINE, rounds_for(time, self.of_baseline))

    def least(self, time: float, rounds: int) -> float:
        """Return the least seconds of all steps after the first decoding.

        Args:
            time: The seconds that the user gave.
            rounds: The rounds of the baseline's tuning.
        """
        rest = _TUNINGS * (_FEWEST_ROUNDS + 1) * self._round_with_parts + self._rescoring
        return self.round * (rounds + 1) + _LEAST_TRAINING * time + rest

    def divided(self, time: float, spent: float, rounds: int) -> Mapping[str, float]:
        """Divide a time among the steps after the baseline's tuning.

        Args:
            time: The seconds of all steps.
            spent: The seconds so far.
            rounds: The rounds of the baseline so far; a longer time has more.

        Returns:
            The seconds of training, the rounds of a tuning with new parts, and the seconds at which
            all steps will end.
        """
        spent += max(0, rounds_for(time, self.of_baseline) - rounds) * self.round
        after = rounds_for(time, self.with_parts)
        rest = _TUNINGS * (after + 1) * self._round_with_parts + self._rescoring
        training = max(_LEAST_TRAINING * time, time - spent - rest)
        return {"rounds": after, "end": spent + training + rest, "training": training}

    def minutes_for(self, training: float, spent: float, rounds: int) -> int:
        """Return the least minutes of a time that has so many seconds of training."""
        return next(
            minutes
            for minutes in itertools.count(1)
            if self.divided(60 * minutes, spent, rounds)["training"] >= training
        )


def rounds_for(time: float | None, cost: float) -> int:
    """Return how many rounds fit if each round, and the last decoding, needs ``cost`` seconds."""
    if time is None:
        return ROUNDS
    return min(ROUNDS, max(_FEWEST_ROUNDS, int(time / max(cost, 1e-9)) - 1))


def time_for(rounds: int, cost: float) -> float:
    """Return the time for which `rounds_for` returns this number of rounds, 3 or more."""
    return (rounds + 1) * cost


def shared(time: float, lanes: Sequence[Parts]) -> dict[str, float]:
    """Return the seconds of each part, by name; each lane has all of the time."""
    return {
        part.name: time * part.share / sum(each.share for each in lane)
        for lane in lanes
        for part in lane
    }
