"""Generates phrase tables of any size, with realistic lengths and equal sharing of prefixes.

The larger a real table is, the more prefixes it shares. Here every thousand pairs form a group. All
sources of a group begin with the same pair of words, which no other group has, followed by a span
of up to five words from a few random sentences. So a table of ten million pairs is like a hundred
tables of a hundred thousand pairs, and the costs per pair can be compared. Groups are in the order
of ``LC_ALL=C sort``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from zlib_ng import gzip_ng

GROUP = 1000  # pairs
_GROUPS_OF_A_WORD = 1000
_WORDS = 8000  # of each side, without the two words that begin a group
_SENTENCE, _LONGEST = 9, 5  # words
# numbers of targets per source and their frequencies; Multi30k's table has the same mean, 1.33
_TARGETS = (1, 2, 3, 6)
_SHARES = (0.80, 0.13, 0.05, 0.02)


def write_table(path: Path, pairs: int, seed: int = 1) -> None:
    """Write a gzip phrase table of whole groups, with at least this number of pairs."""
    with gzip_ng.open(path, "wb", compresslevel=3) as stream:
        for group in range(-(-pairs // GROUP)):
            stream.writelines(_lines(group, random.Random(seed * 1_000_003 + group)))


def write_ini(path: Path, table: Path) -> None:
    """Write a moses.ini whose only model is the table."""
    path.write_text(
        "[input-factors]\n0\n[mapping]\n0 T 0\n[distortion-limit]\n6\n[feature]\n"
        "UnknownWordPenalty\nWordPenalty\nPhrasePenalty\nDistortion\n"
        "PhraseDictionaryMemory name=TranslationModel0 num-features=4 "
        f"path={table} input-factor=0 output-factor=0\n"
        "[weight]\nUnknownWordPenalty0= 1\nWordPenalty0= -1\nPhrasePenalty0= 0.2\n"
        "Distortion0= 0.3\nTranslationModel0= 0.2 0.2 0.2 0.2\n",
        "ascii",
    )


def write_text(path: Path, lines: int, seed: int = 2) -> None:
    """Write sentences that begin like the first groups, so that tables have some of the spans."""
    with path.open("w", encoding="ascii") as stream:
        for line in range(lines):
            rng = random.Random(seed * 1_000_003 + line)
            stream.write(" ".join([*_beginning(line % 100), *_sentence(rng)]) + "\n")


def _beginning(group: int) -> tuple[str, str]:
    first, second = divmod(group, _GROUPS_OF_A_WORD)
    return f"a{first:04d}", f"b{second:03d}"


def _sentence(rng: random.Random) -> list[str]:
    # a product of two uniform numbers is often small, so a few words are frequent
    return [f"s{int(_WORDS * rng.random() * rng.random()):04d}" for _ in range(_SENTENCE)]


def _lines(group: int, rng: random.Random) -> Iterator[bytes]:
    beginning = _beginning(group)
    pairs: dict[str, list[str]] = {}
    count = 0
    while count < GROUP:
        words = _sentence(rng)
        for first in range(len(words)):
            for end in range(first + 1, min(first + _LONGEST, len(words)) + 1):
                source = " ".join([*beginning, *words[first:end]])
                if source in pairs or count >= GROUP:
                    continue
                targets = _targets([*beginning, *words[first:end]], rng)[: GROUP - count]
                pairs[source] = targets
                count += len(targets)
    for source in sorted(pairs, key=lambda text: f"{text} |||"):
        targets = pairs[source]
        for target in sorted(targets, key=lambda text: f"{text} |||"):
            yield _line(source, target, len(targets), rng)


def _targets(source: list[str], rng: random.Random) -> list[str]:
    literal = [f"t{word}" for word in source]
    found = {" ".join(literal)}
    for _ in range(rng.choices(_TARGETS, _SHARES)[0] - 1):
        words = literal.copy()
        words[rng.randrange(len(words))] = f"ts{rng.randrange(_WORDS):04d}"
        if rng.random() < 0.3:
            words.pop()
        found.add(" ".join(words))
    return list(found)


def _line(source: str, target: str, targets: int, rng: random.Random) -> bytes:
    words = min(source.count(" "), target.count(" ")) + 1
    links = " ".join(f"{word}-{word}" for word in range(words))
    scores = f"{1 / rng.randint(1, 9):.6g} {rng.random():.6g} {1 / targets:.6g} {rng.random():.6g}"
    return f"{source} ||| {target} ||| {scores} ||| {links} ||| 3 {targets} 1 ||| |||\n".encode()
