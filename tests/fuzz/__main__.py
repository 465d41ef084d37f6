"""Tries random and mutated files on all compiled code that reads bytes, with bounds checks.

A PATTERN selects readers, e.g. ``ARPA``. The last file that was read is kept as ``input`` in the
folder of ``--keep``, even if the process crashes. Compiled code is cached in the folder that
``NUMBA_CACHE_DIR`` names; without this variable, code is compiled in every run.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.campaign import tried
from tests.fuzz.originals import formats
from tests.fuzz.readings import READINGS
from tests.fuzz.systems import SYSTEMS
from tests.support.campaigns import Result, is_wanted, run

_EXAMPLES = 1000
_MAX_MEMORY = 3 << 30


def trials(given: argparse.Namespace, folder: Path) -> Iterator[Result]:
    """Try the selected readers."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    os.chdir(folder)
    forms = formats(folder)
    for name in READINGS | SYSTEMS:
        if is_wanted(name, given):
            yield tried(name, forms, folder, given.count or _EXAMPLES)


def main() -> int:
    """Run the campaign in a new process with numba's bounds checks."""
    if os.environ.get("NUMBA_BOUNDSCHECK") == "1":
        return run("tests.fuzz", __doc__, trials)
    with tempfile.TemporaryDirectory() as cache:
        checked = {"NUMBA_CACHE_DIR": cache, **os.environ, "NUMBA_BOUNDSCHECK": "1"}
        return subprocess.run(
            [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]], env=checked
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
