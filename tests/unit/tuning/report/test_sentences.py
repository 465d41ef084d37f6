"""Comparing sentence by sentence: shares in the gain, and changed words."""

from __future__ import annotations

from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

from tests.support.result_folders import worse, write_comparison
from tuning.metrics.metric_scores import columns_of
from tuning.metrics.text_scores import ReferenceTexts
from tuning.report.report_page import read_results
from tuning.report.sentences import TextDifferences, changed_words, share_of_each


def text_of(folder: Path, metric: str = "bleu") -> TextDifferences:
    """Return the differences of two systems on forty sentences."""
    write_comparison(folder, metrics=[metric])
    [text] = read_results(folder, (folder / "test.src",)).texts.values()
    return text


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text."""
    return path.read_text("utf-8").split("\n")[:-1]


def bleu(lines: list[str], reference: list[str]) -> float:
    """Return corpus BLEU by sacrebleu."""
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return float(metric.corpus_score(lines, [reference]).score) / 100


def test_a_share_is_what_replacing_the_sentence_does(tmp_path: Path) -> None:
    """Shares equal sacrebleu's changes of both whole texts, and nearly add up."""
    write_comparison(tmp_path)
    paths = [tmp_path / "test.0.0", tmp_path / "test.1.0"]
    first, second, reference = map(lines_of, (*paths, tmp_path / "test.ref"))
    scorer = ReferenceTexts([tmp_path / "test.ref"])
    columns = columns_of("bleu")
    shares = share_of_each("bleu", *(scorer.score(path).statistics[:, columns] for path in paths))
    for row in (0, 9, 25):
        there, back = [*first], [*second]
        there[row], back[row] = second[row], first[row]
        moved = bleu(there, reference) - bleu(first, reference)
        moved += bleu(second, reference) - bleu(back, reference)
        assert shares[row] == pytest.approx(moved / 2, abs=1e-9)
    whole = bleu(second, reference) - bleu(first, reference)
    assert shares.sum() == pytest.approx(whole, abs=0.1 * abs(whole))


def test_gains_come_first_and_are_counted(tmp_path: Path) -> None:
    """Gains are first, the greatest first, then losses, the greatest last."""
    [found] = text_of(tmp_path).pairs
    shares = [row.share for row in found.rows]
    assert shares == sorted(shares, reverse=True)
    assert found.better == sum(share > 0 for share in shares) > 3
    assert found.worse == sum(share < 0 for share in shares) > 3
    lines = [lines_of(tmp_path / name) for name in ("test.0.0", "test.1.0")]
    assert found.alike == sum(one == other for one, other in zip(*lines, strict=True))
    for row in found.rows:
        place = row.number - 1
        assert " ".join(words.text for words in row.first) == lines[0][place]
        assert row.reference == lines_of(tmp_path / "test.ref")[place]
        assert row.source == lines_of(tmp_path / "test.src")[place]


def test_lower_ter_is_a_gain(tmp_path: Path) -> None:
    """Sentences that lower TER count as gains."""
    [found] = text_of(tmp_path, "ter").pairs
    assert found.rows[0].share < 0 < found.rows[-1].share
    texts = [lines_of(tmp_path / name) for name in ("test.0.0", "test.1.0")]
    reference = [lines_of(tmp_path / "test.ref")]
    ter = [TER().corpus_score(each, reference).score / 100 for each in texts]
    assert found.difference == pytest.approx(ter[1] - ter[0])


def test_words_that_changed() -> None:
    """Only spaces separate words, and shared words are not marked."""
    first, second = changed_words("a b c d", "a x c d e")
    assert [(each.text, each.changed) for each in first] == [
        ("a", False), ("b", True), ("c d", False),
    ]  # fmt: skip
    assert [each.text for each in second if each.changed] == ["x", "e"]
    assert changed_words("l&apos;", "&lt;b&gt;")[1][0].text == "<b>"
    assert changed_words("", "a") == ((), changed_words("b", "a")[1])
    no_break = "dix\u00a0mille"
    assert changed_words(no_break, no_break)[0][0].text == no_break
    long = changed_words("a " * 5000, "b")[0]
    assert long[0].text.count("a") == 300 and long[0].text.endswith("…")


def test_texts_that_changed_are_not_shown(tmp_path: Path) -> None:
    """Scores are shown from the file; sentences of changed texts are left out with a reason."""
    content = write_comparison(tmp_path)
    (tmp_path / "test.1.0").write_text("".join(f"{line}\n" for line in worse(["a"] * 40, 0.5, 1)))
    results = read_results(tmp_path)
    assert [text.pairs for text in results.texts.values()] == [()]
    assert "its score differs from the recorded score" in results.notes[0]
    assert results.scores[0].systems[1].mean == content["metrics"]["bleu"][1]["mean"]
    (tmp_path / "test.1.0").unlink()
    assert "test.1.0" in read_results(tmp_path).notes[0]


def test_a_folder_that_moved(tmp_path: Path) -> None:
    """Texts are found after their folder has moved together with the comparison."""
    (tmp_path / "old").mkdir()
    write_comparison(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    [text] = read_results(tmp_path / "new").texts.values()
    assert len(text.pairs) == 1
