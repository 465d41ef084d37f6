"""Sentence by sentence: shares as sacrebleu has them, words that changed, scores by length."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

from tests.support.result_folders import worse, write_comparison
from tuning.metrics.text_scores import ReferenceTexts
from tuning.report.contents import TranslatedText
from tuning.report.report_page import ReportSettings, read_results
from tuning.report.sentences import (
    changed_words,
    differences,
    scores_by_length,
    share_of_each,
)


def text_of(folder: Path, metric: str = "bleu", runs: int = 1) -> TranslatedText:
    """A compared text of forty sentences."""
    write_comparison(folder, runs=runs, metrics=[metric])
    [text] = read_results(ReportSettings(folder, (folder / "test.src",))).texts
    return text


def lines_of(lines: tuple[str, ...] | None) -> list[str]:
    """Lines that must be there."""
    assert lines is not None
    return list(lines)


def bleu(lines: list[str], reference: list[str]) -> float:
    """Corpus BLEU by sacrebleu."""
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return float(metric.corpus_score(lines, [reference]).score) / 100


def test_a_share_is_what_replacing_the_sentence_does(tmp_path: Path) -> None:
    """Asked from both sides, with sacrebleu on whole texts; and they nearly add up."""
    text = text_of(tmp_path)
    first, second = (lines_of(output.lines) for output in text.outputs)
    reference = lines_of(text.reference)
    shares = share_of_each("bleu", *(output.statistics[0] for output in text.outputs))
    for row in (0, 9, 25):
        there, back = [*first], [*second]
        there[row], back[row] = second[row], first[row]
        moved = bleu(there, reference) - bleu(first, reference)
        moved += bleu(second, reference) - bleu(back, reference)
        assert shares[row] == pytest.approx(moved / 2, abs=1e-9)
    whole = bleu(second, reference) - bleu(first, reference)
    assert shares.sum() == pytest.approx(whole, abs=0.1 * abs(whole))


def test_gains_come_first_and_are_counted(tmp_path: Path) -> None:
    """The greatest gains, then the greatest losses, the greatest of them last."""
    text = text_of(tmp_path)
    every = differences(text, text.outputs[1], 40)
    few = differences(text, text.outputs[1], 3)
    assert every is not None and few is not None
    shares = [row.share for row in every.rows]
    assert shares == sorted(shares, reverse=True)
    assert every.better == sum(share > 0 for share in shares) > 3
    assert every.worse == sum(share < 0 for share in shares) > 3
    assert [row.share for row in few.rows] == shares[:3] + shares[-3:]
    lines = [lines_of(output.lines) for output in text.outputs]
    assert every.alike == sum(one == other for one, other in zip(*lines, strict=True))
    for row in every.rows:
        place = row.number - 1
        assert " ".join(words.text for words in row.first) == lines[0][place]
        assert row.reference == lines_of(text.reference)[place]
    gone = dataclasses.replace(text.outputs[1], lines=None)
    assert differences(text, gone, 3) is None


def test_lower_ter_is_a_gain(tmp_path: Path) -> None:
    """What moves TER down comes first."""
    text = text_of(tmp_path, "ter")
    found = differences(text, text.outputs[1], 40)
    assert found is not None
    assert found.rows[0].share < 0 < found.rows[-1].share
    lines = [lines_of(output.lines) for output in text.outputs]
    ter = [TER().corpus_score(each, [lines_of(text.reference)]).score / 100 for each in lines]
    assert found.difference == pytest.approx(ter[1] - ter[0])


def test_words_that_changed() -> None:
    """Spaces alone separate words; what both have is not marked."""
    first, second = changed_words("a b c d", "a x c d e")
    assert [(each.text, each.changed) for each in first] == [
        ("a", False), ("b", True), ("c d", False),
    ]  # fmt: skip
    assert [each.text for each in second if each.changed] == ["x", "e"]
    assert changed_words("", "a") == ((), changed_words("b", "a")[1])
    no_break = "dix\u00a0mille"
    assert changed_words(no_break, no_break)[0][0].text == no_break
    long = changed_words("a " * 5000, "b")[0]
    assert long[0].text.count("a") == 300 and long[0].text.endswith("…")


def test_groups_of_lengths(tmp_path: Path) -> None:
    """Each group's score is that of its sentences alone, the mean over runs."""
    text = text_of(tmp_path, runs=2)
    found = scores_by_length(text)
    assert found.by == "source"
    source, reference = lines_of(text.source), lines_of(text.reference)
    assert sum(len(group.rows) for group in found.groups) == 40
    files = [tmp_path / "test.1.0", tmp_path / "test.1.1"]
    for place, group in enumerate(found.groups):
        assert {len(source[row].split(" ")) for row in group.rows} <= {*range(group.low, 99)}
        runs = []
        for file in files:
            lines = file.read_text("utf-8").split("\n")
            rows = group.rows.tolist()
            runs.append(bleu([lines[row] for row in rows], [reference[row] for row in rows]))
        point = found.lines["a <b>system</b>"][place]
        assert point.score == pytest.approx(100 * np.mean(runs))
        assert point.deviation == pytest.approx(100 * np.std(runs, ddof=1))
    other = scores_by_length(dataclasses.replace(text, source=None))
    assert other.by == "reference"
    assert sum(len(group.rows) for group in other.groups) == 40


def test_texts_that_changed_are_not_shown(tmp_path: Path) -> None:
    """Scores are those of the file; sentences of other texts are left out, with the reason."""
    content = write_comparison(tmp_path)
    (tmp_path / "test.1.0").write_text("".join(f"{line}\n" for line in worse(["a"] * 40, 0.5, 1)))
    results = read_results(ReportSettings(tmp_path))
    assert results.texts == ()
    assert "no longer has the score that was compared" in results.notes[0]
    assert results.scores[0].systems[1].mean == content["metrics"]["bleu"][1]["mean"]
    (tmp_path / "test.1.0").unlink()
    assert "test.1.0" in read_results(ReportSettings(tmp_path)).notes[0]


def test_a_folder_that_moved(tmp_path: Path) -> None:
    """Texts that lie beside the comparison as they lay then are found."""
    (tmp_path / "old").mkdir()
    write_comparison(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    [text] = read_results(ReportSettings(tmp_path / "new")).texts
    reference = ReferenceTexts([tmp_path / "new" / "test.ref"])
    assert text.reference == tuple(reference.lines[0])
