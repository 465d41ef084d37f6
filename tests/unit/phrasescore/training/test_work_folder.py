"""The work folder of a training run: recognising it, refusing others, cleaning up."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from phrasescore.errors import ResumeError, SettingsError
from phrasescore.model.folder import CurvePoint
from phrasescore.runs.ledger import RECORD, Entry, check_owner, remove_work, write_entry
from phrasescore.training.checkpoint import (
    TrainingState,
    another_refused,
    finished_state,
    load_checkpoint,
    save_checkpoint,
)
from phrasescore.training.evaluation import add_point, begin_curve
from phrasescore.training.session import train_model
from phrasescore.training.settings import TrainingSettings
from tests.support.builders import write_phrase_table
from tests.support.killed import killed_at


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a work folder like that of an interrupted run."""
    work = tmp_path / "model.training"
    (work / "pairs" / "scratch").mkdir(parents=True)
    write_entry(work / RECORD, Entry({"seed": 1}))
    for name in ("best.pt", "curves.jsonl", ".checkpoint.pt.0123abcd.part"):
        (work / name).write_bytes(b"")
    for name in ("pairs.json", "source.tokens.npy", "target.outside.txt", "scratch/pair.digests"):
        (work / "pairs" / name).write_bytes(b"")
    return work


def test_our_own(work: Path) -> None:
    """Our own work folder is recognised and removed completely."""
    remove_work(work)
    assert list(work.parent.iterdir()) == []
    remove_work(work)
    work.mkdir()
    check_owner(work)


def _record(content: bytes) -> Callable[[Path], object]:
    return lambda work: (work / RECORD).write_bytes(content)


def _only(work: Path, name: str, content: bytes) -> None:
    remove_work(work)
    work.mkdir()
    (work / name).write_bytes(content)


def _link(work: Path, to: str) -> None:
    remove_work(work)
    work.symlink_to(to)


def _is_file(work: Path) -> None:
    remove_work(work)
    work.write_text("do not lose me")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_record(b""), "not a record of work that this version can continue"),
        (_record(b"[" * 200_000), "not a record"),
        (_record(b'{"my": "settings"}'), "the setting settings is missing"),
        (lambda work: _only(work, "checkpoint.pt", b"mine"), r"not empty \(checkpoint.pt\)"),
        (lambda work: _only(work, "x\x1b[2J", b"mine"), r"not empty \(x\\x1b\[2J\)"),
        (lambda work: _only(work, "settings.json", b"{}"), "and has no run.json"),
        (lambda work: _link(work, "elsewhere"), r"\(a link"),
        (lambda work: _link(work, work.name), r"\(a link"),
        (lambda work: _link(work, "nowhere"), r"\(a link"),
        (_is_file, "a file, where a folder was expected"),
    ],
)
def test_a_foreign_one(work: Path, change: Callable[[Path], object], why: str) -> None:
    """A foreign folder is refused, with or without --overwrite, and unchanged."""
    (work.parent / "elsewhere").mkdir()
    (work.parent / "elsewhere" / "thesis.tex").write_text("do not lose me")
    change(work)
    table = write_phrase_table(work.parent / "table", 60)
    before = sorted(work.parent.rglob("*"))
    for option in ({}, {"overwrite": True}):
        with pytest.raises((ResumeError, SettingsError), match=f"{why}.*Move it away"):
            train_model(_request(table, work.parent / "model", **option))
    assert sorted(work.parent.rglob("*")) == before


def _request(table: Path, model: Path, **options: Any) -> TrainingSettings:
    usual: dict[str, Any] = {"max_epochs": 2, "checkpoint_every": 0.0}
    return TrainingSettings(
        "phrase",
        (table,),
        model,
        hidden=2,
        embedding=2,
        rank=1,
        patience=0,
        threads=1,
        device="cpu",
        precision="fp32",
        **usual | options,
    )


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """After a kill at any moment, the next call gets the same weights and cleans up."""
    table = write_phrase_table(tmp_path / "table", 60)
    torch.set_num_threads(1)
    train_model(_request(table, tmp_path / "straight"))
    expected = (tmp_path / "straight" / "model.safetensors").read_bytes()
    moments = 0
    for moment in range(0, 10_000, 37):
        folder = tmp_path / str(moment)
        folder.mkdir()
        model = folder / "model"
        request = _request(table, model)
        if not killed_at(moment, lambda request=request: train_model(request)):  # type: ignore[misc]
            break
        moments += 1
        train_model(_request(table, model))
        assert (model / "model.safetensors").read_bytes() == expected
        assert [path.name for path in folder.iterdir()] == ["model"]
    assert moments > 5


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    """A refused call leaves neither a work folder nor a lock."""
    (tmp_path / "table").write_bytes(b"a ||| b ||| 0.5\na ||| b\n")
    for table in ("table", "missing"):
        with pytest.raises(Exception, match=r"columns|No such file"):
            train_model(_request(tmp_path / table, tmp_path / "model"))
        assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_guests_in_the_folder_of_a_model(tmp_path: Path) -> None:
    """Foreign files in a model folder are accepted, but prevent replacing the model."""
    table, model = write_phrase_table(tmp_path / "table", 60), tmp_path / "model"
    train_model(_request(table, model))
    (model / "notes.txt").write_text("do not lose me")
    train_model(_request(table, model))
    with pytest.raises(SettingsError, match=r"model: the model folder contains notes\.txt"):
        train_model(_request(table, model, overwrite=True))
    assert (model / "notes.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "table"]


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x02.", b"x" * 100])
def test_a_damaged_checkpoint(tmp_path: Path, content: bytes) -> None:
    """A damaged checkpoint is an error with a remedy."""
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(content)
    with pytest.raises(ResumeError, match=r"checkpoint\.pt: not a usable checkpoint"):
        load_checkpoint(path)
    torch.save([1, 2], path)
    with pytest.raises(ResumeError, match="not a usable checkpoint"):
        load_checkpoint(path)
    save_checkpoint(path, TrainingState(), {"other": torch.zeros(1)})
    with pytest.raises(ResumeError, match="not a usable checkpoint"), another_refused(path):
        torch.nn.Linear(1, 1).load_state_dict(load_checkpoint(path)[1])


def test_a_checkpoint_that_unpacks_to_more_than_its_size(tmp_path: Path) -> None:
    """Checkpoints have uncompressed records; a compressed one could fill the memory."""
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, TrainingState(), {"w": torch.zeros(100_000)}, torch.zeros(1))
    assert load_checkpoint(path)[2] == torch.zeros(1)
    with zipfile.ZipFile(path) as plain, zipfile.ZipFile(tmp_path / "new", "w") as packed:
        for each in plain.infolist():
            packed.writestr(each.filename, plain.read(each), zipfile.ZIP_DEFLATED)
    (tmp_path / "new").rename(path)
    with pytest.raises(ResumeError, match=r"not a usable checkpoint \(its records are compressed"):
        load_checkpoint(path)


def test_a_curve_that_a_kill_has_cut(tmp_path: Path) -> None:
    """A truncated curve is read up to the cut; numbers that are not finite become null."""
    path = tmp_path / "curves.jsonl"
    begin_curve(path, 0)
    for updates in (1, 2, 3):
        point_at = CurvePoint(updates, 0.5, 3.0, training_nll=float("inf"), learning_rate=0.5)
        add_point(path, point_at)
    point = (
        b'{"updates": 1, "epoch": 0.5, "seconds": 3.0, "words_per_second": null, "learning_rate": '
        b'0.5, "training_nll": null, "held_out_sources_nll": null, "held_out_pairs_nll": null}\n'
    )
    assert path.read_bytes().startswith(point)
    for end in (b'{"upda', b"[]\n", b"NaN\n", b"[" * 200_000 + b"\n", b'{"updates": "1"}\n'):
        path.write_bytes(point + end + point)
        begin_curve(path, 5)
        assert path.read_bytes() == point


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"training": {"updates": 1}},
        {"training": 1, "held_out": {}},
        {"training": {"updates": "1", "words": 2, "seconds": 3.0}, "held_out": {}},
        {"training": {"words": 2}, "held_out": {}},
    ],
)
def test_a_model_without_the_record_of_its_training(tmp_path: Path, record: object) -> None:
    """Such a model cannot be trained further, and the error names the file."""
    (tmp_path / "provenance.json").write_text(json.dumps(record))
    with pytest.raises(ResumeError, match=r"provenance\.json: not a usable checkpoint"):
        finished_state(tmp_path)
