"""``decode --raw`` and ``Decoder.translate_text``: from raw lines to finished lines."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import moses_integration
from moses_integration.decoder.raw_text import RawText
from moses_integration.text.preparation import SystemText, TextSettings, write_settings
from phrasescore.errors import InputError
from tests.conftest import Phrasescore
from tests.support.random_system import write_random_system

RAW = "S0 s4, «s1» s\u0323\u0301.\n\n  S4! \u201cS4\u201d\n"


@pytest.fixture
def ini(tmp_path: Path) -> Path:
    """Make a truecased system whose words are s0 to s3; other words are copied."""
    folder = tmp_path / "system"
    folder.mkdir()
    settings = TextSettings("yo", tokenizer="unicode", form="NFC", truecase=True)
    write_settings(folder, SystemText(settings, settings))
    for side in ("source", "target"):
        (folder / f"truecase.{side}").write_text("s4 (2/2)\ns0 (2/2)\n")
    return write_random_system(folder, 3, limit=3)


def test_raw_lines_become_finished_lines(phrasescore: Phrasescore, ini: Path) -> None:
    """Each line stays a line; preprocess, decode and postprocess give the same text."""
    done = phrasescore("decode", ini, "--raw", stdin=RAW.encode()).well()
    lines = done.stdout.decode().split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    words = {word.strip(".«»!“”,") for word in done.stdout.decode().split()}
    assert {"\u1e63\u0301", "S4"} <= words
    tokens = phrasescore("preprocess", "--system", "system", stdin=RAW.encode()).stdout
    assert tokens.split(b"\n")[0].startswith(b"s0 s4 ,")
    decoded = phrasescore("decode", ini, stdin=tokens).stdout
    piped = phrasescore("postprocess", "--system", "system", "--side", "target", stdin=decoded)
    assert done.stdout == piped.stdout
    assert phrasescore("decode", "system", "--raw", stdin=RAW.encode()).stdout == done.stdout
    forgotten = phrasescore("decode", ini, stdin=b"s0.\ns1.\n").stderr
    assert b"warning: the input looks like raw text; with --raw" in forgotten
    assert b"raw text" not in done.stderr
    assert b"prepared before" not in done.stderr
    twice = phrasescore("decode", ini, "--raw", stdin=b"s0 &apos; s1 .\n").stderr
    assert b"warning: 1 line with entities such as &apos;, now escaped once more" in twice


def test_names_that_the_source_cuts_are_joined(phrasescore: Phrasescore, ini: Path) -> None:
    """A copied name comes in pieces of the source's tokens; its line tells how it was written."""
    source = TextSettings("en", tokenizer="unicode", form="NFC")
    write_settings(
        ini.parent, SystemText(source, replace(source, language="pcm", apostrophes=True))
    )
    done = phrasescore("decode", ini, "--raw", stdin="Samuel Eto'o, N’Djamena.\n".encode())
    words = done.well().stdout.decode().replace(",", " ").replace(".", " ").split()
    assert {"Samuel", "Eto'o", "N’Djamena"} <= {*words}


def test_raw_text_for_a_system_that_does_not_cut_words(phrasescore: Phrasescore, ini: Path) -> None:
    """--raw cannot prepare text for a system that was built from tokens, so there is a warning."""
    words = TextSettings(tokenize=False)
    write_settings(ini.parent, SystemText(words, words))
    for options, told in (
        ((), b"needs text in"),
        (("--raw",), b"was built without --tokenize, so"),
    ):
        done = phrasescore("decode", ini, *options, stdin=b"s0.\ns1.\n").well()
        assert b"warning: the input looks like raw text; the system " + told in done.stderr


def test_who_waits_for_an_answer_is_told(ini: Path, tmp_path: Path) -> None:
    """A program that keeps the pipe open learns that all lines are read first."""
    command = [sys.executable, "-m", "phrasescore", "decode", str(ini)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"s0\n")
        process.stdin.flush()
        assert process.stderr.readline().startswith(b"note: all lines are read, up to the end")
        assert process.communicate()[0].count(b"\n") == 1


def test_the_python_call_gives_the_lines_of_the_command(
    phrasescore: Phrasescore, ini: Path
) -> None:
    """``translate_text`` returns one string for each line."""
    done = phrasescore("decode", ini, "--raw", stdin=RAW.encode())
    decoder = moses_integration.Decoder(ini)
    assert decoder.translate_text(RAW.split("\n")[:-1]) == done.stdout.decode().split("\n")[:-1]
    assert moses_integration.Decoder(ini.parent).translate_text(["S4."]) == ["S4."]
    assert decoder.translate_text([]) == []
    assert decoder.translate_text(["a\nb"]) == ["A b"]
    with pytest.raises(TypeError, match="a list of strings"):
        decoder.translate_text("s0")


@pytest.mark.parametrize("name", ["x" * 300, "empty"])
def test_a_system_that_is_not_there(phrasescore: Phrasescore, tmp_path: Path, name: str) -> None:
    """An impossible name, and a folder without a moses.ini, are refused in one sentence."""
    (tmp_path / "empty").mkdir()
    sentence = "a folder without a moses.ini" if name == "empty" else "too long"
    phrasescore("decode", name, "--raw", stdin=b"s0\n").refused(3, sentence)


def test_settings_travel_with_the_ini(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """Inis of ``filter`` and ``ini`` have the settings beside them; without them, copy a file."""
    (tmp_path / "text").write_text("s0 s4\n")
    (tmp_path / "new").mkdir()
    for command in (
        ("filter", ini, "--input", "text", "-o", "filtered"),
        ("ini", "absolute-paths", ini, "-o", "new/x.ini"),
    ):
        phrasescore(*command).well()
    expected = phrasescore("decode", ini, "--raw", stdin=b"S0 S4.\n").stdout
    for copy in ("filtered/moses.ini", "new/x.ini"):
        assert phrasescore("decode", copy, "--raw", stdin=b"S0 S4.\n").stdout == expected
    (tmp_path / "new" / "text.json").unlink()
    phrasescore("decode", "new/x.ini", "--raw", stdin=b"S0\n").refused(
        3, "Copy text.json from the folder that phrasescore build made"
    )


def test_a_lowercased_system_says_that_case_is_lost(phrasescore: Phrasescore, ini: Path) -> None:
    """The finished text of a lower-cased system has no capitals, and the user learns why."""
    settings = TextSettings("en", lowercase=True)
    write_settings(ini.parent, SystemText(settings, settings))
    done = phrasescore("decode", ini, "--raw", stdin=b"S4.\n")
    assert done.stdout == b"s4.\n"
    assert b"so case is lost" in done.stderr


def test_raw_text_has_no_lists(phrasescore: Phrasescore, ini: Path) -> None:
    """Outputs about tokens are refused with raw text."""
    phrasescore("decode", ini, "--raw", "--nbest", "list", stdin=b"s0\n").refused(
        2, "--raw and --nbest exclude each other"
    )


def test_long_lines_are_cut_where_sentences_end(ini: Path) -> None:
    """A part has as many whole sentences as fit; a sentence that is too long is named."""
    line = "A b. “C d!” E f (g)? H i j."
    raw = RawText.from_lines([line, "", "K."], ini, longest=8)
    assert [b" ".join(words).decode() for words in raw.sentences] == [
        "A b . “ C d ! ”", "E f ( g ) ?", "H i j .", "", "K ."
    ]  # fmt: skip
    assert raw.is_last == [False, False, True, True, True]
    assert len(RawText.from_lines([line], ini).sentences) == 1
    armenian = RawText.from_lines(["Ա բ գ։ Դ ե զ։"], ini, longest=5)
    assert [len(words) for words in armenian.sentences] == [4, 4]
    with pytest.raises(InputError, match="text:2: 9 words in one line"):
        RawText.from_lines(["a", "a b c d e f g h."], ini, path="text", longest=8)


def test_a_killed_run_does_not_go_on_with_other_lines(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path
) -> None:
    """The same sentences in other lines are another work, which begins anew."""
    command = "decode", str(ini), "--raw", "-i", "text", "--max-sentence-length", "3", "-o"
    (tmp_path / "text").write_bytes(b"s0 s1! s2 s3!\n" * 500)
    phrasescore.killed_after_a_block("out", *command, "out")
    (tmp_path / "text").write_bytes(b"s0 s1!\ns2 s3!\n" * 500)
    phrasescore(*command, "out")
    phrasescore(*command, "fresh")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "fresh").read_bytes()
