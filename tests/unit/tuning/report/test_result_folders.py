"""Finding results in folders and subfolders."""

from __future__ import annotations

from pathlib import Path

import pytest

from phrasescore.analysis.scatter import ScatterRecord
from phrasescore.errors import InputError
from phrasescore.model.folder import TrainingRecord
from phrasescore.runs.identity import provenance
from tests.support.result_folders import (
    write_comparison,
    write_experiment,
    write_model,
    write_scoring,
    write_tuning,
)
from tuning.report.report_page import find_results, read_results


def found(folder: Path) -> dict[str, str]:
    """Return the found results by name."""
    results = find_results(folder)
    return {each.name: each.record.kind if each.record else "damaged" for each in results}


def test_each_kind_by_its_files(tmp_path: Path) -> None:
    """Results are recognised in folders and JSON of any name; other files are ignored."""
    write_comparison(tmp_path)
    write_scoring(tmp_path / "scores", [0.5])
    write_tuning(tmp_path / "deep" / "tuned")
    write_model(tmp_path / "models" / "rnn")
    write_experiment(tmp_path / "experiment")
    (tmp_path / "new.training").mkdir()
    TrainingRecord().write(tmp_path / "new.training" / "result.json")
    (tmp_path / "other.json").write_text('{"metrics": {}, "kind": "compare"}')
    (tmp_path / "wrong.json").write_text('{"kind": "compare", "version": 1}')
    (tmp_path / "later.json").write_text('{"kind": "score", "version": 2}')
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "result.json").write_text('{"kind": ')
    (tmp_path / "broken.json").write_text('{"metrics": ')
    (tmp_path / ".hidden").mkdir()
    write_model(tmp_path / ".hidden" / "model")
    assert found(tmp_path) == {
        "comparison.json": "compare",
        "scores/score.json": "score",
        "deep/tuned": "tune",
        "models/rnn": "train",
        "experiment/results": "experiment",
        **{f"experiment/results/systems/{name}/seed{n}": "tune"
           for name in ("baseline", "rnn-wp") for n in (1, 2)},
        "new.training": "train",
        "wrong.json": "damaged",
        "later.json": "damaged",
        "more": "damaged",
    }  # fmt: skip
    assert found(tmp_path / "models" / "rnn") == {"rnn": "train"}


def test_a_scatter_plot(tmp_path: Path) -> None:
    """The folder of ``analyze scatter`` is a result, whose versions the page shows."""
    record = ScatterRecord(
        pairs=9, drawn_pairs=5, pearson=0.5, spearman=None, near=0.5, far=0, provenance=provenance()
    )
    (tmp_path / "out").mkdir()
    record.write(tmp_path / "out" / "result.json")
    results = read_results(tmp_path)
    assert (results.holds, results.notes) == ("1 scatter plot", [])
    assert results.provenances == {"out": record.provenance}


def test_results_that_are_too_deep(tmp_path: Path) -> None:
    """Results more than five folders deep are not found."""
    write_model(tmp_path / "one" / "two" / "three" / "four" / "five" / "model")
    with pytest.raises(InputError, match="no results of phrasescore"):
        read_results(tmp_path)
    assert found(tmp_path / "one") == {"two/three/four/five/model": "train"}


def test_links_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    """Links to other places are not followed, and the names there are not shown."""
    write_model(tmp_path / "home" / "secret")
    write_model(tmp_path / "results" / "own")
    (tmp_path / "results" / "models").symlink_to(tmp_path / "home")
    (tmp_path / "results" / "again").symlink_to(tmp_path / "results" / "own")
    assert found(tmp_path / "results") == {"own": "train"}


def test_links_within_the_results_find_nothing_twice(tmp_path: Path) -> None:
    """Links in a circle end, and a link to the latest run is not a second system."""
    write_model(tmp_path / "run")
    for name in ("again", "latest", "a", "b"):
        (tmp_path / name).symlink_to(tmp_path / ("run" if name == "latest" else "."))
    (tmp_path / "run" / "up").symlink_to(tmp_path)
    assert found(tmp_path) == {"run": "train"}


def test_nothing_there(tmp_path: Path) -> None:
    """An empty folder is reported as empty."""
    with pytest.raises(InputError, match="the folder is empty"):
        read_results(tmp_path)
