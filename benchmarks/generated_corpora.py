"""Generates parallel text of any size with its word alignment, to build systems from.

Half of the words are drawn by Zipf's law, and half from the few possible followers of the previous
word, so phrases recur as in real text. A target sentence translates the source word by word, with
some neighbours swapped, some words left out, and some words translated as two tokens.

    python -m benchmarks.generated_corpora FOLDER --sentences 1000000

writes FOLDER/text.f, text.e and aligned.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

_WORDS = 60_000
_MEAN, _SHORTEST, _LONGEST = 14, 3, 40  # words of a sentence
_FOLLOWERS = 12
_FOLLOWS, _SWAPPED, _LEFT_OUT, _DOUBLED = 0.5, 0.12, 0.05, 0.08


def write_corpus(folder: Path, sentences: int, seed: int = 1) -> None:
    """Write the text and its alignment."""
    rng = random.Random(seed)
    with (
        (folder / "text.f").open("w", encoding="ascii") as source,
        (folder / "text.e").open("w", encoding="ascii") as target,
        (folder / "aligned").open("w", encoding="ascii") as links,
    ):
        for _ in range(sentences):
            words = _sentence(rng)
            translated, aligned = _translated(words, rng)
            source.write(" ".join(f"f{word}" for word in words) + "\n")
            target.write(" ".join(translated) + "\n")
            links.write(" ".join(f"{s}-{t}" for s, t in aligned) + "\n")


def _drawn(rng: random.Random) -> int:
    # inverse transform sampling: the n-th word occurs about 1/n as often as the first
    return int(_WORDS ** rng.random())


def _sentence(rng: random.Random) -> list[int]:
    count = min(_LONGEST, max(_SHORTEST, round(rng.gauss(_MEAN, 5))))
    words = [_drawn(rng)]
    while len(words) < count:
        if rng.random() < _FOLLOWS:
            words.append((words[-1] * 31 + int(_FOLLOWERS * rng.random() ** 2) * 977) % _WORDS)
        else:
            words.append(_drawn(rng))
    return words


def _translated(words: list[int], rng: random.Random) -> tuple[list[str], list[tuple[int, int]]]:
    order = list(range(len(words)))
    at = 1
    while at < len(order):
        if rng.random() < _SWAPPED:
            order[at - 1], order[at] = order[at], order[at - 1]
            at += 1
        at += 1
    target: list[str] = []
    links: list[tuple[int, int]] = []
    for place in order:
        # each word has a usual translation, and sometimes gets another
        sense = "" if rng.random() < 0.85 else rng.choice("xyz")
        drawn = rng.random()
        if drawn < _LEFT_OUT and len(words) > 1 and target:
            continue
        tokens = [f"e{words[place]}{sense}"]
        if drawn > 1 - _DOUBLED:
            tokens.append(f"d{words[place] % 50}")
        for token in tokens:
            links.append((place, len(target)))
            target.append(token)
    return target, sorted(links)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    write_corpus(options.folder, options.sentences)


if __name__ == "__main__":
    main()
