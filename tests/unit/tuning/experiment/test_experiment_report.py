"""From translations to the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phrasescore.errors import CorpusError
from phrasescore.files import write_atomically
from phrasescore.resuming.stamps import Stamp, Stamps
from tuning.experiment.experiment_file import ExperimentData, ExperimentSettings, ExperimentSystem
from tuning.experiment.plan import Plan
from tuning.experiment.report import Row, collect
from tuning.experiment.tables import as_json, latex, markdown

LINES = [f"un homme {n} est dans la rue {n % 7} avec un chien" for n in range(60)]


def worse(every: int) -> list[str]:
    """The references with a word missing in one of so many sentences."""
    return [
        line.replace(" la rue", " rue") if n % every == 0 else line for n, line in enumerate(LINES)
    ]


def text(lines: list[str]) -> bytes:
    """Lines as a file's content."""
    return "".join(line + "\n" for line in lines).encode()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Three systems: two seeds of a bad one, two of a better one, one that is not run."""
    for name in ("dev.fr", "test.fr"):
        (tmp_path / name).write_bytes(text(LINES))
    data = ExperimentData(str(tmp_path), "moses.ini", "dev.en", "dev.fr", "test.en", "test.fr")
    systems = (
        ExperimentSystem("Baseline", paper_dev=30.64, paper_test=33.3),
        ExperimentSystem("RNN_1 & more"),
        ExperimentSystem("CSLM", not_run="it is not there yet"),
    )
    settings = ExperimentSettings(
        "made up", data, systems, seeds=(1, 2), file=tmp_path / "experiment.toml"
    )
    plan = Plan(settings, tmp_path / "results")
    for system, every in ((systems[0], 2), (systems[1], 5)):
        plan.folder(system).mkdir(parents=True)
        for seed in (1, 2):
            for name in ("dev", "test"):
                path = plan.translation(system, seed, name)
                path.write_bytes(text(worse(every + seed - 1)))
    return plan


@pytest.fixture
def stamps(tmp_path: Path) -> Stamps:
    """No step has a stamp."""
    return Stamps(tmp_path / "results" / "steps")


def test_scores_over_seeds_and_the_gain(plan: Plan, stamps: Stamps) -> None:
    """Means, deviations and the gain come from the seeds; a clear gain is not chance."""
    baseline, better, later = collect(plan, stamps)
    first, second = baseline.scores["test"], better.scores["test"]
    assert len(first.runs) == 2
    assert first.runs[0] < first.runs[1] < second.runs[0] < 1
    assert first.deviation == pytest.approx(abs(first.runs[0] - first.runs[1]) / 2**0.5)
    assert first.difference is None
    assert second.difference is not None
    assert second.difference.gain == pytest.approx(second.mean - first.mean)
    assert second.difference.p_randomization < 0.01
    assert second.difference.low < second.difference.gain < second.difference.high
    assert later == Row(plan.settings.systems[2])


def test_equal_systems_gain_nothing(plan: Plan, stamps: Stamps) -> None:
    """The same translations: no gain, p = 1."""
    one, other = plan.settings.systems[:2]
    for seed in (1, 2):
        same = plan.translation(one, seed, "test").read_bytes()
        write_atomically(plan.translation(other, seed, "test"), same)
    difference = collect(plan, stamps)[1].scores["test"].difference
    assert difference is not None
    assert (difference.gain, difference.p_randomization) == (0, 1)


def test_seeds_that_are_not_done_are_left_out(plan: Plan, stamps: Stamps) -> None:
    """The table says how many there are; a single one has no deviation."""
    plan.translation(plan.settings.systems[1], 2, "test").unlink()
    rows = collect(plan, stamps)
    score = rows[1].scores["test"]
    assert rows[1].seeds == (1,)
    assert score.deviation is None
    assert "RNN_1 & more: 1 of 2 seeds are done." in markdown(plan.settings, rows, [])


def test_times_come_from_the_stamps(plan: Plan, stamps: Stamps) -> None:
    """Mean seconds of tuning, with a mark where an interruption makes them wrong."""
    system = plan.settings.systems[0]
    for seed, attempts in ((1, 1), (2, 2)):
        stamp = Stamp({}, [], [], True, {}, 100.0 * seed, 60.0 * seed, attempts)
        stamps.write(plan.tuning_step(system, seed), stamp)
    rows = collect(plan, stamps)
    assert rows[0].tuning_seconds == (100, 200)
    table = markdown(plan.settings, rows, ["phrasescore tune"])
    assert "| 150 s (90 s CPU)* |" in table
    assert "A tuning was interrupted" in table
    assert table.endswith("```\nphrasescore tune\n```\n")


def test_the_tables(plan: Plan, stamps: Stamps) -> None:
    """Rows that are not run say why; LaTeX is escaped; JSON has every number."""
    rows = collect(plan, stamps)
    table = markdown(plan.settings, rows, [])
    assert "| CSLM | not run | not run | – | – | – | – | – |" in table
    assert "CSLM: not run; it is not there yet." in table
    assert "| 30.64 / 33.30 |" in table
    printed = latex(plan.settings, rows)
    assert r"RNN\_1 \& more & " in printed
    assert printed.count(r" \\") == 4
    record = json.loads(json.dumps(as_json(plan.settings, rows)))
    assert record["systems"][1]["test"]["gain"]["p_value"] < 0.01
    assert len(record["systems"][0]["dev"]["bleu"]) == 2


def test_a_translation_with_lines_missing(plan: Plan, stamps: Stamps) -> None:
    """It is refused by name."""
    path = plan.translation(plan.settings.systems[0], 1, "dev")
    path.write_bytes(text(LINES[:-1]))
    with pytest.raises(CorpusError, match=r"seed1.dev.txt: 59 translations of 60 sentences"):
        collect(plan, stamps)
