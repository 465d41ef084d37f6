"""From the results of runs to the table."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from moses_integration.bleu import References
from phrasescore.runs.results import parse_record
from tuning.experiment.experiment_settings import (
    LEFT_OUT,
    ExperimentData,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
)
from tuning.experiment.plan import Plan
from tuning.experiment.results import KeptText, SystemRun, TextStatistics
from tuning.experiment.table import ExperimentRecord, experiment_record, markdown
from tuning.metrics.significance import ComparedSystem

LINES = [f"un homme {n} est dans la rue {n % 7} avec un chien" for n in range(60)]


def worse(every: int) -> list[str]:
    """Return the references with a word missing in every N-th sentence."""
    return [
        line.replace(" la rue", " rue") if n % every == 0 else line for n, line in enumerate(LINES)
    ]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Return a plan of four systems: a bad one, a better one, models alone, one not run."""
    ini = "[feature]\nPhraseDictionaryMemory name=TM num-features=1 path=table\n"
    (tmp_path / "moses.ini").write_text(ini)
    tests = tuple(ExperimentText(name, f"{name}.en", f"{name}.fr") for name in ("old", "new"))
    data = ExperimentData(str(tmp_path), "moses.ini", "dev.en", "dev.fr", test=tests)
    systems = (
        ExperimentSystem("Baseline"),
        ExperimentSystem("RNN_1 & more", rerank=("search",)),
        ExperimentSystem("Alone", translate=("search", "back")),
        ExperimentSystem("CSLM", not_run="it is not there yet"),
    )
    models = {"search": ExperimentModel("given"), "back": ExperimentModel("given")}
    settings = ExperimentSettings(
        "made up", data, systems, (1, 2), models=models, file=tmp_path / "experiment.toml"
    )
    return Plan(settings, tmp_path / "results")


def run(seed: int | None, every: int) -> SystemRun:
    """Return a run that leaves out a word in every N-th sentence of each text."""
    references = References([[line.encode() for line in LINES]])
    lines = [line.encode() for line in worse(every)]
    counts = TextStatistics.from_rows(references.score(np.arange(len(lines)), lines))
    return SystemRun(seed, dict.fromkeys(("dev", "old", "new"), counts))


def collect(plan: Plan, runs: dict[str, list[SystemRun]]) -> ExperimentRecord:
    """Return the numbers of the table."""
    lengths = " ".join(str(len(line.split(" "))) for line in LINES)
    texts = dict.fromkeys(("dev", "old", "new"), KeptText("", "", lengths))
    return experiment_record(plan, {name: tuple(each) for name, each in runs.items()}, texts)


def scores(record: ExperimentRecord, text: str = "old") -> dict[str, ComparedSystem]:
    """Return the scores of a text by system."""
    return {each.system: each for each in record.texts[text].metrics["bleu"]}


@pytest.fixture
def runs() -> dict[str, list[SystemRun]]:
    """Return the runs of the three systems that are run."""
    return {
        "Baseline": [run(1, 2), run(2, 3)],
        "RNN_1 & more": [run(1, 5), run(2, 6)],
        "Alone": [run(None, 4)],
    }


def test_scores_over_seeds_and_the_gain(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """Means, deviations and gains are over seeds; a clear gain is significant."""
    record = collect(plan, runs)
    first, second, single = scores(record).values()
    assert len(first.runs) == 2
    assert first.runs[0] < first.runs[1] < second.runs[0] < 1
    assert first.deviation == pytest.approx(abs(first.runs[0] - first.runs[1]) / 2**0.5)
    assert first.gain is None
    assert second.gain == pytest.approx(second.mean - first.mean)
    assert second.p_randomization is not None and second.p_bootstrap is not None
    # two seeds that differ by a third of the gain say little about other seeds
    assert second.p_randomization < 0.01 < second.p_bootstrap < 1
    assert second.low is not None and second.high is not None and second.gain is not None
    assert second.low < second.gain < second.high
    assert scores(record, "new")["RNN_1 & more"].runs == second.runs
    assert (record.systems[2].seeds, record.systems[2].runs, single.deviation) == ((), 1, None)
    assert single.gain == pytest.approx(single.mean - first.mean)
    assert "CSLM" not in scores(record)
    assert record.systems[3].not_run == "it is not there yet"
    folder = plan.results / "systems"
    assert record.texts["new"].files == {
        "Baseline": (f"{folder}/baseline/seed1.new.txt", f"{folder}/baseline/seed2.new.txt"),
        "RNN_1 & more": tuple(f"{folder}/rnn-1-more/seed{n}.new.txt" for n in (1, 2)),
        "Alone": (f"{folder}/alone/new.txt",),
    }
    found = parse_record(json.loads(json.dumps(record.to_json())), ExperimentRecord)
    assert isinstance(found, ExperimentRecord)
    assert found.texts == record.texts and found.systems == record.systems


def test_seeds_and_texts_that_are_not_done(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """The table states the number of finished seeds; a single seed has no deviation."""
    short = {text: rows for text, rows in run(1, 5).texts.items() if text != "new"}
    record = collect(plan, {**runs, "RNN_1 & more": [SystemRun(1, short)]})
    assert record.systems[1].seeds == (1,)
    assert scores(record)["RNN_1 & more"].deviation is None
    baseline, one_seed, _ = scores(record).values()
    assert one_seed.gain == pytest.approx(one_seed.mean - baseline.runs[0])  # the same seed
    # of two seeds, one has not translated the text
    record_of_two = collect(plan, {**runs, "RNN_1 & more": [SystemRun(1, short), run(2, 6)]})
    baseline, one_seed, _ = scores(record_of_two, "new").values()
    assert one_seed.gain == pytest.approx(one_seed.mean - baseline.runs[1])
    table = markdown(plan.settings, record)
    assert "RNN_1 & more: 1 of 2 seeds are done." in table
    line = next(line for line in table.split("\n") if line.startswith("| RNN_1"))
    assert "| not run | – | – | – |" in line
    assert scores(collect(plan, {})) == {}


def test_the_tables(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """Each test set has its columns; rows that are not run have a reason."""
    table = markdown(plan.settings, collect(plan, runs))
    assert table.split("\n")[2] == (
        "| system | dev BLEU | old BLEU | old gain | 95 % interval | p "
        "| new BLEU | new gain | 95 % interval | p |"
    )
    nothing = "not run | – | – | –"
    assert f"| CSLM | not run | {nothing} | {nothing} |" in table
    assert "CSLM: not run; it is not there yet." in table
    assert "Alone: 0 of 2 seeds" not in table


def test_a_row_that_was_run_before(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """A row that is left out now keeps its numbers, and the notes name their origin."""
    systems = list(plan.settings.systems)
    systems[2] = dataclasses.replace(systems[2], not_run=LEFT_OUT)
    left_out = dataclasses.replace(plan.settings, systems=tuple(systems))
    table = markdown(left_out, collect(dataclasses.replace(plan, settings=left_out), runs))
    assert "Alone: kept results of an earlier call; left out by --only now." in table
    assert "| Alone | not run" not in table


def test_what_each_part_is_worth(plan: Plan, runs: dict[str, list[SystemRun]]) -> None:
    """A row with parts is compared with the rows that lack one part, on each text."""
    parts = {"search": "Baseline", "back": "Alone", "nothing": "CSLM"}
    systems = list(plan.settings.systems)
    systems[1] = dataclasses.replace(systems[1], parts=parts)
    settings = dataclasses.replace(plan.settings, systems=tuple(systems))
    record = collect(dataclasses.replace(plan, settings=settings), runs)
    search, back, nothing = record.parts
    assert (search.system, search.without, nothing.texts) == ("RNN_1 & more", "Baseline", {})
    for text in ("dev", "old", "new"):
        assert search.texts[text] == scores(record, text)["RNN_1 & more"]
    means = {name: score.mean for name, score in scores(record).items()}
    assert back.texts["old"].gain == pytest.approx(means["RNN_1 & more"] - means["Alone"])
    table = markdown(settings, record).partition("is worth\n\n")[2]
    header, _, *lines = table.partition("\n\n")[0].split("\n")
    tests = "old gain | 95 % interval | p | new gain | 95 % interval | p"
    assert header == f"| part | of | over | {tests} |"
    assert lines[2] == "| nothing | RNN_1 & more | CSLM |" + " not run | – | – |" * 2
    gain = f"+{100 * (search.texts['old'].gain or 0):.2f}"
    assert f"| search | RNN_1 & more | Baseline | {gain} |" in lines[0]
    found = parse_record(json.loads(json.dumps(record.to_json())), ExperimentRecord)
    assert isinstance(found, ExperimentRecord) and found.parts == record.parts
