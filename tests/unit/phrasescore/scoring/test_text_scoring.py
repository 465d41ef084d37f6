"""Scoring texts: single pairs, order, interruptions, faulty lines."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from phrasescore.errors import CorpusError
from phrasescore.model.folder import LoadedModel, load_model
from phrasescore.model.kinds import Direction
from phrasescore.model.sequence_model import Batch
from phrasescore.runs.stream import StreamReport
from phrasescore.scoring.block_scoring import ScoringModel
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.scoring.text_scoring import (
    ModelCounts,
    TextCounts,
    TextSettings,
    described,
    perplexity,
    score_lines,
    score_texts,
)
from phrasescore.table.text_blocks import Texts
from phrasescore.words.token_sequences import TokenSequences
from tests.conftest import PROJECT
from tests.support.random_models import save_random_model

FRENCH, ENGLISH = [b"la", b"maison", b"chien", b"un"], [b"the", b"house", b"dog", b"a"]


def random_lines(count: int, longest: int = 12) -> list[bytes]:
    """Return pairs of mixed lengths, with repetitions, unknown words and empty targets."""
    rng = np.random.default_rng(7)

    def text(words: list[bytes], least: int) -> bytes:
        return b" ".join(rng.choice([*words, b"new"], rng.integers(least, longest)).tolist())

    lines = [text(FRENCH, 1) + b"\t" + text(ENGLISH, 0) for _ in range(count)]
    return [lines[i - i % 5] if i % 7 == 0 else line for i, line in enumerate(lines)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Direction, Path]:
    """Return a model for each direction."""
    folder = tmp_path_factory.mktemp("models")
    directions: tuple[Direction, ...] = ("source-target", "target-source")
    return {
        direction: save_random_model(folder / direction, FRENCH, ENGLISH, direction)
        for direction in directions
    }


@pytest.fixture(scope="module")
def loaded(folders: dict[Direction, Path]) -> LoadedModel:
    return load_model(folders["source-target"])


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Return 150 pairs, in 9 blocks of at most 20."""
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"".join(line + b"\n" for line in random_lines(150)))
    return path


class Scorer(SharedScorer):
    """A scorer that counts calls, and at one of them kills its process or raises Ctrl-C."""

    calls = 0
    killed_at = interrupted_at = 0

    def score_words(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        self.calls += 1
        if self.calls == self.killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.calls == self.interrupted_at:
            raise KeyboardInterrupt
        return super().score_words(sources, targets)


def score(
    texts: Texts | Path,
    output: str | Path,
    loaded: LoadedModel,
    scorer: SharedScorer | None = None,
    *,
    words: bool = True,
    seed: int = 0,
) -> StreamReport[TextCounts]:
    if not isinstance(texts, Texts):
        texts = Texts((texts,), lines_per_block=20)
    model = ScoringModel("model", loaded, scorer or SharedScorer(loaded.model, "cpu"))
    settings = TextSettings(words=words)
    return score_texts(texts, output, [model], settings, numerics={"seed": seed})


def one_alone(loaded: LoadedModel, read: bytes, predicted: bytes) -> list[float]:
    """Return ln p of each word and of </s> by the model itself."""
    source = torch.tensor([loaded.source_vocabulary.encode(read.split())], dtype=torch.long)
    target = torch.tensor([loaded.target_vocabulary.encode(predicted.split())], dtype=torch.long)
    with torch.no_grad():
        found = loaded.model.score(Batch(source, target, None))
    return [float(value) for value in found[0]]


@pytest.mark.parametrize("direction", ["source-target", "target-source"])
def test_each_pair_alone(
    direction: Direction, folders: dict[Direction, Path], pairs: Path, tmp_path: Path
) -> None:
    """Lines keep order and bytes; words, totals and counts equal those of single pairs."""
    loaded = load_model(folders[direction])
    report = score(pairs, tmp_path / "out", loaded)
    inputs = pairs.read_bytes().split(b"\n")[:-1]
    outputs = (tmp_path / "out").read_bytes().split(b"\n")[:-1]
    everything: list[float] = []
    for line, scored in zip(inputs, outputs, strict=True):
        kept, total, words = scored.rsplit(b"\t", 2)
        assert kept == line
        read, predicted = line.split(b"\t")[:: 1 if direction == "source-target" else -1]
        expected = one_alone(loaded, read, predicted)
        found = [float(word) for word in words.split(b" ")]
        assert found == pytest.approx(expected, abs=1e-4)
        assert float(total) == pytest.approx(sum(found), abs=1e-6 * (len(found) + 1))
        everything += expected
    (counts,) = report.counts.models
    assert (report.counts.lines, report.counts.skipped) == (150, 0)
    assert counts.tokens == len(everything)
    assert counts.ln_p == pytest.approx(sum(everything), abs=1e-3)
    column = b"\n".join(line.split(b"\t")[direction == "source-target"] for line in inputs)
    assert counts.unknown == column.split().count(b"new") > 0


def test_one_text_is_predicted_from_no_words(loaded: LoadedModel, tmp_path: Path) -> None:
    """With one column, the model reads an empty source, and further columns are copied."""
    (tmp_path / "text").write_bytes(b"the dog\tx\n\na\n")
    (block,) = Texts((tmp_path / "text",), columns=1, bytes_per_block=1 << 24).blocks()
    model = ScoringModel("model", loaded, SharedScorer(loaded.model, "cpu"))
    before = TextCounts(models=(ModelCounts(),))
    text, counts = score_lines([model], TextSettings(), block, before)
    lines = text.split(b"\n")[:-1]
    assert [line.rpartition(b"\t")[0] for line in lines] == [b"the dog\tx", b"", b"a"]
    for line, target in zip(lines, (b"the dog", b"", b"a"), strict=True):
        expected = sum(one_alone(loaded, b"", target))
        assert float(line.rpartition(b"\t")[2]) == pytest.approx(expected, abs=1e-5)
    assert counts.models[0].tokens == 6


def test_skipped_lines(loaded: LoadedModel, tmp_path: Path) -> None:
    """A faulty line gets empty columns, and does not change other lines."""
    good, path = random_lines(30), tmp_path / "pairs"
    path.write_bytes(b"".join(b"no tab\n\t the\n" + line + b"\n" for line in good))
    with pytest.raises(CorpusError, match="pairs:1: no tab"):
        score(path, tmp_path / "out", loaded)
    assert [name.name for name in tmp_path.iterdir()] == ["pairs"]
    report = score(Texts((path,), skips=True, lines_per_block=20), tmp_path / "out", loaded)
    assert (report.counts.lines, report.counts.skipped) == (90, 60)
    assert "60 lines could not be scored" in described(report)
    lines = (tmp_path / "out").read_bytes().split(b"\n")
    assert set(lines[0:-1:3]) == {b"no tab\t\t"} and set(lines[1:-1:3]) == {b"\t the\t\t"}
    path.write_bytes(b"".join(line + b"\n" for line in good))
    alone = score(path, tmp_path / "alone", loaded)
    for left, right in zip(
        lines[2:-1:3], (tmp_path / "alone").read_bytes().split(b"\n")[:-1], strict=True
    ):
        numbers = [
            [float(value) for field in line.split(b"\t")[2:] for value in field.split()]
            for line in (left, right)
        ]
        assert left.split(b"\t")[:2] == right.split(b"\t")[:2]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-5)
    (skipping,), (plain,) = report.counts.models, alone.counts.models
    assert skipping.ln_p == pytest.approx(plain.ln_p, abs=1e-4)
    assert skipping.tokens == plain.tokens


def test_only_skipped_lines_and_none(loaded: LoadedModel, tmp_path: Path) -> None:
    """Without lines to score there is no perplexity, and no error."""
    (tmp_path / "t").write_bytes(b"no tab\n" * 3)
    report = score(Texts((tmp_path / "t",), skips=True), tmp_path / "out", loaded, words=False)
    assert (tmp_path / "out").read_bytes() == b"no tab\t\n" * 3
    assert report.counts.skipped == 3
    improbable = TextCounts(models=(ModelCounts(ln_p=-1e6, tokens=10),))
    assert improbable.figures()[0]["perplexity"] is None  # JSON has no infinity
    assert report.counts.figures()[0]["perplexity"] is None and math.isnan(perplexity(0.0, 0))
    (tmp_path / "t").write_bytes(b"")
    assert score(tmp_path / "t", tmp_path / "out", loaded).counts.lines == 0
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_kill_9_and_go_on(
    name: str,
    folders: dict[Direction, Path],
    pairs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After SIGKILL, the run continues after the last complete block, and writes equal bytes."""
    model = folders["source-target"]
    killed = subprocess.run(
        [sys.executable, "-m", __name__, str(model), str(pairs), str(tmp_path / name), "5"],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / name).exists()
    loaded = load_model(model)
    scorer = Scorer(loaded.model, "cpu")
    report = score(pairs, tmp_path / name, loaded, scorer)
    # blocks of 2, 8, 20, 20 ... lines; the fourth may have been written partly
    assert (report.resumed, scorer.calls) in {(50, 5), (30, 6)}
    assert f"continuing after line {report.resumed}, where" in capsys.readouterr().err
    whole = score(pairs, tmp_path / f"whole-{name}", loaded)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    assert report.counts == whole.counts


def interrupt(pairs: Path, output: Path, loaded: LoadedModel) -> None:
    scorer = Scorer(loaded.model, "cpu")
    scorer.interrupted_at = 4
    with pytest.raises(KeyboardInterrupt):
        score(pairs, output, loaded, scorer)
    assert output.with_name(f".{output.name}.part").exists()


@pytest.mark.parametrize("change", ["nothing", "words", "seed", "model", "texts", "skips"])
def test_another_run_starts_anew(
    change: str,
    loaded: LoadedModel,
    pairs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only a run with equal model, texts and options continues an interrupted run."""
    interrupt(pairs, tmp_path / "out", loaded)
    if change == "texts":
        pairs.write_bytes(pairs.read_bytes() + b"la\tthe\n")
    texts = Texts((pairs,), skips=change == "skips", lines_per_block=20)
    other = replace(loaded, digest="other") if change == "model" else loaded
    options = {"words": change != "words", "seed": int(change == "seed")}
    report = score(texts, tmp_path / "out", other, **options)
    said = capsys.readouterr().err
    if change == "nothing":
        assert report.resumed in {10, 30}
    else:
        assert report.resumed == 0
        assert "is discarded" in said


if __name__ == "__main__":
    # MODEL PAIRS OUTPUT KILLED-AT-CALL
    folder, texts, output, call = sys.argv[1:]
    model = load_model(folder)
    killing = Scorer(model.model, "cpu")
    killing.killed_at = int(call)
    score(Path(texts), output, model, killing)
