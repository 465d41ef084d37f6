"""From what runs showed to the table."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moses_integration.bleu.statistics import References
from phrasescore.runs.results import ExperimentRow
from tuning.experiment.experiment_settings import (
    LEFT_OUT,
    ExperimentData,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
)
from tuning.experiment.plan import Plan
from tuning.experiment.results import KeptText, StepTime, SystemRun, TextStatistics, table_rows
from tuning.experiment.session import experiment_record, latex, markdown

LINES = [f"un homme {n} est dans la rue {n % 7} avec un chien" for n in range(60)]


def worse(every: int) -> list[str]:
    """The references with a word missing in one of so many sentences."""
    return [
        line.replace(" la rue", " rue") if n % every == 0 else line for n, line in enumerate(LINES)
    ]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Four systems: two seeds of a bad one, two of a better one, models alone, one not run."""
    ini = "[feature]\nPhraseDictionaryMemory name=TM num-features=1 path=table\n"
    (tmp_path / "moses.ini").write_text(ini)
    tests = tuple(ExperimentText(name, f"{name}.en", f"{name}.fr") for name in ("old", "new"))
    data = ExperimentData(str(tmp_path), "moses.ini", "dev.en", "dev.fr", test=tests)
    systems = (
        ExperimentSystem("Baseline", paper_dev=30.64, paper_test=33.3),
        ExperimentSystem("RNN_1 & more", rerank=("search",)),
        ExperimentSystem("Alone", translate=("search", "back")),
        ExperimentSystem("CSLM", not_run="it is not there yet"),
    )
    models = (ExperimentModel("search", "given"), ExperimentModel("back", "given"))
    settings = ExperimentSettings(
        "made up", data, systems, (1, 2), models=models, file=tmp_path / "experiment.toml"
    )
    return Plan(settings, tmp_path / "results")


def run(seed: int | None, every: int, **more: Any) -> SystemRun:
    """A run that leaves out a word in one of so many sentences of each text."""
    references = References([[line.encode() for line in LINES]])
    lines = [line.encode() for line in worse(every)]
    counts = TextStatistics.from_rows(references.score(np.arange(len(lines)), lines))
    return SystemRun(seed, dict.fromkeys(("dev", "old", "new"), counts), **more)


def collect(plan: Plan, runs: dict[str, list[SystemRun]]) -> tuple[ExperimentRow, ...]:
    """The rows of the table."""
    lengths = " ".join(str(len(line.split(" "))) for line in LINES)
    return table_rows(plan, runs, dict.fromkeys(("dev", "old", "new"), KeptText("", "", lengths)))


@pytest.fixture
def runs() -> dict[str, list[SystemRun]]:
    """Those of the three systems that are run."""
    return {
        "Baseline": [run(1, 2), run(2, 3)],
        "RNN_1 & more": [run(1, 5), run(2, 6)],
        "Alone": [run(None, 4)],
    }


def test_scores_over_seeds_and_the_gain(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """Means, deviations and the gain come from the seeds; a clear gain is not chance."""
    baseline, better, alone, later = collect(plan, runs)
    first, second = baseline.texts["old"], better.texts["old"]
    assert len(first.bleu) == 2
    assert first.bleu[0] < first.bleu[1] < second.bleu[0] < 1
    assert first.deviation == pytest.approx(abs(first.bleu[0] - first.bleu[1]) / 2**0.5)
    assert first.gain is None
    assert second.gain is not None
    assert second.gain.bleu == pytest.approx(second.mean - first.mean)
    assert second.gain.randomization_p_value < 0.01
    assert second.gain.low < second.gain.bleu < second.gain.high
    assert better.texts["new"].bleu == second.bleu
    single = alone.texts["old"]
    assert (alone.seeds, single.deviation) == ((), None)
    assert single.gain is not None
    assert single.gain.bleu == pytest.approx(single.mean - first.mean)
    assert (later.texts, later.seeds, later.not_run) == ({}, (), "it is not there yet")


def test_equal_systems_gain_nothing(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """The same translations: no gain, p = 1."""
    difference = collect(plan, {**runs, "RNN_1 & more": runs["Baseline"]})[1].texts["old"]
    assert difference.gain is not None
    assert (difference.gain.bleu, difference.gain.randomization_p_value) == (0, 1)


def test_seeds_and_texts_that_are_not_done(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """The table says how many seeds there are; a single one has no deviation."""
    short = {text: rows for text, rows in run(1, 5).texts.items() if text != "new"}
    rows = collect(plan, {**runs, "RNN_1 & more": [SystemRun(1, short)]})
    assert rows[1].seeds == (1,)
    assert rows[1].texts["old"].deviation is None
    table = markdown(plan.settings, rows, [])
    assert "RNN_1 & more: 1 of 2 seeds are done." in table
    line = next(line for line in table.split("\n") if line.startswith("| RNN_1"))
    assert "| not run | – | – | – | – |" in line
    assert collect(plan, {})[0].texts == {}


def test_times_come_from_the_steps(plan: Plan) -> None:
    """Mean seconds of finding weights; a run that was interrupted is left out, with a mark."""
    tuned = {f"baseline.seed{n}.tune": StepTime(100.0 * n, 60.0 * n, n) for n in (1, 2)}
    own = {
        "rnn-1-more.seed1.dev.rescore": StepTime(20, 10, 1),
        "rnn-1-more.seed1.dev.optimize": StepTime(3, 2, 1),
        "rnn-1-more.seed1.new.rescore": StepTime(1000, 1000, 1),
    }
    first = [run(1, 2, steps=tuned), run(2, 3, steps=tuned)]
    rows = collect(plan, {"Baseline": first, "RNN_1 & more": [run(1, 5, steps={**tuned, **own})]})
    assert rows[0].tuning_seconds == (100,)
    assert rows[1].tuning_seconds == (123,)
    table = markdown(plan.settings, rows, ["phrasescore tune"])
    assert "| 100 s (60 s CPU)* |" in table
    assert "| 123 s (72 s CPU) |" in table
    assert "A tuning was interrupted and went on; its time is left out." in table
    twice = [run(1, 2, steps={"baseline.seed1.tune": StepTime(70, 60, 2)})]
    assert "| – |" in markdown(plan.settings, collect(plan, {"Baseline": twice}), []).split("\n")[4]
    assert table.endswith("```\nphrasescore tune\n```\n")


def test_the_tables(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """Each test set has its columns; rows that are not run say why; LaTeX is escaped."""
    rows = collect(plan, runs)
    table = markdown(plan.settings, rows, [])
    assert table.split("\n")[2] == (
        "| system | dev BLEU | old BLEU | old gain | 95 % interval | p "
        "| new BLEU | new gain | 95 % interval | p | tuning | paper |"
    )
    nothing = "not run | – | – | –"
    assert f"| CSLM | not run | {nothing} | {nothing} | – | – |" in table
    assert "CSLM: not run; it is not there yet." in table
    assert "| 30.64 / 33.30 |" in table
    assert "RNN_1 & more: 100-best lists of the tuned system, rescored by search;" in table
    assert "Alone: search, back without a system; nothing is tuned, so there is one run" in table
    assert "Alone: 0 of 2 seeds" not in table
    printed = latex(plan.settings, rows)
    assert r"System & dev & old & gain & p & new & gain & p \\" in printed
    assert r"RNN\_1 \& more & " in printed
    assert printed.count(r" \\") == 5
    record = json.loads(json.dumps(experiment_record(plan.settings, rows).to_json()))
    gain = record["systems"][1]["texts"]["new"]["gain"]
    # two seeds that differ by a third of the gain say little of other seeds
    assert gain["randomization_p_value"] < 0.01 < gain["p_value"] < 1
    assert len(record["systems"][0]["texts"]["dev"]["bleu"]) == 2
    assert record["systems"][2]["translate"] == ["search", "back"]


def test_a_row_that_was_run_before(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """Left out this time, it has its numbers, and the notes say where they are from."""
    systems = list(plan.settings.systems)
    systems[2] = dataclasses.replace(systems[2], not_run=LEFT_OUT)
    left_out = dataclasses.replace(plan.settings, systems=tuple(systems))
    table = markdown(left_out, collect(dataclasses.replace(plan, settings=left_out), runs), [])
    assert "Alone: from an earlier call, whose results are kept; left out by --only now." in table
    assert "| Alone | not run" not in table
