"""Write the sample corpus: ``python -m sample_corpus.generate`` in the root of the project.

Standard library only. The bytes depend on ``SEED`` and on the modules beside this one, on no
Python version, hash seed, locale or machine.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sample_corpus.grammar.all_constructions import all_constructions
from sample_corpus.grammar.constructions import finish
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.text import Text
from sample_corpus.splits import (
    DEV,
    TEST,
    TRAIN,
    Sentence,
    only_known_words,
    split_of,
    without_repeats,
)

FOLDER = Path(__file__).resolve().parent
HAND_WRITTEN = FOLDER / "hand_written.tsv"
SEED = 2014
SHORTEST, LONGEST = 3, 25
# seeds of different sentences are this far apart, so that no two runs share one
_STRIDE = 1_000_003


@dataclass(frozen=True)
class Sizes:
    """How many sentence pairs each split has.

    Args:
        train: Pairs of the training text, hand-written ones included.
        held_out: Pairs of dev, and of test.
        unseen: Of those, pairs with a combination of words that training lacks.
        by_hand: Of those, hand-written pairs, whose English words training knows.
    """

    train: int = 5000
    held_out: int = 500
    unseen: int = 280
    by_hand: int = 40


def hand_written(path: Path = HAND_WRITTEN) -> list[Sentence]:
    """Read the pairs written by hand: English, a tab, French."""
    sentences = []
    for line in path.read_bytes().decode("utf-8").rstrip("\n").split("\n"):
        english, french = line.split("\t")
        sentences.append(Sentence(Text(english, french)))
    return sentences


def generated(seed: int = SEED) -> Iterator[Sentence]:
    """Generate sentences without end; the n-th depends on the seed and on n alone."""
    known = [(found, found.weight) for found in all_constructions()]
    number = 0
    while True:
        draw = Draw(seed * _STRIDE + number)
        number += 1
        text = finish(draw, draw.weigh(known).build(draw))
        if _fits(text.english) and _fits(text.french):
            yield Sentence(text, tuple(draw.combinations))


def _fits(sentence: str) -> bool:
    return SHORTEST <= len(sentence.split(" ")) <= LONGEST


def build(sizes: Sizes, seed: int = SEED) -> dict[str, list[Sentence]]:
    """Return the three splits, each in a random order of its own."""
    draw = Draw(seed)
    by_hand = draw.shuffle(list(without_repeats(hand_written())))
    ordinary_held_out = sizes.held_out - sizes.unseen - sizes.by_hand
    wanted = {
        TRAIN: sizes.train + 2 * ordinary_held_out + 2 * sizes.by_hand - len(by_hand),
        DEV: sizes.unseen,
        TEST: sizes.unseen,
    }
    drawn = _fill(wanted, by_hand, seed)
    training = drawn[TRAIN]
    aside, training = training[: 2 * ordinary_held_out], training[2 * ordinary_held_out :]
    reserved = only_known_words(by_hand, training)[: 2 * sizes.by_hand]
    kept = [sentence for sentence in by_hand if sentence not in reserved]
    splits = {
        TRAIN: training + kept,
        DEV: drawn[DEV] + aside[::2] + reserved[::2],
        TEST: drawn[TEST] + aside[1::2] + reserved[1::2],
    }
    return {name: draw.shuffle(sentences) for name, sentences in splits.items()}


def _fill(
    wanted: dict[str, int], taken: Sequence[Sentence], seed: int
) -> dict[str, list[Sentence]]:
    """Generate until every split has as many sentences as wanted, none of them ``taken``."""

    def all_sentences() -> Iterator[Sentence]:
        yield from taken
        yield from generated(seed)

    drawn: dict[str, list[Sentence]] = {name: [] for name in wanted}
    for position, sentence in enumerate(without_repeats(all_sentences())):
        home = split_of(sentence)
        if position < len(taken) or home is None or len(drawn[home]) == wanted[home]:
            continue
        drawn[home].append(sentence)
        if all(len(drawn[name]) == wanted[name] for name in wanted):
            break
    return drawn


def render(splits: dict[str, list[Sentence]]) -> dict[str, bytes]:
    """Return the content of every file by its name, the digests last."""
    files: dict[str, bytes] = {}
    for name, sentences in splits.items():
        english = "".join(sentence.text.english + "\n" for sentence in sentences)
        french = "".join(sentence.text.french + "\n" for sentence in sentences)
        files[f"{name}.en"] = english.encode("utf-8")
        files[f"{name}.fr"] = french.encode("utf-8")
    digests = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)]
    files["SHA256SUMS"] = "".join(digests).encode("ascii")
    return files


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them with those that are there; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sample_corpus.generate", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="folder to write to")
    parser.add_argument("--check", action="store_true", help="write nothing; compare instead")
    options = parser.parse_args(arguments)
    files = render(build(Sizes()))
    status = 0
    for name, content in files.items():
        path = options.output / name
        if options.check:
            if not path.is_file() or path.read_bytes() != content:
                sys.stderr.write(f"{path}: differs from what the grammar writes\n")
                status = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return status


if __name__ == "__main__":
    sys.exit(main())
