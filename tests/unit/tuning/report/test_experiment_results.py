"""Reports on experiments: finished, unfinished and damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from phrasescore.runs.json_files import write_json
from tests.support.result_folders import write_experiment, write_model, write_scoring
from tuning.report.report_page import Results, read_results


def read(folder: Path) -> Results:
    """Return the report of the results."""
    return read_results(folder / "results")


def test_scores_tunings_and_models(tmp_path: Path) -> None:
    """Test sets are first, and all numbers equal those of the record."""
    record = write_experiment(tmp_path)
    write_model(tmp_path / "results" / "models" / "rnn" / "seed1")
    write_scoring(tmp_path / "results" / "systems" / "rnn-wp", [0.5, 0.25])
    found = read(tmp_path)
    assert [(scores.title, scores.is_dev) for scores in found.scores] == [
        ("test (results)", False), ("dev (results)", True),
    ]  # fmt: skip
    second = found.scores[0].systems[1]
    written = record["texts"]["test"]["metrics"]["bleu"][1]
    assert second.difference is not None and second.difference.gain == written["gain"]
    assert second.runs == tuple(written["runs"])
    assert {name: [*runs] for name, runs in found.tunings.items()} == {
        "systems/baseline": ["seed1", "seed2"], "systems/rnn-wp": ["seed1", "seed2"],
    }  # fmt: skip
    assert [*found.models] == ["models/rnn"]
    assert found.holds.startswith("1 model, 1 scored table")
    assert found.unfinished == []
    assert found.notes == ["Later was not run: not yet."]


def test_experiments_of_the_same_name(tmp_path: Path) -> None:
    """The folder tells experiments with the same name apart, and all comparisons are shown."""
    write_experiment(tmp_path)
    (tmp_path / "results").rename(tmp_path / "one")
    (tmp_path / "results").mkdir()
    (tmp_path / "one").rename(tmp_path / "results" / "one")
    shutil.copytree(tmp_path / "results" / "one", tmp_path / "results" / "two")
    found = read(tmp_path)
    titles = [scores.title for scores in found.scores if not scores.is_dev]
    assert titles == ["test (one)", "test (two)"]


def test_work_that_is_still_to_come(tmp_path: Path) -> None:
    """Missing runs, and an experiment without results, are reported as unfinished."""
    record = write_experiment(tmp_path)
    for text in record["texts"].values():
        text["files"]["RNN + WP"].pop()
    record["systems"][2].update(not_run="")
    write_json(tmp_path / "results" / "result.json", record)
    assert read(tmp_path).unfinished == [
        "RNN + WP: 1 of 2 runs done.", "Later: 0 of 2 runs done.",
    ]  # fmt: skip
    for text in record["texts"].values():
        text.update(files={}, metrics={"bleu": []})
    write_json(tmp_path / "results" / "result.json", record)
    begun = read(tmp_path)
    assert begun.scores == [] and len(begun.tunings) == 2
    assert len(begun.unfinished) == 3


@pytest.mark.parametrize(
    "content", ["", "[]", '{"kind": "experiment", "version": 1}', '{"systems": 1}']
)
def test_damage_is_said(tmp_path: Path, content: str) -> None:
    """Damage is reported with the file, and tunings are still shown."""
    write_experiment(tmp_path)
    (tmp_path / "results" / "result.json").write_text(content)
    found = read(tmp_path)
    assert any("result.json" in note for note in found.notes)
    assert len(found.tunings) == 2
