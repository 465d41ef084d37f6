"""Options of the commands of tuning, alone and together."""

from __future__ import annotations

from typing import Any

import pytest

from phrasescore.errors import SettingsError
from tuning.commands.options import parse_selection
from tuning.metrics.metric_settings import SentenceSelection

NOTHING: dict[str, Any] = {
    "source": None, "by_length": False, "length_bins": None, "known_words": None, "picture": None,
}  # fmt: skip


def test_selections() -> None:
    """Bounds are numbers with commas; without any option all sentences count."""
    assert parse_selection(NOTHING) == SentenceSelection()
    given = {**NOTHING, "source": "s", "by_length": True, "length_bins": "5, 10,20", "picture": "p"}
    assert parse_selection(given) == SentenceSelection("s", True, (5, 10, 20))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "s"}, "--source is for --by-length and --known-words"),
        ({"by_length": True}, "--by-length goes by the words of the source"),
        (
            {"length_bins": "5", "source": "s", "known_words": "m"},
            "--length-bins is for --by-length",
        ),
        ({"picture": "p.png"}, "--picture is for --by-length"),
        ({"length_bins": "5,5"}, "the bounds 5,5 do not rise from 1 on"),
        ({"length_bins": "0,5"}, "the bounds 0,5 do not rise from 1 on"),
        ({"length_bins": "5,a"}, "the bounds '5,a' are not whole numbers"),
        ({"length_bins": ""}, "the bounds '' are not whole numbers"),
    ],
)
def test_selections_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    """Each is refused with what to do."""
    if message.startswith("the bounds"):
        options = {"source": "s", "by_length": True, **options}
    with pytest.raises(SettingsError, match=message):
        parse_selection({**NOTHING, **options})
