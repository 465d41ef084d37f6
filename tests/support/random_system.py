"""A small random Moses system: tables, reordering and language model from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from moses_integration.language_model.kneser_ney import write_arpa

# an ini with fields for its files and limits; without weights, the decoder has defaults
SYSTEM = """\
[input-factors]
0
[mapping]
0 T 0
[distortion-limit]
{limit}
[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features={scores} input-factor=0 output-factor=0 path={table} table-limit={top}
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff input-factor=0 output-factor=0 path={reordering}
Distortion
KENLM name=LM0 factor=0 path={lm} order=3
"""  # noqa: E501
WEIGHTS = """\
[weight]
UnknownWordPenalty0= 1
WordPenalty0= {word}
PhrasePenalty0= {phrase}
TranslationModel0= {table}
LexicalReordering0= 0.2 0.1 0.15 0.2 0.1 0.05
Distortion0= {distortion}
LM0= {lm}
"""


def write_random_system(
    folder: Path, seed: int, *, words: int = 5, limit: int = -1, top: int = 3
) -> Path:
    """Write a system over source words ``s0 s1 ...``; return its ini.

    Args:
        folder: An empty folder.
        seed: The seed of everything random.
        words: The number of source words.
        limit: The distortion limit.
        top: The table limit.
    """
    rng = np.random.default_rng(seed)
    targets = [f"t{number}" for number in range(2 * words)]
    sources = {(f"s{one}",) for one in range(words - 1)}  # the last word is unknown
    for _ in range(4 * words):
        size = int(rng.integers(2, 4))
        sources.add(tuple(f"s{word}" for word in rng.integers(0, words - 1, size)))
    pairs = {
        (" ".join(source), " ".join(rng.choice(targets, int(rng.integers(1, 4)))))
        for source in sorted(sources)
        for _ in range(4)
    }
    table, reordering = [], []
    for source, target in sorted(pairs):
        scores = " ".join(f"{score:.4f}" for score in rng.uniform(0.01, 1, 2))
        orientations = " ".join(f"{score:.4f}" for score in rng.uniform(0.05, 0.9, 6))
        table.append(f"{source} ||| {target} ||| {scores} ||| 0-0 ||| 1 1 1 ||| |||\n")
        reordering.append(f"{source} ||| {target} ||| {orientations}\n")
    (folder / "table").write_text("".join(table))
    (folder / "reordering").write_text("".join(reordering))
    text = [" ".join(rng.choice(targets, int(rng.integers(2, 9)))) + "\n" for _ in range(60)]
    (folder / "text").write_text("".join(text))
    write_arpa(folder / "text", 3, folder / "lm.arpa")
    names = ("word", "phrase", "distortion", "lm")
    weights = dict(
        zip(names, rng.uniform([-0.5, -0.3, 0.05, 0.2], [0.3, 0.3, 0.4, 0.9]), strict=True)
    )
    ini = folder / "moses.ini"
    places = {"table": folder / "table", "reordering": folder / "reordering"}
    system = SYSTEM.format(limit=limit, top=top, scores=2, lm=folder / "lm.arpa", **places)
    ini.write_text(system + WEIGHTS.format(table="0.3 0.2", **weights))
    return ini


def random_sentences(
    seed: int, count: int, shortest: int, longest: int, words: int = 5, *, repeats: bool = True
) -> list[tuple[bytes, ...]]:
    """Return sentences of the system's source words, including the unknown word.

    Args:
        seed: The seed of everything random.
        count: The number of sentences.
        shortest: The minimum number of words of a sentence.
        longest: The maximum number of words of a sentence.
        words: The number of source words.
        repeats: Whether a sentence may repeat a word. Repeated words make hypotheses tie, because
            orders that begin at either word may have equal total jumps.
    """
    rng = np.random.default_rng([seed, 1])
    return [
        tuple(
            b"s%d" % word
            for word in rng.choice(words, int(rng.integers(shortest, longest + 1)), replace=repeats)
        )
        for _ in range(count)
    ]
