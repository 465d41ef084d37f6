"""``phrasescore analyze vectors``: a model's vectors in a file for numpy."""

from __future__ import annotations

from typing import Any

import click

from phrasescore.commands.analyze.model_options import (
    model_option,
    refuse_side_without_words,
    threads_option,
    words_options,
)
from phrasescore.commands.options import device_option
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError, counted


@click.command("vectors", short_help="Write summaries of phrases, or word vectors, for numpy.")
@model_option
@click.argument("phrases", type=INPUT, required=False, metavar="[PHRASES]")
@click.option(
    "--table",
    type=INPUT,
    metavar="FILE",
    help="A phrase table instead of PHRASES: each phrase of the side that the model reads once, "
    "if the model knows all its words.",
)
@words_options
@click.option(
    "-o", "--output", required=True, type=OUTPUT, metavar="FILE", help="The .npz to write."
)
@device_option
@threads_option
def vectors(
    folder: str,
    phrases: str | None,
    table: str | None,
    words: bool,
    side: Any,
    output: str,
    device: str,
    threads: int | None,
) -> None:
    """Write the vectors of phrases to a file that numpy opens without pickle.

    PHRASES has one phrase a line, plain, gzip or -. The vector of a phrase is the summary c that
    the encoder makes of it. With --words it is that of a word: of one word a line, or without
    PHRASES of all words that the model knows, the most frequent first.

    The file has the arrays vectors (N, D) in float32; text and offsets, in which the text of
    row i is text[offsets[i]:offsets[i + 1]]; what, phrases or words; and model, a digest.
    analyze nearest reads it.
    """
    refuse_side_without_words(words, side)
    if phrases is not None and table is not None:
        raise SettingsError("PHRASES and --table are both given", remedy="leave out one of them")
    if words and table is not None:
        raise SettingsError(
            "--table is about phrases", remedy="leave out --table or leave out --words"
        )
    if not words and phrases is None and table is None:
        raise SettingsError(
            "there is nothing to read",
            remedy="name a file of phrases, or --table FILE, or add --words for all words",
        )
    if words:
        rows, size = _write_words(folder, phrases, side, output)
    else:
        rows, size = _write_phrases(folder, phrases, table, output, device, threads)
    what = "word" if words else "phrase"
    click.echo(f"{output}: {counted(rows, what)}, vectors of {counted(size, 'number')}", err=True)


def _write_words(folder: str, phrases: str | None, side: Any, output: str) -> tuple[int, int]:
    import numpy as np

    from phrasescore.analysis.vector_files import write_vectors
    from phrasescore.analysis.word_vectors import word_vectors
    from phrasescore.model.folder import load_weights

    stored = load_weights(folder)
    found = word_vectors(stored, side)
    words, values = found.words, found.vectors
    if phrases is not None:
        rows = found.rows_in(phrases)
        words, values = tuple(words[row] for row in rows), values[rows]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    write_vectors(
        output, "words", stored.digest, (b"".join(words), offsets), [values], values.shape[1]
    )
    return values.shape[0], values.shape[1]


def _write_phrases(
    folder: str,
    phrases: str | None,
    table: str | None,
    output: str,
    device: str,
    threads: int | None,
) -> tuple[int, int]:
    import torch

    from phrasescore.analysis.phrases import TablePhrases, read_phrases
    from phrasescore.analysis.summaries import SummaryVectors
    from phrasescore.analysis.vector_files import write_vectors
    from phrasescore.model.folder import load_model

    if threads is not None:
        torch.set_num_threads(threads)
    loaded = load_model(folder)
    summaries = SummaryVectors(loaded, folder, device)
    if table is not None:
        found = TablePhrases(table, loaded).all()
    else:
        assert phrases is not None
        found = read_phrases(phrases, loaded)
    texts = found.text, found.offsets
    blocks = summaries.blocks(found)
    write_vectors(output, "phrases", loaded.digest, texts, blocks, summaries.size)
    return len(found), summaries.size
