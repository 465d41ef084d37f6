"""``phrasescore generate`` as a user runs it, with real models."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import click
import pytest

from phrasescore.cli import cli
from phrasescore.errors import PhrasescoreError
from tests.conftest import Phrasescore
from tests.support.golden_systems import copy_system
from tests.support.random_models import save_random_model

WORDS = b"a b c d".split()
PHRASES = b"a b\nc\nunheard a\nd d b a\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two random models and some phrases."""
    folder = tmp_path_factory.mktemp("generate")
    targets = [word.upper() for word in WORDS]
    save_random_model(folder / "model", WORDS, targets)
    save_random_model(folder / "backwards", WORDS, targets, "target-source")
    (folder / "phrases").write_bytes(PHRASES)
    return folder


def fields(text: bytes) -> list[list[str]]:
    return [line.split("\t") for line in text.decode().split("\n")[:-1]]


def test_the_best_targets_have_the_scores_of_score_text(
    data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Lines have source, target and ln p, the best first; score-text gives equal ln p."""
    done = phrasescore(
        "generate", "--model", data / "model", "-i", data / "phrases", "--nbest-size", "4"
    ).well()
    lines = fields(done.stdout)
    assert [line[0] for line in lines] == [
        phrase for phrase in PHRASES.decode().split("\n")[:-1] for _ in range(4)
    ]
    ln_p = [float(line[2]) for line in lines]
    assert all(ln_p[i] >= ln_p[i + 1] for i in range(15) if i % 4 != 3)
    # a written <unk> is read as an unknown word
    (tmp_path / "pairs.tsv").write_bytes(done.stdout)
    scored = phrasescore("score-text", "--model", data / "model", tmp_path / "pairs.tsv")
    assert [float(line[3]) for line in fields(scored.stdout)] == pytest.approx(ln_p, abs=1e-4)
    assert b"16 targets for 4 phrases" in done.stderr


def test_the_factor_of_the_model(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A model reads the factor that it was trained on."""
    save_random_model(tmp_path / "factor1", WORDS, [word.upper() for word in WORDS], factor=1)
    command = ["generate", "-i", "-", "--model"]
    expected = phrasescore(*command, data / "model", stdin=b"a b\n")
    assert phrasescore(*command, "factor1", stdin=b"x|a y|b\n").stdout == expected.stdout
    phrasescore(*command, "factor1", stdin=b"a b\n").refused(
        3, "the source token a has 1 factor, so there is no factor 1"
    )


def test_samples(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Each sample has its count; the seed determines the samples."""
    command = ["generate", "--model", data / "model", "-i", data / "phrases", "--samples", "50"]
    command += ["--no-unknown", "--max-length", "3", "--temperature", "0.5"]
    phrasescore(*command, "-o", "first", "--json-file", "report.json").well()
    lines = fields((tmp_path / "first").read_bytes())
    assert list(dict.fromkeys(line[0] for line in lines)) == PHRASES.decode().split("\n")[:-1]
    for phrase in {line[0] for line in lines}:
        assert sum(int(count) for source, _, _, count in lines if source == phrase) == 50
    assert all(len(target.split()) <= 3 and "<unk>" not in target for _, target, _, _ in lines)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["targets"] == len(lines)
    for seed in ("1", "2"):
        arguments = [*map(str, command), "--seed", seed, "-o", str(tmp_path / seed)]
        cli.main(arguments, standalone_mode=False)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "first").read_bytes()
    assert (tmp_path / "2").read_bytes() != (tmp_path / "first").read_bytes()


def test_an_extended_table_goes_through_ini_doctor_and_decoder(
    data: Path, bundled_golden: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """All steps work on the sample corpus's system, from generating to decoding."""
    system = copy_system(bundled_golden, tmp_path)
    with gzip.open(system / "phrase-table.gz") as stream:
        words = {word for line in stream for word in line.split(b" ||| ")[0].split()}
    save_random_model(tmp_path / "model", words, [b"le", b"la", b"chien"])
    command = ["generate", "--model", "model", "--table", system / "phrase-table.gz"]
    command += ["--reordering", system / "reordering-table.gz"]
    command += ["--reordering-output", "system/new-reordering.gz", "--extend"]
    command += ["--beam", "2", "--max-length", "1"]
    phrasescore(*command, "-o", "table.gz").well()
    lines = gzip.decompress((tmp_path / "table.gz").read_bytes()).splitlines(keepends=True)
    with gzip.open(system / "phrase-table.gz") as stream:
        own = [line.split(b" ||| ", 3) for line in stream]
    kept = [line.split(b" ||| ", 3) for line in lines if b" 1 ||| " in line]
    assert [(s, t, rest) for s, t, _, rest in kept] == [(s, t, rest) for s, t, _, rest in own]
    assert len(lines) > len(own)
    assert sorted(lines) == lines
    with gzip.open(system / "new-reordering.gz") as stream:
        reordered = [line.split(b" ||| ") for line in stream]
    assert [line[:2] for line in reordered] == [line.split(b" ||| ")[:2] for line in lines]
    assert all(sum(map(float, line[2].split())) == pytest.approx(2, abs=1e-4) for line in reordered)
    ini = system / "moses.ini"
    ini.write_text(ini.read_text().replace("reordering-table", "new-reordering"))
    phrasescore("ini", "add-column", ini, "--table", "table.gz", "-o", "new.ini").well()
    phrasescore("doctor", "new.ini").well()
    text = (bundled_golden / "decode" / "input.en").read_bytes().split(b"\n")[0]
    done = phrasescore(
        "decode", "new.ini", "-i", "-", "--weight", "TranslationModel0= 0 0 0 0 0 9", stdin=text
    ).well()
    assert {b"le", b"la", b"chien"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-i phrases --table t", "exactly one of --input and --table"),
        ("-i phrases --beam 3 --nbest-size 4", "a beam of 3 cannot give"),
        ("-i phrases --extend", "--extend needs --table"),
        ("--table t --reordering r", "--reordering and --reordering-output go"),
        ("--table t --reordering r --reordering-output s", "the output must be a file"),
        ("-i phrases --samples 2 --beam 2", "--samples and --beam exclude each other"),
        ("-i empty", "a phrase of 0 words, but a model reads 1 to 10,000"),
        ("-i long", "a phrase of 10,001 words, but a model reads 1 to 10,000"),
    ],
)
def test_wrong_calls(
    arguments: str, message: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wrong call prints one sentence and keeps the input."""
    (tmp_path / "phrases").write_bytes(PHRASES)
    (tmp_path / "empty").write_bytes(b"a\n \nb\n")
    (tmp_path / "long").write_bytes(b"a " * 10_001)
    monkeypatch.chdir(tmp_path)
    with pytest.raises((PhrasescoreError, click.UsageError), match=re.escape(message)):
        cli.main(
            ["generate", "--model", str(data / "model"), *arguments.split()], standalone_mode=False
        )
    assert (tmp_path / "phrases").read_bytes() == PHRASES


def test_words_with_bars_enter_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated words with bars are an error in tables, where bars separate columns and factors."""
    monkeypatch.chdir(tmp_path)
    save_random_model(tmp_path / "model", WORDS, [b"|||", b"A|B"])
    (tmp_path / "table").write_bytes(b"a b ||| A ||| 1\n")
    with pytest.raises(PhrasescoreError, match="has a bar, which separates columns"):
        arguments = ["generate", "--model", "model", "--table", "table", "-o", "out"]
        cli.main(arguments, standalone_mode=False)
    assert not (tmp_path / "out").exists()


def test_a_model_that_writes_sources(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A reverse model generates for phrases of the side that it reads, but makes no table."""
    (tmp_path / "table").write_bytes(b"a ||| A ||| 0.5\n")
    phrasescore("generate", "--model", data / "backwards", "--table", "table").refused(
        4, "writes source phrases"
    )
