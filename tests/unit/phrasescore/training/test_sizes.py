"""The sizes of models that suit a text, a time and a machine."""

from __future__ import annotations

import pytest

from phrasescore.training.model_size import hidden_for, passes_of
from phrasescore.training.settings import TrainingSettings


def test_the_size_that_learns_most_in_a_time() -> None:
    """The measured losses of Multi30k: 200 units in 5 minutes, 1,000 units in 45 minutes."""
    sizes = [hidden_for("phrases", passes=passes, measured=500) for passes in (0.6, 5.4)]
    assert sizes == [200, 1000]
    assert passes_of(1000, 5.4, 500, "phrases") == pytest.approx(2.3, abs=0.05)
    assert hidden_for("phrases", passes=0.0, measured=1000) == 200


def test_little_text_or_little_time_make_a_small_model_of_sentences() -> None:
    """Both limits hold: the smallest size is the answer if either is too low."""
    assert hidden_for("sentences", words=360_000) == 512
    assert hidden_for("sentences", words=140_000) == 256
    assert hidden_for("sentences", words=10) == 128
    assert hidden_for("sentences", 360_000, passes=1.0, measured=200) == 128


def test_sizes_that_follow_from_the_hidden_units() -> None:
    """Word vectors and output layer of a sentence model are half as wide, unless given."""
    asked = TrainingSettings(kind="search", max_time=60.0, rank=17)
    assert asked.chooses_hidden
    chosen = asked.sized(128)
    assert (chosen.hidden, chosen.embedding, chosen.rank) == (128, 64, 17)
    assert asked.recorded("fp32")["embedding"] is None
    assert TrainingSettings(max_time=60.0).sized(300).embedding is None
    assert not TrainingSettings(kind="search", max_epochs=3).chooses_hidden
