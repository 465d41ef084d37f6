"""What an experiment left, finished or not, whole or not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moses_integration.bleu.statistics import References
from phrasescore.files.byte_streams import sha256_of
from phrasescore.provenance import provenance, write_json
from tests.support.result_folders import (
    sentences,
    worse,
    write_lines,
    write_model,
    write_scoring,
    write_tuning,
)
from tuning.experiment.results.results_format import KeptResults, KeptRow, KeptText, write_results
from tuning.experiment.results.runs import StepTime, SystemRun
from tuning.report.readers.experiment_results import read_experiment

SYSTEMS = {"Baseline": 0.4, "RNN + WP": 0.3}


def _scores(runs: Sequence[float], gain: float | None) -> dict[str, Any]:
    found = gain and {"bleu": gain, "p_value": 0.04, "randomization_p_value": 0.05,
                      "low": gain - 0.01, "high": gain + 0.01}  # fmt: skip
    deviation = float(np.std(runs, ddof=1)) if len(runs) > 1 else None
    return {"bleu": list(runs), "mean": float(np.mean(runs)), "deviation": deviation, "gain": found}


def write_experiment(folder: Path) -> dict[str, Any]:
    """Write the results of two systems with two seeds; return the table."""
    results = folder / "results"
    reference = sentences(30)
    source_file = write_lines(folder / "test.src", sentences(30, seed=2))
    file = write_lines(folder / "test.ref", reference)
    references = References.read([file])
    lengths = tuple(references.lengths[:, 0].tolist())
    text = KeptText(sha256_of(source_file), sha256_of(file), lengths)
    rows, table_rows = {}, []
    for place, (name, share) in enumerate(SYSTEMS.items()):
        runs = []
        for seed in (1, 2):
            lines = worse(reference, share, seed=10 * place + seed)
            slug = ("baseline", "rnn-wp")[place]
            write_lines(results / "systems" / slug / f"seed{seed}.test.txt", lines)
            write_tuning(results / "systems" / slug / f"seed{seed}")
            statistics = references.score(np.arange(30), [line.encode() for line in lines])
            steps = {f"{slug}.seed{seed}.tune": StepTime(10.0 + seed, 5.0)}
            matrix = {"test": statistics.matrix().astype(np.int64)}
            runs.append(SystemRun(seed, matrix, {}, steps, provenance()))
        rows[name] = KeptRow({}, {}, tuple(runs))
        scores = {
            "dev": _scores([0.5, 0.6], place * 0.01),
            "test": _scores([0.3, 0.35], place * 0.02),
        }
        table_rows.append({
            "name": name, "seeds": [1, 2], "not_run": "", "translate": [], "texts": scores,
        })  # fmt: skip
    write_results(results / "results.json", KeptResults({"test": text}, rows, "Ex"))
    later = {"name": "Later", "seeds": [], "not_run": "not yet", "translate": [], "texts": {}}
    table = {
        "name": "Ex", "decoder": "embedded", "sections": {}, "optimizer": "mert", "rounds": 3,
        "nbest_size": 100, "seeds": [1, 2], "per_seed": [], "systems": [*table_rows, later],
        "texts": {"test": {"source": str(source_file), "reference": str(file)}},
        "provenance": provenance(),
    }  # fmt: skip
    write_json(results / "table.json", table)
    return table


def test_scores_texts_tunings_and_times(tmp_path: Path) -> None:
    """Test sets come first; all numbers are those of the table."""
    table = write_experiment(tmp_path)
    write_model(tmp_path / "results" / "models" / "rnn" / "seed1")
    written = write_scoring(tmp_path / "results" / "systems" / "rnn-wp", [0.5, 0.25])
    found = read_experiment(tmp_path / "results", "x")
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
    assert (scored.name, scored.content) == ("RNN + WP", written)
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
    assert read_experiment(tmp_path / "results", "x").unfinished == (
        "RNN + WP: 1 of 2 seeds are done.", "Later: no run is done yet.",
    )  # fmt: skip
    (tmp_path / "results" / "table.json").unlink()
    (tmp_path / "results" / "results.json").unlink()
    begun = read_experiment(tmp_path / "results", "x")
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
    [text] = read_experiment(tmp_path / "results", "x").texts
    assert note in text.notes[0]
    gone = [text.source is None, text.reference is None, text.outputs[1].lines is None]
    assert gone == [file == "test.src", file == "test.ref", "rnn-wp" in file]


def test_a_table_that_does_not_say_where_its_texts_are(tmp_path: Path) -> None:
    """As tables were before; translations can still be compared."""
    table = write_experiment(tmp_path)
    del table["texts"]
    write_json(tmp_path / "results" / "table.json", table)
    [text] = read_experiment(tmp_path / "results", "x").texts
    assert text.source is None and text.outputs[1].lines is not None
    assert "does not say where its texts are" in text.notes[0]


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1}', '{"systems": 1}'])
@pytest.mark.parametrize("file", ["results.json", "table.json"])
def test_damage_is_said(tmp_path: Path, file: str, content: str) -> None:
    """In a sentence that names the file; tunings are shown all the same."""
    write_experiment(tmp_path)
    (tmp_path / "results" / file).write_text(content)
    found = read_experiment(tmp_path / "results", "x")
    assert len(found.tunings) == 2
    assert any(file in note for note in found.notes)
