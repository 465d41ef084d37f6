"""``phrasescore evaluate`` and ``compare`` as a user runs them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model
from tests.support.translations import noisy_translations, references


@pytest.fixture
def texts(tmp_path: Path) -> dict[str, list[str]]:
    """Write references and translations of two systems to the current folder."""
    rng = np.random.default_rng(5)
    texts = {"ref.fr": references()}
    texts |= {f"base.s{run}": noisy_translations(rng, 0.3) for run in (1, 2)}
    texts |= {f"rnn.s{run}": noisy_translations(rng, 0.1) for run in (1, 2)}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    return texts


def test_evaluate(phrasescore: Phrasescore, texts: dict[str, list[str]]) -> None:
    """Several translations are scored in a table and in JSON, with signatures."""
    names = ["base.s1", "rnn.s1"]
    done = phrasescore("evaluate", *names, "--reference", "ref.fr").well()
    said = done.stdout.decode()
    metric = sacrebleu.BLEU(tokenize="none", force=True, smooth_method="none")
    theirs = metric.corpus_score(texts["rnn.s1"], [texts["ref.fr"]])
    assert said.split()[:3] == ["BLEU", "chrF2", "TER"]
    assert f"{theirs.score:.2f}" in said
    assert str(metric.get_signature()) in said
    done = phrasescore("evaluate", *names, "--reference", "ref.fr", "--json")
    results = json.loads(done.stdout)["results"]
    assert [result["file"] for result in results] == names
    assert 100 * results[1]["bleu"] == pytest.approx(theirs.score)
    assert results[1]["brevity_penalty"] == pytest.approx(theirs.bp)
    assert results[1]["length_ratio"] == pytest.approx(theirs.sys_len / theirs.ref_len)
    assert [100 * value for value in results[1]["precisions"]] == pytest.approx(theirs.precisions)


@pytest.mark.parametrize("stem", ["several", "several.ref"])
def test_numbered_references(phrasescore: Phrasescore, tmp_path: Path, stem: str) -> None:
    """As with mert-moses.pl, one name stands for the files with this name and a number."""
    (tmp_path / "hyp").write_text("a b c\n")
    (tmp_path / f"{stem}0").write_text("a b\n")
    (tmp_path / f"{stem}1").write_text("a b c\n")
    command = ["evaluate", "hyp", "--metric", "wer", "--json", "--reference", "several"]
    done = phrasescore(*command).well()
    assert json.loads(done.stdout)["results"][0]["wer"] == 0
    (tmp_path / "several").write_text("x\n")
    assert json.loads(phrasescore(*command).stdout)["results"][0]["wer"] == 3


def test_accuracy_and_error_rates(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Accuracy counts equal lines; error rates use the closest reference; outer spaces are free."""
    (tmp_path / "hyp").write_text("a b c \nx y\nabcd\n")
    (tmp_path / "ref").write_text("a b c\nx z\nabd\n")
    (tmp_path / "other").write_text("q\nx y z\nbcd e\n")
    metrics = [word for name in ("wer", "accuracy", "cer") for word in ("--metric", name)]
    done = phrasescore("evaluate", "hyp", "--reference", "ref", *metrics, "--json").well()
    scores = json.loads(done.stdout)["results"][0]
    assert scores["accuracy"] == pytest.approx(1 / 3)
    assert scores["wer"] == pytest.approx(2 / 6)
    assert scores["cer"] == pytest.approx(2 / 11)
    done = phrasescore(
        "evaluate", "hyp", "--reference", "ref", "--reference", "other", *metrics, "--json"
    )
    scores = json.loads(done.stdout)["results"][0]
    assert scores["wer"] == pytest.approx(2 / 6)  # of equally close references, the first is used
    done = phrasescore(
        "compare", "--reference", "ref", "--baseline", "other", "--system", "hyp", *metrics
    ).well()
    assert b"accuracy" in done.stdout


def test_evaluate_reads_standard_input(
    phrasescore: Phrasescore, texts: dict[str, list[str]], tmp_path: Path
) -> None:
    """``-`` reads the translation from a pipe."""
    stdin = (tmp_path / "rnn.s1").read_bytes()
    options = ["--reference", "ref.fr", "--metric", "bleu", "--json"]
    piped = phrasescore("evaluate", "-", *options, stdin=stdin)
    named = phrasescore("evaluate", "rnn.s1", *options)
    assert (
        json.loads(piped.stdout)["results"][0]["bleu"]
        == (json.loads(named.stdout)["results"][0]["bleu"])
    )


def test_compare(phrasescore: Phrasescore, texts: dict[str, list[str]]) -> None:
    """Two runs per system give the gain and its p-values, as table and JSON."""
    options = ["--reference", "ref.fr", "--baseline", "base.s1", "--baseline", "base.s2"]
    options += ["--system", "RNN=rnn.s1", "--system", "RNN=rnn.s2", "--trials", "500"]
    options += ["--metric", "bleu"]
    table, record = (phrasescore("compare", *options, *form).well() for form in ([], ["--json"]))
    content = json.loads(record.stdout)
    base, rnn = content["metrics"]["bleu"]
    assert rnn["system"] == "RNN"
    assert rnn["gain"] == pytest.approx(rnn["mean"] - base["mean"])
    assert rnn["p_randomization"] < 0.05
    assert f"{100 * rnn['gain']:+.2f}" in table.stdout.decode()


def test_scores_by_length_of_known_words(
    phrasescore: Phrasescore, texts: dict[str, list[str]], tmp_path: Path
) -> None:
    """Only sentences with words that a model knows are scored, in groups by length."""
    lines = [f"{'a ' * (2 * (number % 7))}b" for number in range(40)]
    lines[3] = "a x"
    (tmp_path / "src.en").write_text("".join(line + "\n" for line in lines))
    words = {word.encode() for line in texts["ref.fr"] for word in line.split(" ")}
    save_random_model(tmp_path / "model", [b"a", b"b"], words)
    options = ["--reference", "ref.fr", "--metric", "bleu", "--source", "src.en"]
    options += ["--known-words", "model"]
    done = phrasescore("evaluate", "base.s1", "rnn.s1", *options, "--json-file", "e.json").well()
    said = done.stdout.decode()
    assert "39 of 40 sentences, those with all words in the vocabularies of model" in said
    content = json.loads((tmp_path / "e.json").read_bytes())
    assert (content["sentences"], content["known_words"]) == (39, {"model": "model", "of": 40})
    compared = [*options, "--by-length", "--baseline", "base.s1", "--system", "rnn.s1"]
    done = phrasescore("compare", *compared, "--trials", "100", "--json-file", "c.json").well()
    said = done.stdout.decode()
    assert "\n1–5 words, 18 sentences\nBLEU" in said
    content = json.loads((tmp_path / "c.json").read_bytes())
    assert [group["sentences"] for group in content["by_length"]] == [18, 11, 10]
    kept = [row for row, line in enumerate(lines) if row != 3 and len(line.split(" ")) <= 5]
    theirs = sacrebleu.BLEU(tokenize="none", force=True, smooth_method="none").corpus_score(
        [texts["rnn.s1"][row] for row in kept], [[texts["ref.fr"][row] for row in kept]]
    )
    found = content["by_length"][0]["metrics"]["bleu"][1]["mean"]
    assert 100 * found == pytest.approx(theirs.score)
    assert f"{theirs.score:.2f}" in said


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--baseline", "base.s1", "--source", "ref.fr"], 2, "--source needs --by-length or"),
        (["--baseline", "a=base.s1", "--baseline", "b=base.s2"], 2, "two baselines: a and b"),
        (["--baseline", "system=base.s1"], 2, "two systems have the name system"),
        (["--baseline", "=base.s1"], 2, "'=base.s1' is not NAME=FILE"),
        (["--baseline", "short"], 3, "short: 1 line, where ref.fr has 40"),
    ],
)
def test_compare_refuses(
    phrasescore: Phrasescore, texts: dict[str, list[str]], tmp_path: Path,
    options: list[str], status: int, message: str,
) -> None:  # fmt: skip
    """Duplicate names and files of different lengths get one sentence and the right exit status."""
    (tmp_path / "short").write_text("a\n")
    phrasescore("compare", "--reference", "ref.fr", "--system", "rnn.s1", *options).refused(
        status, message
    )


def test_a_file_name_may_contain_an_equals_sign(
    phrasescore: Phrasescore, texts: dict[str, list[str]], tmp_path: Path
) -> None:
    """An existing file is read, even if its name contains an equals sign."""
    (tmp_path / "lr=0.1").write_bytes((tmp_path / "rnn.s1").read_bytes())
    options = ["--reference", "ref.fr", "--metric", "bleu", "--trials", "100", "--json"]
    done = phrasescore("compare", *options, "--baseline", "base.s1", "--system", "lr=0.1").well()
    assert json.loads(done.stdout)["files"]["system"] == ["lr=0.1"]


@pytest.fixture
def segments(tmp_path: Path) -> dict[str, list[float]]:
    """Write the segment scores of a baseline and two systems, ten segments each."""
    rng = np.random.default_rng(3)
    base = rng.uniform(60, 90, 10).round(3)
    scores = {"base": base, "better": base + rng.uniform(-1, 4, 10).round(3), "same": base}
    for name, values in scores.items():
        (tmp_path / name).write_text("".join(f"{value!r}\n" for value in values.tolist()))
    return {name: values.tolist() for name, values in scores.items()}


def test_segment_scores(
    phrasescore: Phrasescore, segments: dict[str, list[float]], tmp_path: Path
) -> None:
    """The p-value is the share of all 2^10 exchanges with at least such a difference."""
    options = ["--segment-scores", "--baseline", "base", "--system", "same=same"]
    options += ["--system", "better=better", "--trials", "20000"]
    done = phrasescore("compare", *options, "--json-file", "result.json").well()
    content = json.loads((tmp_path / "result.json").read_bytes())
    base, same, better = content["metrics"]["segments"]
    assert base["mean"] == pytest.approx(np.mean(segments["base"]), rel=1e-12)
    gains = np.subtract(segments["better"], segments["base"])
    assert better["gain"] == pytest.approx(gains.mean(), rel=1e-9)
    signs = np.array(list(itertools.product((1, -1), repeat=10)))
    exact = (np.abs(signs @ gains) >= abs(gains.sum()) - 1e-9).mean()
    assert better["p_randomization"] == pytest.approx(exact, abs=0.005)
    # an independent check of the deviation of the mean: its normal interval
    reach = 1.96 * gains.std() / np.sqrt(10)
    assert better["high"] - better["low"] == pytest.approx(2 * reach, rel=0.25)
    assert (same["gain"], same["p_randomization"], same["p_bootstrap"]) == (0, 1, 1)
    said = done.stdout.decode()
    assert f"{np.mean(segments['base']):.4f}" in said and f"{gains.mean():+.4f}" in said
    assert (content["sentences"], content["references"]) == (10, [])
    # the report says why it cannot show this comparison
    (tmp_path / "results").mkdir()
    (tmp_path / "result.json").rename(tmp_path / "results" / "comparison.json")
    shown = phrasescore("report", "results", "-o", "page.html").well()
    assert b"a comparison of segment scores" in shown.stderr


def test_the_unit_of_segment_scores_changes_no_p_value(
    phrasescore: Phrasescore, segments: dict[str, list[float]], tmp_path: Path
) -> None:
    """Negative or large scales of the scores change no p-value."""
    found = []
    for factor in (1.0, 2.0**-20, 2.0**20):
        for name in ("base", "better"):
            values = [f"{value * factor!r}\n" for value in segments[name]]
            (tmp_path / f"{name}.scaled").write_text("".join(values))
        done = phrasescore(
            *("compare", "--segment-scores", "--baseline", "base.scaled"),
            *("--system", "better.scaled", "--trials", "300", "--json"),
        ).well()
        row = json.loads(done.stdout)["metrics"]["segments"][1]
        found.append([row["p_randomization"], row["p_bootstrap"], row["gain"] / factor])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--segment-scores --system short", 3, "short: 1 score, where base has 10"),
        ("--segment-scores --system words", 3, "words:1: 'a b' is not a number"),
        ("--segment-scores --system base --baseline empty", 3, "empty: no score. Give one number"),
        (
            "--segment-scores --system same --metric bleu",
            2,
            "--segment-scores and --metric exclude each other",
        ),
        (
            "--segment-scores --system same --reference base",
            2,
            "--segment-scores and --reference exclude each other",
        ),
        ("--system same", 2, "compared with a reference, but none is given"),
    ],
)
def test_segment_scores_refused(
    phrasescore: Phrasescore, segments: dict[str, list[float]], tmp_path: Path,
    options: str, status: int, message: str,
) -> None:  # fmt: skip
    """Files without scores, and options for translations, get one sentence."""
    (tmp_path / "short").write_text("1\n")
    (tmp_path / "words").write_text("a b\n")
    (tmp_path / "empty").write_bytes(b"")
    baseline = [] if "--baseline" in options else ["--baseline", "base"]
    done = phrasescore("compare", *baseline, *options.split()).refused(status, message)
    assert done.stderr.count(b"\n") == 1
