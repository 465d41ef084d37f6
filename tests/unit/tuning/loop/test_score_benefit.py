"""The estimated gain of a system by each score that is ln p of a model."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from moses_integration.ini.moses_ini import MosesIni
from phrasescore.runs import progress
from tests.support.candidate_pools import of_quality
from tuning.loop.lists import estimate_benefits, model_columns
from tuning.loop.tuning_settings import OptimizationSettings, OptimizerName, ScoreBenefit
from tuning.loop.weights import WeightPlan
from tuning.optimizers.candidate_pool import CandidatePool, PoolArrays

INI = b"""\
[feature]
WordPenalty
PhraseDictionaryMemory name=TM num-features=6 path=x tuneable-components=1,1,0,1,1,1
FeedForwardLM name=Mine path=y
KENLM name=LM0 path=z order=3
KENLM name=Other path=z order=3
[weight]
WordPenalty0= -1
TM= 0.1 0.1 0.1 0.1 0.1 0.1
Mine= 0.1
LM0= 0.1
Other= 0.1
"""


def pool_of(features: NDArray[np.float64], qualities: NDArray[np.int64], size: int) -> PoolArrays:
    """Make a pool of sentences with ``size`` candidates each from (N, F) features."""
    pool = CandidatePool(len(features) // size, features.shape[1], 9)
    sentences = np.repeat(np.arange(len(features) // size, dtype=np.int32), size)
    rows = np.array([of_quality(int(quality)) for quality in qualities], np.int32)
    pool.add(sentences, features.astype(np.float32), rows)
    return pool.arrays


def test_scores_of_models_in_an_ini() -> None:
    """They are own language models and the table's scores after the fourth, except counts."""
    plan = WeightPlan.from_ini(MosesIni.parse(INI))
    assert plan.names == (
        *("Mine", "LM0", "Other", "WordPenalty0"),
        *("TM_0", "TM_1", "TM_3", "TM_4", "TM_5"),
    )
    values = np.random.default_rng(1).normal(-9, 1, (8, len(plan.names)))
    values[:, -1] = [1, 0, 2, 0, 0, 1, 3, 0]  # the number of unknown words
    pool = pool_of(values, np.arange(8), 4)
    assert [plan.names[column] for column in model_columns(plan, pool)] == ["Mine", "TM_4"]


def test_scores_of_models_in_lists_alone() -> None:
    """Without an ini, names decide, and unknown names count if their values can be ln p."""
    sizes = {
        "LM0": 1, "Distortion0": 1, "TranslationModel0": 5, "LexicalReordering0": 6,
        "NeuralLM0": 1, "AttentionModel1": 1, "Mine": 1, "Length": 1, "Comet": 1,
    }  # fmt: skip
    plan = WeightPlan.from_weights({}).for_lists(sizes)
    values = np.random.default_rng(1).normal(-9, 1, (8, len(plan.names)))
    values[:, -2] = -np.arange(8)
    values[:, -1] = np.linspace(-0.5, 0.5, 8)
    found = model_columns(plan, pool_of(values, np.arange(8), 4))
    assert [plan.names[column] for column in found] == [
        "TranslationModel0_4", "NeuralLM0", "AttentionModel1", "Mine",
    ]  # fmt: skip


@pytest.mark.parametrize("optimizer", ["mert", "mira", "pro"])
def test_a_score_that_helps_and_one_that_does_not(optimizer: OptimizerName) -> None:
    """A score that knows the quality has a gain above 0; the interval of noise contains 0."""
    rng = np.random.default_rng(1)
    qualities = rng.integers(1, 11, 800)
    known = -30.0 + qualities + rng.normal(0, 1, 800)
    weak = qualities + rng.normal(0, 6, 800)
    features = np.stack([weak, known, rng.normal(-20, 2, 800)], 1)
    pool = pool_of(features, qualities, 8)
    plan = WeightPlan.from_weights({"LM0": (1.0,), "NeuralLM0": (0.1,), "NeuralLM1": (0.1,)})
    settings = OptimizationSettings(references=(), optimizer=optimizer, threads=1)
    weights = np.array([0.1, 1.0, -0.2])
    good, noise, both = estimate_benefits(plan, pool, weights, settings)
    assert (good.name, good.weight, noise.name, noise.weight) == ("NeuralLM0", 1, "NeuralLM1", -0.2)
    assert 0 < good.low < good.gain < good.high
    assert noise.low < 0 < noise.high
    assert (both.name, both.weight) == ("NeuralLM0 + NeuralLM1", None)
    assert 0 < both.low < both.gain
    assert estimate_benefits(plan, pool, weights, settings) == (good, noise, both)
    second = estimate_benefits(plan, pool, weights, settings, ["NeuralLM1"])
    assert [each.name for each in second] == ["NeuralLM1", "rescoring", both.name]
    assert second[-1] == both
    few = pool_of(features[:40], qualities[:40], 8)
    assert estimate_benefits(plan, few, weights, settings) == ()


def test_a_half_without_a_choice_has_no_estimate() -> None:
    """If the score is the only weight that may change, nothing is left to optimise without it."""
    rng = np.random.default_rng(1)
    pool = pool_of(rng.normal(-9, 1, (200, 2)), rng.integers(1, 11, 200), 4)
    plan = WeightPlan.from_weights({"LM0": (1.0,), "NeuralLM0": (0.1,)}).with_frozen(["LM0"])
    settings = OptimizationSettings(references=(), threads=1)
    assert estimate_benefits(plan, pool, np.array([1.0, 0.1]), settings) == ()


@pytest.mark.parametrize(
    ("name", "low", "high", "said"),
    [
        ("NeuralLM0", 0.001, 0.003, "NeuralLM0 helps: "),
        ("NeuralLM0", -0.001, 0.003, "NeuralLM0 is not shown to help: "),
        ("NeuralLM0", -0.003, -0.001, "NeuralLM0 harms: "),
        ("A + B", -0.001, 0.003, "A + B are not shown to help: "),
        ("A + B", -0.003, -0.001, "A + B harm: "),
    ],
)
def test_the_interval_decides_the_verdict(name: str, low: float, high: float, said: str) -> None:
    """A score helps above 0 and harms below 0; otherwise nothing is shown."""
    benefit = ScoreBenefit(name, None, (low + high) / 2, low, high)
    assert benefit.in_words("bleu").startswith(said)
    unused = replace(benefit, weight=0.0).in_words("bleu")  # the search found no use for it
    assert unused.startswith(said.replace("0 helps", "0 may help"))


def test_a_terminal_shows_that_the_estimate_is_at_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A large pool takes long, so a bar says what is done."""
    monkeypatch.setattr(progress, "serves_a_command", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    rng = np.random.default_rng(1)
    pool = pool_of(rng.normal(-9, 1, (200, 2)), rng.integers(1, 11, 200), 4)
    plan = WeightPlan.from_weights({"LM0": (1.0,), "NeuralLM0": (0.1,)})
    settings = OptimizationSettings(references=(), restarts=1, threads=1)
    assert estimate_benefits(plan, pool, np.array([1.0, 0.1]), settings)
    assert "estimating what each model's score brings:   0%" in capsys.readouterr().err
