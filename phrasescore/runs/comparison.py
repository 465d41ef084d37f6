"""What is asked for now against what an earlier run began with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phrasescore.errors import ResumeError

_LONGEST_SHOWN = 50  # characters; digests are longer


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say for each setting that differs what it was and what it is, long values left out.

    Args:
        before: JSON values by name.
        now: The same; a missing value is as good as ``None``.

    >>> differences({"seed": 1, "sha256 of the table": "0" * 64}, {"seed": 2})
    ['seed was 1 and is now 2', 'sha256 of the table is another']
    """
    texts = [(name, _text(before, name), _text(now, name)) for name in sorted({*before, *now})]
    return [
        f"{name} was {old} and is now {new}"
        if max(len(old), len(new)) <= _LONGEST_SHOWN
        else f"{name} is another"
        for name, old, new in texts
        if old != new
    ]


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return "not set" if value is None else json.dumps(value, sort_keys=True)


def refuse_differences(
    before: Mapping[str, Any], now: Mapping[str, Any], path: str | Path, remedy: str
) -> None:
    """Check that the work at ``path`` was begun with the settings asked for now.

    Raises:
        ResumeError: It was not; the error names each difference.
    """
    found = differences(before, now)
    if found:
        raise ResumeError(
            f"begun with other settings: {'; '.join(found)}", path=path, remedy=remedy
        )
