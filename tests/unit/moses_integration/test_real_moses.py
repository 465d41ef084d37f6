"""Real Moses as a decoder, and errors if it is missing, dies, or prints invalid output."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from moses_integration.real_moses import (
    DecoderError,
    ExternalMoses,
    check_input,
    copy_text,
    find_moses,
)
from phrasescore.errors import CorpusError, MissingDependencyError, NBestError, PhrasescoreError
from tests.support import fake_moses

LIST = b"0 ||| a  ||| LM0= -1 ||| -1\n0 ||| b  ||| LM0= -2 ||| -2\n1 ||| c  ||| LM0= -1 ||| -1\n"


def decoder_of(binary: Path) -> ExternalMoses:
    """Return a decoder for files that the scripts do not read."""
    return ExternalMoses(binary, Path("the moses.ini"), Path("dev.src"), threads=2)


def decode(binary: Path, tmp_path: Path) -> None:
    """Decode with one weight."""
    decoder = decoder_of(binary)
    decoder.write_nbest({"LM0": (0.5,)}, 2, tmp_path / "nbest.gz", tmp_path / "log")


def test_the_list_is_written_as_it_is_printed(tmp_path: Path) -> None:
    """The list has Moses's bytes, and Moses's messages go to the log."""
    decode(fake_moses.printing(tmp_path / "bin", LIST), tmp_path)
    assert gzip.decompress((tmp_path / "nbest.gz").read_bytes()) == LIST
    assert b"Defined parameters" in (tmp_path / "log").read_bytes()


def test_the_command_is_one_that_moses_understands() -> None:
    """Weights are one argument, with nine digits; the list goes to standard output."""
    command = decoder_of(Path("/m/moses")).command({"LM0": (1 / 3,), "TM": (1.0, -1e-05)}, 100)
    assert command == [
        "/m/moses", "-f", "the moses.ini",
        "-weight-overwrite", "LM0= 0.333333333 TM= 1 -1e-05",
        "-n-best-list", "-", "100", "distinct", "-input-file", "dev.src", "-threads", "2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        ("echo 'Check model/lm.arpa' >&2; exit 3", DecoderError,
         r"ended with status 3 after 0 n-best lines: Check model/lm\.arpa\."),
        ("cat ../bin/list; kill -SEGV $$", DecoderError, "ended with signal 11 after 3 n-best"),
        ("cat ../bin/list; exit 1", DecoderError, "status 1 after 3 n-best lines: it printed"),
        ("exit 0", DecoderError, "printed no translation: it printed nothing"),
        ("printf '0 ||| a '", NBestError, "ends in the middle of a line"),
        ("printf '0 ||| a '; exit 2", DecoderError, "status 2"),
    ],
)  # fmt: skip
def test_failures_are_told_and_leave_no_list(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    kind: type[PhrasescoreError],
    sentence: str,
) -> None:
    """Errors have Moses's last line, the log and the command; no partial list is left."""
    binary = fake_moses.script(tmp_path / "bin", body)
    (tmp_path / "bin" / "list").write_bytes(LIST)
    monkeypatch.chdir(tmp_path / "bin")
    with pytest.raises(kind, match=sentence) as caught:
        decode(binary, tmp_path)
    assert not list(tmp_path.glob("*nbest*"))
    if "status" in str(caught.value):
        assert f"Read {tmp_path / 'log'}; the command was: {binary} -f 'the moses.ini'" in str(
            caught.value
        )


def test_an_earlier_list_survives_a_failure(tmp_path: Path) -> None:
    """An existing list is replaced only by a complete list."""
    (tmp_path / "nbest.gz").write_bytes(b"earlier")
    with pytest.raises(DecoderError):
        decode(fake_moses.script(tmp_path / "bin", "exit 1"), tmp_path)
    assert (tmp_path / "nbest.gz").read_bytes() == b"earlier"


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    """A file that cannot be started is named."""
    binary = fake_moses.script(tmp_path / "bin", "#!/nowhere/to/be/found\n")
    with pytest.raises(DecoderError, match="moses could not be started"):
        decode(binary, tmp_path)


def test_moses_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The given path is tried first, then MOSES_BIN, then PATH."""
    for name in ("given", "environment", "path"):
        fake_moses.script(tmp_path / name, "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:{os.environ['PATH']}")
    monkeypatch.delenv("MOSES_BIN", raising=False)
    assert find_moses() == tmp_path / "path" / "moses"
    monkeypatch.setenv("MOSES_BIN", str(tmp_path / "environment"))
    assert find_moses() == tmp_path / "environment" / "moses"
    assert find_moses(tmp_path / "given") == tmp_path / "given" / "moses"
    assert find_moses(tmp_path / "given" / "moses") == tmp_path / "given" / "moses"


def test_moses_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names all searched places, with a remedy."""
    with pytest.raises(MissingDependencyError, match=f"no moses program at {tmp_path}"):
        find_moses(tmp_path)
    monkeypatch.setenv("MOSES_BIN", str(tmp_path))
    with pytest.raises(MissingDependencyError, match=f"no moses program at {tmp_path}"):
        find_moses()
    monkeypatch.delenv("MOSES_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="or use the embedded decoder"):
        find_moses()


@pytest.mark.parametrize("word", [b"a|b", b"|", b"[X]", b"[a"])
def test_words_that_moses_misreads(word: bytes) -> None:
    """Bars and bracketed labels are refused with file and line; a single bracket is a word."""
    lines = [b"fine", b"also " + word]
    if word == b"[a":
        check_input(lines, "dev.src")
        return
    with pytest.raises(CorpusError, match=r"dev\.src:2: .*phrasescore preprocess"):
        check_input(lines, "dev.src")


def test_text_ends_in_a_line_feed(tmp_path: Path) -> None:
    """A missing last line feed is added, because Moses drops such lines."""
    copy_text([b"a", b"", b"b"], tmp_path / "text")
    assert (tmp_path / "text").read_bytes() == b"a\n\nb\n"
