"""Counting the zero and floored scores of a whole table, as Moses would read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.doctor.tables import survey_scores
from phrasescore.errors import PhraseTableError
from phrasescore.table.phrase_table import parse_scores


def table_of(folder: Path, *scores: str) -> Path:
    """Write a table with these score columns."""
    path = folder / "table"
    lines = [f"la {i} ||| the {i} ||| {text} ||| 0-0\n" for i, text in enumerate(scores)]
    path.write_text("".join(lines), newline="")
    return path


def test_zeros_and_floored_scores_are_counted_by_column(tmp_path: Path) -> None:
    """As float32, 3.71e-44 and below are floored by ln, but 3.8e-44 is not."""
    path = table_of(
        tmp_path, "0.5 0", "1 3.71e-44", "1e-46  0.25", "0.000e-3 3.8e-44", "1\t2.718", "1 0.0\r"
    )
    survey = survey_scores(path)
    assert (survey.lines, survey.scores) == (6, 2)
    assert (survey.zeros.tolist(), survey.floored.tolist()) == ([1, 2], [2, 3])
    assert [*survey.warnings()] == [
        "score 1 is floored at -100 by Moses in 2 of 6 lines (33.3%), 1 of them zero",
        "score 2 is floored at -100 by Moses in 3 of 6 lines (50.0%), 2 of them zero",
    ]


def test_a_score_that_was_appended_twice_is_told(tmp_path: Path) -> None:
    """The last score is compared with each other one, in every line."""
    assert [*survey_scores(table_of(tmp_path, "0.5 0.25 0.25", "0.5 1 1.0")).warnings()] == [
        "score 3 equals score 2 in every line; was the same model's score appended twice?"
    ]
    different = table_of(tmp_path, "0.5 0.25 0.25", "0.5 0.25 0.5")
    assert not [*survey_scores(different).warnings()]


@pytest.mark.parametrize(
    ("scores", "line", "problem"),
    [
        (["0.5", "0.5 0.5"], 2, "2 scores, where the lines before have 1"),
        (["0.5", "-0.1"], 2, "score 1 is negative"),
        (["0.5", "nan"], 2, "score 1 is 'nan'"),
        (["0.5 1", "0.5 1e39"], 2, "score 2 is 1e39, which is infinite for Moses"),
        (["0.5", "0.5", "x"], 3, "score 1 is 'x'"),
    ],
)
def test_bad_scores_are_refused(tmp_path: Path, scores: list[str], line: int, problem: str) -> None:
    """The whole table is checked; the error names the line."""
    with pytest.raises(PhraseTableError) as caught:
        survey_scores(table_of(tmp_path, *scores))
    assert problem in str(caught.value)
    assert caught.value.line == line


@given(
    st.lists(
        st.one_of(
            st.floats(0, 3e38).map("{:.9g}".format),
            st.floats(0, 1e-35).map(repr),
            st.floats(0, 1, width=16).map("{:.30f}".format),
            st.sampled_from(["0", "0.", "000.00", "5.", "+1", ".5", "0E5", "0.00000000000001"]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_scores_are_counted_as_plain_parsing_does(
    tmp_path_factory: pytest.TempPathFactory, scores: list[str]
) -> None:
    """Counts equal those of plain parsing, also near both limits of float32."""
    path = table_of(tmp_path_factory.mktemp("survey"), *scores)
    values = [parse_scores(text.encode())[0] for text in scores]
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.array(values, np.float32))
    survey = survey_scores(path)
    assert survey.zeros.tolist() == [values.count(0.0)]
    assert survey.floored.tolist() == [int((logarithms <= -100).sum())]
