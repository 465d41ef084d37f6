"""Model folders with random weights, for tests of the code around models."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from phrasescore.model.folder import LoadedModel, save_model
from phrasescore.model.kinds import Direction, kind_named, read_settings
from phrasescore.model.sequence_model import build
from phrasescore.words.byte_pairs import BytePairs
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, OutsideWords, Vocabulary

_SIZES: dict[str, Any] = {"hidden": 8, "embedding": 6, "maxout": 5, "rank": 4}
_SIZES |= {"order": 4, "second_hidden": 7}


def save_random_model(
    folder: Path,
    source_words: Iterable[bytes],
    target_words: Iterable[bytes],
    direction: Direction = "source-target",
    seed: int = 1,
    kind: str = "phrase",
    byte_pairs: BytePairs | None = None,
    outside: OutsideWords = NO_OUTSIDE_WORDS,
    spread: float = 0.3,
    **choices: str | float,
) -> Path:
    """Write a small model whose scores differ from pair to pair.

    Args:
        folder: The model folder.
        source_words: The words of the table's source side that the model knows.
        target_words: The words of the table's target side that the model knows.
        direction: The side that the model reads.
        seed: The seed of the weights.
        kind: The kind, as for ``train --kind``.
        byte_pairs: Splits the words into the pieces that the model knows.
        outside: Words outside the model's shortlist, with their counts.
        spread: The standard deviation of the weights.
        choices: Settings of the kind, such as its unit.
    """
    sides = []
    for words in (source_words, target_words):
        if byte_pairs is not None:
            words = itertools.chain.from_iterable(map(byte_pairs.cutter(), words))
        known = Vocabulary.from_words(sorted(set(words)))
        sides.append(dataclasses.replace(known, byte_pairs=byte_pairs))
    read, predicted = sides if direction == "source-target" else sides[::-1]
    described = kind_named(kind)
    has = {each.name for each in dataclasses.fields(described.settings)}
    sizes = {name: size for name, size in _SIZES.items() if name in has}
    sizes |= {"direction": direction, "target_vocabulary": len(predicted)}
    sizes |= {"source_vocabulary": len(read) if described.reads_source else 0}
    settings = read_settings({"kind": described.name, **sizes, **choices}, where="a test")
    model = build(settings)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, spread, generator=generator)
    save_model(folder, model, (read, predicted), {}, outside=outside)
    return folder


def words_alone(
    source: Vocabulary,
    target: Vocabulary,
    direction: Direction,
    digest: str = "",
    kind: str = "rnn-encoder-decoder",
) -> LoadedModel:
    """Return a model with vocabularies but without weights; by default, a phrase model."""
    reads_source = kind_named(kind).reads_source
    sizes = {
        "source_vocabulary": len(source) if reads_source else 0,
        "target_vocabulary": len(target),
    }
    settings = read_settings({**sizes, "direction": direction, "kind": kind}, where="a test")
    return LoadedModel(settings, source, target, {}, digest, Path(digest or "model"))
