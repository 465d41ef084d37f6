"""Loads phrase tables and reordering tables: only the entries whose source is in the input.

A table is read as a stream, so it may be larger than memory; the entries are kept as arrays. The
arrays of tables and language models are cached on disk, one ``.npz`` file for each, so that later
runs need not parse the same files again. The name of a cache file is a digest of everything that
the arrays depend on. A changed table, input or format leads to another name, so the cache is never
stale.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.loading.source_phrases import PhraseTrie, SourcePhrases, child
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import InputError, PhraseTableError, SettingsError, StorageError, counted
from phrasescore.runs.file_kinds import open_regular, private_folder, user_cache_folder
from phrasescore.runs.final_names import open_output
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.progress import with_progress
from phrasescore.table.block import TableBlock, checked_block, read_blocks
from phrasescore.table.byte_scanning import (
    BAR,
    BLANKS,
    DASH,
    LINE_FEED,
    Bytes,
    column_after,
    find_byte,
    is_bracketed,
    parse_decimal,
    parse_integer,
    token_begin,
    token_end,
)
from phrasescore.table.phrase_table import FLOOR_LN, TableFormat, phrase_tokens
from phrasescore.table.scanning import SCORES, SCORES_END, SOURCE, SOURCE_END, TARGET, TARGET_END
from phrasescore.words.token_sequences import joined_offsets, taken_runs
from phrasescore.words.word_table import WordArrays, WordTable, as_array, find_word, intern_word

# the arrays of a cache file; their types differ
Arrays = Sequence[NDArray[Any]]

_FORMAT = 4  # raise it when the meaning of the arrays changes
_MAX_BYTES = 4 << 30  # beyond this size of the cache, the oldest files are deleted
# column indexes, counted from the column of the scores
_ALIGNMENT, _SPARSE = 1, 3
_MAX_POSITION = np.iinfo(np.int16).max
_MAX_LINKS = 10_000  # the limit for one phrase; insertion sort would take too long for more
_FLOOR_LN = np.float32(FLOOR_LN)  # for the compiled code

ALIGNMENT_PROBLEM = (
    "the word alignment is not a list of links such as 0-0 1-1 into the target phrase"
)
FINE, FACTORS, LABEL, BAD_ALIGNMENT, SPARSE_SCORES = 0, 1, 2, 3, 4
_PROBLEMS = {
    FACTORS: (
        "a phrase has a bar in a token",
        "the embedded decoder does not support factors: write a bar as &#124;",
    ),
    LABEL: (
        "the target phrase has a token in brackets, as in hierarchical rules",
        "write the brackets as &#91; and &#93;, or decode rules with Moses",
    ),
    BAD_ALIGNMENT: (
        ALIGNMENT_PROBLEM,
        "repair or delete the line; Moses refuses it, or reads memory beyond the phrase",
    ),
    SPARSE_SCORES: (
        "the entry has sparse features in column 6, which the embedded decoder does not support",
        "empty the column, or decode with Moses",
    ),
}


def cache_folder(named: str | None) -> Path | None:
    """Return the folder for parsed tables, or ``None`` if there is no safe and writable one.

    Args:
        named: The folder that the user named, if any.

    Raises:
        SettingsError: Other users can write into the folder that the user named.
    """
    if named:
        with contextlib.suppress(OSError):
            return private_folder(named, "--cache-folder")
    else:
        with contextlib.suppress(OSError, SettingsError):
            return private_folder(user_cache_folder() / "tables", "the cache of parsed tables")
    return None


class TargetPhrases(NamedTuple):
    """The target sides of E phrase pairs, as arrays for compiled functions.

    Attributes:
        word_offsets: The start of each target phrase in ``words``, shape (E + 1,).
        words: The indexes of the target words in the vocabulary.
        link_offsets: The start of each alignment in ``links``, shape (E + 1,).
        links: The source and the target position of each link, shape (links, 2).
    """

    word_offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.int16]

    @classmethod
    def joined(cls, parts: Sequence[TargetPhrases]) -> TargetPhrases:
        """Join the phrases of several tables or blocks."""
        word_offsets, words, link_offsets, links = zip(*parts, strict=True)
        return cls(
            joined_offsets(word_offsets),
            np.concatenate(words),
            joined_offsets(link_offsets),
            np.concatenate(links),
        )

    def taken(self, rows: NDArray[np.int64]) -> TargetPhrases:
        """Return the phrases with the given indexes, in the given order."""
        word_offsets, words = taken_runs(self.word_offsets, rows)
        link_offsets, links = taken_runs(self.link_offsets, rows)
        return TargetPhrases(word_offsets, self.words[words], link_offsets, self.links[links])


class TableEntries(NamedTuple):
    """Entries of one table.

    Attributes:
        phrases: The source phrase of each entry, as numbered by `SourcePhrases`, shape (E,).
        scores: The ln of each score, at least -100, shape (E, scores).
        targets: The target phrases of the entries.
        vocabulary: The target words, by index.
    """

    phrases: NDArray[np.int32]
    scores: NDArray[np.float32]
    targets: TargetPhrases
    vocabulary: WordTable


def cached_arrays(folder: Path | None, parts: Sequence[str], parse: Callable[[], Arrays]) -> Arrays:
    """Return the cached arrays; if there are none, parse the arrays and cache them.

    Args:
        folder: The folder of the cache; ``None`` stores nothing.
        parts: Everything that the arrays depend on, mostly digests.
        parse: A function that returns the arrays.
    """
    if folder is None:
        return parse()
    name = hashlib.sha256("\n".join((str(_FORMAT), *parts)).encode()).hexdigest()
    path = folder / f"{name}.npz"
    # a missing or damaged file is parsed again
    with contextlib.suppress(OSError, InputError, ValueError, EOFError, zipfile.BadZipFile):
        with open_regular(path) as file, np.load(file, allow_pickle=False) as stored:
            found = list(stored.values())
        os.utime(path)
        return found
    arrays = parse()
    with contextlib.suppress(OSError, SettingsError, StorageError):  # a full or read-only disk
        with open_output(path) as stream:
            np.savez(stream, *arrays)
        _remove_oldest(folder)
    return arrays


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
    total = 0
    for path in files:
        total += path.stat().st_size
        if total > _MAX_BYTES:
            path.unlink(missing_ok=True)


class TableLoader:
    """Loads the table entries that an input needs.

    Args:
        cache: The folder of parsed tables; ``None`` keeps nothing on disk.
        in_memory: Whether to read each table only once and keep its text in memory for later
            inputs. Tables are then not cached on disk.
    """

    def __init__(self, cache: Path | None, *, in_memory: bool = False) -> None:
        self.cache = cache
        self._in_memory = in_memory
        self._held: dict[tuple[str, str], _HeldTable] = {}

    def load(
        self,
        path: str | Path,
        scores: int,
        where: str,
        source: SourcePhrases,
        *,
        reordering: bool = False,
    ) -> TableEntries:
        """Load the entries of a phrase table or a lexicalised reordering table.

        Args:
            path: A plain or gzip table.
            scores: The number of scores that the ini implies.
            where: The line of the ini that implies this number, for errors.
            source: The phrases of the input.
            reordering: Whether the file is a reordering table.

        Raises:
            InputError: The file cannot be read.
            PhraseTableError: A line violates the format, disagrees with the ini, or uses a feature
                that this decoder does not support; the error names the line.
        """

        def format_of(lines: Sequence[bytes], path: str | Path) -> TableFormat:
            find = TableFormat.from_reordering_lines if reordering else TableFormat.from_lines
            found = find(lines, path)
            if found.scores != scores:
                had = counted(found.scores, "score")
                problem = f"the table has {had}, but {where} declares {scores}"
                remedy = "correct path= or num-features= in the ini"
            elif found.hierarchical:
                problem = "a table of hierarchical rules, which the embedded decoder cannot use"
                remedy = "decode with moses_chart"
            else:
                return found
            raise PhraseTableError(problem, path=path, line=1, remedy=remedy)

        # the kind is part of the key: otherwise a phrase table named as a reordering table would be
        # accepted once it is cached
        kind = "reordering table" if reordering else "table"
        blocks = read_blocks(path, format_of=format_of)
        if not self._in_memory:
            parts = (kind, sha256_of(path), str(scores), source.digest)
            arrays = cached_arrays(self.cache, parts, lambda: _parse(blocks, scores, source))
        else:
            if (key := (kind, str(path))) not in self._held:
                self._held[key] = _HeldTable.read(blocks)
            arrays = self._held[key].parse(scores, source)
        phrases, values, *rest = arrays
        targets, words = TargetPhrases(*rest[:4]), WordTable.from_arrays(*rest[4:])
        return TableEntries(phrases, values, targets, words)


class _HeldTable(NamedTuple):
    """A table in memory.

    Attributes:
        path: The file.
        format: The format of all lines.
        lines: The lines of each source phrase.
    """

    path: str | Path
    format: TableFormat
    lines: dict[bytes, bytes]

    @classmethod
    def read(cls, blocks: Iterator[TableBlock]) -> _HeldTable:
        """Read a table, which has at least one line."""
        lines: dict[bytes, bytes] = {}
        for block in blocks:
            text = block.text if block.text.endswith(b"\n") else block.text + b"\n"
            begins = np.append(0, np.flatnonzero(as_array(text) == LINE_FEED) + 1)
            bounds = itertools.pairwise(begins[block.run_offsets].tolist())
            for row, (begin, end) in zip(block.run_offsets.tolist(), bounds, strict=False):
                words = phrase_tokens(block.source(row))
                source = b" ".join(word.partition(b"|")[0] for word in words)
                lines[source] = lines.get(source, b"") + text[begin:end]
        return cls(block.path, block.format, lines)

    def parse(self, scores: int, source: SourcePhrases) -> Arrays:
        """Return the arrays of the `TableEntries` that an input needs.

        Raises:
            PhraseTableError: A line that the input needs uses a feature that this decoder does not
                support.
        """
        phrases = dict.fromkeys(source.texts())
        needed = b"".join(self.lines.get(phrase, b"") for phrase in phrases)
        # a block cannot be empty: if the input needs no lines, take the lines of any phrase
        text = needed or next(iter(self.lines.values()))
        block = checked_block(text, text.count(b"\n"), 1, self.path, self.format)
        try:
            return _parse(iter([block]), scores, source)
        except PhraseTableError as error:  # drop the line number: it counts only the needed lines
            raise PhraseTableError(error.problem, path=self.path, remedy=error.remedy) from None


@compiled
def match_sources(
    data: Bytes,
    spans: NDArray[np.int64],
    words: WordArrays,
    trie: PhraseTrie,
    phrases: NDArray[np.int32],
) -> None:
    """Find the source phrase of every line.

    Args:
        data: The bytes of the lines.
        spans: The begin and the end of three columns of each line, shape (lines, 6).
        words: The words of the input.
        trie: The phrases of the input.
        phrases: Filled with the index of each line's source phrase, -1 if the input does not
            contain it, shape (lines,).
    """
    data, spans, words, trie, phrases = borrowed((data, spans, words, trie, phrases))
    for line in range(phrases.size):
        at, end = spans[line, SOURCE], spans[line, SOURCE_END]
        phrase = np.int64(0)
        while phrase >= 0:
            at = token_begin(data, at, end, BLANKS)
            if at == end:
                break
            stop = token_end(data, at, end, BLANKS)
            # Moses looks a word up by the factor before the bar; `parse_lines` refuses the line
            word = find_word(words, data, at, find_byte(data, at, stop, BAR))
            phrase = child(trie, phrase, word) if word >= 0 else -1
            at = stop
        phrases[line] = phrase if phrase > 0 else -1


@compiled
def _parse_scores(data: Bytes, at: int, end: int, scores: NDArray[np.float32]) -> None:
    data, scores = borrowed((data, scores))
    for i in range(scores.size):
        at = token_begin(data, at, end, BLANKS)
        stop = token_end(data, at, end, BLANKS)
        probability = np.float64(np.float32(parse_decimal(data, at, stop)[0]))
        ln = np.float32(np.log(probability)) if probability > 0 else _FLOOR_LN
        scores[i] = max(ln, _FLOOR_LN)
        at = stop


@compiled
def _parse_target(
    data: Bytes, at: int, end: int, target: WordArrays, words: NDArray[np.int32], count: int
) -> tuple[int, int]:
    """Append the target words; return how many words there are now, and the problem code."""
    data, target, words = borrowed((data, target, words))
    while True:
        at = token_begin(data, at, end, BLANKS)
        if at == end:
            return count, FINE
        stop = token_end(data, at, end, BLANKS)
        if find_byte(data, at, stop, BAR) < stop:
            return count, FACTORS
        if is_bracketed(data, at, stop):
            return count, LABEL
        words[count] = intern_word(target, data, at, stop)
        count += 1
        at = stop


@compiled
def _parse_links(
    data: Bytes, at: int, end: int, target_words: int, links: NDArray[np.int16], count: int
) -> int:
    """Append a phrase's links, sorted by source, then target; return their total, or -1."""
    data, links = borrowed((data, links))
    first = count
    while True:
        at = token_begin(data, at, end, BLANKS)
        if at == end:
            return count
        stop = token_end(data, at, end, BLANKS)
        middle = find_byte(data, at, stop, DASH)
        source = parse_integer(data, at, middle)
        goal = parse_integer(data, min(middle + 1, stop), stop)
        inside = 0 <= source <= _MAX_POSITION and 0 <= goal < min(target_words, _MAX_POSITION + 1)
        if not inside or count - first == _MAX_LINKS:
            return -1
        at = stop
        place = count
        while place > first and (
            links[place - 1, 0] > source
            or (links[place - 1, 0] == source and links[place - 1, 1] > goal)
        ):
            links[place, 0] = links[place - 1, 0]
            links[place, 1] = links[place - 1, 1]
            place -= 1
        links[place, 0], links[place, 1] = source, goal
        count += 1


@compiled
def parse_lines(
    data: Bytes,
    spans: NDArray[np.int64],
    lines: NDArray[np.int64],
    target: WordArrays,
    scores: NDArray[np.float32],
    parsed: TargetPhrases,
) -> tuple[int, int]:
    """Parse the lines whose entries are kept.

    Args:
        data: The bytes of the block.
        spans: The begin and the end of source, target and scores of each line of the block, shape
            (all, 6).
        lines: The lines to parse, shape (lines,).
        target: The table of target words, with room for more.
        scores: Filled with the ln of each score, at least -100, shape (lines, scores).
        parsed: Filled with the target phrases; its offsets begin with 0.

    Returns:
        The index of the first bad line, and its problem code; -1 and ``FINE`` if there is none.
    """
    data, spans, lines, target, scores, parsed = borrowed(
        (data, spans, lines, target, scores, parsed)
    )
    words = links = 0
    for row in range(lines.size):
        line = lines[row]
        first_word = words
        words, problem = _parse_target(
            data, spans[line, TARGET], spans[line, TARGET_END], target, parsed.words, words
        )
        _parse_scores(data, spans[line, SCORES], spans[line, SCORES_END], scores[row])
        scores_end = spans[line, SCORES_END]
        line_end = find_byte(data, scores_end, data.size, LINE_FEED)
        begin, end = column_after(data, scores_end, line_end, _ALIGNMENT)
        links = _parse_links(data, begin, end, words - first_word, parsed.links, links)
        begin, end = column_after(data, scores_end, line_end, _SPARSE)
        if links < 0:
            problem = BAD_ALIGNMENT
        if token_begin(data, begin, end, BLANKS) < end:
            problem = SPARSE_SCORES
        source_end = spans[line, SOURCE_END]
        if find_byte(data, spans[line, SOURCE], source_end, BAR) < source_end:
            problem = FACTORS
        if problem != FINE:
            return line, problem
        parsed.word_offsets[row + 1], parsed.link_offsets[row + 1] = words, links
    return -1, FINE


def _parse(blocks: Iterator[TableBlock], scores: int, source: SourcePhrases) -> Arrays:
    """Return the arrays of the `TableEntries` that an input needs."""
    vocabulary, parts = WordTable(), []
    for block in with_progress("loading the table", blocks, "entries"):
        data, matched = as_array(block.text), np.empty(len(block), np.int32)
        match_sources(data, block.spans, source.words.arrays, source.trie, matched)
        lines = np.flatnonzero(matched >= 0)
        parts.append((matched[lines], *parse_entries(block, lines, scores, vocabulary)))
    phrases, values, targets = zip(*parts, strict=True)
    joined = TargetPhrases.joined(targets)
    return [np.concatenate(phrases), np.concatenate(values), *joined, *vocabulary.arrays]


def parse_entries(
    block: TableBlock, lines: NDArray[np.int64], scores: int, vocabulary: WordTable
) -> tuple[NDArray[np.float32], TargetPhrases]:
    """Return ln of the scores, shape (lines, scores), and the target phrases of some lines.

    Args:
        block: The block; it must have this number of scores.
        lines: The indexes of the lines in the block.
        scores: The number of scores of a line.
        vocabulary: Receives the target words.

    Raises:
        PhraseTableError: The embedded decoder cannot use one of the lines.
    """
    data, spans = as_array(block.text), block.spans
    target_bytes = int((spans[lines, TARGET_END] - spans[lines, TARGET]).sum())
    most_words = target_bytes // 2 + len(lines)
    vocabulary.reserve(most_words, target_bytes)
    values = np.empty((len(lines), scores), np.float32)
    word_offsets, link_offsets = np.zeros((2, len(lines) + 1), np.int64)
    words, links = np.empty(most_words, np.int32), np.empty((len(data) // 4 + 1, 2), np.int16)
    parsed = TargetPhrases(word_offsets, words, link_offsets, links)
    line, problem = parse_lines(data, spans, lines, vocabulary.arrays, values, parsed)
    if problem != FINE:
        raise block.error(line, *_PROBLEMS[problem])
    words, links = words[: word_offsets[-1]].copy(), links[: link_offsets[-1]].copy()
    return values, TargetPhrases(word_offsets, words, link_offsets, links)
