"""``phrasescore translate`` as a user runs it, with real models."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import click
import pytest

from moses_integration.nbest.format import read_nbest_lists
from phrasescore.cli import cli
from phrasescore.errors import PhrasescoreError
from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model

WORDS = b"a b c d".split()
TARGETS = [word.upper() for word in WORDS]
TEXT = b"a b c\nc\n\nzebra a\nd d\tb a\r\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with sentence and phrase models, and a text."""
    folder = tmp_path_factory.mktemp("translate")
    save_random_model(folder / "model", WORDS, TARGETS, kind="search")
    save_random_model(folder / "encdec", WORDS, TARGETS, seed=3, kind="encdec")
    save_random_model(folder / "backwards", WORDS, TARGETS, "target-source", kind="search")
    save_random_model(folder / "phrases", WORDS, TARGETS)
    save_random_model(folder / "less", WORDS[:1], TARGETS, kind="search")
    save_random_model(folder / "more", WORDS, [*TARGETS, b"more"], kind="search")
    (folder / "text").write_bytes(TEXT)
    return folder


def run(*arguments: str | Path) -> None:
    """Run the command in this process."""
    cli.main([str(argument) for argument in arguments], standalone_mode=False)


def lines_of(path: Path) -> list[bytes]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return text.split(b"\n")[:-1]


@pytest.mark.parametrize("normalised", [False, True])
def test_translations_list_and_alignments(data: Path, tmp_path: Path, normalised: bool) -> None:
    """Each line has a translation; list ln p equal those of score-text; alignments sum to 1."""
    options = ["--length-normalisation"] if normalised else []
    run(
        *("translate", "--model", data / "model", "-i", data / "text", "-o", tmp_path / "out"),
        *("--beam", "6", "--nbest", tmp_path / "list.gz", "--nbest-size", "4"),
        *("--alignments", tmp_path / "soft", *options),
    )
    out, source = lines_of(tmp_path / "out"), [line.split() for line in TEXT.split(b"\n")[:-1]]
    assert len(out) == 5 and out[2] == b""
    lists = dict(read_nbest_lists(tmp_path / "list.gz"))
    assert list(lists) == [0, 1, 3, 4]
    pairs = []
    for sentence, entries in lists.items():
        assert len(entries) == 4 == len({entry.words for entry in entries})
        assert entries[0].words == out[sentence]
        totals = [entry.total for entry in entries]
        assert totals == sorted(totals, reverse=True)
        for entry in entries:
            words = len(entry.words.split(b" ")) if entry.words else 0
            assert entry.features["WordPenalty0"] == (-words,)
            (ln_p,) = entry.features["AttentionModel0"]
            assert entry.total == pytest.approx(ln_p / (words + 1) if normalised else ln_p, 1e-5)
            pairs.append((b" ".join(source[sentence]), entry.words, ln_p))
    (tmp_path / "pairs").write_bytes(b"".join(b"%s\t%s\n" % pair[:2] for pair in pairs))
    run("score-text", "--model", data / "model", tmp_path / "pairs", "-o", tmp_path / "scored")
    scores = [float(line.split(b"\t")[2]) for line in lines_of(tmp_path / "scored")]
    assert scores == pytest.approx([ln_p for _, _, ln_p in pairs], abs=2e-4)
    for line in map(json.loads, lines_of(tmp_path / "soft")):
        number = line["sentence"] - 1
        assert line["source"] == [word.decode() for word in source[number]] + ["</s>"]
        assert line["target"] == [*out[number].decode().split(), "</s>"]
        assert [len(row) for row in line["alignment"]] == [len(line["source"])] * len(
            line["target"]
        )
        assert all(sum(row) == pytest.approx(1, abs=1e-3) for row in line["alignment"])
        assert all(value == round(value, 4) for row in line["alignment"] for value in row)


def test_an_ensemble_replaces_unknown_words(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An ensemble copies words and uses length limits, and the report has the figures."""
    folders: list[str | Path] = []
    for kind, seed in (("search", 9), ("search", 10), ("encdec", 11)):
        # the model can write only one word, so most written words are unknown
        folder = tmp_path / f"{kind}{seed}"
        save_random_model(folder, WORDS, TARGETS[:1], seed=seed, kind=kind)
        folders += ["--model", folder]
    run(
        *("translate", *folders, "-i", data / "text", "-o", tmp_path / "out", "--length-bounds"),
        *("--replace-unknown", "--json-file", tmp_path / "json", "--nbest", tmp_path / "list"),
    )
    entries = [entry for _, every in read_nbest_lists(tmp_path / "list") for entry in every]
    words = {word for entry in entries for word in entry.words.split(b" ")}
    # A is the only word that the model can write; the other words are copied
    assert {b"A", b"d"} < words <= {b"A", b"a", b"b", b"c", b"d", b"zebra"}
    for sentence, length in ((0, 3), (1, 1), (3, 2), (4, 4)):
        lengths = [-e.features["WordPenalty0"][0] for e in entries if e.sentence == sentence]
        assert min(lengths) >= length / 2 and max(lengths) <= 3 * length + 2
    report = json.loads((tmp_path / "json").read_bytes())
    assert (report["lines"], report["empty"], report["words"]) == (5, 1, 10)
    assert report["unknown"] == 1 and report["written_unknown"] > 0
    out = lines_of(tmp_path / "out")
    assert report["written"] == sum(len(line.split()) for line in out)
    best = {entry.sentence: entry for entry in reversed(entries)}
    ln_p = sum(entry.features["AttentionModel0"][0] for entry in best.values())
    assert report["mean_ln_p"] == pytest.approx(ln_p / 4, rel=1e-4)
    said = capsys.readouterr().err
    assert "translating from the source into the target language" in said
    assert "5 sentences, 1 of them empty; 10 words read, 10.00% of them unknown" in said


def test_from_the_target_language_through_pipes(data: Path, phrasescore: Phrasescore) -> None:
    """A reverse model translates targets from gzip input, and reports its direction."""
    done = phrasescore(
        *("translate", "--model", data / "backwards", "--no-unknown", "--beam", "3"),
        stdin=gzip.compress(TEXT.upper()),
    ).well()
    lines = done.stdout.split(b"\n")
    assert len(lines) == 6 and lines[2] == lines[5] == b""
    assert {word for line in lines for word in line.split()} <= set(WORDS)
    assert b"translating from the target into the source language" in done.stderr
    assert b"sentences/s" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--model phrases", "a model of kind phrase does not translate sentences"),
        ("--model model --model backwards", "the direction is not that of model"),
        ("--model model --model less", "less: the source vocabulary is not that of model"),
        ("--model encdec --model more", "more: the target vocabulary is not that of encdec"),
        ("--model encdec --replace-unknown", "kind encdec aligns no words"),
        ("--model encdec --alignments x", "kind encdec aligns no words"),
        ("--model model --nbest-size 3", "--nbest-size needs --nbest"),
        ("--model model --nbest x --nbest-size 11", "a beam of 10 cannot give the 11 best"),
        ("--model model --no-unknown --replace-unknown", "exclude each other"),
        ("--model model -i long", "long:2: 1,001 words, but a sentence may have at most 1,000"),
    ],
)
def test_wrong_calls(
    arguments: str, message: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wrong call prints one sentence, keeps the input and leaves no file."""
    for name in ("model", "backwards", "encdec", "less", "more", "phrases"):
        (tmp_path / name).symlink_to(data / name)
    (tmp_path / "text").write_bytes(TEXT)
    (tmp_path / "long").write_bytes(b"a\n" + b"a " * 1001 + b"\n")
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    given = arguments.split() if "-i" in arguments else [*arguments.split(), "-i", "text"]
    with pytest.raises((PhrasescoreError, click.UsageError), match=re.escape(message)):
        run("translate", *given)
    assert (tmp_path / "text").read_bytes() == TEXT
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_language_model_translates_nothing(tmp_path: Path) -> None:
    """Commands that need a source refuse language models, and say where to use them."""
    model = save_random_model(tmp_path / "lm", [], [b"a", b"b"], kind="feed-forward-lm")
    (tmp_path / "text").write_bytes(b"a\n")
    (tmp_path / "table").write_bytes(b"a ||| A ||| 0.5\n")
    text, table, out = (str(tmp_path / name) for name in ("text", "table", "out"))
    for command in (
        ["translate", "-i", text, "-o", out],
        ["alignments", "--source", text, "--target", text, "--sentences", "1", "-o", out],
        ["score", table, "-o", out],
        ["generate", "--table", table, "-o", out],
    ):
        with pytest.raises(PhrasescoreError, match=r"is a language model.*score-text or nbest"):
            run(command[0], "--model", model, *command[1:])
