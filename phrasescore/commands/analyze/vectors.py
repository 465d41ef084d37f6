"""``phrasescore analyze vectors``: a model's vectors in a file for numpy."""

from __future__ import annotations

import click

from phrasescore.commands.analyze.options import Words
from phrasescore.commands.declarations import argument, command, option
from phrasescore.commands.options import MODEL, Computing
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError, counted


class VectorsOptions(Words, Computing):
    """Options of ``analyze vectors``."""

    phrases: str | None = argument(INPUT, "[PHRASES]", required=False)
    model: str = MODEL
    table: str | None = option(
        INPUT,
        "A phrase table instead of PHRASES: each phrase of the side that the model reads once, if "
        "the model knows all its words.",
    )
    output: str = option(OUTPUT, "The .npz to write.", "-o", required=True)


@command(
    "vectors",
    VectorsOptions,
    short_help="Write summaries of phrases, or word vectors, for numpy.",
)
def vectors(options: VectorsOptions) -> None:
    """Write the vectors of phrases to a file that numpy opens without pickle.

    PHRASES has one phrase a line, plain, gzip or -. The vector of a phrase is the summary c that
    the encoder makes of it. With --words it is that of a word: of one word a line, or without
    PHRASES of all words that the model knows, the most frequent first.

    The file has the arrays vectors (N, D) in float32; text and offsets, in which the text of
    row i is text[offsets[i]:offsets[i + 1]]; what, phrases or words; and model, a digest.
    """
    options.refuse_side_without_words()
    phrases, table = options.phrases, options.table
    if phrases is not None and table is not None:
        raise SettingsError("PHRASES and --table are both given", remedy="leave out one of them")
    if options.words and table is not None:
        raise SettingsError(
            "--table is about phrases", remedy="leave out --table or leave out --words"
        )
    if not options.words and phrases is None and table is None:
        raise SettingsError(
            "there is nothing to read",
            remedy="name a file of phrases, or --table FILE, or add --words for all words",
        )
    rows, size = _write_words(options) if options.words else _write_phrases(options)
    what = counted(rows, "word" if options.words else "phrase")
    click.echo(f"{options.output}: {what}, vectors of {counted(size, 'number')}", err=True)


def _write_words(options: VectorsOptions) -> tuple[int, int]:
    import numpy as np

    from phrasescore.analysis.vectors import word_vectors, write_vectors
    from phrasescore.model.folder import load_weights

    stored = load_weights(options.model)
    found = word_vectors(stored, options.side)
    words, values = found.words, found.vectors
    if options.phrases is not None:
        rows = found.rows_in(options.phrases)
        words, values = tuple(words[row] for row in rows), values[rows]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    texts = b"".join(words), offsets
    write_vectors(options.output, "words", stored.digest, texts, [values], values.shape[1])
    return values.shape[0], values.shape[1]


def _write_phrases(options: VectorsOptions) -> tuple[int, int]:
    from phrasescore.analysis.phrases import PhraseSummaries, TablePhrases, read_phrases, texts_of
    from phrasescore.analysis.vectors import write_vectors
    from phrasescore.model.folder import load_model

    options.use_threads()
    loaded = load_model(options.model)
    summaries = PhraseSummaries(loaded, options.device)
    if options.table is not None:
        ids = TablePhrases(options.table, loaded).all()
        texts = texts_of(ids, loaded.source_vocabulary)
    else:
        assert options.phrases is not None
        ids, texts = read_phrases(options.phrases, loaded)
    blocks = summaries.blocks(ids)
    write_vectors(options.output, "phrases", loaded.digest, texts, blocks, summaries.size)
    return len(ids), summaries.size
