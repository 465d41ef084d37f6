"""Learn p(target phrase | source phrase) and write it into a Moses phrase table.

From Python: ``phrasescore.load("model/")`` returns a :class:`phrasescore.Model`, which scores and
writes texts; docs/api.md has all stable names.

This is the lowest of three layers: it imports neither ``moses_integration`` nor ``tuning``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phrasescore.api import Generated, Model, load
    from phrasescore.errors import InputError, ModelError, PhrasescoreError, SettingsError

__version__ = "1.0.0"

_ERRORS = ("PhrasescoreError", "InputError", "ModelError", "SettingsError")
__all__ = ["Generated", "InputError", "Model", "ModelError", "PhrasescoreError", "SettingsError",
           "__version__", "load"]  # fmt: skip


def __getattr__(name: str) -> object:
    # commands import this package, too, and their help must not wait for torch
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "phrasescore.errors" if name in _ERRORS else "phrasescore.api"
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted(__all__)
