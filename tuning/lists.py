"""From n-best lists on disk to a pool of candidates, with what is wrong with them said in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu_statistics import COLUMNS, BleuStatistics
from moses_integration.nbest_arrays import Candidates, NBestReader
from phrasescore.errors import NBestError, did_you_mean
from tuning.candidate_pool import Batch, CandidatePool
from tuning.candidate_statistics import CandidateStatistics

# how much better another alignment of lists and references must be to be called the right one
_CLEARLY = 2.0
_AT_LEAST = 0.05
_SHIFTS = (-1, 1)


@dataclass(frozen=True)
class ScoredList:
    """One n-best list with statistics.

    Args:
        path: Where it came from.
        sizes: How many values each feature has, in the list's order.
        candidates: Its candidates.
        statistics: (N, K) against the references.
        notes: What the user should know about it.
    """

    path: Path
    sizes: Mapping[str, int]
    candidates: Candidates
    statistics: NDArray[np.int32]
    notes: tuple[str, ...]

    @property
    def first_of_each(self) -> NDArray[np.int64]:
        """The row of each sentence's first candidate, which the decoder chose."""
        return np.unique(self.candidates.sentences, return_index=True)[1]

    def decoder_bleu(self) -> float:
        """Return the BLEU of what the decoder chose."""
        return BleuStatistics.from_matrix(self.statistics[self.first_of_each, :COLUMNS]).bleu()

    def batch(self, *, sparse: bool = False) -> Batch:
        """Return the candidates for a pool; ``sparse`` adds a column, their sparse features."""
        features = self.candidates.features
        if sparse:
            features = np.column_stack([features, self.candidates.sparse.astype(np.float32)])
        return Batch(self.candidates.sentences, features, self.statistics)


def read_scored(
    path: str | Path,
    statistics: CandidateStatistics,
    *,
    expected: Mapping[str, int] | None = None,
    sparse_weights: Mapping[str, float] | None = None,
) -> ScoredList:
    """Read a list, check it against the references, and compute its statistics.

    Args:
        path: Plain or gzip.
        statistics: The references and the objective.
        expected: The features it must have, in order, and how many values each.
        sparse_weights: Weights of single sparse features.

    Raises:
        NBestError: The list is damaged, has other features, or is out of step with the references.
    """
    reader = NBestReader(
        path,
        statistics.references.vocabulary,
        sparse_weights=sparse_weights,
        with_words=statistics.needs_words,
    )
    found = reader.read()
    if expected is not None:
        check_features(found.sizes, expected, path)
    last = int(found.sentences[-1])
    if last >= len(statistics):
        raise NBestError(
            f"candidates of sentence {last} (counted from 0), but there are only "
            f"{len(statistics)} references",
            path=path,
            remedy="give the references of the same text, line by line",
        )
    rows = statistics.score(found.sentences, found.tokens, found.offsets, found.words)
    scored = ScoredList(Path(path), found.sizes, found, rows, ())
    _check_step(scored, statistics)
    return ScoredList(Path(path), found.sizes, found, rows, tuple(_notes(scored, len(statistics))))


def check_features(found: Mapping[str, int], expected: Mapping[str, int], path: str | Path) -> None:
    """Compare the features of a list with those that are to be tuned.

    Raises:
        NBestError: One is missing, unexpected, of another size, or in another place.
    """
    for name, size in expected.items():
        if name not in found:
            raise NBestError(
                f"the list has no feature {name}{did_you_mean(name, found)}",
                path=path,
                line=1,
                remedy="decode with this moses.ini; a feature with tuneable=false is not printed",
            )
        if found[name] != size:
            raise NBestError(
                f"{found[name]} values of {name}, but {size} of its weights may be tuned",
                path=path,
                line=1,
                remedy="decode with this moses.ini; num-features and tuneable-components count",
            )
    for name in found:
        if name not in expected:
            raise NBestError(
                f"the list has a feature {name} that is not to be tuned"
                f"{did_you_mean(name, expected)}",
                path=path,
                line=1,
                remedy="use the moses.ini that it was decoded with",
            )
    if list(found) != list(expected):
        raise NBestError(
            f"the features come in another order: {' '.join(found)}; expected {' '.join(expected)}",
            path=path,
            line=1,
            remedy="use the moses.ini that it was decoded with",
        )


def _check_step(scored: ScoredList, statistics: CandidateStatistics) -> None:
    """Find out whether the references are one line off."""
    rows = scored.first_of_each
    found = scored.candidates
    sentences = found.sentences[rows].astype(np.int64)
    lengths = np.diff(found.offsets)[rows]
    places = np.arange(lengths.sum()) + np.repeat(
        found.offsets[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths
    )
    tokens = found.tokens[places]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    here = scored.decoder_bleu()
    for shift in _SHIFTS:
        moved = np.clip(sentences + shift, 0, len(statistics) - 1)
        there = statistics.references.score_tokens(moved, tokens, offsets).bleu()
        if there > _CLEARLY * here + _AT_LEAST:
            raise NBestError(
                f"translations and references are out of step: BLEU is {here:.3f}, but "
                f"{there:.3f} with references {'later' if shift > 0 else 'earlier'} by one line",
                path=scored.path,
                remedy="look for a line that is missing or too many in one of the two",
            )


def _notes(scored: ScoredList, references: int) -> Iterator[str]:
    missing = references - len(scored.first_of_each)
    if missing:
        yield f"{scored.path}: {missing} of {references} sentences have no candidate at all"
    empty = int((np.diff(scored.candidates.offsets)[scored.first_of_each] == 0).sum())
    if empty:
        yield f"{scored.path}: the decoder's choice for {empty} sentences is empty"


def add_empty_translations(pool: CandidatePool, statistics: CandidateStatistics) -> int:
    """Give sentences without any candidate an empty one, which costs BLEU; return how many.

    A decoder that finds nothing prints an empty line, and the score of the text counts it.
    """
    sentences = pool.empty_sentences.astype(np.int32)
    if len(sentences):
        count = len(pool.arrays.features)
        rows = statistics.score_lines(sentences, [b""] * len(sentences))
        pool.add(Batch(sentences, np.zeros((len(sentences), count), np.float32), rows))
    return len(sentences)
