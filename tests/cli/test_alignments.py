"""``phrasescore alignments`` as a user runs it, with real models."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from phrasescore.cli import cli
from phrasescore.errors import PhrasescoreError
from tests.support.random_models import save_random_model

WORDS = b"a b c d".split()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models and two texts."""
    folder = tmp_path_factory.mktemp("alignments")
    targets = [word.upper() for word in WORDS]
    save_random_model(folder / "model", WORDS, targets, kind="search")
    save_random_model(folder / "backwards", WORDS, targets, "target-source", kind="search")
    save_random_model(folder / "encdec", WORDS, targets, kind="encdec")
    save_random_model(folder / "phrases", WORDS, targets)
    (folder / "source").write_bytes(b"a b\nd\n\nc zebra a\n")
    (folder / "target").write_bytes(b"A B\n\nA\nC A\n")
    (folder / "shorter").write_bytes(b"A B\n\nA\n")
    return folder


def run(*arguments: str | Path) -> None:
    """Run the command in this process."""
    cli.main(["alignments", *map(str, arguments)], standalone_mode=False)


def words_of(picture: Path) -> list[str]:
    """Return the words of an SVG, along its columns and then along its rows."""
    words = re.findall(r">([^<>]+)</text>", picture.read_text("utf-8"))
    # the numbers of the colour scale follow
    words = words[: next(place for place, word in enumerate(words) if word.startswith("0"))]
    return [word.replace("&lt;/s&gt;", "</s>") for word in words]


@pytest.mark.parametrize(
    ("model", "words"),
    [("model", "c zebra a </s> C A </s>"), ("backwards", "C A </s> c zebra a </s>")],
)
def test_a_picture_for_each_pair(
    model: str, words: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each picture is named after its line; columns are words read, rows are words predicted."""
    run(
        *("--model", data / model, "--source", data / "source", "--target", data / "target"),
        *("--sentences", "4,1,4", "-o", tmp_path / "new" / "pictures", "--format", "svg"),
    )
    names = sorted(path.name for path in (tmp_path / "new" / "pictures").iterdir())
    assert names == ["1.svg", "4.svg"]
    assert words_of(tmp_path / "new" / "pictures" / "4.svg") == words.split()
    assert "2 pictures in" in capsys.readouterr().err


def test_wrong_texts_are_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Raw text and words that the model does not know are drawn, with a warning."""
    (tmp_path / "raw").write_text("u v.\n" * 9)
    (tmp_path / "other").write_text("x y z\n" * 9)
    files = "--source", tmp_path / "raw", "--target", tmp_path / "other"
    run("--model", data / "model", *files, "--sentences", "1", "-o", tmp_path / "pictures")
    said = capsys.readouterr().err
    assert f"warning: {tmp_path / 'raw'} looks like raw text" in said
    assert "warning: the model does not know 100% of these words" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sentences", "1,5"], "source: there is no sentence 5: the text has 4 lines"),
        (["--sentences", "2"], "target:2: sentence 2 is empty in one of the texts"),
        (["--sentences", "3"], "source:3: sentence 3 is empty in one of the texts"),
        (["--sentences", "0"], "not a list of line numbers; write 3,17"),
        (["--sentences", "1-3"], "not a list of line numbers; write 3,17"),
        (["--sentences", "1", "--target", "shorter"], "shorter ends before it"),
        (["--sentences", "1", "--model", "encdec"], "encdec aligns no words, but a picture needs"),
        (["--sentences", "1", "--model", "phrases"], "kind phrase does not translate sentences"),
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wrong call prints one sentence and makes no folder."""
    monkeypatch.chdir(data)
    given = {"--model": "model", "--source": "source", "--target": "target", "-o": "pictures"}
    given |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    with pytest.raises((PhrasescoreError, click.UsageError), match=re.escape(message)):
        run(*(word for item in given.items() for word in item))
    assert not Path("pictures").exists()
