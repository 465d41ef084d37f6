"""Chooses translations from an n-best list by weighted sums of its features, or by risk.

A candidate's score is the weighted sum, in double precision, of its dense features and of the
sparse features that have a weight. ``optimize`` chooses candidates by the same scores. Lists are
read one sentence at a time. Of equally good candidates the first in the list is chosen, because the
decoder ranked it higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moses_integration.bleu import References, bleu_of_sums
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.nbest.arrays import Candidates, NBestReader
from phrasescore.errors import IniError, NBestError, counted
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import read_lines
from phrasescore.words.token_sequences import offsets_of
from phrasescore.words.word_table import WordTable
from tuning.loop.tuning_settings import Reranking
from tuning.loop.weight_files import read_weights
from tuning.optimizers.optimizer import Weights

_SMOOTHED_FROM = 2  # the lowest smoothed order, as in Moses's mbr.cpp
# risks that differ by less are equal but for rounding
_ROUNDING = 1e-12
Floats = NDArray[np.float64]


@dataclass
class RerankingReport:
    """Counts of a reranking.

    Args:
        sentences: The number of lines written.
        candidates: The number of candidates in the list.
        moved: The number of sentences whose translation is not the first in the list.
        notes: Warnings for the user.
    """

    sentences: int = 0
    candidates: int = 0
    moved: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{counted(self.sentences, 'sentence')}, {counted(self.candidates, 'candidate')}; "
        return text + f"{counted(self.moved, 'translation')} other than the list's first"


def rerank(task: Reranking) -> RerankingReport:
    """Write the best candidate of every sentence, one per line.

    Raises:
        NBestError: The list is malformed, does not match the source, or lacks candidates for a
            sentence.
        IniError: The weights do not fit the features of the list.
    """
    report, given, sparse = RerankingReport(), None, None
    if task.weights is not None:
        given, report.notes = read_weights(task.weights)
        # this may include dense features, but the reader looks up only names of sparse features
        sparse = {name: each[0] for name, each in given.items() if "_" in name and len(each) == 1}
    reader = NBestReader(task.nbest, WordTable(), sparse_weights=sparse, with_words=True)
    weights: Weights | None = None
    with open_output(task.output) as output, Progress("reranking", unit="candidates") as progress:
        for candidates in _aligned_candidates(reader.sentences(), task):
            report.sentences += 1
            if candidates is None:
                output.write(b"\n")
                continue
            if given is not None and weights is None:
                weights = _weights_in_order(given, candidates.sizes, task)
            output.write(_choose(candidates, weights, task, report) + b"\n")
            progress.advance(len(candidates))
    if given is not None and reader.unweighted:
        note = f"sparse features without a weight count as 0, such as {reader.unweighted}"
        report.notes += (note,)
    return report


def _aligned_candidates(
    sentences: Iterator[Candidates], task: Reranking
) -> Iterator[Candidates | None]:
    """Yield the candidates of each sentence, or ``None`` if its source line is empty.

    Raises:
        NBestError: A sentence has no candidate, or is not in the source.
    """
    empty = None
    if task.source is not None:
        empty = [not line.strip(b" \t\r") for line in read_lines(task.source)]

    def gap(begin: int, end: int, line: int) -> Iterator[None]:
        for missing in range(begin, end):
            if not (empty and empty[missing]):
                raise NBestError(
                    f"sentence {missing} has no candidate",
                    path=task.nbest,
                    line=line,
                    remedy=f"decode line {missing + 1} of the text again; if it is empty, name the "
                    "text with --source",
                )
            yield None

    expected, line = 0, 1
    for candidates in sentences:
        sentence, line = int(candidates.sentences[0]), int(candidates.lines[0])
        if empty is not None and sentence >= len(empty):
            raise NBestError(
                f"sentence {sentence} (counted from 0), but the source has {len(empty):,} lines",
                path=task.nbest,
                line=line,
                remedy="name the text that the list was made from as --source",
            )
        yield from gap(expected, sentence, line)
        yield candidates
        expected, line = sentence + 1, int(candidates.lines[-1])
    yield from gap(expected, len(empty or ()), line)


def _weights_in_order(
    given: Mapping[str, tuple[float, ...]], sizes: Mapping[str, int], task: Reranking
) -> Weights:
    """Return (F,) the weights of the dense features of a list, in the list's order.

    Raises:
        IniError: A feature has no weight or a wrong number of weights, or a weight has no feature.
    """
    dense = {
        name: values
        for name, values in given.items()
        if name in sizes or len(values) != 1 or name.partition("_")[0] not in sizes
    }
    try:
        return FeatureLayout.from_sizes(sizes).flatten(dense)
    except IniError as error:
        error.remedy = f"give weights that were optimised for lists such as {task.nbest}"
        raise error.at(str(task.weights)) from None


def _choose(
    candidates: Candidates, weights: Weights | None, task: Reranking, report: RerankingReport
) -> bytes:
    """Return the words of one sentence's best candidate, and update the counts of the report."""
    words, scores = candidates.words, candidates.totals
    if weights is not None:
        scores = (candidates.features * weights).sum(1) + candidates.sparse
        if not np.isfinite(scores).all():
            raise NBestError(
                "the weighted sum of the features is not finite",
                path=task.nbest,
                line=int(candidates.lines[np.argmin(np.isfinite(scores))]),
                remedy="find the feature with scores that are not finite, and correct its model",
            )
    best = int(scores.argmax())
    if task.minimum_bayes_risk:
        places, losses = _risks(words, scores, task)
        best = int(places[losses <= losses.min() + _ROUNDING][0])
    report.candidates += len(words)
    report.moved += words[best] != words[0]
    return words[best]


def _risks(
    words: Sequence[bytes], scores: Floats, task: Reranking
) -> tuple[NDArray[np.int64], Floats]:
    """Return the rows of the compared candidates, in the list's order, and the risk of each.

    As in Moses, only distinct translations are compared, each with the score of its best candidate.
    """
    best: dict[bytes, int] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(words[place], place)
        if len(best) == task.mbr_size:
            break
    places = np.sort(np.fromiter(best.values(), np.int64, len(best)))
    return places, expected_losses([words[i] for i in places], scores[places], task.mbr_scale)


def expected_losses(candidates: Sequence[bytes], scores: ArrayLike, scale: float = 1.0) -> Floats:
    """Return the risk of every candidate (Kumar and Byrne 2004), as ``moses -mbr`` computes it.

    The risk of a candidate ``c`` is its expected loss: p(r) (1 - BLEU(c, r)), summed over all
    candidates ``r`` of the list. The probability p(r) is proportional to exp(scale * model score).
    BLEU is computed for single sentences, with add-one smoothing of orders 2 to 4.

    Args:
        candidates: N translations of one sentence, words separated by spaces.
        scores: The model scores (ln, not necessarily normalised), shape (N,).
        scale: The factor of the scores; with 0, all candidates are equally probable.

    Returns:
        Expected losses, between 0 and 1, shape (N,).

    >>> expected_losses([b"a b c d", b"a b c d", b"e"], [0.0, 0.0, -100.0]).round(3).tolist()
    [0.0, 0.0, 1.0]
    """
    count = len(candidates)
    scaled = scale * np.asarray(scores, np.float64)
    weights = np.exp(scaled - scaled.max())
    weights /= weights.sum()
    references = References([candidates])
    tokens, offsets = references.encode(candidates)
    # score every candidate with each candidate as its reference
    sizes = np.tile(np.diff(offsets), count)
    pairs = references.score_tokens(
        np.repeat(np.arange(count), count), np.tile(tokens, count), offsets_of(sizes)
    )
    losses = 1.0 - bleu_of_sums(pairs, added=1.0, first_order=_SMOOTHED_FROM).reshape(count, count)
    np.fill_diagonal(losses, 0.0)
    return weights @ losses
