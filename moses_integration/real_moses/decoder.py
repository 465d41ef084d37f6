"""Real Moses as a decoder: found, started with other weights, its n-best list streamed to disk."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from phrasescore.errors import (
    CorpusError,
    MissingDependencyError,
    NBestError,
    PhrasescoreError,
    SettingsError,
)
from phrasescore.runs import processes
from phrasescore.runs.final_names import open_output, own_file
from phrasescore.runs.progress import Progress

_ENVIRONMENT = "MOSES_BIN"
_LAST_WORDS = 12
_SECONDS_TO_STOP = 5.0
# what Moses draws while it loads
_DECORATION = re.compile(rb"[-*0-9\s]*")
_LABEL = re.compile(rb"\[[^\[\]]*\]")


class DecoderError(PhrasescoreError):
    """A decoder that could not be started, died, or gave nothing."""

    exit_code = 7


def find_moses(given: str | Path | None = None) -> Path:
    """Find the ``moses`` binary: as given (itself or its folder), by MOSES_BIN, or on PATH.

    Raises:
        MissingDependencyError: There is none.
    """
    if given is not None:
        path = Path(given)
        path = path / "moses" if path.is_dir() else path
        if not os.access(path, os.X_OK):
            raise MissingDependencyError(
                f"{path} is not a program that can be run",
                remedy="give the moses binary or the folder that holds it",
            )
        return path
    folder = os.environ.get(_ENVIRONMENT)
    if folder:
        path = Path(folder) / "moses"
        if os.access(path, os.X_OK):
            return path
        raise MissingDependencyError(f"{_ENVIRONMENT} is {folder}, but there is no moses in it")
    if (found := shutil.which("moses")) is not None:
        return Path(found)
    raise MissingDependencyError(
        "real Moses is not installed here",
        remedy=f"set {_ENVIRONMENT} to the folder of its binaries, or use the embedded decoder",
    )


def check_input(lines: Sequence[bytes], path: str | Path) -> None:
    """Refuse text that Moses would misread or crash on.

    Raises:
        CorpusError: A word holds ``|`` or looks like the label of a rule.
    """
    for number, line in enumerate(lines, 1):
        for word in line.split(b" "):
            if b"|" in word or _LABEL.fullmatch(word):
                raise CorpusError(
                    f"the word {word.decode('utf-8', 'replace')!r}, which Moses takes for "
                    f"{'factors' if b'|' in word else 'the label of a rule'}",
                    path=path,
                    line=number,
                    remedy="escape the text: phrasescore preprocess",
                )


@dataclass(frozen=True)
class ExternalMoses:
    """Moses with one system and one text.

    Args:
        binary: The program.
        ini: The system's file; Moses resolves its paths against the current directory.
        text: The file to translate; its last line must end in a line feed.
        threads: How many sentences at a time.
        flags: More options, as on its command line.
    """

    binary: Path
    ini: Path
    text: Path
    threads: int = 1
    flags: tuple[str, ...] = ()

    def command(self, weights: Mapping[str, Sequence[float]], size: int) -> list[str]:
        """Return the command that prints distinct n-best lists of ``size`` to standard output."""
        overwritten = " ".join(
            f"{name}= " + " ".join(f"{value:.9g}" for value in values)
            for name, values in weights.items()
        )
        return [
            *(str(self.binary), "-f", str(self.ini)),
            *("-weight-overwrite", overwritten),
            *("-n-best-list", "-", str(size), "distinct"),
            *("-input-file", str(self.text)),
            *("-threads", str(self.threads)),
            *self.flags,
        ]

    def write_nbest(
        self, weights: Mapping[str, Sequence[float]], size: int, output: Path, log: Path
    ) -> int:
        """Translate, and write the n-best list, which gets its name only when it is whole.

        Args:
            weights: Of the features that are to have other weights than the ini says.
            size: How many different translations of each sentence at most.
            output: The list; gzip if its name ends so.
            log: Gets what Moses says.

        Returns:
            The number of lines.

        Raises:
            DecoderError: Moses could not be started, died, or printed nothing.
            NBestError: Its output ends in the middle of a line.
        """
        command = self.command(weights, size)
        with (
            own_file(log, os.O_TRUNC) as words,
            _started(command, words) as process,
            open_output(output) as stream,
        ):
            lines = _copy(process, stream, output)
            status = process.wait()
            if status != 0:
                raise DecoderError(
                    f"Moses ended with {_meaning(status)} after {lines:,} n-best lines"
                    f"{_last_words(log)}",
                    remedy=f"read {log}; the command was: {_shown(command)}",
                )
            if lines == 0:
                raise DecoderError(
                    f"Moses ended well but printed no translation{_last_words(log)}",
                    remedy=f"read {log}, and check that {self.text} is not empty",
                )
        return lines


@contextlib.contextmanager
def _started(command: list[str], words: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program for as long as the block lasts, and not longer."""
    try:
        process = processes.start(command, stdout=subprocess.PIPE, stderr=words)
    except OSError as error:
        raise DecoderError(
            f"{command[0]} could not be started ({error.strerror})",
            remedy="give the moses binary that was built for this machine",
        ) from None
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _copy(process: subprocess.Popen[bytes], stream: IO[bytes], output: Path) -> int:
    assert process.stdout is not None
    lines = 0
    last = sentence = b""
    with Progress("decoding", unit="sentences") as progress:
        for last in process.stdout:
            stream.write(last)
            lines += 1
            if (number := last.partition(b" ")[0]) != sentence:
                sentence = number
                progress.advance(1)
    if last and not last.endswith(b"\n") and process.wait() == 0:
        raise NBestError(
            "Moses's output ends in the middle of a line",
            path=output,
            line=lines,
            remedy="see whether the disk is full, and run again",
        )
    return lines


def _meaning(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def _shown(command: list[str]) -> str:
    return " ".join(f"'{word}'" if " " in word else word for word in command)


def _last_words(log: Path) -> str:
    """Return what the program said last, without what it draws."""
    lines = [line for line in log.read_bytes().split(b"\n") if not _DECORATION.fullmatch(line)]
    text = b"\n  ".join(lines[-_LAST_WORDS:]).decode("utf-8", "replace")
    return f"; its last words:\n  {text}\n" if text else " and said nothing"


def copy_text(lines: Sequence[bytes], path: Path) -> None:
    """Write text so that Moses reads all of it: it drops a last line without a line feed.

    Raises:
        SettingsError: The folder cannot be written.
    """
    if not lines:
        raise SettingsError("there is no text to translate", path=path)
    with open_output(path) as stream:
        stream.writelines(line + b"\n" for line in lines)
