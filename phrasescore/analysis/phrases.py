"""Phrases for the analyses (from a phrase table or a text file), and their summaries."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.analysis.vectors import Vectors
from phrasescore.errors import CorpusError, ModelError, counted
from phrasescore.model.device import Cores, choose_device
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.progress import Progress, with_progress
from phrasescore.scoring.prefix_trie import cut_by_area
from phrasescore.table.block import read_blocks
from phrasescore.table.text_blocks import Texts
from phrasescore.words.hashing import is_first, phrase_digests
from phrasescore.words.token_sequences import TokenSequences, as_matrix, concatenated, from_lists
from phrasescore.words.vocabulary import unknown_counts

_BATCH = {"cpu": 256, "cuda": 4096}  # maximum number of phrases in a batch
_LONG = 64  # a padded batch has at most this number times _BATCH words, padding included


def sample_phrases(
    path: str | Path, loaded: LoadedModel, min_words: int, count: int, seed: int
) -> tuple[TokenSequences, int]:
    """Draw a uniform sample of the distinct phrases of a table, in one pass.

    Each phrase is hashed with the seed, and the phrases with the lowest hashes are taken, so the
    sample does not depend on where or how often a phrase occurs. Phrases with an unknown word are
    skipped: the model cannot tell unknown words apart, so different phrases would look alike.

    Args:
        path: A plain or gzip phrase table, or ``-``.
        loaded: The model; the phrases are of the side that it reads.
        min_words: Minimum number of words of a phrase.
        count: Maximum number of phrases to draw.
        seed: Seed of the draw.

    Returns:
        The phrases as word ids, and the number of distinct phrases that they were drawn from.

    Raises:
        InputError: The table cannot be read or violates its format.
        CorpusError: The model knows no phrase of the table.
    """
    side = next(iter(loaded.sides))
    swap, spread = np.random.default_rng(seed).integers(1 << 63, size=2, dtype=np.uint64)
    drawn, keys, seen = from_lists([]), np.empty(0, np.uint64), np.empty(0, np.uint64)
    unknown = 0
    for block in with_progress("reading the phrase table", read_blocks(path)):
        spans = block.token_spans(side, loaded.model.settings.factor)
        ids = loaded.source_vocabulary.encode_spans(spans)
        new = is_first(phrase_digests(ids.tokens, ids.offsets))
        ids = ids.select(np.flatnonzero(new & (ids.lengths >= min_words)))
        strange = unknown_counts(ids) > 0
        unknown += int(strange.sum())
        ids = ids.select(np.flatnonzero(~strange))
        digests = phrase_digests(ids.tokens, ids.offsets)[:, 0]
        seen = np.union1d(seen, digests)
        keys = np.concatenate([keys, (digests ^ swap) * (spread | np.uint64(1))])
        # unique sorts the keys
        keys, rows = np.unique(keys, return_index=True)
        keys, drawn = keys[:count], concatenated([drawn, ids]).select(rows[:count])
    if not len(drawn):
        at_least = "" if min_words == 1 else f" of at least {min_words} words"
        raise CorpusError(
            f"this table has no {side} phrase{at_least} whose words the model knows "
            f"({counted(unknown, 'phrase')} with unknown words)",
            path=path,
            remedy="name a table of the language that the model was trained on"
            if unknown
            else "lower --min-words",
        )
    return drawn, len(seen)


def read_phrases(path: str | Path, loaded: LoadedModel) -> tuple[TokenSequences, list[bytes]]:
    """Read one phrase per line; words that the model does not know become ``<unk>``.

    Returns:
        The word ids of N phrases, and their texts.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is empty or too long for a model to read, or the file is empty.
    """
    ids, texts = list[TokenSequences](), list[bytes]()
    for block in Texts((path,), columns=1, factor=loaded.model.settings.factor).blocks():
        spans = block.phrases()
        ids.append(loaded.source_vocabulary.encode_spans(spans))
        texts += [b" ".join(spans.tokens(line)) for line in range(len(block))]
    if not texts:
        raise CorpusError("the file has no phrases", path=path, remedy="write one phrase per line")
    return concatenated(ids), texts


def phrase_summaries(loaded: LoadedModel, phrases: TokenSequences, device: str) -> Vectors:
    """Return the summaries (the vectors c of the paper) of N phrases, ``(N, H)``.

    Args:
        loaded: A model of a kind whose ``summarises`` is true.
        phrases: The phrases, as ids without </s>.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ModelError: A summary is not finite.
    """
    place = choose_device(device)
    found = np.empty((len(phrases), loaded.model.settings.hidden), np.float32)
    placed = copy.deepcopy(loaded.model).to(place).eval()

    def encode(rows: NDArray[np.int64]) -> None:
        ids, lengths = (torch.from_numpy(each) for each in as_matrix(phrases.select(rows)))
        with torch.inference_mode():
            found[rows] = placed.summaries(ids.to(place), lengths.to(place)).cpu().numpy()

    # phrases of similar lengths need little padding
    order, max_rows = np.argsort(phrases.lengths, kind="stable"), _BATCH[place.type]
    groups = cut_by_area(order, phrases.lengths, max_rows, max_rows * _LONG)
    cores = Cores(place)
    with Progress("reading phrases", len(phrases), "phrases") as progress:
        for parts in cores.each(encode, groups):
            progress.advance(sum(len(rows) for rows, _ in parts))
    cores.rest()
    if not np.isfinite(found).all():
        raise ModelError(
            "the summaries of some phrases are not finite",
            path=loaded.path,
            remedy="train the model again, perhaps with a lower learning rate",
        )
    return found
