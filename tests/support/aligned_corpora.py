"""Random word-aligned corpora with difficult cases, built from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.plain_phrase_table import Sentence

# words with bytes below the space, beside | and above ASCII; NULL; words inside other words
ODD_WORDS = [
    *(b"a", b"b", b"ab", b"a!", b"a~", b"}", b"~", b"!", b'"', b"#", b"{", b"\x7f", b"a\x01b"),
    *(b"NULL", "é".encode(), "\u00a0x".encode(), "日本".encode(), b"0", b"00", b"&apos;", b"1-2"),
]


def random_corpus(seed: int, sentences: int, words: list[bytes], length: int) -> list[Sentence]:
    """Make sentences of up to ``length`` words with links near the diagonal, or without links."""
    rng = np.random.default_rng(seed)
    corpus = []
    for _ in range(sentences):
        source, target = (
            [words[i] for i in rng.integers(0, len(words), rng.integers(1, length + 1))]
            for _ in range(2)
        )
        links = set()
        for _ in range(rng.integers(0, length + 1)):
            s = int(rng.integers(len(source)))
            t = s * len(target) // len(source) + int(rng.integers(-2, 3))
            links.add((s, min(max(t, 0), len(target) - 1)))
        corpus.append((source, target, sorted(links)))
    return corpus


def linked_otherwise(seed: int, corpus: list[Sentence]) -> list[Sentence]:
    """Return the sentences with other random links."""
    rng = np.random.default_rng(seed)
    return [
        (source, target, sorted({(int(rng.integers(len(source))), t) for t in range(len(target))}))
        for source, target, _ in corpus
    ]


def write_corpus(folder: Path, corpus: list[Sentence]) -> tuple[Path, Path, Path]:
    """Write source, target and alignment files."""
    paths = folder / "corpus.f", folder / "corpus.e", folder / "aligned.gdfa"
    columns = (
        [b" ".join(source) for source, _, _ in corpus],
        [b" ".join(target) for _, target, _ in corpus],
        [b" ".join(b"%d-%d" % link for link in links) for _, _, links in corpus],
    )
    for path, lines in zip(paths, columns, strict=True):
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    return paths
