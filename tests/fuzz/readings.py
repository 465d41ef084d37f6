"""The readers under test; each returns a comparable result for large and tiny blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from moses_integration.decoder.features.features import FeatureSet
from moses_integration.decoder.loading.source_phrases import SourcePhrases
from moses_integration.decoder.loading.table_loading import TableEntries, TableLoader
from moses_integration.decoder.search.translation_options import collect_entries
from moses_integration.doctor import tables
from moses_integration.doctor.tables import TableSurvey, survey_scores
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.language_model import arpa, kneser_ney
from moses_integration.language_model.automaton import score
from moses_integration.language_model.back_off import read_language_model
from moses_integration.nbest import arrays
from moses_integration.nbest.arrays import Candidates, NBestReader
from moses_integration.nbest.format import read_nbest
from moses_integration.system_building import phrase_numbers
from moses_integration.system_building.word_alignment import Links, read_kept_links
from moses_integration.tables.pair_significance import pair_counts
from phrasescore.errors import PhrasescoreError
from phrasescore.table.block import read_blocks, read_source_runs
from phrasescore.table.phrase_table import TableFormat
from phrasescore.table.text_blocks import Texts
from phrasescore.words.word_table import WordTable

Result = tuple[Any, ...]


@dataclass(frozen=True)
class Reading:
    """A reader under test.

    Args:
        form: The format, a name of `originals.formats`.
        read: Reads a file in large blocks (if true) or tiny blocks, and returns the result.
        compares: Whether the file is read in tiny blocks too.
        in_turn: Whether a block is checked for one kind of fault after the other; then the block
            size decides which of several faults is reported.
    """

    form: str
    read: Callable[[Path, bool], Result]
    compares: bool = True
    in_turn: bool = False


def outcome(reading: Reading, path: Path, *, large: bool) -> Result:
    """Return the result of a reader for a file, or its error message."""
    try:
        return reading.read(path, large)
    except PhrasescoreError as error:
        return ("refused",) if reading.in_turn else ("refused", type(error).__name__, str(error))


@contextmanager
def block_size(module: ModuleType, large: bool) -> Iterator[None]:
    """Set the size of the blocks that a module reads."""
    usual = vars(module)["_BLOCK"]
    try:
        vars(module)["_BLOCK"] = usual if large else 16
        yield
    finally:
        vars(module)["_BLOCK"] = usual


def _lines(large: bool) -> int:
    return 65_536 if large else 2


def _table(path: Path, large: bool) -> Result:
    found: list[list[Any]] = [[], [], []]
    for block in read_blocks(path, _lines(large)):
        for place, side in enumerate(("source", "target")):
            spans = block.token_spans(side)  # type: ignore[arg-type]
            found[place] += [spans.tokens(line) for line in range(len(block))]
        found[2] += block.score_values.tolist()
        added = block.with_appended_scores([[b"1"] * len(block)])
        replaced = block.with_replaced_scores(1, [[b"1"] * len(block)])
        assert added.count(b"\n") == replaced.count(b"\n") == block.text.count(b"\n")
    return tuple(found)


def _factor(path: Path, large: bool) -> Result:
    found = []
    for block in read_blocks(path, _lines(large)):
        spans = block.token_spans("source", 1)
        found += [spans.tokens(line) for line in range(len(block))]
    return tuple(found)


def _counts(path: Path, large: bool) -> Result:
    return tuple(
        row for block in read_blocks(path, _lines(large)) for row in pair_counts(block).tolist()
    )


def _runs(path: Path, large: bool) -> Result:
    blocks = list(read_source_runs(path, _lines(large)))
    offsets = [
        offset + block.first_line for block in blocks for offset in block.run_offsets[:-1].tolist()
    ]
    return (b"".join(block.text for block in blocks), offsets)


def _reordering_runs(path: Path, large: bool) -> Result:
    blocks = list(
        read_source_runs(path, _lines(large), format_of=TableFormat.from_reordering_lines)
    )
    return (b"".join(block.text for block in blocks),)


_INI = b"""[feature]
PhraseDictionaryMemory name=T num-features=%d input-factor=0 output-factor=0 path=x
WordPenalty
UnknownWordPenalty
Distortion
"""


def _source(path: Path) -> SourcePhrases:
    """Return the phrases of a text with the words of a file."""
    lines = path.read_bytes().split(b"\n")[:10]
    sentences = [tuple(w for w in line.split(b"|||")[0].split(b" ") if w)[:8] for line in lines]
    return SourcePhrases([*sentences, (b"a", b"b")], 7)


def _entries(path: Path, large: bool) -> Result:
    source = _source(path)
    scores = next(iter(read_blocks(path))).format.scores
    table = TableLoader(None).load(path, scores, "here", source)
    features = FeatureSet.from_ini(MosesIni.parse(_INI % scores))
    found = collect_entries(features, [table], source, drop_unknown=False)
    return (
        *_listed(table),
        found.static.tolist(),
        found.targets.links.tolist(),
        found.first.tolist(),
    )


def _listed(table: TableEntries) -> Result:
    targets = table.targets
    words = [table.vocabulary.word(word) for word in targets.words.tolist()]
    assert targets.links.min(initial=0) >= 0
    return (
        table.phrases.tolist(),
        table.scores.tolist(),
        targets.word_offsets.tolist(),
        targets.link_offsets.tolist(),
        targets.links.tolist(),
        words,
    )


def _reordering(path: Path, large: bool) -> Result:
    return _listed(TableLoader(None).load(path, 6, "here", _source(path), reordering=True))


def _survey(scores: int | None) -> Callable[[Path, bool], Result]:
    def read(path: Path, large: bool) -> Result:
        with patch.object(tables, "LINES_PER_BLOCK", _lines(large)):
            found = TableSurvey(path, scores).read()
        faults = str(found.fault), found.bad_lines
        broken = None if found.broken is None else str(found.broken)
        numbers = [
            np.asarray(value).tolist()
            for value in (
                found.scores.zeros,
                found.scores.floored,
                found.scores.infinite,
                found.scores.lowest,
                found.scores.highest,
            )
        ]
        return (found.lines, faults, sorted(found.odd.items()), *numbers, broken)

    return read


def _scores(path: Path, large: bool) -> Result:
    found = survey_scores(path)
    return (found.lines, found.zeros.tolist(), found.floored.tolist())


def _language_model(path: Path, large: bool) -> Result:
    with block_size(arpa, large):
        model = read_language_model(path)
    log10, state = [], model.begin_state
    for word in range(min(len(model.words), 50)):
        value, state = score(model.tables, state, word)
        log10.append(value)
    # words have equal ids; states are not compared, because they depend on the rows of a block
    assert 0 <= state < model.tables.nodes.size
    return (model.order, model.words.words(), log10)


def _nbest(path: Path, large: bool) -> Result:
    vocabulary = WordTable([b"a", b"the", b"la"])
    with block_size(arrays, large):
        whole = NBestReader(path, vocabulary, with_words=True).read()
    slow = list(read_nbest(path))
    assert whole.sentences.tolist() == [entry.sentence for entry in slow]
    assert list(whole.words) == [entry.words for entry in slow]
    assert whole.totals.tolist() == [entry.total for entry in slow]
    return _candidates(whole)


def _candidates(found: Candidates) -> Result:
    return (
        dict(found.sizes),
        found.sentences.tolist(),
        found.lines.tolist(),
        found.features.tolist(),
        found.sparse.tolist(),
        found.tokens.tolist(),
        found.offsets.tolist(),
    )


def _texts(columns: int, *, beside: bool = False, **options: Any) -> Callable[[Path, bool], Result]:
    def read(path: Path, large: bool) -> Result:
        paths = (path, path) if beside else (path,)
        sizes = {} if large else {"lines_per_block": 2, "bytes_per_block": 20}
        found = []
        for block in Texts(paths, columns, **options, **sizes).blocks():
            for line in range(len(block)):
                tokens = None
                if not block.faulty[line]:
                    tokens = [spans.tokens(line) for spans in block.tokens]
                found.append((tokens, bool(block.faulty[line])))
            block.with_columns([[b"1"] * len(block)])
        return tuple(found)

    return read


def _links(path: Path, large: bool) -> Result:
    lengths = np.full(Links.read(path).sentences, 12)
    links = read_kept_links(path, lengths > 0, (lengths, lengths))
    return (links.sources.tolist(), links.targets.tolist(), links.offsets.tolist())


def _numbered(path: Path, large: bool) -> Result:
    with block_size(phrase_numbers, large):
        text = phrase_numbers.NumberedText.read(path)
    return (text.words, text.ids.tolist(), text.starts.tolist(), text.separator)


def _corpus(path: Path, large: bool) -> Result:
    with block_size(kneser_ney, large):
        corpus = kneser_ney.read_corpus(path, 3)
    by_words = kneser_ney.sort_positions(corpus, 3)
    types = kneser_ney.count_types(corpus, by_words, 3)
    return (corpus.words, corpus.ids.tolist(), types)


READINGS = {
    "phrase table": Reading("table", _table),
    "factors": Reading("table", _factor, in_turn=True),
    "counts": Reading("table", _counts, in_turn=True),
    "sources": Reading("table", _runs, in_turn=True),
    "entries of a table": Reading("table", _entries, compares=False),
    "survey of a table": Reading("table", _survey(None), compares=False),
    "scores of a table": Reading("table", _scores, compares=False),
    "sources of a reordering table": Reading("reordering", _reordering_runs, in_turn=True),
    "reordering of pairs": Reading("reordering", _reordering, compares=False),
    "survey of a reordering table": Reading("reordering", _survey(6)),
    "ARPA": Reading("arpa", _language_model),
    "KenLM": Reading("kenlm", _language_model, compares=False),
    "n-best list": Reading("nbest", _nbest, in_turn=True),
    "text": Reading("text", _texts(1)),
    "text in columns": Reading("text", _texts(2, skips=True)),
    "texts side by side": Reading("text", _texts(2, skips=True, beside=True, factor=1)),
    "numbered text": Reading("text", _numbered),
    "corpus": Reading("text", _corpus),
    "links": Reading("links", _links, compares=False),
}
