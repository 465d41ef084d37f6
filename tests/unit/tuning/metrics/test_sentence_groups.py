"""Selecting sentences by source length and by known words, and their scores."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import CorpusError, ModelError, PhraseTableError, SettingsError
from tests.support.random_models import save_random_model
from tests.support.translations import noisy_translations, references
from tuning.metrics.metric_settings import SentenceSelection, TextScoring
from tuning.metrics.system_comparison import compare_systems, evaluate
from tuning.metrics.text_scores import (
    ReferenceTexts,
    SelectedSentences,
    length_groups,
    select_sentences,
)

BLEU = TextScoring(("bleu",))


def write(path: Path, lines: list[str]) -> str:
    """Write lines; return the path."""
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


@given(st.lists(st.integers(0, 90), min_size=1, max_size=40))
def test_groups_divide_the_sentences(lengths: list[int]) -> None:
    """Every sentence is in one group within its bounds; groups are ordered and not empty."""
    rows = np.arange(len(lengths)) * 3
    groups = list(length_groups(rows, np.array(lengths)))
    assert sorted(row for group in groups for row in group.rows.tolist()) == rows.tolist()
    for group in groups:
        inside = [lengths[row // 3] for row in group.rows.tolist()]
        assert group.mean_length == pytest.approx(np.mean(inside))
        assert group.low <= min(inside)
        assert group.high is None or max(inside) <= group.high
    assert [group.low for group in groups] == sorted({group.low for group in groups})


@pytest.mark.parametrize(
    ("lengths", "names"),
    [
        ([5, 6, 29, 30] * 5 + [31], ["1–5", "6–10", "26–30", "over 30"]),
        ([5, 6, 29, 30] * 4 + [31], ["1–10", "21–30", "31–40"]),
        ([0, 12, 60, 61], ["0", "11–20", "51–60", "over 60"]),
    ],
)
def test_widths_go_by_the_text(lengths: list[int], names: list[str]) -> None:
    """Groups are 5 words wide, or 10 if more than 5 % of sentences have over 30 words."""
    groups = length_groups(np.arange(len(lengths)), np.array(lengths))
    assert [str(group) for group in groups] == [f"{name} words" for name in names]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write forty sources of one to eight words, references, and two systems."""
    rng = np.random.default_rng(3)
    write(tmp_path / "src.gz", [" ".join("s" * rng.integers(1, 9)) for _ in range(40)])
    write(tmp_path / "ref", references())
    write(tmp_path / "ref2.gz", noisy_translations(rng, 0.4))
    for name, share in (("a1", 0.3), ("a2", 0.3), ("b1", 0.1)):
        write(tmp_path / name, noisy_translations(rng, share))
    return tmp_path


def lines_of(path: Path) -> list[str]:
    """Return the lines of a plain or gzip file."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().split("\n")[:-1]


def part(folder: Path, name: str, rows: np.ndarray) -> str:
    """Write some lines of a file to another; return its path."""
    lines = lines_of(folder / name)
    return write(folder / f"part-{name.removesuffix('.gz')}", [lines[row] for row in rows])


def by_length(folder: Path) -> SentenceSelection:
    """Select groups of up to five and up to ten words."""
    return SentenceSelection(str(folder / "src.gz"), by_length=True)


def test_comparisons_of_a_group_are_those_of_its_text(folder: Path) -> None:
    """A group's comparison equals that of files with only its lines, with two references."""
    systems = {"a": [folder / "a1", folder / "a2"], "b": [folder / "b1"]}
    found = compare_systems(
        [folder / "ref", folder / "ref2.gz"], systems, selection=by_length(folder), trials=200
    )
    assert found.record.by_length is not None
    for group, compared in zip(found.sentences.groups, found.record.by_length, strict=True):
        parts = {
            name: [part(folder, Path(path).name, group.rows) for path in paths]
            for name, paths in systems.items()
        }
        wanted = [part(folder, name, group.rows) for name in ("ref", "ref2.gz")]
        alone = compare_systems(wanted, parts, trials=200)
        assert compared["metrics"] == alone.scores
    content = found.to_json()["by_length"]
    assert [group["from"] for group in content] == [1, 6]
    assert content[1]["metrics"]["bleu"][1]["p_bootstrap"] > 0
    sentences = len(found.sentences.groups[0].rows)
    text = found.to_text()
    assert f"1–5 words, {sentences} sentences" in text
    assert text.count("p (AR)") == 3
    assert "some show a difference by chance" in " ".join(text.split())


def selected(folder: Path, model: str = "model", **options: Any) -> SelectedSentences:
    """Select the sentences of a text whose words a model knows."""
    options.setdefault("source", str(folder / "s"))
    selection = SentenceSelection(known_words=str(folder / model), **options)
    return select_sentences(selection, ReferenceTexts([folder / "r1", folder / "r2"], BLEU))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Write a source, two references, and models of each direction that know a, b and A, B."""
    write(tmp_path / "s", ["a b", "a x", "", "b", "a", "b <unk>", "a\u00a0b", "b|a"])
    write(tmp_path / "r1", ["A", "B", "A B", "B A", "X", "A", "A", "A|X B"])
    write(tmp_path / "r2", ["B X", "A", "", "A\r", "A", "A", "B", "B"])
    save_random_model(tmp_path / "model", [b"a", b"b"], [b"A", b"B"])
    save_random_model(tmp_path / "back", [b"a", b"b"], [b"A", b"B"], "target-source")
    save_random_model(tmp_path / "other", [b"A", b"B"], [b"a", b"b"])
    return tmp_path


@pytest.mark.parametrize("model", ["model", "back"])
def test_known_words(texts: Path, model: str) -> None:
    """Source and all references must be known, for both directions; factors are split."""
    found = selected(texts, model)
    assert found.rows.tolist() == [2, 3, 7]
    assert str(found) == (
        f"3 of 8 sentences, those with all words in the vocabularies of {texts / model}"
    )
    assert found.to_json() == {"known_words": {"model": str(texts / model), "of": 8}}


def test_known_words_by_length(texts: Path) -> None:
    """Groups contain only the selected sentences."""
    found = selected(texts, by_length=True)
    assert [(str(group), group.rows.tolist()) for group in found.groups] == [
        ("0 words", [2]),
        ("1–5 words", [3, 7]),
    ]
    write(texts / "hyp", ["A", "B", "A", "B", "X", "A", "A", "A B"])
    selection = SentenceSelection(str(texts / "s"), known_words=str(texts / "model"))
    result = evaluate([texts / "hyp"], [texts / "r1"], BLEU, selection)
    # the first sentence has an unknown word only in the other reference
    assert result.sentences.rows.tolist() == [0, 2, 3, 7]
    assert result.to_json()["sentences"] == 4
    assert result.texts[0].words == 5
    assert "4 of 8 sentences, those with all words" in result.to_text()


def test_factors_of_a_model(texts: Path) -> None:
    """A model of the second factor reads this factor; missing factors are errors with places."""
    save_random_model(texts / "tags", [b"a", b"b"], [b"A", b"X", b"B"], factor=1)
    write(texts / "s", ["x|a y|b", "x|a", "x|a"])
    write(texts / "r1", ["y|X", "A|A", "A"])
    write(texts / "r2", ["A", "A", "A|z"])
    assert selected(texts, "tags").rows.tolist() == [0, 1]
    write(texts / "s", ["x|a", "x|a", "x|a y"])
    with pytest.raises(PhraseTableError, match=r"s:3: .*has 1 factor"):
        selected(texts, "tags")


def test_what_is_refused(texts: Path) -> None:
    """Empty selections, missing sources or models, and uneven texts are errors."""
    with pytest.raises(CorpusError, match="each of 8 sentences has a word outside"):
        write(texts / "s", ["X"] * 8)
        selected(texts)
    with pytest.raises(
        SettingsError, match="model has a source vocabulary, but no source is given"
    ):
        selected(texts, source=None)
    with pytest.raises(ModelError, match="no such model folder"):
        selected(texts, "none")
    write(texts / "s", ["a"] * 9)
    with pytest.raises(CorpusError, match=r"s: 9 lines, where .*r1 has 8"):
        selected(texts)
