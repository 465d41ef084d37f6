"""Compares generated tables with plain code written from the documentation."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest

from phrasescore.errors import PhraseTableError
from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.table_output import TableCounts, TableWriter, generate_table
from phrasescore.generation.targets import BeamSettings, TargetGenerator, TargetSettings
from phrasescore.model.folder import LoadedModel, load_model
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import read_blocks
from phrasescore.words.token_sequences import from_lists
from tests.support.random_models import save_random_model

TABLE = b"""a b ||| un b ||| 0.5 2.718 ||| 0-0 1-1
a ||| un ||| 0.5 0.25 ||| 0-0 ||| 4 4 2 ||| |||
a ||| une ||| 0.125 1 ||| 0-0 ||| 4 4 2 ||| |||
b zebra ||| b zebre ||| 0.5 0.1
b ||| b ||| 0 1
"""
SOURCE, TARGET = b"a b".split(), b"un une b".split()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """Return a small random model that does not know the word zebra."""
    return load_model(save_random_model(tmp_path_factory.mktemp("m") / "m", SOURCE, TARGET))


def writer_of(
    model: LoadedModel, beam: BeamSettings, allowed: TargetSettings, extend: bool = False
) -> TableWriter:
    generator = TargetGenerator(model.model, partial(BeamSearch, beam, allowed), "cpu")
    return TableWriter(model, generator, SharedScorer(model.model, "cpu", "fp32"), extend)


def generated(model: LoadedModel, folder: Path, extend: bool) -> tuple[list[bytes], TableCounts]:
    """Return the lines of a table with three targets per source, and the counts."""
    (folder / "table").write_bytes(TABLE)
    writer = writer_of(model, BeamSettings(4, 3), TargetSettings(2, unknown=False), extend)
    report, _ = generate_table(folder / "table", folder / "out", writer, {})
    return (folder / "out").read_bytes().splitlines(keepends=True), report.counts


def ln_p(model: LoadedModel, source: bytes, target: bytes) -> float:
    read = from_lists([model.source_vocabulary.encode(source.split())])
    predicted = from_lists([model.target_vocabulary.encode(target.split())])
    return float(SharedScorer(model.model, "cpu", "fp32").score(read, predicted)[0])


@pytest.mark.parametrize("extend", [False, True])
def test_each_line_says_what_is_known(model: LoadedModel, tmp_path: Path, extend: bool) -> None:
    """Existing lines keep their bytes and get two scores; new lines get means, p and e."""
    lines, counts = generated(model, tmp_path, extend)
    own = {tuple(line.split(b" ||| ", 2)[:2]): line for line in TABLE.splitlines(keepends=True)}
    new = 0
    for line in lines:
        source, target, rest = line.split(b" ||| ", 2)
        *old, p, mark = rest.split(b" ||| ")[0].split()
        assert math.log(float(p)) == pytest.approx(ln_p(model, source, target), abs=1e-5)
        if (source, target) in own:
            assert mark == b"1"
            assert line.replace(b" " + p + b" 1", b"", 1) == own[source, target]
            continue
        new += 1
        assert float(mark) == pytest.approx(math.e)
        values = [
            [max(float(x), math.exp(-100)) for x in text.split(b" ||| ")[2].split()]
            for (other, _), text in own.items()
            if other == source
        ]
        columns = zip(*values, strict=True)
        means = [math.exp(sum(map(math.log, column)) / len(column)) for column in columns]
        assert [float(value) for value in old] == pytest.approx(means, rel=1e-5)
        assert rest == b" ".join([*old, p, mark]) + b"\n"
    assert lines == sorted(lines)
    assert (counts.lines, counts.sources, counts.without_targets) == (5, 4, 1)
    assert (counts.new, counts.kept) == (new, len(lines) - new)
    assert counts.kept == 5 if extend else counts.kept == counts.known + 1
    # zebra is unknown, so nothing is generated for it, and its pair is kept
    assert next(line for line in lines if b"zebra" in line).startswith(b"b zebra ||| b zebre |||")
    assert sum(b"zebra" in line for line in lines) == 1


def test_new_pairs_are_those_of_the_search(model: LoadedModel, tmp_path: Path) -> None:
    """The extended table has every target that the search finds, except the empty target."""
    lines, counts = generated(model, tmp_path, extend=True)
    pairs = {tuple(line.split(b" ||| ", 2)[:2]) for line in lines}
    method = partial(BeamSearch, BeamSettings(4, 3), TargetSettings(2, unknown=False))
    sources = [b"a", b"a b", b"b"]
    ids = from_lists([model.source_vocabulary.encode(source.split()) for source in sources])
    found = TargetGenerator(model.model, method, "cpu").targets(ids)
    written = 0
    for number, source in enumerate(sources):
        for row in range(found.offsets[number], found.offsets[number + 1]):
            words = [model.target_vocabulary.words[i] for i in found.words[row]]
            written += bool(words)
            assert not words or (source, b" ".join(words)) in pairs
    assert counts.generated == written


def test_a_source_with_only_the_empty_target_keeps_its_pairs(
    model: LoadedModel, tmp_path: Path
) -> None:
    """If the search finds no words at all, the table keeps every line."""
    (tmp_path / "table").write_bytes(TABLE)
    writer = writer_of(model, BeamSettings(2, 2), TargetSettings(0))
    counts = generate_table(tmp_path / "table", tmp_path / "out", writer, {})[0].counts
    assert (counts.generated, counts.without_targets, counts.kept) == (0, 4, 5)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"a [X] ||| un [X] ||| 0.5 1\n", "hierarchical rules"),
        (b"a ||| un|DET ||| 0.5 1\n", "a token with factors"),
        (b"a ||| un b||DET ||| 0.5 1\n", "a token with factors"),
        (b"b ||| b ||| 0.5 1\na ||| a ||| 0.5 1\n", "sorted by the bytes"),
    ],
)
def test_tables_that_cannot_be_generated(
    model: LoadedModel, tmp_path: Path, line: bytes, sentence: str
) -> None:
    """Unusable tables are errors, and leave no file."""
    (tmp_path / "table").write_bytes(line)
    writer = writer_of(model, BeamSettings(2, 2), TargetSettings())
    with pytest.raises(PhraseTableError, match=sentence):
        generate_table(tmp_path / "table", tmp_path / "out", writer, {})
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_a_bare_bar_is_a_word(model: LoadedModel, tmp_path: Path) -> None:
    """A token | has no factors; columns need no blanks around their bars."""
    (tmp_path / "table").write_bytes(b"a ||| un |||0.5 1\na ||| | ||| 0.5 1\n")
    writer = writer_of(model, BeamSettings(2, 2), TargetSettings(), extend=True)
    (block,) = read_blocks(tmp_path / "table")
    assert writer.write(block, TableCounts())[1].kept == 2
