"""``make bench``: every benchmark on the real system that PHRASESCORE_SHARED holds, one by one.

Where MOSES_BIN names the folder of Moses's binaries, each is measured against Moses in turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the benchmarks; return the status of the first that fails."""
    shared = Path(os.environ.get("PHRASESCORE_SHARED", PROJECT.parent / "shared"))
    data = shared / "data" / "multi30k-enfr"
    if not data.is_dir():
        print(f"no {data}: set PHRASESCORE_SHARED to the folder that holds data/", file=sys.stderr)
        return 2
    moses = os.environ.get("MOSES_BIN")
    against = ["--moses-bin", moses] if moses else []
    text = [data / name for name in ("train.en.gz", "train.fr.gz", "train.aligned.gz")]
    for arguments in (["bench_language_model.py", text[1]], ["bench_build.py", *text]):
        script, *inputs = map(str, arguments)
        print(f"\n{script}", flush=True)
        command = [sys.executable, str(PROJECT / "benchmarks" / script), *inputs, *against]
        status = subprocess.run(command, cwd=PROJECT, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
