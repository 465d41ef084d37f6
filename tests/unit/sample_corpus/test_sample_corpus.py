"""The sample corpus: unchanged, without leakage, and French."""

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


@pytest.mark.parametrize(("split", "size"), SPLITS.items())
def test_both_sides_have_as_many_lines(split: str, size: int) -> None:
    """Each split has its number of pairs, without empty sides."""
    for language in ("en", "fr"):
        found = lines(f"{split}.{language}")
        assert len(found) == size
        assert all(line.strip() == line and line for line in found)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_nothing_leaks(language: str) -> None:
    """No sentence is in two splits, even in another case or with other punctuation."""
    seen: dict[str, str] = {}
    for split in SPLITS:
        for line in lines(f"{split}.{language}"):
            home = seen.setdefault(normalised(line), split)
            assert home == split, line


def test_it_is_small() -> None:
    """The whole folder stays below 3 MB."""
    files = [
        path for path in FOLDER.rglob("*") if path.is_file() and "__pycache__" not in str(path)
    ]
    assert sum(path.stat().st_size for path in files) < 3_000_000


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(de|à) les?\b",  # du, aux
        r"(?<!-)\b([jdlnmts]e|que) (?!oui)[aeiouéêè]",  # j'ai; but puis-je entrer, que oui
        r"\bsi ils?\b",
        r"[|\[\]]",
        r"  ",
    ],
)
def test_french_contracts_and_elides(pattern: str) -> None:
    """No line has uncontracted articles, unelided pronouns or bars, which French never writes."""
    # before a verb, le and les are pronouns and not contracted: de le faire, à les voir
    pronoun = re.compile(r"\b(de|à) (le|les) \w+(er|ir|re|oir)\b")
    for split in SPLITS:
        for line in lines(f"{split}.fr"):
            found = re.search(pattern, pronoun.sub("", line), re.IGNORECASE)
            assert not found, f"{found[0]!r} in {line}"
