"""Files for a reader, until it fails or all have been read; the last one lies in FOLDER/input."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.mutations import files_of
from tests.fuzz.originals import Format
from tests.fuzz.readings import READINGS, Reading, outcome
from tests.fuzz.systems import SYSTEMS
from tests.support.campaigns import Result, time_limit

# what a file of some thousand bytes may take, something to compile among it
_MAX_SECONDS = 180
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
    with time_limit(_MAX_SECONDS if guarded else None):
        large = outcome(reading, path, large=True)
        if reading.compares:
            small = outcome(reading, path, large=False)
            assert repr(small) == repr(large), f"{small!r:.300}\n{large!r:.300}"


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


def tried(name: str, forms: Mapping[str, Format], folder: Path, examples: int) -> Result:
    """Let a reader, or a whole system, stand its files."""
    reading = (READINGS | SYSTEMS)[name]
    # a system takes as long as many files
    examples //= 1 + 9 * (name in SYSTEMS)
    result, begin = Result(name, name, "campaigns"), time.monotonic()
    try:
        run(reading, forms[reading.form], folder, examples)
    except Exception:
        result.faults.append(traceback.format_exc())
    result.details = f"    {time.monotonic() - begin:.0f} s"
    return result
