"""Epochs over more pairs than are held in memory: each pair once, shuffled, resumable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phrasescore.training import batches
from phrasescore.training.batches import Passes, uniform_plan
from phrasescore.training.encoding import encode
from phrasescore.training.pairs import EncodedPairs, Remainder
from phrasescore.training.settings import TrainingSettings
from tests.support.builders import write_phrase_table


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> EncodedPairs:
    folder = tmp_path_factory.mktemp("pairs")
    return encode(
        TrainingSettings(inputs=(write_phrase_table(folder / "table", 900),)), folder / "pairs"
    )


@pytest.fixture(params=[1 << 21, 64], ids=["one stretch", "many stretches"])
def stretch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(batches, "STRETCH", request.param)
    monkeypatch.setattr(batches, "_RUN", 8)
    return int(request.param)


def passes_of(pairs: EncodedPairs, seed: int = 1) -> tuple[Passes, Remainder]:
    rows = Remainder(len(pairs), np.arange(3, len(pairs), 7))
    return Passes(pairs, rows, uniform_plan, 16, seed), rows


def test_a_pass_has_every_pair_once(pairs: EncodedPairs, stretch: int) -> None:
    through, rows = passes_of(pairs)
    batches = list(through.batches(0))
    seen = np.concatenate([batch.rows for batch in batches])
    assert np.array_equal(np.sort(seen), rows[:])
    assert [batch.is_last for batch in batches] == [False] * (len(batches) - 1) + [True]
    assert sum(batch.words for batch in batches) == through.words
    for batch in batches:
        assert batch.words == int((pairs.target.lengths(batch.rows) + 1).sum())


def test_a_pass_goes_on_anywhere(pairs: EncodedPairs, stretch: int) -> None:
    """The rest of an epoch is equal, whatever number of batches is already done."""
    through, _ = passes_of(pairs)
    batches = list(through.batches(2))
    for done in (1, len(batches) // 2, len(batches) - 1, len(batches)):
        again = list(passes_of(pairs)[0].batches(2, done))
        assert len(again) == len(batches) - done
        for one, other in zip(batches[done:], again, strict=True):
            assert np.array_equal(one.rows, other.rows)
            assert one.words_per_batch == other.words_per_batch


def test_a_stretch_comes_from_all_over_the_table(
    pairs: EncodedPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batches have pairs from the whole table."""
    monkeypatch.setattr(batches, "STRETCH", 64)
    monkeypatch.setattr(batches, "_RUN", 4)
    through, rows = passes_of(pairs)
    seen: list[int] = []
    for batch in through.batches(0):
        seen.extend(batch.rows.tolist())
        if len(seen) >= 64:
            break
    quarters = np.bincount(np.array(seen[:64]) * 4 // len(pairs), minlength=4)
    assert (quarters > 0).all()
    assert len(rows) > 4 * 64


def test_words_are_counted_whatever_their_pieces(tmp_path: Path) -> None:
    """A pass over words that are cut into pieces has as many words as one over whole words."""
    texts = tmp_path / "a", tmp_path / "b"
    for text in texts:
        text.write_text("low lower lowest\nnew newer\n" * 8)
    passes = []
    for number in (None, 3):
        settings = TrainingSettings(inputs=texts, kind="search", byte_pairs=number)
        pairs = encode(settings, tmp_path / f"pairs{number}")
        rows = Remainder(len(pairs), np.arange(2))
        passes.append(Passes(pairs, rows, uniform_plan, 4, 1))
    whole, cut = passes
    assert (whole.pieces, whole.words) == (1.0, 7 * 7)
    assert cut.words / cut.pieces == pytest.approx(whole.words)
    assert cut.pieces > 1
