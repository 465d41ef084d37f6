"""The rescoring step, run like EMS runs it."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moses_integration.ems import place_holder
from phrasescore.errors import PhraseTableError
from phrasescore.table.phrase_table import parse_scores
from tests.conftest import PROJECT, Phrasescore
from tests.support.builders import write_phrase_table
from tests.support.fresh_process import Done, run_fresh
from tests.support.table_lines import read_entries

EXAMPLE = PROJECT / "moses_integration" / "ems_config.example"


def table_with(folder: Path, scores: bytes) -> Path:
    """Write a table with these scores like the step TRAINING:build-ttable."""
    plain = write_phrase_table(folder / "plain", 60).read_bytes()
    path = folder / "phrase-table.1.gz"
    path.write_bytes(gzip.compress(plain.replace(b"0.5 0.25 0.5 0.125", scores)))
    return path


def run_step(phrasescore: Phrasescore, *options: str) -> Done:
    """Call the step like EMS: table names without .gz follow the command."""
    code = "from moses_integration.ems import main; main()"
    return phrasescore("-c", code, *options, "phrase-table.1", "phrase-table-pruned.1")


def test_the_constant_score_is_replaced(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """A missing model is trained; the rest of the table is unchanged."""
    before = table_with(tmp_path, b"0.5 0.25 0.5 0.125 2.718")
    # an earlier training was killed before it saved any work
    (tmp_path / "model.training").mkdir()
    small = "--max-epochs 1 --hidden 4 --embedding 4 --rank 4 --maxout 2"
    small += " --held-out-sources 5 --held-out-pairs 5"
    run_step(phrasescore, "--model", "model", "--train", small, "--score", "--threads 1").well()
    assert (tmp_path / "model" / "config.json").is_file()
    pairs = zip(
        read_entries(before), read_entries(tmp_path / "phrase-table-pruned.1.gz"), strict=True
    )
    for old, new in pairs:
        assert (old.source, old.target, old.counts) == (new.source, new.target, new.counts)
        assert parse_scores(new.scores)[:4] == [0.5, 0.25, 0.5, 0.125]
        assert 0 < parse_scores(new.scores)[4] < 1


def test_a_score_that_means_something_is_not_replaced(
    tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """The error says what to write into the configuration."""
    table_with(tmp_path, b"0.5 0.25 0.5 0.125")
    process = run_step(phrasescore, "--model", "model")
    assert process.returncode == 3
    assert process.stderr.startswith(b"phrasescore: phrase-table.1.gz:1: the last score is not the")
    assert b'score-settings = "--PhraseCount"' in process.stderr
    assert not (tmp_path / "model").exists()
    with pytest.raises(PhraseTableError, match=r"gz:1: the last score"):
        place_holder(table_with(tmp_path, b"0.5 12.718"))
    assert place_holder(table_with(tmp_path, b"0.5 2.718")) == 2


def test_a_missing_table(tmp_path: Path) -> None:
    """If the table is missing, the error names the previous step; Python starts as in EMS."""
    program = "-m", "moses_integration.ems"
    done = run_fresh(tmp_path, "--model", "model", "table.1", "table-pruned.1", program=program)
    done.refused(3, "table.1.gz: no such file, where EMS should have put")


@pytest.mark.moses
def test_experiment_perl_plans_the_step(
    bundled_golden: Path, tmp_path: Path, moses_bin: Path
) -> None:
    """With the example configuration, EMS plans rescoring between scoring and the moses.ini."""
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    work.mkdir()
    for name, source in (
        ("train.en", "extraction/corpus.en"),
        ("train.fr", "extraction/corpus.fr"),
        ("train.aligned.grow-diag-final-and", "extraction/aligned.grow-diag-final-and"),
        *((f"{text}.{side}", f"decode/input.{side}") for text in ("dev", "test") for side in SIDES),
        ("lm.arpa", "system/lm.arpa.gz"),
    ):
        shutil.copyfile(bundled_golden / source, data / name)
    text = EXAMPLE.read_text()
    for key, value in (
        ("working-dir", work),
        ("moses-src-dir", moses_bin.parent),
        ("data", data),
        ("phrasescore-python", sys.executable),
    ):
        text, found = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        assert found == 1
    (tmp_path / "config").write_text(text)
    ems = moses_bin.parent / "scripts" / "ems" / "experiment.perl"
    process = subprocess.run(
        [ems, "-config", tmp_path / "config", "-no-graph"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    planned = re.findall(rb"\d+ (\S+) ->\trun", process.stdout)
    steps = [step.decode() for step in planned]
    order = ["TRAINING:build-ttable", "TRAINING:custom-phrase-table-pruning"]
    order += ["TRAINING:create-config", "TUNING:filter", "TUNING:tune", "EVALUATION:test:decode"]
    assert [step for step in steps if step in order] == order


SIDES = ("en", "fr")
