"""Reading KenLM binaries without KenLM: small valid and damaged files, formulas of the format."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.language_model.back_off import open_ngrams, read_language_model
from moses_integration.language_model.kenlm import probing as kenlm_probing
from moses_integration.language_model.kenlm.header import murmur_hash
from moses_integration.language_model.kenlm.trie import unpack
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import as_array
from tests.support.language_models import TRIGRAMS, AskedModel, assert_same_model, kenlm_binary
from tests.support.plain_back_off import PlainLanguageModel

KINDS = ["probing", "trie", "array-trie", "quantised-trie", "quantised-array-trie"]
SENTENCES = [line.split() for line in (b"a b c", b"a a", b"b c", b"c b c", b"a x b", b"c a b c b")]
MASK = (1 << 64) - 1


def plain_murmur_hash(key: bytes) -> int:
    """Compute MurmurHash64A with seed 0, as published by Austin Appleby, in Python integers."""
    m, r = 0xC6A4A7935BD1E995, 47
    h = len(key) * m & MASK
    whole = len(key) // 8 * 8
    for (k,) in struct.iter_unpack("<Q", key[:whole]):
        k = k * m & MASK
        k ^= k >> r
        h = ((h ^ (k * m & MASK)) * m) & MASK
    if key[whole:]:
        h = (h ^ int.from_bytes(key[whole:], "little")) * m & MASK
    h = ((h ^ (h >> r)) * m) & MASK
    return h ^ (h >> r)


@given(st.binary(max_size=40))
def test_hash_of_words(key: bytes) -> None:
    """Compiled and plain hash agree at every length."""
    assert int(murmur_hash(as_array(b"x" + key + b"y"), 1, 1 + len(key))) == plain_murmur_hash(key)


@pytest.mark.parametrize(
    ("word", "digest"), [(b"", 0), (b"a", 0x071717D2D36B6B11), (b"<s>", 0x00758639BD217E70)]
)
def test_hashes_known(word: bytes, digest: int) -> None:
    """Hashes equal those that KenLM wrote."""
    assert plain_murmur_hash(word) == digest


@given(st.lists(st.integers(0, (1 << 57) - 1), min_size=1), st.integers(1, 57), st.integers(0, 20))
def test_bits(numbers: list[int], width: int, between: int) -> None:
    """Numbers packed by the definition are unpacked correctly."""
    numbers = [number & ((1 << width) - 1) for number in numbers]
    step = width + between
    row = sum(number << (3 + at * step) for at, number in enumerate(numbers))
    data = row.to_bytes((3 + len(numbers) * step + 7) // 8 + 8, "little")
    assert unpack(as_array(data), 3, step, width, len(numbers)).tolist() == numbers
    assert unpack(as_array(data), 3, step, 0, len(numbers)).tolist() == [0] * len(numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_small_model(tmp_path: Path, kind: str) -> None:
    """A model too small for quantisation errors equals the model of the ARPA file."""
    path = tmp_path / "model.arpa"
    path.write_text(TRIGRAMS)
    model = AskedModel(written(tmp_path, kind))
    assert model.arrays.order == 3
    assert set(model.arrays.words.words()) == set(b"<unk> <s> </s> a b c".split())
    assert_same_model(model, PlainLanguageModel(path), SENTENCES)


def written(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / f"{kind}.binary"
    path.write_bytes(kenlm_binary(kind))
    return path


# the parameters begin at byte 88: order, multiplier, type, has words, version; then counts
@pytest.mark.parametrize(
    ("at", "new", "message"),
    [
        (49, b"4", "not of format version 5, or made on another kind of machine. Build it again"),
        (34, b"incomplete\n", "a KenLM binary that is unfinished, cut off or damaged"),
        (60, b"\x3f\x80\x00\x00", "not of format version 5, or made on another kind of machine"),
        (88, b"\x01", "a damaged KenLM binary: its header says order 1, multiplier 3"),
        (88, b"\xff", "the file ends within its header"),
        (92, bytes(4), "its header says order 3, multiplier 0"),
        (96, b"\x01", "the binary has rest costs, so only real Moses reads it. Name the ARPA file"),
        (96, b"\x07", "a KenLM binary of type 7, version 0, which is not known"),
        (100, b"\x00", "a KenLM binary without the text of its words. Build it again"),
        (104, b"\x02", "a KenLM binary of type 0, version 2, which is not known"),
        (108, bytes([0, 0, 0, 0, 1]), "the file ends within its vocabulary: it has 701 bytes"),
        (124, bytes([0, 0, 0, 0, 1]), "the file ends within its 3-grams: it has 701 bytes"),
        (140, b"\x09", "its vocabulary has 5 words, but should have 8"),
        (0x188, b"\x00\x00\xc0\xff", "a weight of its 1-grams is not a number, or is too large"),
        (0x1F0, b"\x2a", "a damaged KenLM binary: of its 5 2-grams only 4 were found"),
        (-4, b"x", "the word 'x' at the end of the file is not the one that the model was built"),
        (-4, b"\x00", "expected 6 words at the end of the file, found 7"),
    ],
)
def test_what_is_refused(tmp_path: Path, at: int, new: bytes, message: str) -> None:
    """Unreadable files get one sentence with the file."""
    path, data = tmp_path / "damaged.binary", bytearray(kenlm_binary("probing"))
    at %= len(data)
    data[at : at + len(new)] = new
    path.write_bytes(data)
    with pytest.raises(LanguageModelError) as caught:
        read_language_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_files_cut_off(tmp_path: Path, kind: str) -> None:
    """A truncated file is refused, wherever it ends."""
    data = kenlm_binary(kind)
    path, expected = tmp_path / "cut.binary", "the file ends within|at the end of the fil|cut off"
    for size in [*range(33, len(data), 7), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(LanguageModelError, match=expected):
            read_language_model(path)


def test_too_many_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If recovering the words would take too long, the file is refused at once."""
    monkeypatch.setattr(kenlm_probing, "MAX_PAIRS", 15)
    expected = "find its 2-grams 16 pairs would have to be tried, .*Name the ARPA file, or a trie"
    with pytest.raises(LanguageModelError, match=expected):
        read_language_model(written(tmp_path, "probing"))


def test_packed_binary(tmp_path: Path) -> None:
    """A compressed binary is refused; it must be unpacked first, as for KenLM."""
    path = tmp_path / "model.binary.gz"
    path.write_bytes(gzip.compress(kenlm_binary("trie")))
    with pytest.raises(LanguageModelError, match=r"in gzip form. Unpack it with gunzip"):
        read_language_model(path)


def test_blocks_have_no_lines(tmp_path: Path) -> None:
    """Blocks of n-grams from a binary have no line numbers."""
    with open_ngrams(written(tmp_path, "probing")) as model:
        blocks = list(model.blocks())
    assert [block.order for block in blocks] == [1, 2, 3]
    assert {block.first_line for block in blocks} == {0}
    assert model.has_unknown and not model.unknown_is_context
