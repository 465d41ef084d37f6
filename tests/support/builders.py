"""Small inputs that tests share, built from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from phrasescore.runs.final_names import write_atomically


def write_phrase_table(path: Path, pairs: int, seed: int = 1, words: int = 40) -> Path:
    """Write a phrase table of ``pairs`` distinct pairs whose targets depend on the sources.

    Word ``eN`` translates to ``fN``, or to ``fN de`` if 3 divides N. Some targets end in ``f0``.
    """
    rng = np.random.default_rng(seed)
    seen: set[tuple[str, str]] = set()
    while len(seen) < pairs:
        ids = rng.integers(0, words, rng.integers(1, 5))
        source = " ".join(f"e{word}" for word in ids)
        target = " ".join(f"f{word} de" if word % 3 == 0 else f"f{word}" for word in ids)
        if rng.random() < 0.3:
            target += " f0"
        seen.add((source, target))
    lines = sorted(f"{s} ||| {t} ||| 0.5 0.25 0.5 0.125 ||| 0-0 ||| 2 2 1 ||| |||" for s, t in seen)
    write_atomically(path, "".join(line + "\n" for line in lines).encode())
    return path
