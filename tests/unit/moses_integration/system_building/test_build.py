"""Whole builds on small corpora, compared with plain code."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.system_building.build import build_system
from moses_integration.system_building.build_settings import (
    DEFAULT_ALIGNERS,
    BuildInputs,
    BuildSettings,
    SystemFolder,
)
from moses_integration.text.preparation import read_settings
from phrasescore.errors import CorpusError, ResumeError
from tests.support.aligned_corpora import ODD_WORDS, linked_otherwise, random_corpus, write_corpus
from tests.support.plain_phrase_table import Sentence, plain_tables


def build(
    folder: Path, inputs: BuildInputs, *, update: bool = False, **settings: Any
) -> dict[str, bool]:
    """Build; return for each step whether an earlier run had done it."""
    outcomes = build_system(inputs, SystemFolder(folder), BuildSettings(**settings), update=update)
    return {outcome.name: outcome.resumed for outcome in outcomes}


def written(folder: Path, corpus: list[Sentence]) -> BuildInputs:
    source, target, links = write_corpus(folder, corpus)
    return BuildInputs(source, target, (links,))


def unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


@pytest.mark.parametrize(
    ("seed", "words", "longest", "threads", "memory"),
    [
        # few words, so that many pairs have several alignments and ties
        *((1, 4, 3, 1, 1 << 30), (2, 5, 7, 2, 1 << 30), (3, 6, 7, 3, 1)),
        # all words, and phrases whose links need two machine words
        *((4, 21, 9, 2, 1 << 30), (5, 21, 7, 1, 100_000)),
    ],
)
def test_tables(
    tmp_path: Path, seed: int, words: int, longest: int, threads: int, memory: int
) -> None:
    """All tables equal those of plain code, for all numbers of threads and memory limits."""
    corpus = random_corpus(seed, 40, ODD_WORDS[-words:], 8)
    inputs = written(tmp_path, corpus)
    resources = {"threads": threads, "memory": memory}
    build(tmp_path / "s", inputs, cleaning=False, max_phrase_length=longest, **resources)
    expected = plain_tables(corpus, longest)
    assert unzipped(tmp_path / "s" / "phrase-table.gz") == expected.phrase_table
    assert unzipped(tmp_path / "s" / "reordering-table.gz") == expected.reordering_table
    for name, lines in (("lex.e2f", expected.e2f), ("lex.f2e", expected.f2e)):
        assert sorted((tmp_path / "s" / name).read_bytes().split(b"\n")[:-1]) == lines


@pytest.mark.parametrize(("seed", "words", "longest"), [(1, 5, 7), (2, 21, 9), (3, 3, 2)])
def test_several_alignments(tmp_path: Path, seed: int, words: int, longest: int) -> None:
    """Tables equal those of the text written once for each alignment, whatever their order."""
    corpus = random_corpus(seed, 60, ODD_WORDS[-words:], 9)
    other = linked_otherwise(seed, corpus)
    given = []
    for name, each in (("one", corpus), ("other", other), ("twice", corpus + other)):
        (tmp_path / name).mkdir()
        given.append(write_corpus(tmp_path / name, each))
    settings = {"cleaning": False, "max_phrase_length": longest, "threads": 2}
    build(tmp_path / "twice" / "s", BuildInputs(*given[2][:2], given[2][2:]), **settings)
    for order in ((0, 1), (1, 0)):
        folder = tmp_path / f"s{order[0]}"
        links = tuple(given[number][2] for number in order)
        build(folder, BuildInputs(*given[0][:2], links), **settings)
        for name in ("phrase-table.gz", "reordering-table.gz"):
            assert unzipped(folder / name) == unzipped(tmp_path / "twice" / "s" / name)
        for name in ("lex.e2f", "lex.f2e"):
            assert (folder / name).read_bytes() == (tmp_path / "twice" / "s" / name).read_bytes()
    (tmp_path / "single").mkdir()
    build(tmp_path / "single" / "s", written(tmp_path / "single", corpus), **settings)
    models = (tmp_path / "s0" / "lm.arpa.gz", tmp_path / "single" / "s" / "lm.arpa.gz")
    assert unzipped(models[0]) == unzipped(models[1])


def test_one_more_alignment(tmp_path: Path, inputs: BuildInputs) -> None:
    """Another alignment repeats only the steps that read it; a missing one is made again."""
    folder = tmp_path / "s"
    build(folder, inputs)
    more = dataclasses.replace(inputs, alignments=inputs.alignments * 2)
    with pytest.raises(ResumeError, match="alignments was"):
        build(folder, more)
    steps = build(folder, more, update=True, aligners=("monotone",))
    done = {name for name, resumed in steps.items() if not resumed}
    assert done == {"align-2", "align-monotone", "score", "ini"}
    (folder / "aligned.monotone").unlink()
    steps = build(folder, more, aligners=("monotone",))
    again = {name for name, resumed in steps.items() if not resumed}
    assert again == {"align-monotone"}


@pytest.fixture
def inputs(tmp_path: Path) -> BuildInputs:
    """Write a small corpus with its alignment."""
    words = [b"w%d" % i for i in range(30)]
    return written(tmp_path, random_corpus(7, 50, words, 9))


def test_folder(tmp_path: Path, inputs: BuildInputs) -> None:
    """The folder contains the reported files, and no unfinished ones."""
    folder = tmp_path / "s"
    build(folder, inputs, lm_order=2)
    assert {path.name for path in folder.iterdir()} == {
        *("phrase-table.gz", "reordering-table.gz", "lm.arpa.gz", "lex.e2f", "lex.f2e"),
        *("corpus.source.gz", "corpus.target.gz", "aligned.1"),
        *("moses.ini", "text.json", "result.json", ".build"),
    }
    steps = json.loads((folder / "result.json").read_text())["steps"]
    lines = unzipped(folder / "phrase-table.gz").count(b"\n")
    assert steps["score"]["phrase_pairs"] == lines
    assert steps["corpus"]["pairs_read"] == 50
    aligned = (folder / "aligned.1").read_bytes()
    assert steps["align-1"]["links"] == aligned.count(b"-")
    assert steps["align-1"]["pairs_without_links"] == aligned.split(b"\n")[:-1].count(b"")
    assert len(steps["language-model"]["ngrams"]) == 2
    assert all(step["seconds"] >= 0 for step in steps.values())
    record = json.loads((folder / "result.json").read_text())["provenance"]
    assert set(record["inputs"]) == {str(path) for path in inputs.paths}
    assert record["settings"]["max_phrase_length"] == 7
    assert record["settings"]["aligners"] == []
    assert record["aligners"] == {str(inputs.alignments[0]): "given"}
    assert not read_settings(folder).source.tokenize


def test_second_run(tmp_path: Path, inputs: BuildInputs) -> None:
    """A second run does nothing; after a loss, it makes the lost files with equal bytes."""
    folder = tmp_path / "s"
    assert not any(build(folder, inputs).values())
    assert all(build(folder, inputs, threads=2).values())
    table = (folder / "phrase-table.gz").read_bytes()
    (folder / "phrase-table.gz").unlink()
    again = {name for name, resumed in build(folder, inputs, threads=2).items() if not resumed}
    assert again == {"score"}
    assert (folder / "phrase-table.gz").read_bytes() == table


def test_links_of_pairs_that_are_left_out(tmp_path: Path) -> None:
    """Alignments are left out with their pairs; errors name the line of the given file."""
    (tmp_path / "en").write_text("a\n\nb c\n")
    (tmp_path / "fr").write_text("x\ny\nz w\n")
    (tmp_path / "links").write_text("0-0\n\n0-1 1-0\n")
    inputs = BuildInputs(tmp_path / "en", tmp_path / "fr", (tmp_path / "links",))
    build(tmp_path / "s", inputs)
    written = (tmp_path / "s" / "aligned.1").read_bytes()
    assert written == b"0-0\n0-1 1-0\n"
    (tmp_path / "links").write_text("0-0\n\n0-1 2-0\n")
    with pytest.raises(CorpusError, match=r"links:3: the link 2-0 points outside"):
        build(tmp_path / "other", inputs)


def test_no_usable_link(tmp_path: Path) -> None:
    """A corpus without links gives no phrase pair, which is an error."""
    for name, text in (("en", "a b\n"), ("fr", "x\n"), ("links", "\n")):
        (tmp_path / name).write_text(text)
    inputs = BuildInputs(tmp_path / "en", tmp_path / "fr", (tmp_path / "links",))
    with pytest.raises(CorpusError, match="no phrase pair could be extracted"):
        build(tmp_path / "s", inputs)


def test_paths_in_the_ini(
    tmp_path: Path, inputs: BuildInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are absolute, so the ini and its folder can be named from everywhere."""
    monkeypatch.chdir(tmp_path)
    build(Path("sub"), inputs)
    path = MosesIni.read("sub/moses.ini").feature("TranslationModel0").options["path"]
    assert path == str(tmp_path / "sub/phrase-table.gz")


def test_from_raw_text(tmp_path: Path) -> None:
    """Without an alignment, words are aligned; raw text is tokenised as recorded in text.json."""
    pytest.importorskip("thot")
    nouns = {"house": "maison", "door": "porte", "dog": "chien"}
    for name, words in (("en", nouns), ("fr", nouns.values())):
        lines = [f"The {w}." if name == "en" else f"La {w}." for w in words] * 20
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    languages = {"tokenize": ("en", "fr"), "case": "lower"}
    steps = build(tmp_path / "s", BuildInputs(tmp_path / "en", tmp_path / "fr"), **languages)
    aligners = [name for name in steps if name.startswith("align-")]
    assert aligners == [f"align-{name}" for name in DEFAULT_ALIGNERS]
    assert b"the dog . ||| la chien . ||| 1 " in unzipped(tmp_path / "s" / "phrase-table.gz")
    assert read_settings(tmp_path / "s").target.language == "fr"
