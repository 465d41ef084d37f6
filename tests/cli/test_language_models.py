"""Neural language models as a user runs them: training on one text, scoring texts and lists."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from phrasescore.model.folder import load_model
from phrasescore.words.token_sequences import from_lists
from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model
from tests.support.unshared_scorer import UnsharedScorer

WORDS = [b"w%d" % number for number in range(12)]
KINDS = ["feed-forward-lm", "rnn-lm"]
TRAIN = ["train", "train.fr.gz", "lm", "--kind", "feed-forward-lm", "--order", "3"]
TRAIN += ["--threads", "1", "--embedding", "8", "--hidden", "16", "--second-hidden", "12"]
TRAIN += ["--learning-rate", "0.01"]


def sentences(count: int) -> list[bytes]:
    """Return sentences in which each word mostly determines the next; some are repeated."""
    rng = np.random.default_rng(3)
    made = []
    for _ in range(count):
        words = [int(rng.integers(12))]
        while len(words) < rng.integers(2, 9):
            words.append((words[-1] * 5 + 1) % 12 if rng.random() < 0.9 else int(rng.integers(12)))
        made.append(b" ".join(WORDS[word] for word in words))
    return made


def test_raw_text_gets_a_warning(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A model of raw text knows few words of the system's tokens."""
    for text, warns in {b"w1 w2.\n": True, b"w1 w2 .\n": False}.items():
        (tmp_path / "train.fr.gz").write_bytes(gzip.compress(text * 50))
        options = "--held-out-text", "train.fr.gz", "--max-epochs", "1", "--overwrite"
        done = phrasescore(*TRAIN, *options).well()
        assert (b"train.fr.gz looks like raw text; preprocess it first" in done.stderr) == warns


def test_a_text_is_learnt(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Training reports held-out figures and ln Z near 0; score-text gives the same perplexity."""
    text = sentences(2000)
    (tmp_path / "train.fr.gz").write_bytes(gzip.compress(b"\n".join([*text[:1900], b"", b""])))
    (tmp_path / "dev.fr").write_bytes(b"\n".join(text[1900:]) + b"\n")
    options = ["--max-epochs", "5", "--batch-size", "16", "--dropout", "0.1"]
    options += ["--patience", "0", "--self-normalise", "0.2"]
    done = phrasescore(*TRAIN, "--held-out-text", "dev.fr", *options).well()
    said = done.stderr.decode()
    assert "1,901 sentences; left out: 1 empty" in said
    assert "the model knows 12 of 12 words, which cover 100.00% of the tokens" in said
    assert "on 1,900 sentences (fast recipe" in said
    record = json.loads((tmp_path / "lm" / "provenance.json").read_text("utf-8"))
    held_out = record["held_out"]
    assert held_out["held_out_sources"]["pairs"] == 100
    # chance is ln 13 = 2.6 for 12 words and </s>, but the next word is mostly determined
    assert held_out["held_out_sources"]["nll"] < 1.9
    assert abs(held_out["ln Z"]["mean"]) < 0.1 and held_out["ln Z"]["deviation"] < 1
    assert f"ln Z of unseen words: mean {held_out['ln Z']['mean']:.4f}, deviation " in said
    config = json.loads((tmp_path / "lm" / "config.json").read_text("utf-8"))
    assert (config["order"], config["second_hidden"], config["self_normalise"]) == (3, 12, 0.2)
    assert not (tmp_path / "lm" / "source.vocabulary.txt").exists()
    scored = phrasescore("score-text", "--model", "lm", "dev.fr", "--json", "-o", "/dev/null")
    (figures,) = json.loads(scored.stdout)["models"]
    expected = math.exp(held_out["held_out_sources"]["nll"])
    assert figures["perplexity"] == pytest.approx(expected, rel=1e-3)
    assert (figures["lines"], figures["unknown"]) == (100, 0)
    assert f" (held-out training text: {expected:.4f})" in scored.stderr.decode()
    again = phrasescore(*TRAIN, "--held-out-text", "dev.fr", *options)
    assert b"lm/ is trained already, with the same options and input" in again.stderr


def test_two_texts_are_learnt_as_one(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """The model is the same, and the record has both texts."""
    text = [line + b"\n" for line in sentences(300)]
    (tmp_path / "train.fr.gz").write_bytes(gzip.compress(b"".join(text[:200])))
    (tmp_path / "more.fr").write_bytes(b"".join(text[200:]))
    (tmp_path / "whole.fr").write_bytes(b"".join(text))
    for model, texts in (("two", ["train.fr.gz", "more.fr"]), ("one", ["whole.fr"])):
        phrasescore("train", *texts, model, *TRAIN[3:], "--max-epochs", "1").well()
    weights = [(tmp_path / model / "model.safetensors").read_bytes() for model in ("one", "two")]
    assert weights[0] == weights[1]
    record = json.loads((tmp_path / "two" / "provenance.json").read_text("utf-8"))
    assert {Path(name).name for name in record["inputs"]} == {"train.fr.gz", "more.fr"}


def test_the_paper_s_recipe_ends_by_itself(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Each epoch ends with an evaluation; ten without gain end training; the best model is kept."""
    (tmp_path / "train.fr.gz").write_bytes(gzip.compress(b"\n".join(sentences(300)) + b"\n"))
    paper = [*TRAIN[:-2], "--recipe", "paper", "--patience", "2", "--batch-size", "8"]
    phrasescore(*paper, "--self-normalise").well()
    lines = (tmp_path / "lm" / "curves.jsonl").read_text("utf-8").strip().split("\n")
    curve = [json.loads(line) for line in lines]
    assert [round(point["epoch"]) for point in curve] == list(range(1, len(curve) + 1))
    figures = [point["held_out_sources_nll"] for point in curve]
    assert min(figures) == figures[-3]
    record = json.loads((tmp_path / "lm" / "provenance.json").read_text("utf-8"))
    assert record["settings"]["max_epochs"] is None
    assert record["held_out"]["held_out_sources"]["nll"] == pytest.approx(figures[-3], abs=1e-3)
    assert json.loads((tmp_path / "lm" / "config.json").read_text())["self_normalise"] == 0.1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--order", "1"], 2, "'--order': 1 is not in the range 2<=x<=100"),
        (["--held-out-text", "dev.fr", "dev.en"], 3, "lm: no such file"),
        (["--held-out-text", "a", "--held-out-text", "b"], 2, "takes TEXT, but got 2 names"),
        (["--rank", "5"], 2, "--rank is not an option of --kind feed-forward-lm. It belongs to"),
        (["--direction", "target-source"], 2, "--direction is not an option of --kind feed-forwa"),
        (["--held-out-sources", "5"], 2, "--held-out-sources is not an option of --kind feed-for"),
        (["--self-normalise", "0"], 2, "is not in the range 0<x"),
        ([], 3, "train.fr.gz: the text has no lines. Check that this is the right text"),
    ],
)
def test_wrong_input(
    arguments: list[str], code: int, message: str, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Each wrong input prints one sentence and leaves no model."""
    (tmp_path / "train.fr.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "dev.fr").write_bytes(b"w1 w2\n")
    phrasescore(*TRAIN, *arguments).refused(code, message)
    assert not (tmp_path / "lm").exists()


def test_a_text_of_other_bytes_than_utf_8(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Words are bytes, so a Latin-1 text can be learnt, and differs from its UTF-8 form."""
    text = "d\xe9j\xe0 vu\n" * 40
    (tmp_path / "train.fr.gz").write_bytes(gzip.compress(text.encode("latin-1")))
    phrasescore(*TRAIN, "--max-epochs", "0", "--held-out-pairs", "0").well()
    assert b"d\xe9j\xe0" in load_model(tmp_path / "lm").target_vocabulary.words
    scored = phrasescore("score-text", "--model", "lm", "-", stdin=text.encode())
    assert b", 40 of 120 unknown (</s> counted)" in scored.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_scored(kind: str, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Scores do not depend on gzip, pipes, block sizes or --words."""
    model = save_random_model(tmp_path / "lm", [], WORDS, kind=kind)
    lines = [*sentences(200), b"", b"w1 novel w2", b"w3\tcarried along"]
    text = b"\n".join(lines) + b"\n"
    (tmp_path / "text.gz").write_bytes(gzip.compress(text))
    done = phrasescore(
        "score-text", "--model", "lm", "text.gz", "--words", "-o", "scored.gz"
    ).well()
    piped = phrasescore("score-text", "--model", "lm", "-", "--batch-size", "7", stdin=text)
    loaded = load_model(model)
    ids = [loaded.target_vocabulary.encode(line.split(b"\t")[0].split()) for line in lines]
    alone = UnsharedScorer(loaded.model, "cpu")
    expected = alone.score(from_lists([[] for _ in ids]), from_lists(ids))
    scored = gzip.decompress((tmp_path / "scored.gz").read_bytes()).split(b"\n")[:-1]
    for line, scores, other, value in zip(
        lines, scored, piped.stdout.split(b"\n")[:-1], expected, strict=True
    ):
        assert scores.startswith(line + b"\t") and other.startswith(line + b"\t")
        found, words = scores.split(b"\t")[-2:]
        assert float(found) == pytest.approx(value, abs=1e-4)
        assert float(other.split(b"\t")[-1]) == pytest.approx(value, abs=1e-4)
        assert sum(map(float, words.split())) == pytest.approx(value, abs=1e-4)
        assert len(words.split()) == len(line.split(b"\t")[0].split()) + 1
    assert b"1 of " in done.stderr and b" unknown (</s> counted), perplexity" in done.stderr
    two = phrasescore("score-text", "--model", "lm", "text.gz", "text.gz").refused(2)
    assert two.stderr == (
        b"phrasescore: 2 files, but this kind of model takes at most 1. Give the text alone: a "
        b"language model has no source.\n"
    )


def test_lists_need_no_source(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Both kinds of model score candidates alone; only a translation model needs a source."""
    rows = [(n, line) for n, line in enumerate(sentences(40)) for _ in range(2)]
    (tmp_path / "list").write_bytes(b"".join(b"%d ||| %s  ||| LM0= -1 ||| -1\n" % r for r in rows))
    for kind in (*KINDS, "search"):
        save_random_model(tmp_path / kind, WORDS, WORDS, kind=kind)
    models = [argument for kind in KINDS for argument in ("--model", kind)]
    done = phrasescore("nbest", *models, "list", "-o", "out").well()
    assert done.stderr.startswith(b"80 candidates, ")
    found = [line.split(b"|||")[2].split() for line in (tmp_path / "out").read_bytes().splitlines()]
    for place, kind in enumerate(KINDS):
        loaded = load_model(tmp_path / kind)
        ids = [loaded.target_vocabulary.encode(line.split()) for _, line in rows]
        alone = UnsharedScorer(loaded.model, "cpu")
        expected = alone.score(from_lists([[] for _ in ids]), from_lists(ids))
        assert found[0][2 + 2 * place] == b"NeuralLM%d=" % place
        values = [float(line[3 + 2 * place]) for line in found]
        np.testing.assert_allclose(values, expected, rtol=2e-5)
    phrasescore("nbest", *models, "--model", "search", "list", "-o", "more").refused(
        2, "the model search reads a source, but none is given"
    )
    (tmp_path / "source").write_bytes(b"w1 w2\n" * 40)
    phrasescore(
        "nbest", *models, "--model", "search", "list", "--source", "source", "-o", "more"
    ).well()
    mixed = (tmp_path / "more").read_bytes().splitlines()
    assert b" NeuralLM1= " in mixed[0] and b" AttentionModel0= " in mixed[0]
