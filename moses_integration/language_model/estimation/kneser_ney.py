"""Interpolated modified Kneser-Ney estimation, number for number what KenLM's lmplz gives.

Sources: Chen and Goodman (1998), section 3, for the estimate; Heafield et al. (2013), "Scalable
Modified Kneser-Ney Language Model Estimation", for the streams. An n-gram a of order n with the
context c (all but its last word) and the suffix s (all but its first word) has

    p(a) = (count(a) - D_n(count(a))) / total(c) + gamma(c) p(s)

where count is, in the highest order and after ``<s>``, how often a occurs, and otherwise how many
different words precede it (the adjusted count); total and gamma sum over the n-grams with
context c; and p of the empty suffix is uniform over the vocabulary with ``<unk>``, without
``<s>``. All arithmetic is in float32 and in lmplz's order, so that the digits agree.

Where lmplz is on PATH, it runs instead. Both give the same file, byte for byte; lmplz can also sort
what does not fit in memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.arpa import open_arpa
from moses_integration.language_model.estimation.arpa_writing import open_arpa_writer
from moses_integration.language_model.estimation.ngram_counting import (
    BEGIN,
    HIGHEST_ORDER,
    SPECIAL_WORDS,
    Corpus,
    NGramCounts,
    SortedPositions,
    count_ngrams,
    count_types,
    no_words,
    read_corpus,
    sort_positions,
)
from phrasescore.errors import CorpusError, MissingDependencyError, SettingsError, visible
from phrasescore.runs import processes
from phrasescore.runs.final_names import open_output, own_file, scratch_folder
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import open_input

FALLBACK = (0.5, 1.0, 1.5)  # those of lmplz --discount_fallback
ON_PATH = "auto"
OWN = "own"
_MEMORY = "1G"  # for lmplz's sorting, whose default is most of the machine
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Discounts:
    """What is taken from a count of 1, of 2, and of 3 and more.

    Attributes:
        amounts: The three discounts.
        estimated: False where the fallback is used, because no estimate was possible.
    """

    amounts: tuple[float, float, float]
    estimated: bool


@dataclass(frozen=True)
class Estimate:
    """What a model was estimated from, for a report.

    Attributes:
        sentences: Sentences in the corpus.
        tokens: Words in the corpus, without special ones.
        types: n-grams in the model, order 1 first.
        discounts: The discounts of each order.
    """

    sentences: int
    tokens: int
    types: tuple[int, ...]
    discounts: tuple[Discounts, ...]


def write_arpa(
    corpus_path: str | Path,
    order: int,
    output: str | Path,
    *,
    fallback: Sequence[float] = FALLBACK,
) -> Estimate:
    """Estimate a model and write it as lmplz does; a name ending in ``.gz`` is compressed.

    Args:
        corpus_path: One sentence per line, words separated by blanks; plain or gzip.
        order: The longest n-gram, 1 to 6 words.
        output: The ARPA file to write; it gets its name only when it is whole.
        fallback: Discounts for orders where they cannot be estimated (small or artificial data).

    Raises:
        SettingsError: The order or the fallback is out of range.
        CorpusError: The corpus holds no word, or a special word.
    """
    check_order(order)
    if len(fallback) != 3 or any(not 0 <= d <= n for n, d in enumerate(fallback, 1)):
        raise SettingsError(
            f"fallback discounts {tuple(fallback)}: expected three, at most 1, 2 and 3"
        )
    corpus = read_corpus(corpus_path, order)
    by_words = sort_positions(corpus, order)
    types = count_types(corpus, by_words, order)
    discounts: list[Discounts] = []
    with (
        open_arpa_writer(output, corpus, types) as writer,
        Progress("language model", sum(types), "n-grams") as progress,
    ):
        below = None
        for length in range(1, order + 1):
            ngrams = count_ngrams(corpus, by_words, length, highest=order)
            count = _adjusted_counts(corpus, ngrams, order)
            discounts.append(_estimate_discounts(ngrams, count, by_words, order, fallback))
            weights = _weigh(corpus, ngrams, count, discounts[-1], below)
            if below is not None:
                writer.write(below.ngrams, below.prob, weights.gamma)
                progress.advance(types[length - 2])
            below = weights
        assert below is not None
        writer.write(below.ngrams, below.prob, None)
    return Estimate(corpus.sentences, corpus.tokens, types, tuple(discounts))


def check_order(order: int) -> None:
    """Raise `SettingsError` unless a model of this order can be estimated."""
    if not 1 <= order <= HIGHEST_ORDER:
        raise SettingsError(f"language model order {order}: expected 1 to {HIGHEST_ORDER}")


def _adjusted_counts(corpus: Corpus, ngrams: NGramCounts, order: int) -> NDArray[np.int32]:
    """Return the counts that probabilities are made from, shape (n-grams,)."""
    if ngrams.order == order:
        return ngrams.occurrences
    after_begin = corpus.ids[ngrams.last - ngrams.order + 1] == BEGIN
    return np.where(after_begin, ngrams.occurrences, ngrams.extensions)


def _estimate_discounts(
    ngrams: NGramCounts,
    count: NDArray[np.int32],
    by_words: SortedPositions,
    order: int,
    fallback: Sequence[float],
) -> Discounts:
    """Return the closed-form estimates of one order (Chen and Goodman 1998, equation 26)."""
    # numbers of n-grams that occur once, twice, three times, four times
    n = np.bincount(np.minimum(count, 5), minlength=6)
    last = int(ngrams.number_at[by_words.positions[-1]]) if ngrams.order < order else -1
    if last >= 0:
        # lmplz enters the very last n-gram with its raw count; so must we, for equal digits
        n[min(int(count[last]), 5)] -= 1
        n[min(int(ngrams.occurrences[last]), 5)] += 1
    substitute = Discounts((fallback[0], fallback[1], fallback[2]), estimated=False)
    if not n[1:4].all():
        return substitute
    single = np.float32
    y = single(n[1]) / single(n[1] + 2.0 * n[2])
    amounts = [single(k) - single(k + 1) * y * single(n[k + 1]) / single(n[k]) for k in range(1, 4)]
    # a discount of 0, which lmplz keeps, may leave a context no weight for what it has not seen
    if any(not 0 < amount <= k for k, amount in enumerate(amounts, 1)):
        return substitute
    return Discounts((float(amounts[0]), float(amounts[1]), float(amounts[2])), estimated=True)


@dataclass(frozen=True)
class _Weights:
    """The n-grams of one order with their probabilities, and what contexts leave to lower orders.

    Attributes:
        ngrams: The n-grams.
        prob: Their interpolated probabilities, shape (n-grams,).
        gamma: The weight of the lower order in each context, shape (contexts,); 1 after contexts
            that nothing follows.
    """

    ngrams: NGramCounts
    prob: NDArray[np.float32]
    gamma: NDArray[np.float32]


def _weigh(
    corpus: Corpus,
    ngrams: NGramCounts,
    count: NDArray[np.int32],
    discounts: Discounts,
    below: _Weights | None,
) -> _Weights:
    """Estimate the probabilities of one order from its counts and the order ``below``."""
    amounts = np.array([0.0, *discounts.amounts], np.float32)
    if below is None:
        context = suffix = np.zeros(count.size, np.int32)
        # without <s>, which is never predicted
        lower = np.array([1.0 / float(np.float32(len(corpus.words) - 1))], np.float32)
    else:
        context = below.ngrams.number_at[ngrams.last - 1]
        suffix = below.ngrams.number_at[ngrams.last]
        lower = below.prob
    total, gamma = _sum_contexts(count, context, amounts, lower.size)
    prob = _interpolate(count, context, suffix, amounts, total, gamma, lower)
    if below is None:
        prob[BEGIN] = 1.0  # as lmplz has it: <s> costs nothing where it is scored
    return _Weights(ngrams, prob, gamma)


def _sum_contexts(
    count: NDArray[np.int32],
    context: NDArray[np.int32],
    amounts: NDArray[np.float32],
    contexts: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the total count after each context, and the weight left to the lower order."""
    total = np.bincount(context, count, contexts).astype(np.float32)  # exact up to there
    mass = np.zeros(contexts, np.float32)
    for kind in range(1, 4):  # n-grams seen once, twice, more often
        chosen = context[count == kind if kind < 3 else count >= kind]
        mass += amounts[kind] * np.bincount(chosen, minlength=contexts).astype(np.float32)
    gamma = np.ones(contexts, np.float32)
    np.divide(mass, total, out=gamma, where=total > 0)
    return total, gamma


def _interpolate(
    count: NDArray[np.int32],
    context: NDArray[np.int32],
    suffix: NDArray[np.int32],
    amounts: NDArray[np.float32],
    total: NDArray[np.float32],
    gamma: NDArray[np.float32],
    lower: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return the interpolated probability of each n-gram, shape (n-grams,)."""
    prob = count.astype(np.float32)
    prob -= amounts[np.minimum(count, 3)]
    prob /= total[context]
    prob += gamma[context] * lower[suffix]
    return prob


@dataclass(frozen=True)
class BuiltLanguageModel:
    """What was built, for a report.

    Attributes:
        estimator: ``lmplz`` with its path, or ``own``.
        types: n-grams in the model, order 1 first.
    """

    estimator: str
    types: tuple[int, ...]


def build_language_model(
    corpus: str | Path, order: int, output: str | Path, *, lmplz: str = ON_PATH
) -> BuiltLanguageModel:
    """Estimate an interpolated modified Kneser-Ney model and write it as ARPA.

    Args:
        corpus: One tokenised sentence per line; plain or gzip.
        order: The longest n-gram, 1 to 6 words.
        output: The ARPA file; a name ending in ``.gz`` is compressed.
        lmplz: The program to use: ``auto`` for lmplz if it is on PATH and our estimator if not,
            ``own`` for our estimator, anything else is the program's path.

    Raises:
        SettingsError: The order is out of range.
        CorpusError: The corpus holds no word, or one of ``<s>``, ``</s>`` and ``<unk>``.
        MissingDependencyError: The program named is not there.
    """
    check_order(order)
    program = find_lmplz(lmplz)
    if program is not None:
        return BuiltLanguageModel(f"lmplz ({program})", _run_lmplz(program, corpus, order, output))
    return BuiltLanguageModel(OWN, write_arpa(corpus, order, output).types)


def find_lmplz(lmplz: str) -> str | None:
    """Return the path of the program that is asked for, or ``None`` for our own estimator.

    Args:
        lmplz: As in :func:`build_language_model`.

    Raises:
        MissingDependencyError: The program named is not there.
    """
    program = None if lmplz == OWN else shutil.which("lmplz" if lmplz == ON_PATH else lmplz)
    if program is None and lmplz not in (ON_PATH, OWN):
        raise MissingDependencyError(
            f"there is no program {visible(os.fsencode(lmplz), 200)}",
            remedy="name the path of KenLM's lmplz, auto or own",
        )
    return program


def _run_lmplz(program: str, corpus: str | Path, order: int, output: str | Path) -> tuple[int, ...]:
    parent = Path(output).parent
    if not parent.is_dir():
        raise SettingsError("there is no such folder", path=parent, remedy="name another output")
    with scratch_folder(output) as folder:
        arpa, log = folder / "model.arpa", folder / "log"
        command = [program, "-o", str(order), "-S", _MEMORY, "-T", str(folder), "--arpa", str(arpa)]
        status = _feed([*command, "--discount_fallback"], corpus, log)
        if status != 0:
            read_corpus(corpus, order)  # which names the line if the text is to blame
            reason = _last_line(log.read_text("utf-8", "replace"))
            raise CorpusError(f"lmplz failed with status {status}: {reason}", path=corpus)
        with open_arpa(arpa) as model:
            types = model.counts
        if types[0] <= len(SPECIAL_WORDS):
            raise no_words(corpus)
        with arpa.open("rb") as whole, open_output(output) as target:
            shutil.copyfileobj(whole, target, _BLOCK)
    return types


def _feed(command: list[str], corpus: str | Path, log: Path) -> int:
    """Run ``command`` with the corpus as its input and its messages in ``log``."""
    with open_input(corpus) as text, own_file(log, os.O_TRUNC) as messages:
        process = processes.start(command, stdin=subprocess.PIPE, stderr=messages)
        try:
            assert process.stdin is not None
            with process.stdin as stdin:
                shutil.copyfileobj(text, stdin, _BLOCK)
        except BrokenPipeError:
            pass  # it stopped early; its status says why
        except BaseException:
            process.kill()
            raise
        finally:
            status = process.wait()
    return status


def _last_line(log: str) -> str:
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    return lines[-1].rstrip(".") if lines else "it said nothing"
