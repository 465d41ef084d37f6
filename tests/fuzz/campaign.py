"""One campaign: files for every reader, until one fails or all have stood.

``NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=... python -m tests.fuzz.campaign FOLDER EXAMPLES [READER]``

The file that was read last lies in FOLDER/input, also after a crash of the process.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.mutations import files_of
from tests.fuzz.originals import Format, formats
from tests.fuzz.readings import READINGS, Reading, outcome
from tests.fuzz.systems import SYSTEMS

# what a file of some thousand bytes may take, something to compile among it
_MOST_SECONDS, _MOST_MEMORY = 180, 3 << 30
SEEDS = Path(__file__).resolve().parent / "seeds"


def check(reading: Reading, path: Path, data: bytes, *, guarded: bool = True) -> None:
    """Read one file; it is read or refused, and blocks of all sizes come to the same.

    Args:
        reading: The reader.
        path: Where to put the file.
        data: Its bytes.
        guarded: Whether the process ends when it takes too long.
    """
    path.write_bytes(data)
    if guarded:
        faulthandler.dump_traceback_later(_MOST_SECONDS, exit=True)
    try:
        large = outcome(reading, path, large=True)
        if reading.compares:
            small = outcome(reading, path, large=False)
            assert repr(small) == repr(large), f"{small!r:.300}\n{large!r:.300}"
    finally:
        faulthandler.cancel_dump_traceback_later()


def run(reading: Reading, form: Format, folder: Path, examples: int) -> None:
    """Try the seeds, the real files, and this many files that Hypothesis makes up."""
    path = folder / "input"
    for data in form.files:
        check(reading, path, data, guarded=False)  # numba compiles
    for seed in seeds_of(reading.form):
        check(reading, path, seed.read_bytes())

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(files_of(form))
    def try_file(data: bytes) -> None:
        check(reading, path, data)

    try_file()


def seeds_of(form: str) -> list[Path]:
    """Return the kept files of a format, each of which broke something once."""
    return sorted(SEEDS.glob(f"{form}-*"))


def main(folder: Path, examples: int, wanted: str | None) -> int:
    """Run the campaign; return how many readers failed."""
    assert os.environ.get("NUMBA_BOUNDSCHECK") == "1"
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    os.chdir(folder)
    known, failed = formats(folder), 0
    for name, reading in (READINGS | SYSTEMS).items():
        if wanted in (None, name):
            begin = time.monotonic()
            try:
                # a system takes as long as many files
                run(reading, known[reading.form], folder, examples // (1 + 9 * (name in SYSTEMS)))
            except Exception as error:
                failed += 1
                print(f"{name} failed", flush=True)
                sys.excepthook(type(error), error, error.__traceback__)
            print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    faulthandler.enable()
    folder, examples, *wanted = sys.argv[1:]
    sys.exit(main(Path(folder), int(examples), wanted[0] if wanted else None))
