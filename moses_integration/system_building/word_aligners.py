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

The monotone aligner is for characters: a stochastic edit distance that is learned from the pairs.
The model generates a pair of sequences from left to right by independent operations: write a source
and a target symbol together, a source symbol alone, or a target symbol alone. The probabilities of
the operations are estimated by expectation maximisation. Then the most probable sequence of
operations is found for each pair, and symbols that are written together are linked (Ristad and
Yianilos 1998, "Learning String-Edit Distance", sections 2.2 and 2.3).

Word aligners such as fast_align have no monotone model. In spelling, symbols keep their order, so
links that cross are errors.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.build_settings import Aligner
from moses_integration.system_building.phrase_numbers import NumberedText
from moses_integration.system_building.word_alignment import Links, grow_diag_final_and
from phrasescore import errors
from phrasescore.compiled import borrowed, compiled
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
_CODE = """\
from moses_integration.system_building.word_aligners import align_one_way
from phrasescore.errors import PhrasescoreError
try:
    align_one_way(*sys.argv[1:])
except PhrasescoreError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""
_MONOTONE_ROUNDS = 10
_NONE = 0  # "no symbol", in an operation that writes only one symbol; ids of symbols begin at 1
# before the first round, a pair of equal symbols is this many times as probable as another pair
_EQUAL = 100.0
# added to the expected count of every operation, so that none becomes impossible
_FLOOR = 1e-3
# a pair with a lower scaled probability is not learned from: its two lengths differ too much
_TOO_UNEVEN = 1e-200
_MAX_OPERATIONS = 50_000_000
_SIDE_BY_SIDE, _SOURCE_ALONE, _TARGET_ALONE = 0, 1, 2
_Floats: TypeAlias = NDArray[np.float64]
_Symbols: TypeAlias = NDArray[np.int32]
# for source and target, the symbols of all pairs and the first symbol of each pair
_Texts: TypeAlias = tuple[_Symbols, NDArray[np.int64], _Symbols, NDArray[np.int64]]


def align_words(
    source: NumberedText,
    target: NumberedText,
    texts: Sequence[Path],
    aligner: Aligner,
    output: Path,
    *,
    threads: int,
) -> tuple[Links, dict[str, object]]:
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
        return align_monotonically(source, target), {"made_by": "phrasescore"}
    limit = _new_model(aligner).max_sentence_length
    too_long = int((np.maximum(source.lengths, target.lengths) > limit).sum())
    forward, reverse = _align_both_ways(texts, aligner, output, len(source), threads)
    backward = Links(reverse.targets, reverse.sources, reverse.offsets)
    links = grow_diag_final_and(forward, backward, source.lengths, target.lengths)
    seed = {"seed": _SEED} if aligner == "eflomal" else {}
    record: dict[str, object] = {"made_by": {_LIBRARY: version_of(_LIBRARY), **seed}}
    if too_long:
        pairs = errors.counted(too_long, "pair")
        told = f"{aligner} finds no link in {pairs} with more than {limit:,} words"
        record |= {"pairs_too_long": too_long, "notes": [told]}
    return links, record


def _new_model(aligner: str) -> Any:
    try:
        from thot import alignment
    except ImportError:
        raise errors.MissingDependencyError.extra(_LIBRARY, "alignment") from None
    model: Any
    if aligner == "fast_align":
        model = alignment.FastAlignModel()
        model.variational_bayes = True
        return model
    try:
        model = alignment.EflomalAlignmentModel()
    except AttributeError:
        raise errors.MissingDependencyError.extra(f"{_LIBRARY} 3.5 or later", "alignment") from None
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
        return [Links.read(file) for file in files]


def _shares_done(commands: Sequence[Sequence[str]], log: Path) -> Iterator[float]:
    """Run commands at the same time; yield the shares of their work that they print.

    Raises:
        StorageError: The disk is full.
        PhrasescoreError: A command failed.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    reading, writing = os.pipe()
    with contextlib.ExitStack() as stack:
        printed = stack.enter_context(os.fdopen(reading, "rb"))
        with os.fdopen(writing, "wb") as output, own_file(log, os.O_APPEND) as messages:
            started: list[subprocess.Popen[bytes]] = []
            for command in commands:
                process = processes.start(command, stdout=output, stderr=messages, env=environment)
                started.append(stack.enter_context(processes.waiting_for(process)))
        failed: list[subprocess.Popen[bytes]] = []
        for line in printed:  # the pipe ends with the last command
            yield float(line)
            if failed := [process for process in started if process.poll()]:
                break  # the error kills the other command
        for process in failed or started:
            if status := process.wait():
                end = f"signal {-status}" if status < 0 else processes.last_line(log)
                if status == errors.StorageError.exit_code:  # the last line has a remedy of its own
                    raise errors.StorageError(end)
                remedy = "give it more memory, or choose another --aligner"
                raise errors.PhrasescoreError(f"the word aligner failed: {end}", remedy=remedy)


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
    texts = NumberedText.read(source), NumberedText.read(target)
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
            _print_share(len(block) / len(texts[0]) * _BEST_LINKS[aligner] / work)


def _print_share(share: float) -> None:
    # one call, because the line of the other process must not begin inside this line
    os.write(sys.stdout.fileno(), b"%r\n" % share)


def _sentences(text: NumberedText) -> Iterator[list[str]]:
    """Yield sentences as lists of word ids in decimal text."""
    for sentence in range(len(text)):
        yield list(map(str, text.sentence(sentence)))


def align_monotonically(source: NumberedText, target: NumberedText) -> Links:
    """Align all pairs of sequences.

    Raises:
        CorpusError: There are too many distinct symbols for a table of all symbol pairs.
    """
    shape = len(source.words), len(target.words)
    if shape[0] * shape[1] > _MAX_OPERATIONS:
        raise errors.CorpusError(
            f"{shape[0] - 1:,} and {shape[1] - 1:,} distinct words are too many for the aligner "
            "monotone, which is for characters",
            remedy="give --characters, or choose another --aligner",
        )
    counts = np.full(shape, 1.0)
    place = {word: number for number, word in enumerate(target.words)}
    for number, word in enumerate(source.words):
        if number != _NONE and word in place:
            counts[number, place[word]] = _EQUAL
    texts = source.ids, source.starts, target.ids, target.starts
    with Progress("aligning (monotone)", unit="rounds") as progress:
        for _ in range(_MONOTONE_ROUNDS):
            counts = _expected_counts(texts, counts / counts.sum()) + _FLOOR
            progress.advance(1)
    counts[_NONE, _NONE] = 1.0  # no operation; its logarithm is never read
    max_links = int(np.minimum(source.lengths, target.lengths).sum())
    return _find_best(texts, np.log(counts / counts.sum()), max_links)


@compiled
def _expected_counts(texts: _Texts, prob: _Floats) -> _Floats:
    """Return the expected count of each operation, computed by the forward-backward algorithm."""
    source_ids, source_starts, target_ids, target_starts = borrowed(texts)
    counts = np.zeros(prob.shape)  # (source symbols, target symbols); 0 is no symbol
    for pair in range(source_starts.size - 1):
        s = source_ids[source_starts[pair] : source_starts[pair + 1] - 1]
        t = target_ids[target_starts[pair] : target_starts[pair + 1] - 1]
        forward, scale = _go_forward(s, t, prob)
        if forward[s.size, t.size] > _TOO_UNEVEN:
            _count_backward(s, t, prob, forward, scale, counts)
    return counts


@compiled
def _go_forward(s: _Symbols, t: _Symbols, prob: _Floats) -> tuple[_Floats, _Floats]:
    """Return the probability of every pair of prefixes, and the sums of the rows.

    Each row is divided by its sum, so that long sequences do not underflow.
    """
    forward, scale = np.empty((s.size + 1, t.size + 1)), np.zeros(s.size + 1)
    for i in range(s.size + 1):
        for j in range(t.size + 1):
            value = 1.0 if i == 0 and j == 0 else 0.0
            if i > 0:
                value += forward[i - 1, j] * prob[s[i - 1], _NONE]
            if j > 0:
                value += forward[i, j - 1] * prob[_NONE, t[j - 1]]
            if i > 0 and j > 0:
                value += forward[i - 1, j - 1] * prob[s[i - 1], t[j - 1]]
            forward[i, j] = value
            scale[i] += value
        forward[i] /= scale[i]
    return forward, scale


@compiled
def _count_backward(
    s: _Symbols, t: _Symbols, prob: _Floats, forward: _Floats, scale: _Floats, counts: _Floats
) -> None:
    """Add the expected count of every operation; rows are scaled as in `_go_forward`."""
    n, m = s.size, t.size
    backward = np.empty((n + 1, m + 1))
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            value = 1.0 / forward[n, m] if i == n and j == m else 0.0
            if i < n:
                after = backward[i + 1, j] * prob[s[i], _NONE] / scale[i + 1]
                counts[s[i], _NONE] += forward[i, j] * after
                value += after
            if j < m:
                after = backward[i, j + 1] * prob[_NONE, t[j]]
                counts[_NONE, t[j]] += forward[i, j] * after
                value += after
            if i < n and j < m:
                after = backward[i + 1, j + 1] * prob[s[i], t[j]] / scale[i + 1]
                counts[s[i], t[j]] += forward[i, j] * after
                value += after
            backward[i, j] = value


@compiled
def _find_best(texts: _Texts, log_prob: _Floats, max_links: int) -> Links:
    """Return the links on each pair's most probable path; if steps tie, a link is preferred."""
    source_ids, source_starts, target_ids, target_starts = borrowed(texts)
    links = np.empty((2, max_links), np.int32)
    offsets = np.zeros(source_starts.size, np.int64)
    used = 0
    for pair in range(source_starts.size - 1):
        s = source_ids[source_starts[pair] : source_starts[pair + 1] - 1]
        t = target_ids[target_starts[pair] : target_starts[pair + 1] - 1]
        best = np.empty((s.size + 1, t.size + 1))
        how = np.empty(best.shape, np.uint8)
        for i in range(s.size + 1):
            for j in range(t.size + 1):
                best[i, j] = 0.0 if i == 0 and j == 0 else -np.inf
                if i > 0 and j > 0:
                    best[i, j] = best[i - 1, j - 1] + log_prob[s[i - 1], t[j - 1]]
                    how[i, j] = _SIDE_BY_SIDE
                if i > 0 and best[i - 1, j] + log_prob[s[i - 1], _NONE] > best[i, j]:
                    best[i, j] = best[i - 1, j] + log_prob[s[i - 1], _NONE]
                    how[i, j] = _SOURCE_ALONE
                if j > 0 and best[i, j - 1] + log_prob[_NONE, t[j - 1]] > best[i, j]:
                    best[i, j] = best[i, j - 1] + log_prob[_NONE, t[j - 1]]
                    how[i, j] = _TARGET_ALONE
        found = _trace(how, s.size, t.size, links[:, used:])
        links[:, used : used + found] = links[:, used : used + found][:, ::-1].copy()
        used += found
        offsets[pair + 1] = used
    return Links(links[0, :used].copy(), links[1, :used].copy(), offsets)


@compiled
def _trace(how: NDArray[np.uint8], i: int, j: int, links: _Symbols) -> int:
    """Write the links of the path to (i, j), the last link first; return the number of links."""
    found = 0
    while i > 0 or j > 0:
        step = how[i, j]
        if step != _TARGET_ALONE:
            i -= 1
        if step != _SOURCE_ALONE:
            j -= 1
        if step == _SIDE_BY_SIDE:
            links[0, found], links[1, found] = i, j
            found += 1
    return found
