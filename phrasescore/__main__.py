"""The entry point: ``phrasescore`` and ``python -m phrasescore``."""

from __future__ import annotations

import os

from phrasescore.runs.interruption import interrupt_on_signals


def main() -> None:
    """Install signal handlers before imports that may take seconds; then run the command line."""
    try:
        interrupt_on_signals()
        # numpy starts a thread of OpenBLAS for each core; idle, it would spin for 2**26 cycles
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
        from phrasescore.cli import main as run

        run()
    except KeyboardInterrupt:
        os._exit(130)
    except SystemExit as stop:
        if stop.code:
            # at once: Python would wait for threads, and one may read from a silent pipe
            os._exit(int(stop.code))
        raise


if __name__ == "__main__":
    main()
