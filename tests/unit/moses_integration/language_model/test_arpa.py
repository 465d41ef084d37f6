"""Reading ARPA files: values, tolerated variants, and a diagnosis for everything else."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moses_integration.language_model import arpa
from moses_integration.language_model.arpa import ArpaFile, parse_number
from moses_integration.language_model.automaton import NGrams
from moses_integration.language_model.back_off import open_ngrams
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import as_array

BIGRAMS = b"""\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-1.5\t<unk>
0\t<s>\t-0.25
-0.5\t</s>
-1.25\tle\t-0.125
-2e-05\tchat\t-.5

\\2-grams:
-0.75\t<s> le
-0.0625\tle chat\t0
-1\tchat </s>

\\end\\
"""


def read(path: Path) -> tuple[list[NGrams], list[bytes], bool]:
    with open_ngrams(path) as model:
        sections = [
            joined(list(blocks))
            for _, blocks in itertools.groupby(model.blocks(), key=lambda block: block.order)
        ]
        words = [model.words.word(number) for number in range(len(model.words))]
        return sections, words, model.has_unknown


def joined(blocks: list[NGrams]) -> NGrams:
    words, log10, backoff = map(np.concatenate, list(zip(*blocks, strict=True))[:3])
    return NGrams(words, log10, backoff, blocks[0].first_line)


def values(sections: list[NGrams]) -> list[list[list[float]]]:
    return [[array.tolist() for array in section[:3]] for section in sections]


def write(folder: Path, text: bytes) -> Path:
    path = folder / "model.arpa"
    path.write_bytes(text)
    return path


def test_values_are_those_of_the_file(tmp_path: Path) -> None:
    """Probabilities and back-offs are float32 arrays, and words are ids, in file order."""
    (unigrams, bigrams), words, has_unknown = read(write(tmp_path, BIGRAMS))
    assert words == [b"<unk>", b"<s>", b"</s>", b"le", b"chat"]
    assert has_unknown
    assert unigrams.words[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert unigrams.log10.tolist() == np.array([-1.5, 0, -0.5, -1.25, -2e-05], np.float32).tolist()
    assert unigrams.backoff.tolist() == [0, -0.25, 0, -0.125, -0.5]
    assert bigrams.words.tolist() == [[1, 3], [3, 4], [4, 2]]
    assert bigrams.log10.tolist() == [-0.75, -0.0625, -1]
    assert bigrams.first_line == 13


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(gzip.compress(BIGRAMS), id="gzip under any name"),
        pytest.param(BIGRAMS.replace(b"\n", b"\r\n"), id="CR LF"),
        pytest.param(BIGRAMS.replace(b"\t", b" "), id="blanks for tabs"),
        pytest.param(b"\n# estimated by a tool\n" + BIGRAMS, id="comment lines first"),
        pytest.param(BIGRAMS.replace(b"-1", b"\n-1"), id="empty lines in a section"),
        pytest.param(BIGRAMS.rstrip(b"\n"), id="no last line feed"),
        pytest.param(BIGRAMS.replace(b"<unk>", b"<UNK>"), id="<UNK>"),
        pytest.param(BIGRAMS.replace(b"-0.5\t</s>", b"-0.5\t</s>\t-0"), id="negative zero"),
    ],
)
def test_variants_read_alike(tmp_path: Path, variant: bytes) -> None:
    """Files in the variants of different tools give equal models."""
    sections, words, has_unknown = read(write(tmp_path, BIGRAMS))
    others, other_words, other_unknown = read(write(tmp_path, variant))
    assert (other_words, other_unknown) == (words, has_unknown)
    assert values(others) == values(sections)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b"ngram 1=", b"ngram  1= ", None),
        (b"\\data\\", b"\\data\\ ", 1),
        (b"ngram 1=", b"ngram 1 =", 2),
        (b"1-grams:", b"1-grams:\t", 5),
        (b"2-grams:", b"2-grams: ", 12),
        (b"\\end\\", b"\\end\\ ", 17),
    ],
)
def test_blanks_that_kenlm_refuses(
    tmp_path: Path, old: bytes, new: bytes, line: int | None
) -> None:
    """Such headers are read, and the line is kept for doctor, because Moses will refuse it."""
    path = write(tmp_path, BIGRAMS.replace(old, new))
    with open_ngrams(path) as model:
        assert isinstance(model, ArpaFile) and len(list(model.blocks())) == 2
        assert model.loose_line == line


def test_probability_0(tmp_path: Path) -> None:
    """Older versions of lmplz gave <s> the probability 0, and KenLM reads them."""
    for zero in (b"-inf", b"-1e10"):
        (unigrams, _), words, _ = read(write(tmp_path, BIGRAMS.replace(b"0\t<s>", zero + b"\t<s>")))
        assert words[1] == b"<s>"
        assert unigrams.log10[1] == -1e9
        assert unigrams.backoff[1] == -0.25


@pytest.mark.parametrize("size", [1, 7, 64])
def test_block_borders_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """A file read in blocks of a few bytes gives the same model."""
    whole = read(write(tmp_path, BIGRAMS))
    monkeypatch.setattr(arpa, "_BLOCK", size)
    parts = read(write(tmp_path, BIGRAMS))
    assert parts[1] == whole[1]
    assert values(parts[0]) == values(whole[0])
    assert [part.first_line for part in parts[0]] == [part.first_line for part in whole[0]]


def test_unusual_spaces_belong_to_words(tmp_path: Path) -> None:
    """U+00A0, U+0085, U+2028 and bytes that are not UTF-8 are ordinary characters of words."""
    odd = "a\u00a0b\u0085c\u2028d".encode() + b"\xff"
    _, words, _ = read(write(tmp_path, BIGRAMS.replace(b"chat", odd)))
    assert words[4] == odd


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from("re"))
def test_numbers_are_read_to_the_last_bit(value: float, notation: str) -> None:
    """Every float32 is read back exactly."""
    text = repr(float(value)) if notation == "r" else f"{value:.8e}"
    number, good = parse_number(as_array(text.encode()), 0, len(text))
    assert good
    assert np.float32(number) == np.float32(value)


@pytest.mark.parametrize(
    "text", ["", "-", ".", "1e", "1e-", "nan", "inf", "-inf", "0x1", "1,5", "1e39"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    """Only finite decimal numbers are accepted."""
    assert not parse_number(as_array(text.encode()), 0, len(text))[1]


DAMAGED = [
    (b"", "model.arpa: the file is empty, where an ARPA model was expected."),
    (
        b"mmap lm http://kheafield.com/code format version 5\n\0",
        "a KenLM binary that is unfinished",
    ),
    (gzip.compress(gzip.compress(BIGRAMS)), "found '\\x1f\\x8b"),
    (b"le chat\n", "expected \\data\\ as the first line of an ARPA file, found 'le chat'"),
    (
        b"\\data\\\n" + b"".join(b"ngram %d=1\n" % order for order in range(1, 22)) + b"\n",
        ":22: n-grams of up to 21 words, but at most 20 are supported.",
    ),
    (b"\\data\\\n\n", ":2: the section \\data\\ has no line 'ngram 1=COUNT'."),
    (BIGRAMS + b"more\n", ":18: 'more' follows after \\end\\."),
]
# where the file is cut off
CUT = [
    (b"-1\tchat", "promises 3 2-grams; this section has 2. The file ends here, so it was cut off"),
    (b"\n\\end", "the file ends before \\end\\. The file was cut off: copy or make it again."),
    (b"at </s>", ":15: the file ends in the middle of a line, '-1\\tch'. The file was cut off"),
]
WRONG_NGRAM = "expected a log10 probability (0 at most), "
REPLACED = [
    (b"ngram 2", b"ngram 3", ":3: expected 'ngram 2=COUNT', found 'ngram 3=3'."),
    (b"ngram 2=3", b"ngram 2=" + b"9" * 5000, ":3: expected 'ngram 2=COUNT', found 'ngram 2=99999"),
    (b"ngram 2=3", "ngram 2=²".encode(), ":3: expected 'ngram 2=COUNT', found"),
    (b"ngram 2=3", b"ngram 2=4", "promises 4 2-grams; this section has 3. Make the file again"),
    (b"\\2-grams:", b"\\3-grams:", ":12: expected \\2-grams:, found '\\3-grams:'."),
    (
        *(b"-0.75", b"0.75"),
        f":13: {WRONG_NGRAM}2 words of the 1-grams and nothing more, found '0.75\\t<s> le'. Make",
    ),
    (b"-0.75", b"-1e99", f":13: {WRONG_NGRAM}"),
    (b"-0.125", b"2e9", f":9: {WRONG_NGRAM}a word"),
    (b"\t<s> le", b"\t<s>", f":13: {WRONG_NGRAM}"),
    (b"<s> le", b"<s> le le le", f":13: {WRONG_NGRAM}"),
    (b"<s> le", b"<s> la", f":13: {WRONG_NGRAM}"),
    (b"chat\t0", b"chat\t-1", f":14: {WRONG_NGRAM}"),
]
DAMAGED += [(BIGRAMS[: BIGRAMS.index(end)], message) for end, message in CUT]
DAMAGED += [(BIGRAMS.replace(old, new), message) for old, new, message in REPLACED]


@pytest.mark.parametrize(("text", "message"), DAMAGED, ids=itertools.count())
def test_damage_is_diagnosed(tmp_path: Path, text: bytes, message: str) -> None:
    """Each kind of damage gets one sentence with the place and a remedy."""
    path = write(tmp_path, text)
    with pytest.raises(LanguageModelError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")
