"""Word alignment with the models of a library or with a program on PATH, in both directions.

Whatever aligns sees words as numbers, so that no tokeniser, escape or encoding of its own can get
in the way.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.system_building.alignment.links import (
    Links,
    check_links,
    read_links,
    select_links,
)
from moses_integration.system_building.alignment.symmetrization import grow_diag_final_and
from moses_integration.system_building.build_settings import Aligner
from moses_integration.system_building.corpus.numbered_text import NumberedText
from phrasescore.errors import CorpusError, MissingDependencyError
from phrasescore.runs import processes
from phrasescore.runs.final_names import open_output, own_file, scratch_folder
from phrasescore.runs.progress import Progress

PROGRAM = "program:"
# the library's own defaults
_FAST_ALIGN_ROUNDS, _IBM1_ROUNDS, _HMM_ROUNDS = 4, 5, 5
_PAIRS_AT_ONCE = 10_000


def align_words(
    source: NumberedText, target: NumberedText, aligner: Aligner, output: Path
) -> Links:
    """Align all sentence pairs in both directions, and join the two.

    Args:
        source: The source sentences.
        target: The target sentences.
        aligner: A model of sil-thot, or ``program:`` and a program on PATH.
        output: Where the links will be written; a program's temporary files stand beside it.

    Raises:
        MissingDependencyError: The library or the program is not there.
        CorpusError: The program failed.
    """
    if aligner.startswith(PROGRAM):
        name = aligner.removeprefix(PROGRAM)
        forward, backward = _align_with_program(name, source, target, output)
    else:
        forward = _align_with_model(aligner, source, target)
        reverse = _align_with_model(aligner, target, source)
        backward = Links(reverse.targets, reverse.sources, reverse.offsets)
    return grow_diag_final_and(forward, backward, source.lengths, target.lengths)


def _align_with_model(aligner: Aligner, source: NumberedText, target: NumberedText) -> Links:
    """Return the links of p(target | source), at most one for each target word."""
    rounds = _new_model(aligner)
    model = rounds[-1][0]
    for pair in zip(_sentences(source), _sentences(target), strict=True):
        model.add_sentence_pair(*pair, 1)
    with Progress(f"aligning ({aligner})", unit="rounds") as progress:
        for trained, count in rounds:
            trained.start_training()
            for _ in range(count or trained.scheduled_iterations):
                trained.train()
                progress.advance(1)
            trained.end_training()
    return _best_links(model, source, target)


def _new_model(aligner: Aligner) -> list[tuple[Any, int]]:
    """Return models to train one after the other, each with its rounds; the last one aligns."""
    try:
        from thot import alignment
    except ImportError:
        raise MissingDependencyError.extra("sil-machine with sil-thot", "alignment") from None
    if aligner == "fast_align":
        fast = alignment.FastAlignModel()
        fast.variational_bayes = True
        return [(fast, _FAST_ALIGN_ROUNDS)]
    if aligner == "eflomal":
        eflomal = alignment.EflomalAlignmentModel()
        eflomal.deterministic = True
        return [(eflomal, 0)]  # it makes its own schedule from the size of the corpus
    ibm1 = alignment.Ibm1AlignmentModel()
    hmm = alignment.HmmAlignmentModel(ibm1)
    return [(ibm1, _IBM1_ROUNDS), (hmm, _HMM_ROUNDS)]


def _sentences(text: NumberedText, begin: int = 0, end: int | None = None) -> Iterator[list[str]]:
    """Yield sentences whose words are their ids, as text."""
    for sentence in range(begin, len(text) if end is None else end):
        yield list(map(str, text.sentence(sentence)))


def _best_links(model: Any, source: NumberedText, target: NumberedText) -> Links:
    none = np.zeros(0, np.int32)
    sources, targets, counts = [none], [none], [np.zeros(1, np.int64)]
    for begin in range(0, len(source), _PAIRS_AT_ONCE):
        end = min(begin + _PAIRS_AT_ONCE, len(source))
        pairs = (list(_sentences(side, begin, end)) for side in (source, target))
        best = [np.nonzero(matrix.to_numpy()) for _, matrix in model.get_best_alignments(*pairs)]
        sources.extend(rows.astype(np.int32) for rows, _ in best)
        targets.extend(columns.astype(np.int32) for _, columns in best)
        counts.append(np.array([len(rows) for rows, _ in best], np.int64))
    return Links(
        np.concatenate(sources),
        np.concatenate(targets),
        np.cumsum(np.concatenate(counts)),
    )


def _align_with_program(
    name: str, source: NumberedText, target: NumberedText, output: Path
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
    with scratch_folder(output) as here:
        outputs = here / "forward", here / "backward"
        if name == "fast_align":
            _write_ids(here / "text", [source, target], b" ||| ")
            options = [program, "-i", str(here / "text"), "-d", "-o", "-v"]
            _run(options, here, outputs[0])
            _run([*options, "-r"], here, outputs[1])
        else:
            _write_ids(here / "source", [source], b"")
            _write_ids(here / "target", [target], b"")
            texts = ["-s", str(here / "source"), "-t", str(here / "target")]
            results = ["-f", str(outputs[0]), "-r", str(outputs[1])]
            _run([program, "--overwrite", *texts, *results], here, here / "output")
        links = [read_links(path) for path in outputs]
        lines = np.arange(1, len(source) + 1)
        for path, direction in zip(outputs, links, strict=True):
            every = select_links(direction, lines, len(source), path)
            check_links(every, lines, (source.lengths, target.lengths), path)
    return links[0], links[1]


def _write_ids(path: Path, sides: list[NumberedText], separator: bytes) -> None:
    """Write one sentence, or one pair, per line, each word as its id."""
    with open_output(path) as stream:
        for sentence in range(len(sides[0])):
            texts = (b" ".join(map(b"%d".__mod__, side.sentence(sentence))) for side in sides)
            stream.write(separator.join(texts) + b"\n")


def _run(command: list[str], folder: Path, output: Path) -> None:
    """Run a program; its output goes to a file, its messages are shown only if it fails."""
    log = folder / "log"
    with own_file(output, os.O_TRUNC) as stdout, own_file(log, os.O_TRUNC) as stderr:
        status = processes.run(command, stdout=stdout, stderr=stderr).returncode
    if status != 0:
        lines = [line for line in log.read_text("utf-8", "replace").split("\n") if line.strip()]
        said = lines[-1].strip() if lines else "it said nothing"
        raise CorpusError(f"{Path(command[0]).name} failed with status {status}: {said}")
