"""The outer loop: rounds, stop rules, and kills at any point."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moses_integration.ini.moses_ini import MosesIni
from phrasescore.runs.ledger import Ledger
from tests.support import toy_decoder
from tests.support.candidate_pools import pool_of
from tests.support.killed import killed_at
from tests.support.toy_decoder import ToyDecoder
from tuning.loop.outer_loop import Tuning, TuningResult, TuningTask
from tuning.loop.trust_region import within_trust
from tuning.loop.tuning_settings import TunedRound, TuningSettings
from tuning.loop.weights import WeightPlan
from tuning.metrics.metric_scores import CandidateStatistics
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.optimizer import Problem

SENTENCES = 20


class Bench:
    """A dev set, a decoder and a task, always made from the same seed."""

    def __init__(self, tmp_path: Path, kind: str = "of", **options: Any) -> None:
        self.said: list[str] = []
        rng = np.random.default_rng(5)
        lines = toy_decoder.references(SENTENCES, rng)
        reference = tmp_path / "dev.trg"
        reference.write_bytes(b"".join(line + b"\n" for line in lines))
        self.decoder: ToyDecoder = getattr(ToyDecoder, kind)(lines, rng)
        ini = MosesIni.parse(toy_decoder.INI, "toy.ini")
        files = {"ini": "toy.ini", "source": "dev.src", "references": (str(reference),)}
        options = {"restarts": 2, "nbest_size": 10, "threads": 1} | options
        self.task = TuningTask(
            TuningSettings(**files, **options),  # type: ignore[arg-type]
            ini,
            WeightPlan.from_ini(ini),
            CandidateStatistics.read([reference], Objective()),
            self.decoder,
            provenance={},
            say=self.said.append,
        )

    def run(self, folder: Path) -> TuningResult:
        """Tune in a folder."""
        return Tuning(self.task, self.task.settings.seed, Ledger(folder / "steps")).run()


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a run without the times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    timed = {path for path in paths if path.parent.name == "steps" or path.name == "result.json"}
    return {
        str(path.relative_to(folder)): b"" if path in timed else path.read_bytes() for path in paths
    }


def test_weights_get_better_and_the_best_round_is_the_result(tmp_path: Path) -> None:
    """The ini and the JSON have the weights of the round that decoded best."""
    bench = Bench(tmp_path)
    result = bench.run(tmp_path / "run")
    scores = [decoded.score for decoded in result.rounds]
    assert result.best.score == max(scores) > scores[0] + 0.05
    stated = json.loads((tmp_path / "run" / "weights.json").read_text())
    assert stated["bleu"] == result.best.bleu
    assert stated["round"] == result.best.number
    ini = MosesIni.read(tmp_path / "run" / "moses.ini")
    assert {name: list(ini.weights[name]) for name in stated["weights"]} == stated["weights"]
    assert result.weights["TM"] == tuple(bench.decoder.calls[result.best.number - 1]["TM"])


def test_only_the_weights_change_in_the_ini(tmp_path: Path) -> None:
    """Comments, order and features are unchanged; untuned features keep their weights."""
    Bench(tmp_path).run(tmp_path / "run")
    tuned = (tmp_path / "run" / "moses.ini").read_bytes().split(b"\n")
    before = toy_decoder.INI.split(b"\n")
    different = [old for old, new in zip(before, tuned, strict=True) if old != new]
    assert different == [b"WordPenalty0= 0.5", b"TM= 0.5 0.5"]


def test_the_last_weights_are_decoded_too(tmp_path: Path) -> None:
    """After R optimisations there are R + 1 decoded rounds, so that all weights have a score."""
    bench = Bench(tmp_path, rounds=1)
    result = bench.run(tmp_path / "run")
    assert result.why == "1 round of optimisation"
    assert len(result.rounds) == len(bench.decoder.calls) == 2


def test_a_run_that_was_killed_anywhere_arrives_at_the_same_result(tmp_path: Path) -> None:
    """Whenever a kill comes, the same call ends with the files of an undisturbed run."""
    Bench(tmp_path, rounds=2).run(tmp_path / "whole")
    killed = 0
    for moment in range(0, 1000, 3):
        folder = tmp_path / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        if not killed_at(moment, lambda folder=folder: Bench(tmp_path, rounds=2).run(folder)):  # type: ignore[misc]
            break
        killed += 1
        lists = {path: path.stat().st_mtime_ns for path in folder.rglob("nbest.gz")}
        Bench(tmp_path, rounds=2).run(folder)
        assert contents(folder) == contents(tmp_path / "whole"), f"killed after {moment} changes"
        assert lists == {path: path.stat().st_mtime_ns for path in lists}
    assert killed > 10


def test_finished_rounds_are_not_decoded_again(tmp_path: Path) -> None:
    """A finished run is only read; with a larger limit of rounds it continues."""
    first = Bench(tmp_path, rounds=1).run(tmp_path / "run")
    again = Bench(tmp_path, rounds=1)
    assert again.run(tmp_path / "run").weights == first.weights
    assert again.decoder.calls == []
    longer = Bench(tmp_path, rounds=2)
    assert len(longer.run(tmp_path / "run").rounds) == 3
    assert len(longer.decoder.calls) == 1
    shorter = Bench(tmp_path, rounds=1)
    assert len(shorter.run(tmp_path / "run").rounds) == 2
    assert "note: an earlier call made more rounds" in shorter.said[-1]
    assert not any("more rounds" in line for line in longer.said + again.said)


def test_the_work_folder_may_be_a_link(tmp_path: Path) -> None:
    """A user may keep the lists on another disk; links inside the folder are refused elsewhere."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to("disk")
    Bench(tmp_path, rounds=1).run(tmp_path / "run")
    assert (tmp_path / "disk" / "weights.json").exists()


def test_it_ends_when_a_round_finds_nothing_new(tmp_path: Path) -> None:
    """If the first list has all candidates, the second round is the last."""
    result = Bench(tmp_path, nbest_size=60).run(tmp_path / "run")
    assert (result.why, len(result.rounds)) == ("no new candidates", 2)


def test_the_curve_tells_every_round(tmp_path: Path) -> None:
    """result.json has every round, with scores, weights by name and the optimisation's result."""
    result = Bench(tmp_path, rounds=2).run(tmp_path / "run")
    curve = json.loads((tmp_path / "run" / "result.json").read_text())["curve"]
    assert [line["number"] for line in curve] == [decoded.number for decoded in result.rounds]
    assert curve[0]["optimized"]["score"] >= curve[0]["optimized"]["start_score"]
    assert set(curve[0]["weights"]) == {"WordPenalty0", "TM_0", "TM_1"}


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("optimizer", ["mert", "pro", "mira"])
def test_lists_of_too_short_translations_do_not_end_the_tuning(
    tmp_path: Path, optimizer: str, seed: int
) -> None:
    """Every optimiser arrives at translations of the right length, whatever the first lists hold.

    The first lists hold translations of at most three of seven words. The weights that are best
    over these lists decode to 28 words.
    """
    bench = Bench(tmp_path, "of_all_lengths", optimizer=optimizer, seed=seed, nbest_size=15)
    result = bench.run(tmp_path / "run")
    assert result.rounds[0].length_ratio < 0.5
    assert result.best.score > 0.8
    assert 0.9 < result.best.length_ratio < 1.1
    assert max(decoded.length_ratio for decoded in result.rounds) < 2


def test_good_weights_beyond_worse_ones_are_found(tmp_path: Path) -> None:
    """If two steps decoded no better than the start weights, the next goes the whole way."""
    result = Bench(tmp_path, "across_a_valley").run(tmp_path / "run")
    scores = [decoded.score for decoded in result.rounds]
    assert min(scores) < scores[0] < 1
    assert result.best.score == 1


def _round(number: int, score: float, length_ratio: float = 1.0) -> TunedRound:
    return TunedRound(number, {"LM0": 1.0}, score, score, length_ratio, 1, 1)


@pytest.mark.parametrize(
    ("rounds", "said"),
    [
        ([_round(1, 0.3), _round(2, 0.2)], "than the start weights, so the search keeps them"),
        ([_round(1, 0.3)], "than the start weights, so the search keeps them"),
        ([_round(1, 0.3), _round(2, 0.32)], "still rising"),
        ([_round(1, 0.001), _round(2, 0.003)], "below 1"),  # more rounds would not help
        ([_round(1, 0.3), _round(2, 0.1, 4.4), _round(3, 0.31), _round(4, 0.3)], "2: up to 4.4"),
        ([_round(1, 0.3), _round(2, 0.32, 0.85), _round(3, 0.3)], "0.85 words per word"),
        ([_round(1, 0.3), _round(2, 0.32), _round(3, 0.3205)], None),
        ([_round(1, 1.0)], None),
    ],
)  # fmt: skip
def test_a_run_says_why_its_result_is_doubtful(rounds: list[TunedRound], said: str | None) -> None:
    """Each sign of a doubtful result has a sentence; a run that rose and then stayed has none."""
    best = max(rounds, key=lambda each: each.score)
    warnings = TuningResult(1, Path(), best, tuple(rounds), "", {"LM0": (1.0,)}).warnings
    assert len(warnings) == (said is not None)
    assert not said or said in warnings[0]


def _problem(free: list[bool]) -> Problem:
    """Return a problem of two features with standard deviations of 1 and 10."""
    features = [(2**0.5, 0.0), (-(2**0.5), 0.0), (0.0, 14.142136), (0.0, -14.142136)]
    pool = pool_of([[(each, [0] * 9) for each in features]])
    return Problem(pool, Objective(), np.array([0.5, 0.05]), np.array(free), ("a", "b"))


def test_the_trust_region_counts_the_influence_of_weights() -> None:
    """A weight counts as much as its feature varies, whatever the scale of all weights."""
    problem = _problem([True, True])
    for factor in (1.0, 7.0):
        moved, share = within_trust(problem, factor * np.array([0.5, -0.05]), 0.2)
        assert share == pytest.approx(0.2 / np.sqrt(2))
        direction = moved * (1, 10) / np.linalg.norm(moved * (1, 10))
        start = np.array([1, 1]) / np.sqrt(2)
        assert 0.15 < np.linalg.norm(direction - start) <= 0.2
    near = np.array([0.5, 0.06])
    moved, share = within_trust(problem, near, 0.2)
    assert share == 1
    np.testing.assert_allclose(moved, near / near.sum(), rtol=1e-6)


def test_a_frozen_weight_does_not_move() -> None:
    """With a frozen weight, weights are not scaled."""
    moved, share = within_trust(_problem([False, True]), np.array([0.5, 0.5]), 0.2)
    assert share < 1
    assert moved[0] == 0.5
    assert 0.05 < moved[1] < 0.5


def test_other_weights_are_decoded_again(tmp_path: Path) -> None:
    """The list of an average is kept only as long as the average stays the same."""
    bench = Bench(tmp_path)
    ledger = Ledger(tmp_path / "run" / "steps")
    for weights, calls in ([0.5, 0.25, 0.25], 1), ([0.5, 0.25, 0.25], 1), ([0.5, 0.3, 0.2], 2):
        result = Tuning(bench.task, None, ledger).decode_once(np.array(weights), "a test")
        assert len(bench.decoder.calls) == calls
        assert result.weights["TM"] == tuple(weights[1:])
        assert MosesIni.read(tmp_path / "run" / "moses.ini").weights["TM"] == tuple(weights[1:])
