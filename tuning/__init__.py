"""Tunes log-linear weights (MERT, PRO, batch MIRA, the outer loop), and scores and compares texts.

From Python: ``from tuning import evaluate, compare, tune``; docs/api.md has all stable names.

This package is the top layer, above moses_integration and phrasescore. Its optimisers see only
arrays, never files.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuning.api import compare, evaluate, tune

__all__ = ["compare", "evaluate", "tune"]


def __getattr__(name: str) -> object:
    # commands import this package, too, and their help must not wait for numpy
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("tuning.api"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
