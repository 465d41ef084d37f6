"""Memory that this process has freed stays its own, for the next update to use again.

An update of the paper's model frees some hundred megabytes that the next one asks for. GNU's
allocator gives large pieces back to the system at once, which then clears every page of them
anew, one page fault each: a tenth of the time of an update. Other allocators are left as they are.
"""

from __future__ import annotations

import ctypes
import sys

# numbers of mallopt(3), and its defaults; once set, neither threshold adapts any more
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_TRIM_BYTES, _MMAPS = 128 << 20, 65536
_NEVER = -1


def keep_freed_memory() -> None:
    """Let this process, and those that it forks from now on, keep what they free."""
    _told(_NEVER, 0)


def release_freed_memory() -> None:
    """Give back to the system what is free, and from now on large pieces once they are freed."""
    library = _told(_TRIM_BYTES, _MMAPS)
    if library is not None:
        library.malloc_trim(0)


def _told(trim: int, mmaps: int) -> ctypes.CDLL | None:
    """Return GNU's allocator, told how large free memory may get, and how many pieces stand apart.

    ``None`` where memory is another's matter.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None or not hasattr(library, "mallopt"):
        return None
    library.mallopt(_TRIM_THRESHOLD, trim)
    library.mallopt(_MMAP_MAX, mmaps)
    return library
