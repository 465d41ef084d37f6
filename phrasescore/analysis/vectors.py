"""Word vectors of models of any kind, and files of vectors, without torch."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import ModelError
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.final_names import write_atomically
from phrasescore.table.phrase_table import Side
from phrasescore.words.vocabulary import SPECIALS

Vectors: TypeAlias = NDArray[np.float32]


def word_vectors(stored: LoadedModel, side: Side | None) -> tuple[tuple[bytes, ...], Vectors]:
    """Return the words of one side of the corpus, the most frequent first, and their vectors.

    Args:
        stored: A model of any kind.
        side: The side; ``None`` for the side that the model reads, or its only side.

    Returns:
        N words, without </s> and <unk>; and their vectors, ``(N, E)``, without the bias that all
        words of a side share.

    Raises:
        ModelError: The model has no vectors of that side, or no words.
    """
    weights, sides = stored.weights, list(stored.sides)
    read, predicted = sides[0], sides[-1]
    names = {"source_embedding": read, "target_embedding": predicted, "embedding": predicted}
    found = {of: (stored.sides[of], weights[n]) for n, of in names.items() if n in weights}
    chosen = side or next(iter(found))
    if chosen not in found:
        problem = f"has word vectors of the {next(iter(found))} side only"
        raise stored.unsuitable_kind(problem, f"leave out --side {chosen}")
    vocabulary, vectors = found[chosen]
    # a language model has an additional vector, for the missing words before the first word
    begin, end = len(SPECIALS), len(vocabulary)
    if begin == end:
        raise ModelError(
            "the model knows no word", path=stored.path, remedy="train the model on a text"
        )
    return vocabulary.words[begin:], vectors[begin:end]


def write_vectors(
    path: str | Path,
    what: Literal["phrases", "words"],
    model: str,
    texts: Sequence[bytes],
    vectors: Vectors,
) -> None:
    """Write an ``.npz`` that ``numpy.load`` reads without pickle; the write is atomic.

    The texts are one array of bytes with offsets, so a phrase may have any length and encoding.

    Args:
        path: Output file; ``-`` is standard output.
        what: What the vectors represent.
        model: Digest of the model.
        texts: N phrases or words.
        vectors: ``(N, D)``.

    Raises:
        SettingsError: The file cannot be written.
    """
    packed = io.BytesIO()  # numpy cannot write to a device such as /dev/null
    np.savez(
        packed,
        what=np.array(what),
        model=np.array(model),
        offsets=np.cumsum([0, *map(len, texts)], dtype=np.int64),
        text=np.frombuffer(b"".join(texts), np.uint8),
        vectors=vectors,
    )
    write_atomically(path, packed.getvalue())
