"""Scores of texts compared with sacrebleu, and errors and notes about texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from phrasescore.errors import CorpusError, SettingsError
from tests.support.translations import noisy_translations, references
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import TextScoring
from tuning.metrics.system_comparison import evaluate
from tuning.metrics.text_scores import ReferenceTexts, signatures


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return path


def scores(texts: ReferenceTexts, path: Path) -> dict[str, float]:
    sums = texts.score(path).statistics.sum(0)
    return {
        metric: float(metric_scores(metric, sums[columns_of(metric)]))
        for metric in texts.scoring.metrics
    }


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", ["none", "13a", "intl", "char"])
@pytest.mark.parametrize("how_many", [1, 2])
def test_scores_are_those_of_sacrebleu(
    tmp_path: Path, tokenize: str, lowercase: bool, how_many: int
) -> None:
    """BLEU, chrF and TER equal sacrebleu's, with empty lines, several references, and case."""
    rng = np.random.default_rng(1)
    wanted = [[*references(), "Le Chat, l'été.", "", "vide ?"]]
    wanted += [[*noisy_translations(rng, 0.3), "le chat l'été .", "", "Vide ?"]]
    found = [*noisy_translations(rng, 0.2), "le chat , L'été.", "rien", ""]
    paths = [write(tmp_path / f"ref{i}", lines) for i, lines in enumerate(wanted[:how_many])]
    scoring = TextScoring(tokenize=tokenize, lowercase=lowercase)
    ours = scores(ReferenceTexts(paths, scoring), write(tmp_path / "hyp", found))
    metrics = {
        "bleu": sacrebleu.BLEU(lowercase, force=True, tokenize=tokenize, smooth_method="none"),
        "chrf": sacrebleu.CHRF(lowercase=lowercase),
        "ter": sacrebleu.TER(case_sensitive=not lowercase),
    }
    for name, metric in metrics.items():
        theirs = metric.corpus_score(found, wanted[:how_many])
        assert 100 * ours[name] == pytest.approx(theirs.score, abs=1e-9), name
        assert signatures(scoring, how_many)[name] == str(metric.get_signature())


def test_words_end_at_spaces_only(tmp_path: Path) -> None:
    """A no-break space is part of its word, as in Moses, although sacrebleu splits there."""
    wanted = write(tmp_path / "ref", ["il dit « oui » et s' en va"])
    found = write(tmp_path / "hyp", ["il dit «\u00a0oui\u00a0» et s' en va"])
    counted = ReferenceTexts([wanted]).score(found).statistics[0]
    assert counted[1] == 7
    assert counted[0] == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b\n", r"hyp: 1 line, where .*ref has 2"),
        (b"a b\nc d\ne f\n", r"hyp: 3 lines, where .*ref has 2"),
        (b"a b\nc \xff d\n", r"hyp:2: not UTF-8 at byte 3 of the line"),
        (b"", r"hyp: 0 lines, where .*ref has 2"),
    ],
)
def test_what_is_wrong_with_a_translation(tmp_path: Path, content: bytes, message: str) -> None:
    """Uneven texts and other encodings are refused with file, line and remedy."""
    wanted = write(tmp_path / "ref", ["a b", "c d"])
    (tmp_path / "hyp").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        ReferenceTexts([wanted]).score(tmp_path / "hyp")


def test_what_is_wrong_with_references(tmp_path: Path) -> None:
    """Uneven or empty references are refused."""
    one, two = write(tmp_path / "one", ["a", "b"]), write(tmp_path / "two", ["a"])
    with pytest.raises(CorpusError, match=r"two: 1 line, where .*one has 2"):
        ReferenceTexts([one, two])
    with pytest.raises(CorpusError, match="none: the reference has no lines"):
        ReferenceTexts([write(tmp_path / "none", [])])
    with pytest.raises(CorpusError, match="no reference is given"):
        ReferenceTexts([])
    with pytest.raises(CorpusError, match="all references are empty"):
        ReferenceTexts([write(tmp_path / "blank", 2 * [""])])
    with pytest.raises(SettingsError, match="there is no tokenisation moses"):
        TextScoring(tokenize="moses")


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["", "c d"], "1 of 2 translations are empty"),
        (["a b", "c &apos;d"], "has escapes such as &apos;"),
        (["a b", "c d\u0301 e\u0301"], "differ in their Unicode form"),
        (["a b\r", "c d\r"], "lines end in CR LF"),
        (["a\tb", "c\td"], "a table of several columns?"),
        (["a |0-0| b |1-1|", "c d"], "has marks of phrases such as |0-1|"),
    ],
)
def test_what_looks_wrong_is_noted(tmp_path: Path, lines: list[str], note: str) -> None:
    """Empty, escaped or foreign lines are scored unchanged, with a note."""
    texts = ReferenceTexts([write(tmp_path / "ref", ["a b", "c d"])])
    notes = texts.score(write(tmp_path / "hyp", lines)).notes
    assert len(notes) == 1
    assert note in notes[0]


def test_escapes_are_right_beside_tokens(tmp_path: Path) -> None:
    """A tokenised reference without an apostrophe may be escaped, one with an apostrophe is not."""
    lines = write(tmp_path / "hyp", ["a b .", "c &apos;d ."])
    for reference, notes in ((["a b .", "c d ."], 0), (["a b .", "c 'd ."], 1)):
        texts = ReferenceTexts([write(tmp_path / "ref", reference)])
        assert len(texts.score(lines).notes) == notes


def test_escapes_that_a_tokeniser_cuts_are_noted(tmp_path: Path) -> None:
    """Of two texts with escapes, 13a makes words such as apos, which match."""
    lines = write(tmp_path / "tokens", ["a b", "c &apos;d"])
    noted = {
        name: [*ReferenceTexts([lines], TextScoring(tokenize=name)).score(lines).notes]
        for name in ("none", "13a")
    }
    assert not noted["none"]
    assert "has escapes such as &apos;, which --tokenize cuts" in noted["13a"][0]


def test_words_that_a_tokeniser_cuts_are_noted(tmp_path: Path) -> None:
    """Wixarika writes a vowel as +, at which 13a cuts; a time and one slash are nothing."""
    for lines, cut in (
        (["m+k+ a", "b yat+ra"], True),
        (["at 10:30 .", "c", "d", "e", "a/b"], False),
    ):
        text = write(tmp_path / "text", lines)
        notes = " ".join(ReferenceTexts([text], TextScoring(tokenize="13a")).score(text).notes)
        assert ("13a cuts words such as m+k" in notes) is cut
        assert not ReferenceTexts([text]).score(text).notes


def test_a_translation_of_another_text_is_noted(tmp_path: Path) -> None:
    """Hardly any three words in a row of another language are right, but some of a poor system."""
    rng = np.random.default_rng(1)
    wanted = write(tmp_path / "ref", references())
    poor = write(tmp_path / "poor", noisy_translations(rng, 0.7))
    other = write(tmp_path / "other", [f"{line.upper()} ." for line in references()])
    texts = ReferenceTexts([wanted])
    assert not texts.score(poor).notes
    said = f"{other} shares almost no three-word sequence with the references: check the files"
    assert texts.score(other).notes == (said,)
    assert not ReferenceTexts([wanted], TextScoring(metrics=("chrf",))).score(other).notes
    assert not ReferenceTexts([wanted], TextScoring(lowercase=True)).score(other).notes


def test_long_lines_have_no_ter(tmp_path: Path) -> None:
    """TER of long lines would take minutes: it is null, and a note says why; others have scores."""
    words = [str(word) for word in range(1000)]
    wanted = write(tmp_path / "ref", [" ".join(words), "a b"])
    found = write(tmp_path / "hyp", [" ".join(words[::-1]), "a c"])
    result = evaluate([found], [wanted])
    text = result.to_json()["results"][0]
    assert text["ter"] is None and text["chrf"] > 0.5
    assert result.notes == (f"{found}: no exact TER because of 1 long line",)
    assert " –" in result.to_text()
    statistics = ReferenceTexts([wanted, wanted]).score(found).statistics[:, columns_of("ter")]
    assert statistics.tolist() == [[2 * 1000, 2 * 1000], [2 * 1, 2 * 2]]


def test_very_long_lines_have_no_error_rates(tmp_path: Path) -> None:
    """Edits of lines of a million words would take an hour: the rates are null, with a note."""
    wanted = write(tmp_path / "ref", ["a " * 200_000, "a b"])
    found = write(tmp_path / "hyp", ["b " * 100_000, "a c"])
    result = evaluate([found], [wanted], TextScoring(metrics=("cer", "wer", "bleu")))
    text = result.to_json()["results"][0]
    assert (text["cer"], text["wer"], text["bleu"]) == (None, None, 0.0)
    assert [note.partition("no exact ")[2][:3] for note in result.notes[:2]] == ["CER", "WER"]
    rows = ReferenceTexts([wanted], TextScoring(metrics=("wer",))).score(found).statistics
    assert rows[:, columns_of("wer")].tolist() == [[200_000, 200_000], [1, 2]]


def test_empty_reference_lines_are_survived(tmp_path: Path) -> None:
    """Empty references are scored, with a note of them alone, not of their empty translations."""
    wanted = write(tmp_path / "ref", ["a b c d e", "", "f g"])
    texts = ReferenceTexts([wanted])
    assert texts.score(wanted).notes == ("1 of 3 references are empty",)
    assert scores(texts, wanted) == {"bleu": 1.0, "chrf": 1.0, "ter": 0.0}


@pytest.mark.parametrize(
    ("word", "stop"), [("house", "."), ("ઘરો", "."), ("घर", "।"), ("ቤት", "፡፡")]
)
def test_raw_text_is_noted_unless_it_is_tokenised(word: str, stop: str, tmp_path: Path) -> None:
    """If lines end in a word with a full stop, BLEU without a tokeniser misleads."""
    raw = write(tmp_path / "ref", [f"A {word}{stop}", "Two houses, no more", "the end"])
    apart = " ".join(stop)
    for tokenize, noted in (("none", True), ("13a", False)):
        texts = ReferenceTexts([raw], TextScoring(("bleu",), tokenize=tokenize))
        assert ("looks like raw text" in "".join(texts.score(raw).notes)) == noted
        tokens = write(tmp_path / "hyp", [f"a {word} {apart} ", f"two {word} {apart} ", "the end "])
        assert "looks tokenised, but" in "".join(texts.score(tokens).notes)
        assert "looks tokenised" not in "".join(texts.score(raw).notes)
        texts = ReferenceTexts([tokens], TextScoring(("bleu",), tokenize=tokenize))
        assert "ref looks like raw text, " in "".join(texts.score(raw).notes)


def test_raw_chinese_gets_the_tokeniser_for_chinese(tmp_path: Path) -> None:
    """13a would leave a clause without blanks whole."""
    raw = write(tmp_path / "ref", ["我不知道。", "他来了。"])
    notes = ReferenceTexts([raw], TextScoring(("bleu",))).score(raw).notes
    assert any(note.endswith("score it with --tokenize zh or char") for note in notes)
