"""Everything for Moses systems: ini files, n-best lists, decoders, building a system.

From Python: ``moses_integration.Decoder("moses.ini").translate(["the house"])``; docs/api.md
lists all stable names.

This is the middle of three layers: it imports ``phrasescore``, never ``tuning``.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moses_integration.decoder.decoder import Decoder as Decoder
    from moses_integration.decoder.decoder import Translation as Translation
    from moses_integration.decoder.decoder import WeightedFeature as WeightedFeature

__all__ = ["Decoder", "Translation", "WeightedFeature"]

# a program that imports this package decides whether to show its log messages
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> object:
    # import lazily: commands import this package, too, and their help must not wait for numba
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("moses_integration.decoder.decoder"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
