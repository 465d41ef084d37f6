"""Words that occur once, of which about half become the unknown word in training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from phrasescore.model.sequence_model import UNKNOWN, Batch
from phrasescore.training.batches import seen_once, with_unknown
from phrasescore.training.encoding import encode
from phrasescore.training.settings import TrainingSettings


def test_which_words_stand_once(tmp_path: Path) -> None:
    """They are found in the training rows, unless the shortlist already leaves out enough words."""
    (tmp_path / "text").write_bytes(b"a b a\nb c\nd c\n")
    text = (tmp_path / "text",)
    settings = TrainingSettings("rnn-lm", text, max_length=9)
    side = encode(settings, tmp_path / "pairs").target
    found = seen_once(side, np.array([0, 1]))
    assert {side.vocabulary.words[i] for i in np.flatnonzero(found)} == {b"c"}
    (tmp_path / "text").write_bytes(b"a a b c d e\n")
    for words, once in ((5, b"bcde"), (4, b"bcd"), (3, b"")):
        settings = TrainingSettings("rnn-lm", text, max_length=9, target_words=words)
        side = encode(settings, tmp_path / f"pairs{words}").target
        found = seen_once(side, np.array([0]))
        assert b"".join(side.vocabulary.words[i] for i in np.flatnonzero(found)) == once


def test_half_of_the_pairs_have_unknown_words() -> None:
    """Unknown words are on both sides or neither; equal draws give equal batches."""
    source, target = torch.tensor([[3, 2]] * 1000), torch.tensor([[2, 3, 3]] * 1000)
    batch = Batch(source, target, None)
    rare = torch.tensor([False, False, False, True])
    first, second = (
        with_unknown(batch, (rare, rare), torch.Generator().manual_seed(1)) for _ in "ab"
    )
    assert torch.equal(first.source, second.source) and torch.equal(first.target, second.target)
    unknown = first.source[:, 0] == UNKNOWN
    assert 430 < int(unknown.sum()) < 570
    for sides, as_it_was in ((first.source, source), (first.target, target)):
        assert torch.equal(sides[~unknown], as_it_was[~unknown])
        expected = as_it_was.masked_fill(as_it_was == 3, UNKNOWN)
        assert torch.equal(sides[unknown], expected[unknown])
