"""Objectives of candidates compared with sacrebleu, mixtures, and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import SettingsError
from tests.support.plain_optimization import plain_score_of_sums
from tests.support.translations import noisy_translations, references
from tuning.metrics.metric_scores import (
    ALL_COLUMNS,
    CandidateStatistics,
    columns_of,
    metric_scores,
    objective_score,
    score_of_sums,
    sentence_scores,
)
from tuning.metrics.metric_settings import LOWER_IS_BETTER, METRICS, Objective

SHARES = st.tuples(*[st.floats(0, 1)] * len(METRICS)).filter(lambda shares: sum(shares) > 0.01)


def counted(tmp_path: Path, objective: Objective, how_many: int) -> tuple[np.ndarray, list[float]]:
    """Return summed statistics of a translation, and sacrebleu's three scores as fractions."""
    rng = np.random.default_rng(2)
    wanted = [references(), noisy_translations(rng, 0.3)][:how_many]
    found = [*noisy_translations(rng, 0.25)[:-1], ""]
    paths = []
    for number, lines in enumerate(wanted):
        paths.append(tmp_path / f"ref{number}")
        paths[-1].write_text("".join(line + "\n" for line in lines), "utf-8")
    statistics = CandidateStatistics.read(paths, objective)
    lines = [line.encode() for line in found]
    rows = statistics.score_lines(np.arange(len(lines), dtype=np.int32), lines)
    metrics = (
        sacrebleu.BLEU(tokenize="none", force=True, smooth_method="none"),
        sacrebleu.CHRF(),
        sacrebleu.TER(case_sensitive=True),
    )
    scores = [metric.corpus_score(found, wanted).score / 100 for metric in metrics]
    return rows.sum(0, dtype=np.int64), scores


@pytest.mark.parametrize("how_many", [1, 2])
@pytest.mark.parametrize(
    "shares", [{"bleu": 1}, {"chrf": 1}, {"ter": 1}, {"bleu": 2, "ter": 1}, {"bleu": 1, "chrf": 1}]
)
def test_objectives_are_sacrebleus(tmp_path: Path, shares: dict[str, float], how_many: int) -> None:
    """Metrics and mixtures agree with sacrebleu's scores, with one reference or two."""
    objective = Objective.from_shares(shares)
    sums, (bleu, chrf, ter) = counted(tmp_path, objective, how_many)
    expected = objective.bleu * bleu + objective.chrf * chrf + objective.ter * (1 - ter)
    assert objective_score(objective, sums) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(0, 40), min_size=ALL_COLUMNS, max_size=ALL_COLUMNS), SHARES)
def test_the_compiled_objective_is_the_plain_one(
    counts: list[int], shares: tuple[float, ...]
) -> None:
    """Compiled and plain objectives agree for all sums, including zeros, and so do scores."""
    sums = np.array(counts, np.float64)
    sums[1:9:2] += sums[0:8:2]  # no more matches than words
    sums[9:27:3] += sums[11:27:3]
    sums[10:27:3] += sums[11:27:3]
    plain = plain_score_of_sums(sums, shares)
    assert score_of_sums(sums, np.array(shares)) == pytest.approx(plain, abs=1e-12)
    alone = plain_score_of_sums(sums[:9], shares)
    assert score_of_sums(sums[:9], np.array(shares)) == pytest.approx(alone, abs=1e-12)
    for place, metric in enumerate(METRICS):
        score = plain_score_of_sums(sums, [float(each == place) for each in range(len(METRICS))])
        expected = 1 - score if metric in LOWER_IS_BETTER else score
        found = metric_scores(metric, sums[columns_of(metric)].astype(np.int64))
        assert float(found) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"blue": 1.0}, r"unknown metric 'blue' in the objective \(did you mean bleu\?\)"),
        ({"bleu": -1.0}, "the share of bleu is -1"),
        ({"bleu": float("nan")}, "the share of bleu is nan"),
        ({"bleu": 0.0}, "every share of the objective is 0"),
    ],
)
def test_shares_that_make_no_sense(shares: dict[str, float], message: str) -> None:
    """Unknown metrics and impossible shares are refused."""
    with pytest.raises(SettingsError, match=message):
        Objective.from_shares(shares)


def test_names_and_defaults() -> None:
    """Without shares the objective is BLEU; a mixture names its parts."""
    assert Objective.from_shares({}) == Objective()
    assert str(Objective()) == "bleu"
    assert str(Objective.from_shares({"bleu": 1, "ter": 1})) == "0.5 bleu + 0.5 (1 - ter)"
    assert str(Objective.from_shares({"wer": 2})) == "1 - wer"


def test_one_candidate_by_itself(tmp_path: Path) -> None:
    """Sentence scores mix smoothed BLEU, chrF and 1 - TER of the candidate."""
    path = tmp_path / "ref"
    path.write_text("le chat noir dort\n")
    objective = Objective.from_shares({"bleu": 1, "ter": 1})
    statistics = CandidateStatistics.read([path], objective)
    rows = statistics.score_lines(np.zeros(3, np.int32), [b"le chat noir dort", b"le chat", b""])
    perfect, poor, nothing = sentence_scores(rows.astype(np.int16), objective)
    assert perfect == pytest.approx(1.0)
    smoothed = np.exp(np.mean(np.log([3 / 3, 2 / 2, 1, 1])) + 1 - 4 / 2)
    assert poor == pytest.approx(0.5 * smoothed + 0.5 * 0.5)
    assert nothing == pytest.approx(0.0)
