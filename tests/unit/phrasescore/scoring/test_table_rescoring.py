"""Rescoring a whole table, with and without interruptions."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from phrasescore.errors import PhraseTableError
from phrasescore.scoring.block_scoring import ScoringSettings
from phrasescore.scoring.table_rescoring import described
from phrasescore.table.block import read_blocks
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import OutsideWords
from tests.conftest import PROJECT
from tests.support.table_lines import read_entries
from tests.unit.phrasescore.scoring.tiny_scorer import TinyScorer, rescore, tiny_model


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table of 22 lines, in six blocks of at most four."""
    path = tmp_path / "table.gz"
    lines = [b"la w%d ||| the x%d ||| 0.5 1 ||| 0-0\n" % (i // 3, i) for i in range(22)]
    path.write_bytes(gzip.compress(b"".join(lines)))
    return path


class Interrupting(TinyScorer):
    """A scorer that stops at its third block, like Ctrl-C."""

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        if self.calls == 2:
            raise KeyboardInterrupt
        return super().score(sources, targets)


class Waiting(TinyScorer):
    """A scorer that takes as long for a block as checking the whole table takes."""

    def __init__(self, table: Path) -> None:
        super().__init__()
        self.table = table

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        with pytest.raises(PhraseTableError):
            for _ in read_blocks(self.table, 4):
                pass
        return super().score(sources, targets)


def without_rates(figures: dict[str, Any]) -> dict[str, Any]:
    """Remove the values that depend on the run instead of table and models."""
    of_the_run = ("resumed_pairs", "seconds", "pairs_per_second", "output")
    return {name: value for name, value in figures.items() if name not in of_the_run}


def without_last_score(text: bytes) -> bytes:
    """Remove the appended score."""
    lines = []
    for line in text.split(b"\n")[:-1]:
        columns = line.split(b" ||| ")
        columns[2] = columns[2].rpartition(b" ")[0]
        lines.append(b" ||| ".join(columns) + b"\n")
    return b"".join(lines)


def test_every_other_byte_stays(table: Path, tmp_path: Path) -> None:
    """The output is the input with one more score in each line, in order."""
    report = rescore(table, tmp_path / "out.gz")
    text = gzip.decompress((tmp_path / "out.gz").read_bytes())
    assert without_last_score(text) == gzip.decompress(table.read_bytes())
    assert report["pairs"] == 22 == sum(1 for _ in read_entries(tmp_path / "out.gz"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.gz", "table.gz"]


def rescore_in_a_process(
    table: Path, output: Path, *, lines_per_block: int, killed_at_call: int = 0
) -> subprocess.CompletedProcess[bytes]:
    script = [sys.executable, "-m", "tests.unit.phrasescore.scoring.tiny_scorer"]
    return subprocess.run(
        [*script, str(table), str(output), str(lines_per_block), str(killed_at_call)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_kill_9_and_go_on(
    name: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After SIGKILL, the run continues after the last complete block, and writes equal bytes."""
    killed = rescore_in_a_process(table, tmp_path / name, lines_per_block=4, killed_at_call=4)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / name).exists()
    scorer = TinyScorer()
    report = rescore(table, tmp_path / name, models=[tiny_model(scorer=scorer)])
    # the third block may have been written partly
    assert (report["resumed_pairs"], scorer.calls) in {(12, 3), (8, 4)}
    assert (
        f"continuing after line {report['resumed_pairs']}, where an earlier run stopped"
        in capsys.readouterr().err
    )
    whole = rescore(table, tmp_path / f"whole-{name}")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    assert without_rates(report) == without_rates(whole)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("models", {"models": [tiny_model("other")]}),
        ("settings.unknown_column", {"settings": ScoringSettings(unknown_column=True)}),
        ("settings.unknown", {"settings": ScoringSettings(unknown="share")}),
        ("numerics.batch_size", {"numerics": {"batch_size": 7}}),
        ("lines_per_block", {"lines_per_block": 5}),
    ],
)
def test_another_run_starts_anew(
    name: str,
    change: dict[str, object],
    table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With other models, settings or numerics, an interrupted run is not continued."""
    models = [tiny_model(scorer=Interrupting(), outside=OutsideWords((), ()))]
    with pytest.raises(KeyboardInterrupt):
        rescore(table, tmp_path / "out", models=models)
    assert (tmp_path / ".out.part").exists()
    change = {"models": [tiny_model(outside=OutsideWords((), ()))], **change}
    assert rescore(table, tmp_path / "out", **change)["resumed_pairs"] == 0
    said = capsys.readouterr().err
    assert re.search(f"begun with other settings: {name} .*; it is discarded", said)


def test_shared_probabilities_go_on(table: Path, tmp_path: Path) -> None:
    """A run with --unknown share continues with other block sizes to equal bytes."""
    outside = OutsideWords(tuple(b"x%d" % i for i in range(9)), tuple(range(1, 10)))
    changes = {"settings": ScoringSettings(unknown="share")}
    with pytest.raises(KeyboardInterrupt):
        stopped = [tiny_model(scorer=Interrupting(), outside=outside)]
        rescore(table, tmp_path / "out", models=stopped, **changes)
    models = [tiny_model(outside=outside)]
    report = rescore(table, tmp_path / "out", models=models, **changes)
    assert report["resumed_pairs"] == 8
    assert report["unknown"] == "share"
    assert "50.00% of the target; predicted unknown words share p(<unk>)" in described(report)
    rescore(table, tmp_path / "whole", models=models, lines_per_block=5, **changes)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    rescore(table, tmp_path / "unshared", models=models)
    assert (tmp_path / "out").read_bytes() != (tmp_path / "unshared").read_bytes()


def test_broken_line_is_found_at_once(tmp_path: Path) -> None:
    """An error at the end of a table stops scoring early, and leaves no files."""
    (tmp_path / "table").write_bytes(b"la ||| the ||| 1\n" * 4000 + b"la ||| the ||| -1\n")
    scorer = Waiting(tmp_path / "table")
    with pytest.raises(PhraseTableError, match=":4001: score 1 is negative"):
        rescore(tmp_path / "table", tmp_path / "out", models=[tiny_model(scorer=scorer)])
    assert scorer.calls < 1000
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_report(table: Path, tmp_path: Path) -> None:
    """The report gives rates, means and floor hits, for people and as JSON."""
    models = [tiny_model("a"), tiny_model("b", TinyScorer(500.0))]
    values = rescore(table, tmp_path / "out", models=models)
    assert values["pairs"] == 22
    # la and the are known, w and x are not
    assert values["source_unknown_rate"] == values["target_unknown_rate"] == 0.5
    assert [model["name"] for model in values["models"]] == ["a", "b"]
    means = [model["mean_ln_p"] for model in values["models"]]
    assert means[1] == pytest.approx(500 * means[0])
    assert values["columns"] == [{"name": "a", "floor_hits": 0}, {"name": "b", "floor_hits": 22}]
    text = described(values)
    assert "22 pairs, " in text
    assert "unknown words: 50.00% of the source, 50.00% of the target" in text
    assert "b: 22 pairs at Moses's floor of -100" in text
    assert "a: mean ln p -" in text


@pytest.mark.slow
def test_flat_memory(multi30k: Path, tmp_path: Path) -> None:
    """A table repeated ten times needs at most 5 % more memory."""
    once = multi30k / "phrase-table.gz"
    ten_times = tmp_path / "ten.gz"
    ten_times.write_bytes(once.read_bytes() * 10)
    peaks = []
    for table in (once, ten_times):
        process = rescore_in_a_process(table, tmp_path / "out.gz", lines_per_block=65_536)
        assert process.returncode == 0, process.stderr
        peaks.append(int(process.stdout))
    assert peaks[1] <= 1.05 * peaks[0]
