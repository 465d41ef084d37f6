"""`phrasescore preprocess` and `postprocess` as filters and on files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from moses_integration.text.preparation import SystemText, TextSettings, write_settings
from phrasescore.table.phrase_table import SIDES
from tests.conftest import Phrasescore

RAW = "L'Art, etc.\n\na\u2028b [c]\n".encode()
TOKENS = b"l&apos; art , etc .\n\na b &#91; c &#93;\n"


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Make a system with lower-cased French source and English target."""
    folder = tmp_path / "system"
    folder.mkdir()
    write_settings(folder, SystemText(TextSettings("fr", lowercase=True), TextSettings("en")))
    return folder


def test_filters_take_the_settings_of_the_system(phrasescore: Phrasescore, system: Path) -> None:
    """Filters prepare the source and restore the target with the system's settings."""
    done = phrasescore("preprocess", "--system", "system", stdin=RAW)
    assert (done.returncode, done.stdout) == (0, TOKENS)
    done = phrasescore(
        "postprocess", "--system", system, "--capitalize", stdin=b"it &apos;s so . \n\n! "
    )
    assert (done.returncode, done.stdout) == (0, b"It's so.\n\n!\n")


def test_files_sides_and_options_overrule_the_system(
    phrasescore: Phrasescore, system: Path, tmp_path: Path
) -> None:
    """Files, sides and options on the command line override the system's settings."""
    (tmp_path / "raw").write_bytes(b"It's A|B\n")
    phrasescore(
        "preprocess", "raw", "-o", "out.gz", "--system", system, "--side", "target",
        "--lowercase", "--no-escape",
    ).well()  # fmt: skip
    done = phrasescore("preprocess", "out.gz", "--no-tokenize", "--no-escape")
    assert done.stdout == b"it 's a | b\n"


def test_the_text_of_the_other_side_gets_a_warning(phrasescore: Phrasescore, system: Path) -> None:
    """Its words are those of the other side's training text; a third language is told, too."""
    words = {side: [b"%c%d" % (side[0].encode(), n) for n in range(30)] for side in SIDES}
    for side, known in words.items():
        with gzip.open(system / f"corpus.{side}.gz", "wb") as stream:
            stream.write(b" ".join(known) + b"\n")
    command, text = ("preprocess", "--system", "system", "--side"), b" ".join(words["target"])
    wrong = phrasescore(*command, "source", stdin=text + b" s0\n").well()
    told = (
        b"system has 3% of this text's words on its source side, and 97% on its target side: is it "
    )
    assert told + b"text of the target side? (--side)" in wrong.stderr
    third = b" ".join(b"other%d" % n for n in range(30))
    assert b"is it in the right language?" in phrasescore(*command, "target", stdin=third).stderr
    assert phrasescore(*command, "target", stdin=text).stderr == b""
    assert phrasescore(*command, "source", stdin=b"t0 t1\n").stderr == b""


def test_prepared_text_gets_a_warning(phrasescore: Phrasescore, system: Path) -> None:
    """A second preparation would escape the entities of the first."""
    done = phrasescore("preprocess", "--system", "system", stdin=TOKENS)
    assert b"warning: 2 lines with entities such as &apos;, now escaped once more" in done.stderr
    assert phrasescore("preprocess", "--system", "system", stdin=RAW).stderr == b""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a dog\tun chien", b"1 line with a tab: is this a table of several columns? cut -f1"),
        ("m\xc3\xa1s", b"1 line with letters such as \xc3\x83\xc2\xa1: was it converted to UTF-8"),
    ],
)
def test_other_text_gets_a_warning(
    phrasescore: Phrasescore, system: Path, line: str, told: bytes
) -> None:
    """A table of both sides, and text that was converted to UTF-8 twice, are told."""
    done = phrasescore("preprocess", "--system", "system", stdin=line.encode())
    assert b"warning: " + told in done.stderr


def test_a_language_without_rules_is_named(phrasescore: Phrasescore) -> None:
    """The user learns what is used instead of rules for the language; the text is prepared."""
    done = phrasescore("preprocess", "--language", "xx", stdin=b"a.\n")
    assert done.stdout == b"a .\n"
    assert b"note: the tokeniser has no rules for xx: it uses the abbrev" in done.stderr
    assert phrasescore("preprocess", "--language", "hi", stdin=b"a.\n").stderr == b""


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "problem"),
    [
        ([], b"a\n", 2, "the language of the text is not known"),
        (["--language", "french"], b"a\n", 2, "is not a language code"),
        (["--language", "fr"], b"a\n\xff\n", 3, "standard input:2: not UTF-8"),
        (["--language", "fr", "none"], b"", 3, "none: no such file"),
        (["--system", "."], b"a\n", 3, "no text.json"),
        (["--side", "left"], b"a\n", 2, "'left' is not one of"),
        (["a", "--tokenize", "fr"], b"", 2, "arguments: fr (name the language with --language, "),
    ],
)
def test_failures(
    phrasescore: Phrasescore, arguments: list[str], stdin: bytes, code: int, problem: str
) -> None:
    """Each failure prints one sentence without a traceback, and sets the status."""
    phrasescore("preprocess", *arguments, stdin=stdin).refused(code, problem)


def test_characters(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Spaces, markup and combining marks are separate tokens, and the text can be restored."""
    text = " a|b  \u2581\tu\u0364 [\u00a0]\r\n\n".encode()
    settings = TextSettings(tokenize=False, characters=True)
    write_settings(tmp_path, SystemText(settings, settings))
    done = phrasescore("preprocess", "--system", ".", stdin=text).well()
    tokens = "_ a &#124; b _ _ __ _t u \u0364 _ &#91; \u00a0 &#93; _r\n\n"
    assert done.stdout.decode() == tokens.replace("_", "\u2581")
    done = phrasescore("postprocess", "--system", ".", stdin=done.stdout)
    assert done.stdout == text
    more = "--tokenize", "--language", "en"
    phrasescore("preprocess", "--system", ".", *more, stdin=text).refused(
        2, "tokens can be words or characters"
    )
