"""The entry point: ``phrasescore`` and ``python -m phrasescore``."""

from __future__ import annotations

from phrasescore.signals import interrupt_on_signals


def main() -> None:
    """Take the signals first, as imports may take seconds; then run the command line."""
    interrupt_on_signals()
    try:
        from phrasescore.cli import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
