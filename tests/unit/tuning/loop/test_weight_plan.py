"""The choice of weights to tune, and their conversion between files and arrays."""

from __future__ import annotations

import numpy as np
import pytest

from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import SettingsError
from tuning.loop.weights import WeightPlan
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import CandidatePool

INI = b"""\
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TM num-features=3 path=x%s
Distortion
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
TM= 0.1 0.2 0.3
Distortion0= 0.4
"""


def plan_of(options: bytes = b"", more: bytes = b"") -> WeightPlan:
    """Return the plan of a small system."""
    return WeightPlan.from_ini(MosesIni.parse(INI % options + more))


def test_weights_stand_in_the_order_of_lists() -> None:
    """Stateful features are first, then the others in the order of the ini."""
    plan = plan_of()
    assert plan.names == ("Distortion0", "WordPenalty0", "TM_0", "TM_1", "TM_2")
    assert plan.tuned(plan.start).tolist() == [0.4, -1, 0.1, 0.2, 0.3]
    assert plan.expected == {"Distortion0": 1, "WordPenalty0": 1, "TM": 3}


def test_components_that_are_not_tuned_keep_their_weights() -> None:
    """Untuned components have no names, but are in the written weights."""
    plan = plan_of(b" tuneable-components=1,0,1")
    assert plan.names == ("Distortion0", "WordPenalty0", "TM_0", "TM_2")
    complete = plan.complete(np.array([1.0, 2.0, 3.0, 4.0]))
    assert complete == {"Distortion0": (1.0,), "WordPenalty0": (2.0,), "TM": (3.0, 0.2, 4.0)}
    assert plan.hidden == ("TM",)


def test_unknown_words_alone_hide_nothing() -> None:
    """Lists omit the unknown-word penalty by default, without harm."""
    assert plan_of().hidden == ()
    assert plan_of(b" tuneable=false").hidden == ("TM",)


def test_there_must_be_something_to_tune() -> None:
    """A system without tuneable features is refused."""
    ini = b"[feature]\nDistortion tuneable=false\n[weight]\nDistortion0= 1\n"
    with pytest.raises(SettingsError, match="no feature may be tuned"):
        WeightPlan.from_ini(MosesIni.parse(ini))


def test_freezing_names_features_or_components() -> None:
    """A feature's name freezes all its components; unknown names are refused with suggestions."""
    assert plan_of().with_frozen(["TM_1", "Distortion0"]).frozen == {0, 3}
    assert plan_of().with_frozen(["TM"]).frozen == {2, 3, 4}
    with pytest.raises(SettingsError, match=r"called 'TM_9' \(did you mean TM_\d\?\)"):
        plan_of().with_frozen(["TM_9"])
    with pytest.raises(SettingsError, match="Choose among"):
        plan_of().with_frozen(["UnknownWordPenalty0"])


def test_the_problem_has_one_more_fixed_feature_for_what_is_hidden() -> None:
    """The extra feature has the fixed weight 1; other weights begin at the given start."""
    plan = plan_of().with_frozen(["TM_0"])
    problem = plan.problem(CandidatePool(1, 6, 9).arrays, Objective(), np.arange(5.0))
    assert problem.start.tolist() == [0, 1, 2, 3, 4, 1]
    assert problem.free.tolist() == [True, True, False, True, True, False]
    assert problem.names[-1] == "what is not tuned"
    assert not problem.is_scalable


def test_sparse_weights_are_known() -> None:
    """Weights of single sparse features are read from the ini and kept."""
    assert plan_of(more=b"TM_domain= 0.7\n").sparse_weights == {"TM_domain": 0.7}
