"""A text that is written otherwise than the training text is noticed, in every script."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.doctor.findings import Diagnosis
from moses_integration.doctor.texts import Text, check_writing

DOT_BELOW, LINE_BELOW = "\u0323", "\u0329"
# 40 words of Yoruba in NFC, with letters that have no composed form
TRAINING = "\u1ecdj\u1ecd\u0301 \u1eb9ni k\u00ed n\u00ed 12 \u2018a\u2019\n" * 40


def findings(training: str, text: str) -> list[tuple[str, str]]:
    found = Diagnosis()
    files = (
        Text(name, tuple(content.encode().split(b"\n")), True)
        for name, content in (("training", training), ("text", text))
    )
    check_writing(found, next(files), list(files))
    return [(finding.where, finding.what) for finding in found.findings]


def test_equal_writing_has_no_warning() -> None:
    """The only finding is a note on the words that training saw."""
    other = " ".join(TRAINING.split("\n")[0].split(" ")[::-1]) + "\n"
    ((where, what),) = findings(TRAINING, other * 40)
    assert where == "text"
    assert what == "training saw 100.0% of the tokens, and 100.0% if marks are ignored"
    assert findings("a b\n", "b a\n") == []


def test_a_text_that_is_part_of_the_training_text() -> None:
    """Scores of sentences that training saw are too high."""
    found = findings(TRAINING, TRAINING)
    assert found[0] == ("text", "100% of the lines are in training, the training text")
    assert findings(TRAINING, TRAINING.replace("\n", "\r\n")) == found


@pytest.mark.parametrize(
    ("training", "text", "where", "what"),
    [
        (TRAINING, f"o{DOT_BELOW}j", "text", "not in Unicode NFC, but the training text is"),
        (f"o{DOT_BELOW}j", "\u1ecdj", "text", "not in Unicode NFD, but the training text is"),
        (TRAINING, f"\u1ecd{DOT_BELOW}j", "text",
         "marks written twice: U+0323 COMBINING DOT BELOW (1)"),
        (TRAINING + f"\u1ecd{DOT_BELOW}", "\u1ecd", "training", "marks written twice"),
        (TRAINING, f"o{LINE_BELOW}j n\u00ed", "text",
         "never or far less often: U+0329 COMBINING VERTICAL LINE BELOW (1); usual there: U+0323"),
        (TRAINING, "n\u00ed \u0661\u0662", "text", "digits that training has never"),
        (TRAINING, "n\u00ed &quot;a&quot;", "text",
         "quotes that training has never or far less often: U+0022 QUOTATION MARK (2)"),
        (TRAINING + "\u201ca\u201d", "\u201ca\u201d n\u00ed", "text", "quotes that training has"),
        (TRAINING, "n\u00ed \u0436", "text", "characters that training has never"),
        (TRAINING, f"o{LINE_BELOW}j{LINE_BELOW} k\u00ed n\u00ec", "text",
         "training saw 33.3% of the tokens, and 66.7% if marks are ignored"),
    ],
)  # fmt: skip
def test_other_writing_is_named(training: str, text: str, where: str, what: str) -> None:
    """Form, doubled marks, other marks, digits, quotes and characters are named with the text."""
    assert any(place == where and what in said for place, said in findings(training, text))


def test_a_foreign_name_is_no_other_way_to_write() -> None:
    """One or two rare marks are noted; more of them are a warning."""
    for count, severity in ((2, "note"), (3, "warning")):
        found = Diagnosis()
        texts = (Text(name, (text.encode(),), True) for name, text in
                 (("training", TRAINING), ("text", f"a{LINE_BELOW} " * count)))  # fmt: skip
        check_writing(found, next(texts), texts)
        assert [each.severity for each in found.findings if "never" in each.what] == [severity]


def test_a_built_system_is_compared_with_its_corpus(tmp_path: Path) -> None:
    """The corpus that ``build`` leaves beside the table is the training text; any ini finds it."""
    from moses_integration.doctor.examination import examine

    line = f"PhraseDictionaryMemory path={tmp_path}/system/phrase-table.gz"
    (tmp_path / "moses.ini").write_text(f"[feature]\n{line}\n{line} name=B\n[weight]\n")
    (tmp_path / "system").mkdir()
    for name in ("corpus.source.gz", "corpus.target.gz"):
        (tmp_path / "system" / name).write_text(TRAINING)
    (tmp_path / "dev").write_text("\u0436 n\u00ed\n")
    found = examine(str(tmp_path), str(tmp_path / "dev"), [str(tmp_path / "dev")])
    source, target = [each.what for each in found.findings if "has never" in each.what]
    assert "corpus.source" in source
    assert "corpus.target" in target
