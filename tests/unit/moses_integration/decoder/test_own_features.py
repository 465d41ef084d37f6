"""User-defined features in the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moses_integration.decoder.decoder import Decoder, WeightedFeature
from moses_integration.decoder.output import nbest_lines
from moses_integration.decoder.settings import NBestSettings, OutputSettings
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest.format import parse_entry
from phrasescore.errors import SettingsError
from tests.support.random_system import random_sentences, write_random_system


def lengths(source: Sequence[bytes], candidates: Sequence[Sequence[bytes]]) -> NDArray[np.float64]:
    """Count the words of each candidate, and the difference from the source."""
    return np.array([[len(one), len(one) - len(source)] for one in candidates], np.float64)


def weighted(*weights: float) -> WeightedFeature:
    return WeightedFeature("Lengths0", lengths, weights)


@pytest.fixture
def ini(tmp_path: Path) -> MosesIni:
    """Make a small system."""
    return MosesIni.read(write_random_system(tmp_path, 2))


def test_reorders_lists(ini: MosesIni) -> None:
    """Totals include our features, and the list is sorted by totals."""
    sentences = random_sentences(2, 5, 3, 6)
    plain = Decoder(ini)
    expected = list(plain.decode(plain.load(sentences), nbest=NBestSettings(50)))
    decoder = Decoder(ini, own_features=[weighted(3.0, 0.5)])
    found = list(decoder.decode(decoder.load(sentences), nbest=NBestSettings(50)))
    changed = 0
    for sentence, one, other in zip(sentences, expected, found, strict=True):
        totals = {}
        for n, total in enumerate(one.totals):
            words = one.words(n)
            totals[tuple(words)] = total + 3.0 * len(words) + 0.5 * (len(words) - len(sentence))
        ours = {tuple(other.words(n)): other.totals[n] for n in range(len(other))}
        assert ours == pytest.approx(totals)
        assert other.totals.tolist() == sorted(other.totals, reverse=True)
        values = other.features @ decoder.system.weights
        own = other.own_features["Lengths0"] @ [3.0, 0.5]
        assert values + own == pytest.approx(other.totals, abs=1e-4)
        changed += one.words() != other.words()
    assert changed > 0


def test_the_best_does_not_depend_on_the_length_of_the_list(ini: MosesIni) -> None:
    """User-defined features choose among equally many candidates for lists of any length."""
    decoder = Decoder(ini, own_features=[weighted(3.0, 0.5)])
    texts = [b" ".join(words).decode() for words in random_sentences(2, 5, 3, 6)]
    one, three = (decoder.translate(texts, nbest=size) for size in (1, 3))
    assert [listed[0] for listed in one] == [listed[0] for listed in three]
    assert max(map(len, three)) == 3


def test_lists_show_them(ini: MosesIni) -> None:
    """They are in the feature column, for tuning; weights may come from numpy."""
    feature = WeightedFeature("Lengths0", lengths, np.array([1.0, 0.0]))  # type: ignore[arg-type]
    decoder = Decoder(ini, own_features=[feature])
    loaded = decoder.load([(b"s0", b"s1")])
    (best,) = decoder.decode(loaded)
    (line, *_) = nbest_lines(best, OutputSettings(), 2).split(b"\n")
    again = parse_entry(line)
    assert again.features["Lengths0"] == (len(best.words()), len(best.words()) - 2)
    assert list(again.features)[-1] == "Lengths0"


@pytest.mark.parametrize(
    ("names", "weights", "message"),
    [
        (["LM0"], (1.0,), "called 'LM0'"),
        (["A B"], (1.0,), "called 'A B'"),
        ([""], (1.0,), "called ''"),
        (["X="], (1.0,), "called 'X='"),
        (["Lengths0", "Lengths0"], (1.0, 1.0), "called 'Lengths0'"),
        (["X"], (np.nan,), "the weights of X are"),
        (["X"], (), "the weights of X are"),
    ],
)
def test_names_and_weights(
    ini: MosesIni, names: list[str], weights: tuple[float, ...], message: str
) -> None:
    """An own feature cannot replace another feature, or make totals that are not numbers."""
    features = [WeightedFeature(name, lengths, weights) for name in names]
    with pytest.raises(SettingsError, match=message):
        Decoder(ini, own_features=features)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (lambda source, candidates: candidates, "X gives no array of numbers"),
        (lengths, r"values of shape \(\d+, 2\), expected \(\d+, 1\)"),
        # NaN would have no place in the order of the candidates, and no list can hold it
        (lambda source, candidates: np.full((len(candidates), 1), np.nan), "is not a finite num"),
    ],
)
def test_wrong_values(ini: MosesIni, scores: Any, message: str) -> None:
    """Texts, values that do not fit the weights, and values that are no numbers are refused."""
    decoder = Decoder(ini, own_features=[WeightedFeature("X", scores, (1.0,))])
    with pytest.raises(SettingsError, match=message):
        list(decoder.decode(decoder.load([(b"s0",)])))
