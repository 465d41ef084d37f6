"""The sample corpus: unchanged, without leakage."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "sample_corpus"
SPLITS = {"train": 5000, "dev": 500, "test": 500}


def lines(name: str) -> list[str]:
    """Return the lines of one file of the corpus."""
    return (FOLDER / name).read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def normalised(sentence: str) -> str:
    """Return the lower-cased words without punctuation."""
    return " ".join(re.findall(r"[^\W_]+", sentence.lower()))


def test_the_bytes_are_those_of_the_digests() -> None:
    """SHA256SUMS names all nine files, and they have its digests."""
    digests = dict(line.split("  ")[::-1] for line in lines("SHA256SUMS"))
    texts = {f"{split}.{language}" for split in SPLITS for language in ("en", "fr")}
    assert set(digests) == texts | {f"old-spelling.{split}.tsv" for split in SPLITS}
    for name, digest in digests.items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize("language", ["en", "fr"])
def test_nothing_leaks(language: str) -> None:
    """No sentence is in two splits, even in another case or with other punctuation."""
    seen: dict[str, str] = {}
    for split in SPLITS:
        for line in lines(f"{split}.{language}"):
            home = seen.setdefault(normalised(line), split)
            assert home == split, line
