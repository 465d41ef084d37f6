"""Word alignment of a whole text: by the library sil-thot in both directions, or monotone.

fast_align (Dyer, Chahuneau and Smith 2013) estimates its model by expectation maximisation, eflomal
(Östling and Tiedemann 2016) by Gibbs sampling. Both give links of one direction, at most one for
each target word.

The library holds Python's lock while it trains. Therefore each direction is aligned by a process of
its own, both at the same time if there are two threads. The processes are started afresh: a fork
would copy the memory of this process, and could wait for ever for a lock that one of its threads
holds. Each process has one thread of OpenMP. With more, fast_align adds its expected counts in an
order that changes from run to run, and rounding moves a few links. The library receives words as
numbers, because it gives a few words a special meaning.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.system_building.build_settings import Aligner
from moses_integration.system_building.monotone_alignment import align_monotonically
from moses_integration.system_building.phrase_numbers import NumberedText, read_numbered_text
from moses_integration.system_building.word_alignment import Links, grow_diag_final_and, read_links
from phrasescore.errors import MissingDependencyError, PhrasescoreError, counted
from phrasescore.runs import processes
from phrasescore.runs.final_names import open_output, own_file, scratch_folder
from phrasescore.runs.identity import version_of
from phrasescore.runs.progress import Progress

_LIBRARY = "sil-thot"
_SEED = 1351155463  # of eflomal; the library's own default
_ROUNDS = 4  # of fast_align; the library's own default
# the time of finding the best links, in rounds of training: eflomal samples again for each pair
_BEST_LINKS = {"fast_align": 1, "eflomal": 27}
_PAIRS_AT_ONCE = 1_000
_CODE = "from moses_integration.system_building.word_aligners import align_one_way\n"
_CODE += "align_one_way(*sys.argv[1:])\n"


def align_words(
    source: NumberedText,
    target: NumberedText,
    texts: Sequence[Path],
    aligner: Aligner,
    output: Path,
    *,
    threads: int,
) -> tuple[Links, dict[str, Any]]:
    """Align all sentence pairs; join the links of both directions by grow-diag-final-and.

    Args:
        source: The source sentences.
        target: The target sentences.
        texts: The files of these sentences, with one space between words.
        aligner: The aligner.
        output: The future file of the links; temporary files are written beside it.
        threads: The number of threads; the links do not depend on it.

    Returns:
        The links; and for the record, the version and the seed that determine them, and notes.

    Raises:
        MissingDependencyError: The library is not installed, or too old.
        PhrasescoreError: A process of the aligner failed.
    """
    if aligner == "monotone":  # one direction is enough, because both would give the same links
        found, offsets = align_monotonically(source, target)
        return Links(found[0], found[1], offsets), {"made_by": "phrasescore"}
    model = _new_model(aligner)
    limit = model.max_sentence_length
    too_long = int((np.maximum(source.lengths, target.lengths) > limit).sum())
    forward, reverse = _align_both_ways(texts, aligner, output, len(source), threads)
    backward = Links(reverse.targets, reverse.sources, reverse.offsets)
    links = grow_diag_final_and(forward, backward, source.lengths, target.lengths)
    record: dict[str, Any] = {"made_by": {_LIBRARY: version_of(_LIBRARY)}}
    if aligner == "eflomal":
        record["made_by"]["seed"] = _SEED
    if too_long:
        told = (
            f"{aligner} finds no link in {counted(too_long, 'pair')} with more than {limit:,} words"
        )
        record |= {"pairs_too_long": too_long, "notes": [told]}
    return links, record


def _new_model(aligner: str) -> Any:
    try:
        from thot import alignment
    except ImportError:
        raise MissingDependencyError.extra(_LIBRARY, "alignment") from None
    model: Any
    if aligner == "fast_align":
        model = alignment.FastAlignModel()
        model.variational_bayes = True
        return model
    try:
        model = alignment.EflomalAlignmentModel()
    except AttributeError:
        raise MissingDependencyError.extra(f"{_LIBRARY} 3.5 or later", "alignment") from None
    model.seed = _SEED
    return model


def _align_both_ways(
    texts: Sequence[Path], aligner: Aligner, output: Path, pairs: int, threads: int
) -> list[Links]:
    """Return the links of p(target | source) and of p(source | target)."""
    with (
        scratch_folder(output) as folder,
        Progress(f"aligning ({aligner})", 2 * pairs, "sentence pairs") as progress,
    ):
        files = [folder / "forward", folder / "reverse"]
        commands = [
            processes.python_command(_CODE, [aligner, *map(str, way), str(file)])
            for way, file in zip((texts, texts[::-1]), files, strict=True)
        ]
        for group in [commands] if threads > 1 else [[command] for command in commands]:
            for share in _shares_done(group, folder / "log"):
                progress.advance(share * pairs)
        return [read_links(file) for file in files]


def _shares_done(commands: Sequence[Sequence[str]], log: Path) -> Iterator[float]:
    """Run commands at the same time; yield the shares of their work that they print.

    Raises:
        PhrasescoreError: A command failed.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    reading, writing = os.pipe()
    with contextlib.ExitStack() as stack:
        printed = stack.enter_context(os.fdopen(reading, "rb"))
        with os.fdopen(writing, "wb") as output, own_file(log, os.O_APPEND) as messages:
            started = [
                stack.enter_context(processes.waiting_for(process))
                for process in (
                    processes.start(command, stdout=output, stderr=messages, env=environment)
                    for command in commands
                )
            ]
        failed: list[subprocess.Popen[bytes]] = []
        for line in printed:  # the pipe ends with the last command
            yield float(line)
            if failed := [process for process in started if process.poll()]:
                break  # the error kills the other command
        for process in failed or started:
            if status := process.wait():
                end = f"signal {-status}" if status < 0 else processes.last_line(log)
                raise PhrasescoreError(
                    f"the word aligner failed: {end}",
                    remedy="give it more memory, or choose another --aligner",
                )


def align_one_way(aligner: str, source: str, target: str, output: str) -> None:
    """Write the links of p(target | source); print each finished share of the work.

    The process of one direction runs this function.

    Args:
        aligner: ``fast_align`` or ``eflomal``.
        source: The file of the source sentences.
        target: The file of the target sentences.
        output: The file of the links.
    """
    model = _new_model(aligner)
    texts = read_numbered_text(source), read_numbered_text(target)
    for pair in zip(*map(_sentences, texts), strict=True):
        model.add_sentence_pair(*pair, 1)
    model.start_training()
    rounds = model.scheduled_iterations if aligner == "eflomal" else _ROUNDS
    work = rounds + _BEST_LINKS[aligner]
    for _ in range(rounds):
        model.train()
        _print_share(1 / work)
    model.end_training()
    pairs = zip(*map(_sentences, texts), strict=True)
    with open_output(output) as stream:
        while block := list(islice(pairs, _PAIRS_AT_ONCE)):
            for _, matrix in model.get_best_alignments(*map(list, zip(*block, strict=True))):
                links = np.argwhere(matrix.to_numpy()).tolist()
                stream.write(b" ".join(b"%d-%d" % (s, t) for s, t in links) + b"\n")
            share = len(block) / len(texts[0])
            _print_share(share * _BEST_LINKS[aligner] / work)


def _print_share(share: float) -> None:
    # one call, because the line of the other process must not begin inside this line
    os.write(sys.stdout.fileno(), b"%r\n" % share)


def _sentences(text: NumberedText) -> Iterator[list[str]]:
    """Yield sentences as lists of word ids in decimal text."""
    for sentence in range(len(text)):
        yield list(map(str, text.sentence(sentence)))
