"""The picture of scores over length."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tuning.metrics.sentence_groups import LengthPoint, draw_by_length, length_groups

LENGTHS = np.array([3, 4, 8, 9, 9, 22])


@pytest.mark.parametrize("deviation", [0.0, 1.5])
def test_what_is_drawn(tmp_path: Path, deviation: float) -> None:
    """A line for each system, labelled axes, a legend, and the sentences of each group."""
    groups = list(length_groups(np.arange(len(LENGTHS)), LENGTHS))
    points = [LengthPoint(10.0 + place, deviation) for place in range(len(groups))]
    systems = {f"system {number}": points for number in range(9)} | {"_$x_2$": points}
    path = tmp_path / "lengths.svg"
    draw_by_length(path, "BLEU", groups, systems)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", path.read_text("utf-8"))
    assert {"BLEU", "words of the source (above: sentences of each group)"} < set(texts)
    assert {name.strip() for name in systems} <= {text.strip() for text in texts}
    assert [text for text in texts if text in {"1", "2", "3"}] == ["2", "3", "1"]
