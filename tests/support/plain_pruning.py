"""Pruning in plain Python, line by line; the rules are written like their definitions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb

Line = bytes
Pair = tuple[bytes, bytes]


def pair_of(line: Line) -> Pair:
    source, target = line.split(b"|||")[:2]
    return b" ".join(source.split()), b" ".join(target.split())


def scores_of(line: Line) -> list[float]:
    return [float(score) for score in line.split(b"|||")[2].split()]


def counts_of(line: Line) -> tuple[int, int, int]:
    target, source, pair = map(int, line.split(b"|||")[4].split())
    return target, source, pair


def minus_ln_p(line: Line, sentences: int) -> float:
    """Return -ln p by Fisher's exact test, for at least the joint occurrences of the line."""
    target, source, pair = counts_of(line)
    if target + source - pair > sentences:
        sentences = target + source
    cases = sum(
        comb(source, n) * comb(sentences - source, target - n)
        for n in range(pair, min(source, target) + 1)
    )
    p = Fraction(cases, comb(sentences, target))
    return math.log(p.denominator) - math.log(p.numerator)


def plain_pruning(
    lines: Sequence[Line],
    *,
    drop: set[Pair] | None = None,
    significant: Callable[[Line], bool] = lambda line: True,
    value: Callable[[Line], float] = lambda line: 0.0,
    threshold: float = -math.inf,
    top: int | None = None,
) -> list[Line]:
    """Return the kept lines, in order."""
    left = [line for line in lines if pair_of(line) not in (drop or set())]
    left = [line for line in left if significant(line) and value(line) >= threshold]
    if top is None:
        return left
    by_source: dict[bytes, list[int]] = defaultdict(list)
    for number, line in enumerate(left):
        by_source[line.split(b"|||")[0].strip()].append(number)
    best = set()
    for numbers in by_source.values():
        # sorted() keeps the order of equal lines
        best.update(sorted(numbers, key=lambda number: -value(left[number]))[:top])
    return [line for number, line in enumerate(left) if number in best]


def plain_reordering(lines: Sequence[Line], kept: Sequence[Line]) -> list[Line]:
    """Return the lines of a reordering table whose pairs are kept."""
    pairs = {pair_of(line) for line in kept}
    return [line for line in lines if pair_of(line) in pairs]
