"""What an experiment left, finished or not, whole or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from phrasescore.runs.json_files import write_json
from tests.support.result_folders import (
    SYSTEMS,
    sentences,
    worse,
    write_experiment,
    write_lines,
    write_model,
    write_scoring,
)
from tuning.report.readers.experiment_results import read_experiment
from tuning.report.readers.reading import ResultFiles


def test_scores_texts_tunings_and_times(tmp_path: Path) -> None:
    """Test sets come first; all numbers are those of the table."""
    table = write_experiment(tmp_path)
    write_model(tmp_path / "results" / "models" / "rnn" / "seed1")
    written = write_scoring(tmp_path / "results" / "systems" / "rnn-wp", [0.5, 0.25])
    found = read_experiment(tmp_path / "results", "x", ResultFiles(tmp_path))
    assert found.name == "Ex"
    assert [(scores.text, scores.is_dev) for scores in found.scores] == [
        ("test", False), ("dev", True),
    ]  # fmt: skip
    second = found.scores[0].systems[1]
    assert second.gain is not None and second.gain.gain == 0.02 and second.gain.p_value == 0.04
    assert second.runs == tuple(table["systems"][1]["texts"]["test"]["bleu"])
    [text] = found.texts
    assert text.source == tuple(sentences(30, seed=2)) and text.reference == tuple(sentences(30))
    assert [output.name for output in text.outputs] == [*SYSTEMS]
    assert text.outputs[1].run == "seed 1"
    assert text.outputs[1].lines == tuple(worse(sentences(30), 0.3, seed=11))
    assert [system.name for system in found.tunings] == [*SYSTEMS]
    assert [model.name for model in found.models] == ["rnn/seed1"]
    [scored] = found.tables
    assert (scored.name, scored.pairs) == ("RNN + WP", written["pairs"])
    spent = {each.what: each.seconds for each in found.spent}
    assert not any(what.startswith("scoring") for what in spent)
    assert spent["RNN + WP: tuning, 2 steps"] == 23.0
    assert found.unfinished == ()
    assert found.notes == ("Later was not run: not yet.",)


def test_what_is_still_to_come(tmp_path: Path) -> None:
    """Seeds that are missing, systems without a run, an experiment at its beginning."""
    table = write_experiment(tmp_path)
    table["systems"][1]["seeds"] = [1]
    table["systems"][2].update(not_run="")
    write_json(tmp_path / "results" / "table.json", table)
    assert read_experiment(tmp_path / "results", "x", ResultFiles(tmp_path)).unfinished == (
        "RNN + WP: 1 of 2 seeds are done.", "Later: no run is done yet.",
    )  # fmt: skip
    (tmp_path / "results" / "table.json").unlink()
    (tmp_path / "results" / "results.json").unlink()
    begun = read_experiment(tmp_path / "results", "x", ResultFiles(tmp_path))
    assert begun.scores == () and len(begun.tunings) == 2
    assert begun.unfinished == ("The experiment is at its beginning.",)


@pytest.mark.parametrize(
    ("file", "note"),
    [
        ("test.src", "test.src has changed since test was translated."),
        ("test.ref", "test.ref has changed since test was translated."),
        ("results/systems/rnn-wp/seed1.test.txt", "seed1.test.txt has changed since it was scored"),
    ],
)
def test_texts_of_today_are_not_those_of_then(tmp_path: Path, file: str, note: str) -> None:
    """They are not shown; scores and the others are."""
    write_experiment(tmp_path)
    write_lines(tmp_path / file, ["another text", *["x"] * 29])
    [text] = read_experiment(tmp_path / "results", "x", ResultFiles(tmp_path)).texts
    assert note in text.notes[0]
    gone = [text.source is None, text.reference is None, text.outputs[1].lines is None]
    assert gone == [file == "test.src", file == "test.ref", "rnn-wp" in file]


def test_a_table_that_does_not_say_where_its_texts_are(tmp_path: Path) -> None:
    """As tables were before; translations can still be compared."""
    table = write_experiment(tmp_path)
    del table["texts"]
    write_json(tmp_path / "results" / "table.json", table)
    [text] = read_experiment(tmp_path / "results", "x", ResultFiles(tmp_path)).texts
    assert text.source is None and text.outputs[1].lines is not None
    assert "does not say where its texts are" in text.notes[0]


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1}', '{"systems": 1}'])
@pytest.mark.parametrize("file", ["results.json", "table.json"])
def test_damage_is_said(tmp_path: Path, file: str, content: str) -> None:
    """In a sentence that names the file; tunings are shown all the same."""
    write_experiment(tmp_path)
    (tmp_path / "results" / file).write_text(content)
    found = read_experiment(tmp_path / "results", "x", ResultFiles(tmp_path))
    assert len(found.tunings) == 2
    assert any(file in note for note in found.notes)
