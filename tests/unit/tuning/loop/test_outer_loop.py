"""The outer loop: rounds, stop rules, and kills at any point."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from moses_integration.ini.moses_ini import MosesIni
from tests.support import toy_decoder
from tests.support.toy_decoder import ToyDecoder
from tuning.loop.outer_loop import Tuning, TuningResult, TuningTask
from tuning.loop.tuning_settings import TuningSettings
from tuning.loop.weights import WeightPlan
from tuning.loop.work_folder import WorkFolder
from tuning.metrics.metric_scores import CandidateStatistics
from tuning.metrics.metric_settings import Objective

SENTENCES = 20


class Bench:
    """A dev set, a decoder and a task, always made from the same seed."""

    def __init__(self, tmp_path: Path, **options: int) -> None:
        rng = np.random.default_rng(5)
        lines = toy_decoder.references(SENTENCES, rng)
        reference = tmp_path / "dev.trg"
        reference.write_bytes(b"".join(line + b"\n" for line in lines))
        self.decoder = ToyDecoder.of(lines, rng)
        ini = MosesIni.parse(toy_decoder.INI, "toy.ini")
        files = {"ini": "toy.ini", "source": "dev.src", "references": (str(reference),)}
        options = {"restarts": 2, "nbest_size": 8, "threads": 1} | options
        self.task = TuningTask(
            TuningSettings(**files, **options),  # type: ignore[arg-type]
            ini,
            WeightPlan.from_ini(ini),
            CandidateStatistics.read([reference], Objective()),
            self.decoder,
            provenance={},
            say=lambda line: None,
        )

    def run(self, folder: Path) -> TuningResult:
        """Tune in a folder."""
        with WorkFolder(folder).opened({"seed": 1}) as work:
            return Tuning(self.task, 1, work).run()


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a run without the times."""
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {
        name: b"" if name.endswith(("optimized.json", "result.json")) else data
        for name, data in found.items()
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


def _steps(folder: Path, rounds: int) -> list[Path]:
    """Return the files of a run in the order in which they get their names."""
    files: list[Path] = []
    for number in range(1, rounds + 1):
        path = folder / f"round{number:02d}"
        names = ("moses.ini", "weights.json", "decoder.log", "nbest.gz")
        files += [path / name for name in (*names, "optimized.json")]
    return [*files, folder / "moses.ini", folder / "weights.json"]


def test_a_run_that_was_killed_anywhere_arrives_at_the_same_result(tmp_path: Path) -> None:
    """Whatever files a kill leaves, the same call ends with the files of an undisturbed run."""
    rounds = len(Bench(tmp_path, rounds=2).run(tmp_path / "whole").rounds)
    steps = _steps(tmp_path / "whole", rounds)
    assert {path for path in steps if path.exists()} >= {
        path
        for path in (tmp_path / "whole").rglob("*")
        if path.is_file() and path.name not in ("run.json", "result.json", ".lock")
    }
    for kept in range(len(steps)):
        folder = tmp_path / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", folder)
        for step in steps[kept:]:
            (folder / step.relative_to(tmp_path / "whole")).unlink(missing_ok=True)
        (folder / ".moses.ini.01234567.part").write_bytes(b"half")
        (folder / "round01").mkdir(exist_ok=True)
        (folder / "round01" / ".nbest.gz.01234567.part").write_bytes(b"half")
        Bench(tmp_path, rounds=2).run(folder)
        assert contents(folder) == contents(tmp_path / "whole"), f"killed after step {kept}"


def test_finished_rounds_are_not_decoded_again(tmp_path: Path) -> None:
    """A finished run is only read; with a larger limit of rounds it continues."""
    first = Bench(tmp_path, rounds=1).run(tmp_path / "run")
    again = Bench(tmp_path, rounds=1)
    assert again.run(tmp_path / "run").weights == first.weights
    assert again.decoder.calls == []
    longer = Bench(tmp_path, rounds=2)
    assert len(longer.run(tmp_path / "run").rounds) == 3
    assert len(longer.decoder.calls) == 1


def test_it_ends_when_a_round_finds_nothing_new(tmp_path: Path) -> None:
    """If the first list has all candidates, the second round is the last."""
    result = Bench(tmp_path, nbest_size=60).run(tmp_path / "run")
    assert (result.why, len(result.rounds)) == ("no new candidates", 2)


def test_it_ends_without_patience(tmp_path: Path) -> None:
    """It ends after ``patience`` rounds without a better score."""
    result = Bench(tmp_path, patience=1).run(tmp_path / "run")
    assert result.why == "no better score in 1 round"
    assert result.best.number == len(result.rounds) - 1
    assert len(Bench(tmp_path, patience=2).run(tmp_path / "more").rounds) > len(result.rounds)


def test_the_curve_tells_every_round(tmp_path: Path) -> None:
    """result.json has every round, with scores, weights by name and the optimisation's result."""
    result = Bench(tmp_path, rounds=2).run(tmp_path / "run")
    curve = json.loads((tmp_path / "run" / "result.json").read_text())["curve"]
    assert [line["number"] for line in curve] == [decoded.number for decoded in result.rounds]
    assert curve[0]["optimized"]["score"] >= curve[0]["optimized"]["start_score"]
    assert set(curve[0]["weights"]) == {"WordPenalty0", "TM_0", "TM_1"}
