"""Phrase extraction and scoring in plain Python with strings: slow, but easy to verify.

This is the reference for the compiled code: each rule is written like its definition, lines are
sorted as bytes, and numbers are formatted one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

Words = list[bytes]
Links = list[tuple[int, int]]
Sentence = tuple[Words, Words, Links]
# a pair's alignment: links within the phrases
Alignment = frozenset[tuple[int, int]]


@dataclass
class PairRecord:
    """The counts of one phrase pair."""

    alignments: Counter[Alignment] = field(default_factory=Counter)
    before: Counter[str] = field(default_factory=Counter)
    behind: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return sum(self.alignments.values())


@dataclass
class PlainTables:
    """The files of a system as bytes; lexical tables as sorted lines."""

    phrase_table: bytes
    reordering_table: bytes
    e2f: list[bytes]
    f2e: list[bytes]


def plain_tables(corpus: list[Sentence], longest: int) -> PlainTables:
    """Build all tables of a corpus."""
    pairs: dict[tuple[bytes, bytes], PairRecord] = defaultdict(PairRecord)
    for source, target, links in corpus:
        for s1, s2, t1, t2 in consistent_spans(len(source), len(target), links, longest):
            key = b" ".join(source[s1 : s2 + 1]), b" ".join(target[t1 : t2 + 1])
            inside = frozenset(
                (s - s1, t - t1) for s, t in links if s1 <= s <= s2 and t1 <= t <= t2
            )
            record = pairs[key]
            record.alignments[inside] += 1
            shape = len(source), len(target)
            record.before[orientation(links, shape, (s1 - 1, t1 - 1), (s2 + 1, t1 - 1))] += 1
            record.behind[orientation(links, shape, (s2 + 1, t2 + 1), (s1 - 1, t2 + 1))] += 1
    lexical = word_counts(corpus)
    keys = sorted(pairs, key=lambda pair: b"%b ||| %b ||| " % pair)
    return PlainTables(
        b"".join(phrase_table_line(key, pairs, lexical) for key in keys),
        b"".join(reordering_line(key, pairs[key]) for key in keys),
        sorted(b"%b %b %.7f" % (s, t, given_target(lexical, s, t)) for s, t in lexical),
        sorted(b"%b %b %.7f" % (t, s, given_source(lexical, s, t)) for s, t in lexical),
    )


def consistent_spans(
    sources: int, targets: int, links: Links, longest: int
) -> list[tuple[int, int, int, int]]:
    """Return all pairs of spans, ends included, that contain a link and that no link leaves."""
    return [
        (s1, s2, t1, t2)
        for s1 in range(sources)
        for s2 in range(s1, min(s1 + longest, sources))
        for t1 in range(targets)
        for t2 in range(t1, min(t1 + longest, targets))
        if any(s1 <= s <= s2 and t1 <= t <= t2 for s, t in links)
        and all((s1 <= s <= s2) == (t1 <= t <= t2) for s, t in links)
    ]


def orientation(
    links: Links, shape: tuple[int, int], diagonal: tuple[int, int], crossed: tuple[int, int]
) -> str:
    """Return the word-based orientation; sentence start and end count as linked."""
    known = {*links, (-1, -1), shape}
    if (diagonal in known) == (crossed in known):
        return "other"
    return "mono" if diagonal in known else "swap"


def word_counts(corpus: list[Sentence]) -> Counter[tuple[bytes, bytes]]:
    """Count pairs of linked words; unlinked words count as linked to NULL."""
    counts: Counter[tuple[bytes, bytes]] = Counter()
    for source, target, links in corpus:
        counts.update((source[s], target[t]) for s, t in links)
        counts.update((w, b"NULL") for i, w in enumerate(source) if i not in {s for s, _ in links})
        counts.update((b"NULL", w) for i, w in enumerate(target) if i not in {t for _, t in links})
    return counts


def given_source(counts: Counter[tuple[bytes, bytes]], s: bytes, t: bytes) -> float:
    """Return p(target word | source word), rounded as in the file."""
    total = sum(count for (word, _), count in counts.items() if word == s)
    return float(f"{counts[s, t] / total:.7f}")


def given_target(counts: Counter[tuple[bytes, bytes]], s: bytes, t: bytes) -> float:
    """Return p(source word | target word), rounded as in the file."""
    total = sum(count for (_, word), count in counts.items() if word == t)
    return float(f"{counts[s, t] / total:.7f}")


def phrase_table_line(
    key: tuple[bytes, bytes],
    pairs: dict[tuple[bytes, bytes], PairRecord],
    lexical: Counter[tuple[bytes, bytes]],
) -> bytes:
    source, target = key[0].split(b" "), key[1].split(b" ")
    record = pairs[key]
    n = record.count
    n_s = sum(other.count for (phrase, _), other in pairs.items() if phrase == key[0])
    n_t = sum(other.count for (_, phrase), other in pairs.items() if phrase == key[1])
    most = max(record.alignments.values())
    candidates = [links for links, count in record.alignments.items() if count == most]
    kept = max(candidates, key=lambda links: by_target(links, len(target)))
    other = max(candidates, key=lambda links: by_source(links, len(source)))
    lex_e, lex_f = 1.0, 1.0
    for t, word in enumerate(target):
        linked = sorted(s for s, at in kept if at == t)
        prob = [given_source(lexical, source[s], word) for s in linked]
        lex_e *= sum(prob) / len(prob) if prob else given_source(lexical, b"NULL", word)
    for s, word in enumerate(source):
        linked = sorted(t for at, t in other if at == s)
        prob = [given_target(lexical, word, target[t]) for t in linked]
        lex_f *= sum(prob) / len(prob) if prob else given_target(lexical, word, b"NULL")
    scores = (
        *(np.float32(n) / np.float32(n_t), np.float32(lex_f)),
        *(np.float32(n) / np.float32(n_s), np.float32(lex_e)),
    )
    columns = [
        *key,
        b" ".join(b"%.6g" % float(score) for score in scores),
        b" ".join(b"%d-%d" % link for link in sorted(kept, key=lambda link: link[::-1])),
        b"%d %d %d" % (n_t, n_s, n),
    ]
    return b" ||| ".join(columns) + b" ||| |||\n"


def by_target(links: Alignment, words: int) -> list[list[int]]:
    return [sorted(s for s, at in links if at == t) for t in range(words)]


def by_source(links: Alignment, words: int) -> list[list[int]]:
    return [sorted(t for at, t in links if at == s) for s in range(words)]


def reordering_line(key: tuple[bytes, bytes], record: PairRecord) -> bytes:
    prob = [
        (Fraction(counts[kind]) + Fraction(1, 2)) / (record.count + Fraction(3, 2))
        for counts in (record.before, record.behind)
        for kind in ("mono", "swap", "other")
    ]
    return b"%b ||| %b ||| " % key + b" ".join(b"%.6g" % float(p) for p in prob) + b"\n"
