"""Reading whole lists as arrays, and lists sentence by sentence; and what no list can hold."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from moses_integration.nbest import arrays
from moses_integration.nbest.arrays import NBestReader
from moses_integration.nbest.format import nbest_lines, read_nbest, without_marks
from phrasescore.errors import CorpusError, NBestError
from phrasescore.generation.translator import Translated, Translation
from phrasescore.words.word_table import WordTable

LINE = b"%d ||| a b  ||| LM0= -1 TM= 2 3 ||| -1\n"


@pytest.mark.parametrize("block_size", [1, 2000, 1 << 23])
def test_sentences_are_those_of_the_lines(
    golden: Path, block_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all block sizes, sentences have the candidates, values and words of their lines."""
    monkeypatch.setattr(arrays, "_BLOCK", block_size)
    [path] = golden.glob("tuning/run1.best*.gz")
    reader = NBestReader(path, WordTable(), with_words=True)
    lines = enumerate(read_nbest(path), 1)
    for candidates in itertools.islice(reader.sentences(), 20):
        for row in range(len(candidates)):
            number, entry = next(lines)
            assert candidates.lines[row] == number
            assert candidates.sentences[row] == entry.sentence
            assert candidates.words[row] == entry.words
            assert candidates.totals[row] == entry.total
            values = [value for feature in entry.features.values() for value in feature]
            assert candidates.features[row].tolist() == values
            length = candidates.offsets[row + 1] - candidates.offsets[row]
            assert length == len(entry.words.split())
        assert next(iter(candidates.offsets)) == 0
        assert candidates.offsets[-1] == len(candidates.tokens)


def test_whole_lists_are_all_sentences(
    bundled_golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the whole list gives equal arrays, with features in single precision."""
    path = bundled_golden / "tuning" / "run1.best30.gz"
    whole = NBestReader(path, WordTable([b"la", b"."])).read()
    monkeypatch.setattr(arrays, "_BLOCK", 5000)
    parts = list(NBestReader(path, WordTable([b"la", b"."])).sentences())
    assert whole.features.dtype == np.float32
    for field in dataclasses.fields(whole):
        if field.name not in ("sizes", "words", "offsets"):
            joined = np.concatenate([getattr(part, field.name) for part in parts])
            assert np.array_equal(
                getattr(whole, field.name), joined.astype(getattr(whole, field.name).dtype)
            )
    assert len(parts) == 120


@pytest.mark.parametrize("block_size", [1, 1 << 20])
def test_errors_name_their_line(
    tmp_path: Path, block_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all block sizes, errors name their line."""
    monkeypatch.setattr(arrays, "_BLOCK", block_size)
    path = tmp_path / "list"
    good = LINE % 0 + LINE % 1
    for rest, problem in (
        (LINE % 0, r"list:3: sentence 0 comes after sentence 1"),
        (LINE.replace(b"TM= 2 3", b"TM= 2") % 1, r"list:3: 1 values of TM"),
        (b"1 ||| a\n", r"list:3: 2 columns"),
        (b"\n", r"list:3: 1 column, expected"),
        ((LINE % 1)[:-1], r"list:3: the list ends in the middle of a line"),
    ):
        path.write_bytes(good + rest)
        with pytest.raises(NBestError, match=problem):
            NBestReader(path, WordTable()).read()


def test_many_values_in_the_first_line(tmp_path: Path) -> None:
    """Memory is allocated for existing values, not for lines times the values of the first line."""
    path = tmp_path / "list"
    many = b"0 ||| a  ||| LM0= " + b"1 " * 200_000 + b"||| -1\n"
    path.write_bytes(many + many + (LINE % 0) * 200_000)
    with pytest.raises(
        NBestError, match=r"list:3: 1 values of LM0, but the first line of the list"
    ):
        NBestReader(path, WordTable()).read()


def test_values_beyond_single_precision(tmp_path: Path) -> None:
    """They become infinite without numpy warnings; the users of the arrays refuse them."""
    path = tmp_path / "list"
    path.write_bytes((LINE % 0).replace(b"TM= 2", b"TM= 1e39"))
    with np.errstate(over="raise"):
        assert np.isinf(NBestReader(path, WordTable()).read().features).any()


def test_sentences_that_no_text_has(tmp_path: Path) -> None:
    """Sentence numbers larger than any text are refused."""
    path = tmp_path / "list"
    for number in (b"3000000000", b"1" + b"0" * 12, b"9" * 5000):
        path.write_bytes(LINE % 0 + LINE.replace(b"%d", number))
        with pytest.raises(NBestError, match=r"list:2: the line starts with '[0-9]+', expected"):
            NBestReader(path, WordTable()).read()


def test_sparse_features_without_a_weight_are_known(tmp_path: Path) -> None:
    """They count as 0, and the first of them is reported."""
    path = tmp_path / "list"
    path.write_bytes(LINE % 0 + b"0 ||| a ||| LM0= -1 TM= 2 3 TM_x= 4 TM_y= 5 ||| -1\n")
    reader = NBestReader(path, WordTable(), sparse_weights={"TM_x": 0.5})
    assert reader.read().sparse.tolist() == [0.0, 2.0]
    assert reader.unweighted == "TM_y"


def test_marks_of_phrases_are_no_words(tmp_path: Path) -> None:
    """Lists of ``moses -t`` are read as the same lists without marks, whatever reads them."""
    path = tmp_path / "list"
    for marked in (False, True):
        text = b"0 ||| la maison |0-1| . |2-2|  ||| LM0= -1 ||| -1\n"
        text += b"1 |||  |0-18446744073709551615| la  ||| LM0= -1.0000000000000000001 ||| -1\n"
        path.write_bytes(text if marked else without_marks(text))
        found = NBestReader(path, WordTable([b"la", b"maison"]), with_words=True).read()
        assert list(found.words) == [b"la maison .", b"la"]
        assert found.tokens.tolist() == [0, 1, -1, 0]


def test_bars_have_no_place_in_a_list() -> None:
    """Words with bars are refused, because Moses could not read the line."""
    line = Translated(3, [b"a"], 0, [Translation([b"|||"], 0, -1.0, -1.0)], None)
    with pytest.raises(CorpusError, match=r"a translation of sentence 3 has \|\|\|"):
        nbest_lines(line)
