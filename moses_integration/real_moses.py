"""Real Moses: finding the program, checking its features, and running it with other weights.

The n-best list of Moses is streamed to disk. ``moses -show-weights`` prints the features in the
order that Moses uses; for that, Moses reads the ini and the language models, but no phrase table.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from moses_integration.ini.edits import refuse_in_moses
from moses_integration.ini.feature_weights import FeatureLayout, listed_sizes
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import CorpusError, MissingDependencyError, NBestError, PhrasescoreError
from phrasescore.runs import processes
from phrasescore.runs.final_names import open_output, own_file
from phrasescore.runs.progress import Progress

_ENVIRONMENT = "MOSES_BIN"
_LABEL = re.compile(rb"\[[^\[\]]*\]")
_WEIGHTS = re.compile(r"([^ =]+)= (.+)")
_SECONDS = 600
_LAST_LINES = 3


class DecoderError(PhrasescoreError):
    """The decoder could not be started, died, or printed nothing."""

    exit_code = 7


def find_moses(given: str | Path | None = None) -> Path:
    """Find the ``moses`` binary in the given place, or else in MOSES_BIN, or else on PATH.

    Raises:
        MissingDependencyError: The binary is not found.
    """
    named = given or os.environ.get(_ENVIRONMENT) or shutil.which("moses")
    if named is not None:
        path = Path(named)
        path = path / "moses" if path.is_dir() else path
        if os.access(path, os.X_OK):
            return path
    where = "on PATH" if named is None else f"at {named}"
    raise MissingDependencyError(
        f"there is no moses program {where}",
        remedy=f"give the binary or its folder, set {_ENVIRONMENT} to the folder, or use the "
        "embedded decoder",
    )


def check_input(lines: Sequence[bytes], path: str | Path) -> None:
    """Refuse text that Moses would misread or crash on.

    Raises:
        CorpusError: A word contains ``|``, or is in brackets like the label of a rule.
    """
    for number, line in enumerate(lines, 1):
        for word in line.split(b" "):
            if b"|" in word or _LABEL.fullmatch(word):
                raise CorpusError(
                    f"Moses would take the word {word.decode('utf-8', 'replace')!r} for "
                    f"{'factors' if b'|' in word else 'the label of a rule'}",
                    path=path,
                    line=number,
                    remedy="escape the text: phrasescore preprocess",
                )


@dataclass(frozen=True)
class ExternalMoses:
    """The Moses program, with one system and one text to translate.

    Args:
        binary: The program.
        ini: The path of the ini; Moses resolves the paths in it against the current directory.
        text: The file to translate; its last line must end in a line feed.
        threads: The number of sentences to translate at a time.
        shows_phrases: Whether each line of a list shows the phrases of its candidate.
    """

    binary: Path
    ini: Path
    text: Path
    threads: int = 1
    shows_phrases: bool = False

    def command(self, weights: Mapping[str, Sequence[float]], size: int) -> list[str]:
        """Return the command that prints lists of up to ``size`` distinct translations."""
        overwritten = " ".join(
            f"{name}= " + " ".join(f"{value:.9g}" for value in values)
            for name, values in weights.items()
        )
        return [
            *(str(self.binary), "-f", str(self.ini)),
            *("-weight-overwrite", overwritten),
            *("-n-best-list", "-", str(size), "distinct"),
            *(["-include-segmentation-in-n-best"] if self.shows_phrases else []),
            *("-input-file", str(self.text)),
            *("-threads", str(self.threads)),
        ]

    def write_nbest(
        self, weights: Mapping[str, Sequence[float]], size: int, output: Path, log: Path
    ) -> None:
        """Translate, and write the n-best list, which appears when it is complete.

        Args:
            weights: New weights by feature; other features keep their weights from the ini.
            size: The maximum number of different translations of each sentence.
            output: The list; gzip if the name ends in ``.gz``.
            log: Receives the messages of Moses.

        Raises:
            DecoderError: Moses could not be started, died, or printed nothing.
            NBestError: The output of Moses ends in the middle of a line.
        """
        command = self.command(weights, size)
        with own_file(log, os.O_TRUNC) as words, open_output(output) as stream:
            try:
                started = processes.start(command, stdout=subprocess.PIPE, stderr=words)
            except OSError as error:
                raise DecoderError(
                    f"{command[0]} could not be started ({error.strerror})",
                    remedy="check that this is a program for this machine",
                ) from None
            with processes.waiting_for(started) as process:
                lines = _copy(process, stream, output)
                status = process.wait()
            if status != 0:
                end = f"signal {-status}" if status < 0 else f"status {status}"
                said = processes.last_line(log)
                raise DecoderError(
                    f"Moses ended with {end} after {lines:,} n-best lines: {said}",
                    remedy=f"read {log}; the command was: {shlex.join(command)}",
                )
            if lines == 0:
                raise DecoderError(
                    f"Moses succeeded but printed no translation: {processes.last_line(log)}",
                    remedy=f"read {log}; check that {self.text} is not empty, and that the ini has "
                    "no [start-translation-id] and no minimum Bayes risk",
                )


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
            remedy="see whether the disk is full, and run again",
        ).at(output, lines)
    return lines


def copy_text(lines: Sequence[bytes], path: Path) -> None:
    """Write text with a line feed after every line; Moses drops a last line without one.

    Raises:
        SettingsError: The folder cannot be written.
    """
    with open_output(path) as stream:
        stream.writelines(line + b"\n" for line in lines)


def weights_shown(text: str) -> dict[str, int]:
    r"""Parse the output of ``moses -show-weights``: the number of values of each tuneable feature.

    >>> weights_shown("LM0= 0.5\nUnknownWordPenalty0 UNTUNEABLE\nT0= 0.1 UNTUNEABLECOMPONENT\n")
    {'LM0': 1, 'T0': 2}
    """
    matches = [_WEIGHTS.fullmatch(line.strip()) for line in text.split("\n")]
    return {match[1]: len(match[2].split()) for match in matches if match}


def check_features(binary: Path, ini: MosesIni, path: str | Path) -> None:
    """Check that Moses reads the same features from an ini as this project, in the same order.

    Args:
        binary: The program.
        ini: The system.
        path: The path of the ini for Moses.

    Raises:
        DecoderError: Moses could not be run, refuses the ini, or reads other features from it.
        IniError: The features of the ini cannot be determined, or Moses does not have one of them.
    """
    refuse_in_moses(ini)
    command = [str(binary), "-f", str(path), "-show-weights"]
    try:
        process = processes.run(command, timeout=_SECONDS, **processes.CAPTURED)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DecoderError(f"{binary} cannot be run: {error}") from None
    if process.returncode:
        said = process.stderr.decode("utf-8", "replace").strip().split("\n")[-_LAST_LINES:]
        problem = f"Moses ended with status {process.returncode}: {' / '.join(said)}"
        raise DecoderError(problem, path=path, remedy=f"run it: {' '.join(command)}")
    found = weights_shown(process.stdout.decode("utf-8", "surrogateescape"))
    features = FeatureLayout.from_ini(ini).features
    expected = {each.name: each.components for each in features if any(each.tuneable)}
    if list(found.items()) != list(expected.items()):
        problem = f"Moses has the features {listed_sizes(found)}, expected {listed_sizes(expected)}"
        remedy = "use a version of Moses from 2017 or later"
        raise DecoderError(problem, path=path, remedy=remedy)
