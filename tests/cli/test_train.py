"""``phrasescore train`` as a user meets it: results, interruptions, refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phrasescore.files import sha256_of
from tests.conftest import PROJECT, Phrasescore
from tests.support.builders import write_phrase_table

SMALL = ["--hidden", "16", "--embedding", "8", "--rank", "8", "--threads", "1", "--patience", "0"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 3,000 pairs."""
    return write_phrase_table(tmp_path_factory.mktemp("table") / "table", 3000)


def test_training_learns_and_says_how_well(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """A model folder appears with curves and held-out figures better than chance."""
    done = phrasescore(
        "train", table, "model", *SMALL, "--max-epochs", "12", "--batch-size", "32",
        "--learning-rate", "0.01",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    said = done.stderr.decode()
    assert "3,000 lines, 3,000 distinct pairs" in said
    assert "cover 100.00% of the tokens" in said
    assert not (tmp_path / "model.training").exists()
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    # 54 target words and </s>: a model that has learnt nothing is near ln 55 = 4
    assert record["held_out"]["held_out_pairs"]["nll"] < 1.5
    assert f"{record['held_out']['held_out_pairs']['nll']:.4f} nats per word" in said
    curve = (tmp_path / "model" / "curves.jsonl").read_text("utf-8").strip().split("\n")
    assert len(curve) == 10


def test_no_epochs_write_the_untrained_model(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """--max-epochs 0 gives a whole model folder at once."""
    done = phrasescore("train", table, "model", *SMALL, "--max-epochs", "0")
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "model" / "model.safetensors").exists()


def test_a_plain_unit_is_trained_saved_and_scored(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """--unit tanh goes through training, the folder and the table, shared and unshared alike."""
    options = ["--unit", "tanh", "--max-epochs", "3", "--batch-size", "32"]
    done = phrasescore("train", table, "model", *SMALL, *options)
    assert done.returncode == 0, done.stderr.decode()
    config = json.loads((tmp_path / "model" / "config.json").read_text("utf-8"))
    assert config["unit"] == "tanh"
    columns = []
    for name, how in (("shared", ["--precision", "fp32"]), ("alone", ["--no-sharing"])):
        scored = phrasescore("score", "--model", "model", table, "-o", name, *how)
        assert scored.returncode == 0, scored.stderr.decode()
        lines = (tmp_path / name).read_bytes().split(b"\n")[:-1]
        columns.append([float(line.split(b" ||| ")[2].split(b" ")[4]) for line in lines])
    assert columns[0] == pytest.approx(columns[1], rel=1e-4)
    assert len(set(columns[0])) > 2000


def test_the_paper_s_recipe_holds_nothing_out_and_keeps_the_last_weights(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """Without held-out pairs, and with them, the model is the same for the same training pairs."""
    paper = [option for option in SMALL if option not in ("--patience", "0")]
    paper += ["--recipe", "paper", "--max-epochs", "1"]
    done = phrasescore("train", table, "model", *paper)
    assert done.returncode == 0, done.stderr.decode()
    assert "on 3,000 pairs" in done.stderr.decode()
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    assert record["held_out"] == {}
    assert (record["settings"]["patience"], record["settings"]["held_out_pairs"]) == (0, 0)


def test_options_that_a_kind_does_not_know(phrasescore: Phrasescore, table: Path) -> None:
    """The error names the kind, what was given, and what there is."""
    done = phrasescore("train", table, "model", "--formulation", "paper")
    assert done.returncode == 2
    assert b"--kind phrase: formulation is 'paper', which is none of: code, appendix" in done.stderr
    done = phrasescore("train", table, "model", "more")
    assert done.returncode == 2
    assert b"--kind phrase takes PHRASE-TABLE MODEL/, and 3 names are given" in done.stderr


def _start(table: Path, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "phrasescore", "train", str(table), "model", *SMALL,
        "--max-epochs", "6", "--batch-size", "16", "--checkpoint-every", "0.3s", *options,
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE)


def _finish(process: subprocess.Popen[bytes]) -> None:
    said = process.communicate(timeout=300)[1].decode()
    assert process.returncode == 0, said


def _wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < end, f"no {path}"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def straight(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("straight")
    _finish(_start(table, folder))
    return folder


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_resumes_to_the_same_bits(
    table: Path, straight: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """However it was stopped, --resume ends in the weights of an uninterrupted run."""
    stopped = tmp_path
    run = _start(table, stopped)
    _wait_for(stopped / "model.training" / "checkpoint.pt", run)
    run.send_signal(number)
    said = run.communicate(timeout=60)[1].decode()
    assert run.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert not (stopped / "model").exists()
    if number != signal.SIGKILL:
        assert "interrupted; the state is saved" in said
        assert "--resume" in said
    _finish(_start(table, stopped, "--resume"))
    for name in ("model.safetensors", "source.vocabulary.txt", "config.json"):
        assert sha256_of(stopped / "model" / name) == sha256_of(straight / "model" / name), name


def test_a_run_is_neither_resumed_nor_replaced_unasked(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """An interrupted run wants --resume with the same options, or --overwrite."""
    run = _start(table, tmp_path)
    _wait_for(tmp_path / "model.training" / "checkpoint.pt", run)
    run.kill()
    run.communicate()
    base = ["train", table, "model", *SMALL, "--max-epochs", "6", "--batch-size", "16"]
    unasked = phrasescore(*base)
    assert unasked.returncode == 2
    assert b"--resume continues it, --overwrite starts anew" in unasked.stderr
    other = phrasescore(*base, "--resume", "--seed", "2")
    assert other.returncode == 6
    assert b"seed was 1 and is now 2" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["missing", "model"], 3, "missing: no such file"),
        (["TABLE", "here"], 2, "here: something else is there"),
        (["TABLE", "model", "--resume"], 6, "there is no interrupted run to resume"),
        (["TABLE", "model", "--max-time", "soon"], 2, "write 90s, 45m, 2h or 1h30m"),
        (["TABLE", "model", "--device", "cuda"], 2, "Use --device cpu"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    phrasescore: Phrasescore,
    table: Path,
    tmp_path: Path,
    arguments: list[str],
    status: int,
    text: str,
) -> None:
    """Each refusal is one sentence, an exit status, and no half-made model."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "thesis.tex").write_text("do not lose me")
    done = phrasescore(
        "train", *[table if argument == "TABLE" else argument for argument in arguments], *SMALL
    )
    assert done.returncode == status, done.stderr.decode()
    assert text in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert not (tmp_path / "model").exists()
    assert (tmp_path / "here" / "thesis.tex").exists()


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """Under torchrun, two processes share each batch and end where one process ends."""
    options = ["train", str(table), *SMALL, "--max-epochs", "2", "--batch-size", "32"]
    done = phrasescore(*options[:2], "one", *options[2:])
    assert done.returncode == 0, done.stderr.decode()
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "-m"]
    subprocess.run(
        [*command, "phrasescore", *options[:2], "two", *options[2:]],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PROJECT)}, check=True, timeout=300,
    )  # fmt: skip
    figures = [
        json.loads((tmp_path / name / "provenance.json").read_text("utf-8"))["held_out"]
        for name in ("one", "two")
    ]
    for name in ("held_out_sources", "held_out_pairs"):
        assert figures[1][name]["nll"] == pytest.approx(figures[0][name]["nll"], rel=0.01)
