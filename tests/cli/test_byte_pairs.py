"""Models of byte pairs: users see only words, from ``train`` to the Python API."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import phrasescore
from phrasescore.cli import cli
from phrasescore.errors import CorpusError, ModelError, SettingsError
from phrasescore.model.folder import load_model
from phrasescore.words.byte_pairs import BytePairs
from tests.support.random_models import save_random_model

pytest.importorskip("subword_nmt", reason="needs the extra byte-pairs")

WORDS = b"low lower newest widest slow slower".split()
TARGETS = b"bas basse neuf neuve large lent".split()
SOURCE, TARGET = b"low newest slower\nwidest zz\n", b"bas neuve lent\nlarge qq\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with byte-pair models of random weights, and two texts."""
    folder = tmp_path_factory.mktemp("pieces")
    pairs = BytePairs.learn(dict.fromkeys([*WORDS, *TARGETS], 3), 8)
    save_random_model(folder / "model", WORDS, TARGETS, kind="search", byte_pairs=pairs)
    save_random_model(folder / "words", WORDS, TARGETS, kind="search")
    (folder / "source").write_bytes(SOURCE)
    (folder / "target").write_bytes(TARGET)
    return folder


def run(*arguments: str | Path) -> None:
    """Run a command in this process."""
    cli.main([str(argument) for argument in arguments], standalone_mode=False)


def test_training_learns_the_pieces_of_both_texts(tmp_path: Path) -> None:
    """The folder has the merges with their digest, and keeps them when training continues."""
    texts = tmp_path / "source", tmp_path / "target"
    for path, words in zip(texts, (WORDS, TARGETS), strict=True):
        lines = [b" ".join((*words[at % 5 :], words[at % 3])) + b"\n" for at in range(40)]
        path.write_bytes(b"".join(lines))
    given = "train", *texts, tmp_path / "model", "--kind", "search", "--hidden", "8"
    options = "--byte-pairs", "12", "--held-out-sources", "2", "--threads", "1"
    run(*given, *options, "--max-epochs", "1")
    loaded = load_model(tmp_path / "model")
    for vocabulary, words in (
        (loaded.source_vocabulary, WORDS),
        (loaded.target_vocabulary, TARGETS),
    ):
        assert vocabulary.byte_pairs is not None
        assert all(map(vocabulary.knows, words))
        assert vocabulary.decode(np.array(vocabulary.encode(words))) == words
    digests = (tmp_path / "model" / "SHA256SUMS").read_text()
    assert "  byte-pairs.txt\n" in digests
    record = json.loads((tmp_path / "model" / "provenance.json").read_text())
    model = phrasescore.load(tmp_path / "model")
    figure = record["held_out"]["held_out_sources"]
    longest = len(TARGETS) + 2
    assert figure["words"] <= longest * figure["pairs"]  # words, not pieces
    assert np.isfinite(model.score([("low newest", "bas neuf")])).all()
    run(*given, *options, "--max-epochs", "2")
    assert load_model(tmp_path / "model").source_vocabulary == loaded.source_vocabulary


def test_scores_of_words_are_sums_over_pieces(data: Path, tmp_path: Path) -> None:
    """score-text, nbest and the Python API give equal ln p, and count words."""
    model = phrasescore.load(data / "model")
    texts = list(zip(SOURCE.decode().splitlines(), TARGET.decode().splitlines(), strict=True))
    totals, words = model.score(texts), model.score_words(texts)
    assert [len(each) for each in words] == [4, 3]
    assert [each.sum() for each in words] == pytest.approx(totals)
    assert model.perplexity(texts) == pytest.approx(np.exp(-totals.sum() / 7))
    given = "score-text", "--model", data / "model", data / "source", data / "target", "--words"
    run(*given, "-o", tmp_path / "scored")
    for line, total, each in zip(
        (tmp_path / "scored").read_text().splitlines(), totals, words, strict=True
    ):
        fields = line.split("\t")
        assert float(fields[2]) == pytest.approx(total, abs=1e-4)
        assert [float(number) for number in fields[3].split()] == pytest.approx(each, abs=1e-4)
    entries = [b"%d ||| %s ||| f= 0 ||| 0\n" % each for each in enumerate(TARGET.splitlines())]
    (tmp_path / "list").write_bytes(b"".join(entries))
    scored = "nbest", tmp_path / "list", "--model", data / "model", "--source", data / "source"
    run(*scored, "-o", tmp_path / "list.new")
    lines = (tmp_path / "list.new").read_text().splitlines()
    found = [float(line.split("AttentionModel0= ")[1].split()[0]) for line in lines]
    assert found == pytest.approx(totals, abs=1e-4)


def test_the_limit_of_a_sentence_counts_pieces(data: Path, tmp_path: Path) -> None:
    """A short line of very long words would take hours."""
    words = [b"newest", b"lower" * 190]
    (tmp_path / "long").write_bytes(b" ".join(words) + b"\n")
    pieces = len(load_model(data / "model").source_vocabulary.encode(words))
    given = "translate", "--model", data / "model", "-i", tmp_path / "long"
    with pytest.raises(CorpusError, match=f"long:1: {pieces} pieces of words, but a sentence"):
        run(*given, "--max-sentence-length", "2")


def test_translations_and_alignments_are_in_words(data: Path, tmp_path: Path) -> None:
    """Output has no byte-pair marks; alignments have rows and columns of words; rows sum to 1."""
    given = "translate", "--model", data / "model", "-i", data / "source"
    run(*given, "-o", tmp_path / "out", "--alignments", tmp_path / "soft", "--replace-unknown")
    out = (tmp_path / "out").read_bytes()
    assert b"@@" not in out and b"<unk>" not in out and out.count(b"\n") == 2
    for line in map(json.loads, (tmp_path / "soft").read_text().splitlines()):
        assert line["source"][:-1] == SOURCE.decode().splitlines()[line["sentence"] - 1].split()
        matrix = np.array(line["alignment"])
        assert matrix.shape == (len(line["target"]), len(line["source"]))
        assert matrix.sum(1) == pytest.approx(1, abs=1e-3)
    best = phrasescore.load(data / "model").generate(SOURCE.decode().splitlines(), beam=2)
    assert not any("@@" in each.text for targets in best for each in targets)
    pytest.importorskip("matplotlib")
    texts = "--source", data / "source", "--target", data / "target", "--sentences", "1,2"
    run("alignments", "--model", data / "model", *texts, "-o", tmp_path, "--format", "svg")
    picture = (tmp_path / "1.svg").read_text()
    assert all(f">{word}<" in picture for word in ["slower", "neuve", "lent"])


def test_what_does_not_go_together_is_refused(data: Path, tmp_path: Path) -> None:
    texts = data / "source", data / "target", tmp_path / "model", "--byte-pairs", "5"
    with pytest.raises(SettingsError, match="there is no shortlist"):
        run("train", *texts, "--kind", "search", "--source-words", "9")
    with pytest.raises(SettingsError, match="--byte-pairs is not an option of --kind rnn-lm"):
        run("train", data / "source", tmp_path / "model", "--kind", "rnn-lm", "--byte-pairs", "5")
    models = "--model", data / "model", "--model", data / "words"
    with pytest.raises(ModelError, match="the source vocabulary is not that of"):
        run("translate", *models, "-i", data / "source", "-o", tmp_path / "out")
    (data / "model" / "byte-pairs.txt").write_text("#version: 0.2\n")
    with pytest.raises(ModelError, match=r"damaged: byte-pairs\.txt"):
        load_model(data / "model")
