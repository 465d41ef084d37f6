"""The plain scorer, a peer in benchmarks, gives the same scores as the model."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import torch

from benchmarks.plain_scorer import BATCH, score_table
from phrasescore.model.folder import save_model
from phrasescore.model.model_settings import EncoderDecoderSettings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import Batch
from phrasescore.words.vocabulary import Vocabulary

WORDS = [b"a", b"b", b"c", b"d"]


def test_every_pair_gets_the_ln_p_of_the_network(tmp_path: Path, rng: np.random.Generator) -> None:
    """In batches with padding and unknown words, ln p equals the network's to five digits."""
    vocabulary = Vocabulary.from_words(WORDS)
    size = len(vocabulary)
    model = EncoderDecoder(
        EncoderDecoderSettings(
            source_vocabulary=size, target_vocabulary=size, hidden=6, embedding=5, maxout=4, rank=3
        )
    )
    model.initialise(torch.Generator().manual_seed(3), "scaled")
    save_model(tmp_path / "model", model, (vocabulary, vocabulary), {})
    known = [*WORDS, b"unknown"]
    pairs = [
        tuple([known[i] for i in rng.integers(0, 5, rng.integers(1, 5))] for _ in range(2))
        for _ in range(BATCH + 7)
    ]
    lines = [b" ".join(x) + b" ||| " + b" ".join(y) + b" ||| 0.5 ||| |||\n" for x, y in pairs]
    (tmp_path / "table").write_bytes(b"".join(lines))
    result = score_table(tmp_path / "model", tmp_path / "table", tmp_path / "scores.gz")
    assert result["pairs"] == len(pairs)
    found = np.array(
        gzip.decompress((tmp_path / "scores.gz").read_bytes()).split(b"\n")[:-1], float
    )
    with torch.no_grad():
        for (x, y), value in zip(pairs, found, strict=True):
            source, target = (torch.tensor([vocabulary.encode(side)]) for side in (x, y))
            expected = model.score(Batch(source, target, None, target.numel() + 1)).sum()
            np.testing.assert_allclose(value, float(expected), rtol=2e-5)
