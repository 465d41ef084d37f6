"""How compiled functions are declared, beyond numba's own defaults.

``LEAF`` functions allocate nothing, so numba need not count references for them. That counting, one
atomic addition for each array that a function is given, otherwise takes most of the time of a
search, and stops threads from working side by side. A ``LEAF`` function that returns arrays lends
them: it may be called by ``LEAF`` functions only.
"""

from __future__ import annotations

from typing import Any

# numba's switch has no public name; its own library uses it (numba 0.50 to 0.68)
LEAF: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
# small functions of inner loops: their arguments would take longer than they do
INLINED: dict[str, Any] = {**LEAF, "inline": "always"}
