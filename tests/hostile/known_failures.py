"""Cases that break a rule and are not mended yet: patterns of their names, each with its cause.

A pattern that no failing case matches any more makes a test fail, so that it is taken off.
"""

from __future__ import annotations

KNOWN: dict[str, str] = {}
