"""The sample corpus: reproducible, without leakage, and French."""

from __future__ import annotations

import hashlib
import re

import pytest

from sample_corpus.generate import FOLDER, Sizes, build, hand_written, main, render
from sample_corpus.splits import normalised

SPLITS = {"train": 5000, "dev": 500, "test": 500}


def lines(name: str) -> list[str]:
    """Return the lines of one file of the corpus."""
    return (FOLDER / name).read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def test_the_grammar_writes_these_very_bytes() -> None:
    """Generating again gives the committed files, and SHA256SUMS has their digests."""
    files = render(build(Sizes()))
    for name, content in files.items():
        assert (FOLDER / name).read_bytes() == content, name
    for line in lines("SHA256SUMS"):
        digest, name = line.split("  ")
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest


def test_check_finds_a_difference(tmp_path: pytest.TempPathFactory) -> None:
    """--check exits with 1 where the files are missing or differ."""
    assert main(["--check", "-o", str(tmp_path)]) == 1
    assert main(["--check"]) == 0


@pytest.mark.parametrize(("split", "size"), SPLITS.items())
def test_both_sides_have_as_many_lines(split: str, size: int) -> None:
    """Each split has its number of pairs, and no side of one is empty."""
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
    """No line has what French never writes: uncontracted articles, unelided pronouns, bars."""
    # before a verb, le and les are pronouns and stay: de le faire, à les voir
    pronoun = re.compile(r"\b(de|à) (le|les) \w+(er|ir|re|oir)\b")
    for split in SPLITS:
        for line in lines(f"{split}.fr"):
            found = re.search(pattern, pronoun.sub("", line), re.IGNORECASE)
            assert not found, f"{found[0]!r} in {line}"


def test_hand_written_pairs_are_many_and_different() -> None:
    """Several hundred pairs, no English or French sentence twice."""
    pairs = hand_written()
    assert len(pairs) > 500
    assert len({pair.text.english for pair in pairs}) == len(pairs)
    assert len({pair.text.french for pair in pairs}) == len(pairs)
