"""``phrasescore analyze nearest``: which phrases, or words, a model takes for alike."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.analyze.model_options import (
    model_option,
    refuse_side_without_words,
    threads_option,
    words_options,
)
from phrasescore.commands.numbers import Whole
from phrasescore.commands.options import device_option, json_options, print_result
from phrasescore.commands.paths import INPUT
from phrasescore.errors import ModelError, SettingsError, counted, visible
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.analysis.nearest import NearestTexts
    from phrasescore.analysis.phrases import PhraseList
    from phrasescore.analysis.vector_files import VectorFile
    from phrasescore.model.folder import LoadedModel


@click.command("nearest", short_help="List the phrases, or words, nearest to given ones.")
@model_option
@click.argument("queries", nargs=-1, metavar="[PHRASE]...")
@click.option(
    "-i",
    "--input",
    "phrases",
    type=INPUT,
    metavar="FILE",
    help="More phrases to look for, one a line; - is standard input.",
)
@click.option(
    "--table",
    type=INPUT,
    metavar="FILE",
    help="Compare with the phrases of this phrase table whose words the model knows.",
)
@click.option(
    "--vectors",
    type=INPUT,
    metavar="FILE",
    help="Compare with what phrasescore analyze vectors wrote, which takes no time.",
)
@words_options
@click.option(
    "-n",
    "--count",
    type=Whole(1, 10_000),
    default=10,
    show_default=True,
    metavar="N",
    help="How many to list of each.",
)
@device_option
@threads_option
@json_options
def nearest(
    folder: str,
    queries: tuple[str, ...],
    phrases: str | None,
    table: str | None,
    vectors: str | None,
    words: bool,
    side: Any,
    count: int,
    device: str,
    threads: int | None,
    as_json: bool,
    json_file: str | None,
) -> None:
    """List what is nearest to a PHRASE, by the cosine of the summaries c.

    The phrases of a table are read with --table. To ask more than once, write their vectors to a
    file first, with phrasescore analyze vectors --table, and name it with --vectors. With --words,
    each PHRASE is a word, and is compared with all words that the model knows.

    Each line of the output has the phrase that was asked for, a rank, the cosine, and a neighbour,
    with tabs between them. The phrase itself is not listed.
    """
    refuse_side_without_words(words, side)
    if words and (table or vectors):
        raise SettingsError(
            "--words compares with all words that the model knows",
            remedy="leave out --table and --vectors",
        )
    if not words and (table is None) == (vectors is None):
        raise SettingsError(
            "phrases are compared with those of a table or of a file of vectors",
            remedy="give one of --table FILE and --vectors FILE; or --words for words",
        )
    if not queries and phrases is None:
        raise SettingsError(
            "there is nothing to look for",
            remedy="write phrases between quotes, or name a file of them with -i",
        )
    texts = [os.fsencode(query) for query in queries]
    notes: dict[bytes, list[str]] = {}
    if words:
        found = _among_words(folder, texts, phrases, side, count)
    else:
        compared = table, vectors
        found, notes = _among_phrases(folder, texts, phrases, compared, count, device, threads)
    listed = [
        {
            "query": _shown(query),
            **({"unknown": notes[query]} if query in notes else {}),
            "nearest": [{"phrase": _shown(n.text), "cosine": round(n.cosine, 6)} for n in near],
        }
        for query, near in zip(found.queries, found.found(), strict=True)
    ]
    if not as_json:
        for query, near in zip(found.queries, found.found(), strict=True):
            for rank, each in enumerate(near, 1):
                line = b"%s\t%d\t%.4f\t%s\n" % (query, rank, each.cosine, each.text)
                sys.stdout.buffer.write(line)
    settings = {"model": folder, "table": table, "vectors": vectors, "count": count, "side": side}
    result = {"queries": listed, "provenance": provenance(settings=settings)}
    print_result(result, as_json, json_file)


def _among_words(
    folder: str, texts: Sequence[bytes], file: str | None, side: Any, count: int
) -> NearestTexts:
    from phrasescore.analysis.nearest import NearestTexts
    from phrasescore.analysis.word_vectors import word_vectors
    from phrasescore.model.folder import load_weights

    known = word_vectors(load_weights(folder), side)
    rows = known.rows_of(texts) + ([] if file is None else known.rows_in(file))
    found = NearestTexts([known.words[row] for row in rows], known.vectors[rows], count)
    found.add(known.vectors, known.words.__getitem__)
    return found


def _among_phrases(
    folder: str,
    texts: Sequence[bytes],
    file: str | None,
    compared: tuple[str | None, str | None],
    count: int,
    device: str,
    threads: int | None,
) -> tuple[NearestTexts, dict[bytes, list[str]]]:
    import torch

    from phrasescore.analysis.nearest import NearestTexts
    from phrasescore.analysis.phrases import TablePhrases, asked_phrases, with_texts
    from phrasescore.analysis.summaries import SummaryVectors
    from phrasescore.model.folder import load_model

    if threads is not None:
        torch.set_num_threads(threads)
    loaded = load_model(folder)
    summaries = SummaryVectors(loaded, folder, device)
    asked = asked_phrases(texts, file, loaded)
    queries = [asked.text_of(row) for row in range(len(asked))]
    found = NearestTexts(queries, summaries.of(asked), count)
    table, vectors = compared
    if vectors is not None:
        _compare_with_file(found, vectors, loaded)
    else:
        assert table is not None
        phrases = TablePhrases(table, loaded)
        for ids in phrases.blocks():
            block = with_texts(ids, loaded.source_vocabulary)
            found.add(summaries.of(block), block.text_of)
        if not phrases.known:
            raise phrases.none()
        _say_left_out(phrases.unknown)
    return found, _unknown(asked)


def _say_left_out(unknown: int) -> None:
    if unknown:
        left_out = f"{counted(unknown, 'phrase')} of the table left out"
        click.echo(f"{left_out}: the model does not know all their words", err=True)


def _compare_with_file(found: NearestTexts, path: str, loaded: LoadedModel) -> None:
    from phrasescore.analysis.vector_files import open_vectors

    file = open_vectors(path)
    if file.what == "words":
        raise SettingsError(
            "these are vectors of words, and phrases are looked for",
            path=path,
            remedy="use --words without --vectors, or write vectors of phrases",
        )
    if file.model != loaded.digest:
        raise ModelError(
            "another model made these vectors, so they cannot be compared with this one's",
            path=path,
            remedy="write them again with phrasescore analyze vectors",
        )
    for first, block in file.blocks():
        found.add(block, functools.partial(_text_after, file, first))


def _text_after(file: VectorFile, first: int, row: int) -> bytes:
    return file.text_of(first + row)


def _unknown(asked: PhraseList) -> dict[bytes, list[str]]:
    """Warn of words that the model does not know; return them by phrase."""
    found = {}
    for row in range(len(asked)):
        if unknown := asked.unknown_words(row):
            found[asked.text_of(row)] = [_shown(word) for word in unknown]
            words = ", ".join(visible(word, 60) for word in unknown)
            text = visible(asked.text_of(row), 60)
            click.echo(f"warning: {text}: the model does not know {words}", err=True)
    return found


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")
