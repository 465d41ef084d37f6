"""Damaged or malicious JSON raises one kind of error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phrasescore.runs.json_files import MAX_LEVELS, JsonError, parse_json, read_object


def test_json_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Values are read back, including large numbers and unusual characters."""
    values = {"a": [1, 2.5, None, True], "b": {"\u2028": "é"}, "seed": 10**30, "": []}
    assert parse_json(json.dumps(values)) == values
    path = tmp_path / "values.json"
    path.write_text(json.dumps(values, ensure_ascii=False), "utf-8")
    assert read_object(path) == values
    deepest = "[" * MAX_LEVELS + "1" + "]" * MAX_LEVELS
    assert parse_json(deepest)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "line 1 column 1"),
        (b"{", "line 1 column 2"),
        (b'{"a": 1} {"a": 1}', "Extra data"),
        (b'"\xe9"', "can't decode"),
        (b"\0", "line 1"),
        (b"[" * 200_000, "nested more than 100 levels"),
        (b"[" * 200_000 + b"]" * 200_000, "nested more than 100 levels"),
        (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested more than 100 levels"),
        (b"[" * 101 + b"1" + b"]" * 101, "nested more than 100 levels"),
        (b"1" * 400, "where a finite number"),
        (b"1" * 5000, "where a finite number"),
        (b"[-1e400]", "-1e400 where a finite number"),
        (b"NaN", "NaN where a finite number was expected"),
        (b'{"a": -Infinity}', "-Infinity where a finite number"),
    ],
)
def test_any_other_text_is_one_error(text: bytes, why: str) -> None:
    """Any other text raises a ValueError with a short reason."""
    with pytest.raises(JsonError) as error:
        parse_json(text)
    assert why in str(error.value)
    assert len(str(error.value)) < 200
