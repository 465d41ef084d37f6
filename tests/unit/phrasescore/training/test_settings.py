"""The settings of ``train`` for each kind, and their defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phrasescore.errors import SettingsError
from phrasescore.training.settings import TrainingSettings

TEXTS = (Path("train.en"), Path("train.fr"))


def request(kind: str, inputs: tuple[Path, ...] = TEXTS, **options: Any) -> TrainingSettings:
    """Return checked settings for a model called ``model``."""
    settings = TrainingSettings(kind, inputs, Path("model"), **options)
    settings.check()
    return settings


def regularisation(settings: TrainingSettings) -> tuple[float | None, float | None]:
    """Return the dropout and the label smoothing in force."""
    settings = settings.in_force()
    return settings.dropout, settings.label_smoothing


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        ("search", {"inputs": TEXTS[:1]}, "--kind search takes SOURCE-TEXT TARGET-TEXT MODEL/"),
        ("phrase", {}, "but got 3 names. For 2 files, give --kind search or --kind encdec."),
        ("search", {"unit": "lstm"}, "--unit is not an option of --kind search. It bel"),
        ("encdec", {"alignment": 5}, "--alignment is not an option of --kind encdec"),
        ("search", {"formulation": "appendix"}, "none of: code, paper"),
        ("phrase", {"inputs": TEXTS[:1], "dropout": 0.2}, "--dropout is not an option of --kind"),
        ("phrase", {"inputs": TEXTS[:1], "max_length": 30}, "belongs to --kind search and --kind"),
        ("phrase", {"inputs": TEXTS[:1], "held_out_text": TEXTS}, "--held-out-text is not an opt"),
        (
            "search",
            {"held_out_text": TEXTS, "held_out_pairs": 5},
            "both a held-out text and a held-out part",
        ),
    ],
)
def test_what_a_kind_does_not_have(kind: str, options: dict[str, Any], problem: str) -> None:
    """Settings that a kind does not have are refused before any input is read."""
    with pytest.raises(SettingsError) as caught:
        request(kind, **options)
    assert problem in str(caught.value)


def test_recipes_bring_sizes_and_regularisation() -> None:
    """The paper's recipe has the paper's sizes without regularisation; given values are kept."""
    fast, paper = request("search"), request("search", recipe="paper")
    assert (regularisation(fast), regularisation(paper)) == ((0.3, 0.1), (0.0, 0.0))
    assert [each.held_out_of(29_000) for each in (fast, paper)] == [(1000, 0), (0, 0)]
    sizes = ("hidden", "embedding", "maxout", "rank", "alignment")
    settings = [vars(each.model_settings(9, 9)) for each in (fast, paper)]
    assert [settings[0][name] for name in sizes] == [512, 256, 256, 256, 512]
    assert [settings[1][name] for name in sizes] == [1000, 620, 500, 620, 1000]
    own = request("search", hidden=100, dropout=0.0, held_out_text=TEXTS)
    assert vars(own.model_settings(9, 9))["alignment"] == 100
    assert regularisation(own) == (0.0, 0.1)
    assert own.held_out_of(29_000) == (0, 0)
    assert own.files == (*TEXTS, *TEXTS)


def test_a_text() -> None:
    """A thousandth is held out, at least 500 lines; the paper's training ends without gains."""
    fast, paper = (request("feed-forward-lm", TEXTS[1:], recipe=r) for r in ("fast", "paper"))
    assert (regularisation(fast), regularisation(paper)) == ((0.15, 0.0), (0.0, 0.0))
    assert fast.held_out_of(29_000) == paper.held_out_of(29_000) == (500, 0)
    assert fast.held_out_of(2_000_000) == (2000, 0)
    asked = request("rnn-lm", TEXTS[1:], held_out_pairs=30)
    assert asked.held_out_of(2_000_000) == (30, 0)
    given = request("rnn-lm", TEXTS[1:], held_out_text=TEXTS[1:])
    assert given.held_out_of(2_000_000) == (0, 0)
    ends = [(s.max_epochs, s.patience, s.evaluations) for s in (fast.in_force(), paper.in_force())]
    assert ends == [(10, 5, 10), (None, 10, None)]
    endless = request("rnn-lm", TEXTS[1:], recipe="paper", patience=0)
    assert endless.in_force().max_epochs == 10
    sizes = ("order", "embedding", "hidden", "second_hidden")
    assert [vars(paper.model_settings(2, 9))[name] for name in sizes] == [7, 512, 1536, 1024]


def test_short_trainings_save_their_state_more_often() -> None:
    """A kill costs a tenth of the time, but at least 30 seconds, or what the user says."""
    kinds = "phrase", TEXTS[:1]
    times = [request(*kinds, max_time=time).seconds_between_checkpoints for time in (10, 600, 7200)]
    assert [*times, request(*kinds).seconds_between_checkpoints] == [30, 60, 300, 300]
    assert request(*kinds, max_time=180, checkpoint_every=60).seconds_between_checkpoints == 60
