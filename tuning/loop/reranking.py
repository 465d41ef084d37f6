"""Translations chosen anew from an n-best list: by weighted sums of its features, or by risk.

A candidate's score is the sum of its dense features times their weights, in double precision, and
of the sparse ones that have a weight; that is what ``optimize`` maximises BLEU over. Lists go past
sentence by sentence. Ties are not broken silently: which of two equally good candidates is taken
must not depend on the order in which a decoder happened to print them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.settings import RiskSettings
from moses_integration.nbest.arrays import Candidates, NBestReader
from moses_integration.nbest.minimum_bayes_risk import expected_losses
from moses_integration.nbest.segmentation import without_marks
from phrasescore.errors import NBestError, SettingsError, counted
from phrasescore.runs.file_kinds import STANDARD_STREAM, refuse_same_file
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import read_lines
from phrasescore.words.word_table import WordTable
from tuning.loop.weights import GivenWeights
from tuning.optimizers.optimizer import Weights

Ties = Literal["error", "first"]
# sums that differ by less than this share of their terms differ by rounding alone
_ROUNDING = 1e-12
Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Reranking:
    """What to choose from, and how.

    Args:
        nbest: The list.
        output: Where translations go, one a line; ``-`` is standard output.
        weights: A weights file or a moses.ini; ``None`` for the list's own totals.
        risk: How to choose by risk; ``None`` for the highest score.
        source: The text that the list translates, to check that no sentence is missing.
        ties: What to do where candidates with different words are equally good.

    Raises:
        SettingsError: There is nothing to choose by.
    """

    nbest: str
    output: str
    weights: str | None = None
    risk: RiskSettings | None = None
    source: str | None = None
    ties: Ties = "error"

    def __post_init__(self) -> None:
        if self.weights is None and self.risk is None:
            raise SettingsError(
                "nothing says how to choose",
                remedy="give --weights FILE, --minimum-bayes-risk, or both",
            )
        if self.nbest == self.source == STANDARD_STREAM:
            raise SettingsError(
                "the list and its source would both come from standard input",
                remedy="give one of them as a file",
            )


@dataclass(frozen=True)
class RerankingReport:
    """What was done.

    Args:
        sentences: How many lines were written.
        candidates: How many there were to choose from.
        moved: For how many sentences the choice is not the list's first.
        ties: In how many sentences the first of several equally good ones was taken.
        notes: What the user should know.
    """

    sentences: int
    candidates: int
    moved: int
    ties: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        text = f"{counted(self.sentences, 'sentence')}, {counted(self.candidates, 'candidate')}; "
        text += f"{counted(self.moved, 'translation')} other than the list's first"
        return text + (f"; {counted(self.ties, 'tie')}, the first taken" if self.ties else "")


def rerank(task: Reranking) -> RerankingReport:
    """Write the best candidate of every sentence, one a line.

    Raises:
        NBestError: The list breaks its format, does not fit the weights or the source, has no
            candidate for a sentence, or two that are equally good.
        SettingsError: The output is an input.
    """
    for path in filter(None, (task.nbest, task.weights, task.source)):
        refuse_same_file(path, task.output)
    weights = None if task.weights is None else GivenWeights.read(task.weights)
    reader = NBestReader(
        task.nbest, WordTable(), sparse_weights=weights.sparse if weights else None, with_words=True
    )
    chooser = _Chooser(task, weights)
    sentences = 0
    with open_output(task.output) as output, Progress("reranking", unit="candidates") as progress:
        for candidates in _in_step(reader.sentences(), task):
            output.write(b"\n" if candidates is None else chooser.chosen(candidates) + b"\n")
            progress.advance(0 if candidates is None else len(candidates))
            sentences += 1
    notes = weights.notes if weights else ()
    if weights and reader.unweighted:
        notes += (f"sparse features without a weight count as 0, such as {reader.unweighted}",)
    return RerankingReport(sentences, chooser.candidates, chooser.moved, chooser.ties, notes)


def _in_step(sentences: Iterator[Candidates], task: Reranking) -> Iterator[Candidates | None]:
    """Yield the candidates of each sentence, and nothing for one whose source line is empty.

    Raises:
        NBestError: A sentence has no candidate, or the source no such sentence.
    """
    empty = None
    if task.source is not None:
        empty = [not line.strip(b" \t\r") for line in read_lines(task.source)]
    expected, line = 0, 1
    for candidates in sentences:
        sentence, line = int(candidates.sentences[0]), int(candidates.lines[0])
        if empty is not None and sentence >= len(empty):
            raise NBestError(
                f"sentence {sentence}, but the source has {len(empty):,} (from 0)",
                path=task.nbest,
                line=line,
                remedy="name the text that the list was made from as --source",
            )
        while expected < sentence:
            _refuse_gap(expected, f"sentence {sentence} stands here", line, task, empty)
            yield None
            expected += 1
        yield candidates
        expected, line = sentence + 1, int(candidates.lines[-1])
    while empty is not None and expected < len(empty):
        _refuse_gap(expected, "the list ends here", line, task, empty)
        yield None
        expected += 1


def _refuse_gap(
    missing: int, what: str, line: int, task: Reranking, empty: Sequence[bool] | None
) -> None:
    if empty is not None and empty[missing]:
        return
    problem = f"{what}, but sentence {missing} has no candidate"
    remedy = f"name the text with --source if its line {missing + 1} is empty; else decode it again"
    if empty is not None:
        problem += f", and line {missing + 1} of {task.source} is not empty"
        remedy = "decode it again; for no translation at all, add a candidate without words"
    raise NBestError(problem, path=task.nbest, line=line, remedy=remedy)


class _Chooser:
    """Chooses among the candidates of one sentence after the other, and counts.

    Attributes:
        candidates: How many there were.
        moved: How often the choice was not the first.
        ties: How often the first of several equally good ones was taken.
    """

    def __init__(self, task: Reranking, given: GivenWeights | None) -> None:
        self.candidates = self.moved = self.ties = 0
        self._task, self._given = task, given
        self._weights: Weights | None = None

    def chosen(self, candidates: Candidates) -> bytes:
        """Return the words of the best candidate."""
        words = [without_marks(text) for text in candidates.words]
        scores, rounding = self._scores(candidates)
        places: Places
        if self._task.risk is None:
            places, losses = np.arange(len(words)), -scores
        else:
            places, losses = _risks(words, scores, self._task.risk)
            rounding = _ROUNDING
        best = places[losses <= losses.min() + rounding]
        first = int(best[0])
        rivals = [place for place in best.tolist() if words[place] != words[first]]
        if rivals and self._task.ties == "error":
            self._refuse_tie(candidates, first, rivals[0])
        self.candidates += len(words)
        self.moved += words[first] != words[0]
        self.ties += bool(rivals)
        return words[first]

    def _scores(self, candidates: Candidates) -> tuple[Floats, float]:
        """Return the scores of K candidates, and how much rounding alone may make of equal ones."""
        if self._given is None:
            return candidates.totals, 0.0
        if self._weights is None:
            try:
                self._weights = self._given.fitted(candidates.sizes)
            except NBestError as error:
                raise error.at(self._task.nbest, int(candidates.lines[0])) from None
        terms = candidates.features * self._weights
        scores = terms.sum(1) + candidates.sparse
        if not np.isfinite(scores).all():
            wrong = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise NBestError(
                "the weighted sum of the features is not finite",
                path=self._task.nbest,
                line=int(candidates.lines[wrong]),
                remedy="look for a model that gives infinite scores",
            )
        return scores, _ROUNDING * float((np.abs(terms).sum(1) + np.abs(candidates.sparse)).max())

    def _refuse_tie(self, candidates: Candidates, first: int, rival: int) -> None:
        measure = "the highest score" if self._task.risk is None else "the least risk"
        raise NBestError(
            f"this candidate and that of line {candidates.lines[rival]} are other translations of "
            f"sentence {candidates.sentences[0]}, and both have {measure}",
            path=self._task.nbest,
            line=int(candidates.lines[first]),
            remedy="take the one that stands first in the list with --ties first",
        )


def _risks(words: Sequence[bytes], scores: Floats, risk: RiskSettings) -> tuple[Places, Floats]:
    """Return which candidates are compared, in the list's order, and the risk of each.

    As in Moses, translations are distinct: each has the score of its best candidate.
    """
    best: dict[bytes, int] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(words[place], place)
        if len(best) == risk.size:
            break
    places = np.sort(np.fromiter(best.values(), np.int64, len(best)))
    return places, expected_losses([words[i] for i in places], scores[places], risk.scale)
