"""Phrase tables and reordering tables: only the entries whose source occurs in the input.

A table is read as a stream, so it may be larger than memory. What is kept of it is arrays, without
a Python object for an entry, and goes to the cache of parsed tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.loading import entry_parsing
from moses_integration.decoder.loading.parsed_tables import Arrays, ParsedTables
from moses_integration.decoder.loading.source_phrases import SourcePhrases
from moses_integration.decoder.runs import joined_offsets
from phrasescore.errors import PhraseTableError, counted
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.progress import Progress
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, checked_block, read_blocks
from phrasescore.table.input_files import open_input, truncation_named
from phrasescore.table.phrase_table import PIPES, TableFormat
from phrasescore.table.scanning import TARGET, TARGET_END
from phrasescore.words.word_table import WordArrays, WordTable, as_array

_PROBLEMS = {
    entry_parsing.FACTORS: (
        "the target phrase has a bar in a token",
        "the embedded decoder knows no factors: write a bar as &#124;",
    ),
    entry_parsing.LABEL: (
        "the target phrase has a token in brackets, as in hierarchical rules",
        "write the brackets as &#91; and &#93;, or decode rules with Moses",
    ),
    entry_parsing.BAD_ALIGNMENT: (
        "the word alignment is not a list of links such as 0-0 1-1 into the target phrase",
        "repair or delete the line; Moses refuses it too",
    ),
    entry_parsing.SPARSE_SCORES: (
        "the entry has sparse features in column 6, which the embedded decoder lacks",
        "empty the column, or decode with Moses",
    ),
}


@dataclass(frozen=True, kw_only=True)
class TargetPhrases:
    """The target side of E entries.

    Args:
        word_offsets: Where each target phrase begins in ``words``, shape (E + 1,).
        words: Target words, as numbered by ``vocabulary``.
        link_offsets: Where each alignment begins in ``links``, shape (E + 1,).
        links: Source and target position of each link, shape (links, 2).
        vocabulary: The target words.
    """

    word_offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.int16]
    vocabulary: WordTable


@dataclass(frozen=True, kw_only=True)
class TableEntries(TargetPhrases):
    """Entries of one table, in its order.

    Args:
        phrases: Source phrase of each entry, as numbered by `SourcePhrases`, shape (E,).
        scores: ln of each score, floored at -100, shape (E, scores).
    """

    phrases: NDArray[np.int32]
    scores: NDArray[np.float32]

    def to_arrays(self) -> Arrays:
        """Return what `from_arrays` takes back."""
        arrays = self.vocabulary.arrays
        return {
            **{name: getattr(self, name) for name in _ARRAYS},
            **{f"vocabulary_{name}": getattr(arrays, name) for name in WordArrays._fields},
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> TableEntries:
        """Undo `to_arrays`."""
        vocabulary = WordTable()
        vocabulary.arrays = WordArrays(
            *(arrays[f"vocabulary_{name}"] for name in WordArrays._fields)
        )
        return cls(**{name: arrays[name] for name in _ARRAYS}, vocabulary=vocabulary)


_ARRAYS = ("phrases", "scores", "word_offsets", "words", "link_offsets", "links")


def load_phrase_table(
    path: str | Path, scores: int, where: str, source: SourcePhrases, parsed: ParsedTables
) -> TableEntries:
    """Load the entries of a phrase table that the input needs.

    Args:
        path: A plain or gzip table.
        scores: How many scores the ini says it has.
        where: The place in the ini that says so, for the error.
        source: The phrases of the input.
        parsed: Where parsed tables are kept.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: It breaks the format, disagrees with the ini, or has what this decoder
            lacks; the error names the line.
    """

    def parse() -> Arrays:
        blocks = _agreeing(read_blocks(path), scores, where)
        return _load(blocks, scores, source).to_arrays()

    parts = ("phrase table", sha256_of(path), str(scores), source.digest)
    return TableEntries.from_arrays(parsed.get(parts, parse))


def _agreeing(blocks: Iterator[TableBlock], scores: int, where: str) -> Iterator[TableBlock]:
    for block in blocks:
        found = block.format.scores
        if found != scores:
            raise PhraseTableError(
                f"{counted(found, 'score')}, but {where} says num-features={scores}",
                path=block.path,
                line=1,
                remedy="correct num-features and the weights, or name another table",
            )
        if block.format.hierarchical:
            raise PhraseTableError(
                "a table of hierarchical rules, which the embedded decoder cannot use",
                path=block.path,
                line=1,
                remedy="decode with moses_chart",
            )
        yield block


def load_reordering_table(
    path: str | Path, scores: int, *, target: bool, source: SourcePhrases, parsed: ParsedTables
) -> TableEntries:
    """Load the entries of a lexicalised reordering table that the input needs.

    Args:
        path: A plain or gzip table.
        scores: How many scores its type implies.
        target: Whether it has a target column.
        source: The phrases of the input.
        parsed: Where parsed tables are kept.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: It breaks the format; the error names the line.
    """

    def parse() -> Arrays:
        return _load(_reordering_blocks(path, scores, target), scores, source).to_arrays()

    parts = ("reordering table", sha256_of(path), str(scores), str(target), source.digest)
    return TableEntries.from_arrays(parsed.get(parts, parse))


def _reordering_blocks(path: str | Path, scores: int, target: bool) -> Iterator[TableBlock]:
    """Read blocks of lines as if they were a phrase table's; an absent target column is put in."""
    first_line = 1
    with open_input(path) as stream:
        while True:
            with truncation_named(path):
                lines = list(itertools.islice(stream, LINES_PER_BLOCK))
            if not lines and first_line > 1:
                return
            if not lines:
                raise PhraseTableError(
                    "the file is empty, where a reordering table was expected", path=path
                )
            columns = lines[0].count(PIPES) + 1
            if first_line == 1 and columns != 2 + target:
                raise PhraseTableError(
                    f"{counted(columns, 'column')}, expected {2 + target} for this type of model",
                    path=path,
                    line=1,
                    remedy="check the path of LexicalReordering in the moses.ini",
                )
            if not target:
                lines = [line.replace(PIPES, PIPES + PIPES, 1) for line in lines]
            expected = TableFormat(scores, hierarchical=False)
            yield checked_block(b"".join(lines), len(lines), first_line, path, expected)
            first_line += len(lines)


def _load(blocks: Iterator[TableBlock], scores: int, source: SourcePhrases) -> TableEntries:
    vocabulary = WordTable()
    kept = []
    with Progress("loading the table", unit="entries") as progress:
        for block in blocks:
            kept.append(_needed_entries(block, scores, source, vocabulary))
            progress.advance(len(block))
    return _joined(kept, scores, vocabulary)


def _needed_entries(
    block: TableBlock, scores: int, source: SourcePhrases, vocabulary: WordTable
) -> TableEntries:
    data = as_array(block.text)
    phrases = np.empty(len(block), np.int32)
    entry_parsing.match_sources(data, block.spans, source.words.arrays, source.trie, phrases)
    lines = np.flatnonzero(phrases >= 0)
    spans = block.spans
    target_bytes = int((spans[lines, TARGET_END] - spans[lines, TARGET]).sum())
    most_words = target_bytes // 2 + len(lines)
    vocabulary.reserve(most_words, target_bytes)
    parsed = entry_parsing.ParsedLines(
        scores=np.empty((len(lines), scores), np.float32),
        word_ends=np.zeros(len(lines), np.int64),
        words=np.empty(most_words, np.int32),
        link_ends=np.zeros(len(lines), np.int64),
        links=np.empty((len(data) // 4 + 1, 2), np.int16),
        problem=np.zeros(2, np.int64),
    )
    entry_parsing.parse_lines(data, spans, lines, vocabulary.arrays, parsed)
    line, problem = parsed.problem.tolist()
    if line >= 0:
        text, remedy = _PROBLEMS[problem]
        raise PhraseTableError(text, path=block.path, line=block.first_line + line, remedy=remedy)
    words = int(parsed.word_ends[-1]) if len(lines) else 0
    links = int(parsed.link_ends[-1]) if len(lines) else 0
    return TableEntries(
        phrases=phrases[lines],
        scores=parsed.scores,
        word_offsets=np.insert(parsed.word_ends, 0, 0),
        words=parsed.words[:words].copy(),
        link_offsets=np.insert(parsed.link_ends, 0, 0),
        links=parsed.links[:links].copy(),
        vocabulary=vocabulary,
    )


def _joined(kept: list[TableEntries], scores: int, vocabulary: WordTable) -> TableEntries:
    return TableEntries(
        phrases=np.concatenate([np.empty(0, np.int32), *(part.phrases for part in kept)]),
        scores=np.concatenate([np.empty((0, scores), np.float32), *(part.scores for part in kept)]),
        word_offsets=joined_offsets([part.word_offsets for part in kept]),
        words=np.concatenate([np.empty(0, np.int32), *(part.words for part in kept)]),
        link_offsets=joined_offsets([part.link_offsets for part in kept]),
        links=np.concatenate([np.empty((0, 2), np.int16), *(part.links for part in kept)]),
        vocabulary=vocabulary,
    )
