"""Words seen once: which they are, and that about half of them become the unknown word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from phrasescore.model.sequence_model import UNKNOWN, Batch
from phrasescore.pairs.phrase_pairs import PairSettings
from phrasescore.pairs.text_encoding import encode_texts
from phrasescore.training.rare_words import seen_once, with_unknown


def test_which_words_stand_once(tmp_path: Path) -> None:
    """In the rows that count; a text with words outside the shortlist teaches <unk> by itself."""
    (tmp_path / "text").write_bytes(b"a b a\nb c\nd c\n")
    given = (tmp_path / "text",), tmp_path / "pairs"
    side = encode_texts(*given, PairSettings(), max_length=9).target
    found = seen_once(side, np.array([0, 1]))
    assert found is not None
    assert {side.vocabulary.words[i] for i in np.flatnonzero(found)} == {b"c"}
    side = encode_texts(*given, PairSettings(target_words=2), max_length=9).target
    assert seen_once(side, np.array([0, 1])) is None


def test_half_of_them_are_unknown() -> None:
    """Others stay, lengths too, and the same draws give the same batch."""
    target = torch.tensor([[2, 3]] * 1000)
    batch = Batch(target[:, :0], target, None, 3000)
    rare = torch.tensor([False, False, False, True])
    first, second = (with_unknown(batch, rare, torch.Generator().manual_seed(1)) for _ in "ab")
    assert torch.equal(first.target, second.target)
    assert (first.target[:, 0] == 2).all()
    unknown = int((first.target[:, 1] == UNKNOWN).sum())
    assert 430 < unknown < 570
    assert int((first.target[:, 1] == 3).sum()) == 1000 - unknown
