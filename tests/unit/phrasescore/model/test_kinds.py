"""Kinds of model are found by either name, and unknown names are refused."""

from __future__ import annotations

import pytest

from phrasescore.errors import SettingsError
from phrasescore.model.kinds import KINDS, kind_named


def test_both_names_lead_to_a_kind() -> None:
    """The names in `train --kind` and in the folder lead to the same kind."""
    for kind in KINDS:
        assert kind_named(kind.option) is kind_named(kind.name) is kind


def test_an_unknown_kind_is_refused_with_those_known() -> None:
    """The error names the unknown kind and the known kinds."""
    with pytest.raises(SettingsError, match=r"rnn-encoder-decodr.*did you mean") as caught:
        kind_named("rnn-encoder-decodr")
    assert caught.value.remedy is not None
    assert "rnn-encoder-decoder" in caught.value.remedy
