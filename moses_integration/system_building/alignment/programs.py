"""Word alignment by an outside program on PATH: eflomal-align or fast_align."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from moses_integration.system_building.alignment.links import (
    Links,
    check_links,
    read_links,
    select_links,
)
from moses_integration.system_building.corpus.numbered_text import NumberedText
from phrasescore.errors import CorpusError, MissingDependencyError
from phrasescore.files import open_output


def align_with_program(
    name: str, source: NumberedText, target: NumberedText, folder: Path
) -> tuple[Links, Links]:
    """Run ``fast_align`` twice or ``eflomal-align`` once, on words written as numbers.

    Returns:
        The links of p(target | source), and those of p(source | target).

    Raises:
        MissingDependencyError: The program is not on PATH.
        CorpusError: It failed, or gave something else than an alignment of these sentences.
    """
    program = shutil.which(name)
    if program is None:
        raise MissingDependencyError(
            f"there is no program {name} on PATH",
            remedy="install it, or choose a model of the library with --aligner fast_align",
        )
    with tempfile.TemporaryDirectory(prefix=".alignment-", dir=folder) as scratch:
        here = Path(scratch)
        outputs = here / "forward", here / "backward"
        if name == "fast_align":
            _write_sentences(here / "text", [source, target], b" ||| ")
            options = [program, "-i", str(here / "text"), "-d", "-o", "-v"]
            _run(options, here, outputs[0])
            _run([*options, "-r"], here, outputs[1])
        else:
            _write_sentences(here / "source", [source], b"")
            _write_sentences(here / "target", [target], b"")
            texts = ["-s", str(here / "source"), "-t", str(here / "target")]
            results = ["-f", str(outputs[0]), "-r", str(outputs[1])]
            _run([program, "--overwrite", *texts, *results], here, here / "output")
        links = [read_links(output) for output in outputs]
        lines = np.arange(1, len(source) + 1)
        for output, direction in zip(outputs, links, strict=True):
            every = select_links(direction, lines, len(source), output)
            check_links(every, lines, (source.lengths, target.lengths), output)
    return links[0], links[1]


def _write_sentences(path: Path, sides: list[NumberedText], separator: bytes) -> None:
    """Write one sentence, or one pair, per line, each word as its id."""
    with open_output(path) as stream:
        for sentence in range(len(sides[0])):
            stream.write(separator.join(_sentence(side, sentence) for side in sides) + b"\n")


def _sentence(side: NumberedText, sentence: int) -> bytes:
    ids = side.ids[side.starts[sentence] : side.starts[sentence + 1] - 1]
    return b" ".join(b"%d" % number for number in ids.tolist())


def _run(command: list[str], folder: Path, output: Path) -> None:
    """Run a program; its output goes to a file, its messages are shown only if it fails."""
    log = folder / "log"
    with output.open("wb") as stdout, log.open("wb") as stderr:
        status = subprocess.run(command, stdout=stdout, stderr=stderr, check=False).returncode
    if status != 0:
        lines = [line for line in log.read_text("utf-8", "replace").split("\n") if line.strip()]
        said = lines[-1].strip() if lines else "it said nothing"
        raise CorpusError(f"{Path(command[0]).name} failed with status {status}: {said}")
