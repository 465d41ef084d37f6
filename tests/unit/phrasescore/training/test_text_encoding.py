"""Encoding texts as arrays of ids: kept, left-out and held-out sentences."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pytest

from phrasescore.errors import CorpusError
from phrasescore.training.encoding import encode
from phrasescore.training.pairs import EncodedPairs, split
from phrasescore.training.settings import TrainingSettings

SOURCE = b"the house\n\nthe house\na b c d\nthe cat\nx\n"
TARGET = b"la maison\nrien\nla maison\na b\nle chat\n \n"


def write(folder: Path, name: str, source: bytes, target: bytes) -> tuple[Path, Path]:
    """Write two texts, the target compressed."""
    paths = folder / f"{name}.en", folder / f"{name}.fr.gz"
    paths[0].write_bytes(source)
    paths[1].write_bytes(gzip.compress(target))
    return paths


def as_text(pairs: EncodedPairs, rows: np.ndarray | None = None) -> list[tuple[bytes, bytes]]:
    """Return pairs in words."""
    rows = np.arange(len(pairs)) if rows is None else rows
    sides = []
    for side in (pairs.source, pairs.target):
        words = side.vocabulary.words
        chosen = side.select(rows)
        sides.append([b" ".join(words[i] for i in chosen[row]) for row in range(len(rows))])
    return list(zip(*sides, strict=True))


def test_empty_and_long_sentences_are_left_out_and_counted(tmp_path: Path) -> None:
    """Repeated pairs are kept; a line with only a blank is empty."""
    paths = write(tmp_path, "train", SOURCE, TARGET)
    pairs = encode(TrainingSettings("search", paths, max_length=3), tmp_path / "work")
    kept = [(b"the house", b"la maison"), (b"the house", b"la maison"), (b"the cat", b"le chat")]
    assert as_text(pairs) == kept
    assert pairs.source.digests[0] == pairs.source.digests[1] != pairs.source.digests[2]
    assert pairs.summary == "6 pairs of sentences; left out: 2 empty, 1 over 3 words"
    assert (
        pairs.described()[1] == "the encoder reads 3 of 3 words, which cover 100.00% of the tokens"
    )
    assert pairs.in_direction("target-source").source.vocabulary == pairs.target.vocabulary


def test_several_texts_are_one(tmp_path: Path) -> None:
    """A language model learns from all texts, and words of a held-out text stay unknown."""
    first, more = write(tmp_path, "train", b"a b\nb c\n", b"d a\n\ne\n")
    held_out = (write(tmp_path, "dev", b"a x\n", b"")[0],)
    settings = TrainingSettings("rnn-lm", (first, more), max_length=3, held_out_text=held_out)
    pairs = encode(settings, tmp_path / "work")
    (tmp_path / "whole").write_bytes(b"a b\nb c\nd a\n\ne\n")
    settings = dataclasses.replace(settings, inputs=(tmp_path / "whole",))
    whole = encode(settings, tmp_path / "w")
    for one, other in zip(
        (pairs.target.tokens, pairs.target.offsets),
        (whole.target.tokens, whole.target.offsets),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert pairs.target.vocabulary == whole.target.vocabulary
    assert pairs.summary == whole.summary


def test_a_text_that_is_set_aside_teaches_no_words_and_is_held_out(tmp_path: Path) -> None:
    """A held-out text adds no words; its sentences may be long; the seed does not matter."""
    paths = write(tmp_path, "train", SOURCE, TARGET)
    held_out = write(tmp_path, "dev", b"the dog\n\nthe cat and more\n", b"le chien\n\nle chat\n")
    settings = TrainingSettings("search", paths, max_length=3, held_out_text=held_out)
    pairs = encode(settings, tmp_path / "work")
    assert b"dog" not in (*pairs.source.vocabulary.words, *pairs.source.outside.words)
    parts = split(pairs, 5, 5, seed=4)
    assert as_text(pairs, parts.held_out_sources) == [
        (b"the <unk>", b"le <unk>"),
        (b"the cat <unk> <unk>", b"le chat"),
    ]
    assert len(parts.training) == 3
    assert len(parts.held_out_pairs) == 0


@pytest.mark.parametrize(
    ("where", "why"), [("train", " or has more than 9 words. Check"), ("dev", ". Check")]
)
def test_nothing_left(tmp_path: Path, where: str, why: str) -> None:
    """Texts without a usable pair are an error with their names; only held-out ones may be long."""
    good = write(tmp_path, "good", SOURCE, TARGET)
    bad = write(tmp_path, "bad", b"\n\n", b"x\ny\n")
    paths, held_out = (bad, good) if where == "train" else (good, bad)
    problem = rf"bad\.en: no pair is left of 2 lines: a side is empty{why}"
    settings = TrainingSettings("search", paths, max_length=9, held_out_text=held_out)
    with pytest.raises(CorpusError, match=problem):
        encode(settings, tmp_path / "work")
