"""Scores of a block of lines, and the counts."""

from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np
import pytest

from phrasescore.scoring.block_scoring import (
    BlockScorer,
    Scored,
    ScoringCounts,
    ScoringModel,
    ScoringSettings,
)
from phrasescore.table.block import checked_block
from phrasescore.table.phrase_table import TableFormat, parse_entry, parse_scores
from phrasescore.words import Unknown
from phrasescore.words.vocabulary import OutsideWords
from tests.unit.phrasescore.scoring.tiny_scorer import TinyScorer, tiny_ln_p, tiny_model

# la = 2, maison = 3, un = 4; the = 2, house = 3; chien and dog are unknown: 1
LINES = [
    b"la maison ||| the house ||| 0.5 0.25 ||| 0-0 1-1",
    b"la maison ||| house ||| 0.5 0.25 ||| 0-0",
    b"un chien ||| dog ||| 1 1",
]
LN_P = [tiny_ln_p([2, 3], [2, 3]), tiny_ln_p([2, 3], [3]), tiny_ln_p([4, 1], [1])]


def score(
    models: list[ScoringModel], settings: ScoringSettings | None = None, lines: list[bytes] = LINES
) -> Scored:
    scorer = BlockScorer(models, settings or ScoringSettings())
    block = checked_block(b"\n".join(lines), len(lines), 1, "t", TableFormat(2, hierarchical=False))
    return scorer.score(block)


def columns(scored: Scored) -> list[list[float]]:
    return [parse_scores(parse_entry(line).scores) for line in scored[0].split(b"\n")]


def test_one_column_a_model_in_order() -> None:
    """Each model appends one column, in order, and nothing else changes."""
    scored = score([tiny_model(), tiny_model("half", TinyScorer(0.5))])
    for line, before, scores, ln_p in zip(
        scored[0].split(b"\n"), LINES, columns(scored), LN_P, strict=True
    ):
        assert scores[2:] == pytest.approx([math.exp(ln_p), math.exp(ln_p / 2)], rel=1e-8)
        added = line[len(before.split(b" |||")[0]) :]
        assert line.startswith(before.split(b" |||")[0]) and added
        assert parse_entry(line).alignment == parse_entry(before).alignment
    first = b" %.9g %.9g" % (math.exp(LN_P[0]), math.exp(LN_P[0] / 2))
    assert scored[0].split(b"\n")[0] == LINES[0].replace(b"0.25", b"0.25" + first)


def test_average_is_the_mean_of_the_logarithms() -> None:
    """--average writes one column, the geometric mean of the probabilities."""
    scored = score(
        [tiny_model(), tiny_model("half", TinyScorer(0.5))], ScoringSettings(average=True)
    )
    for scores, ln_p in zip(columns(scored), LN_P, strict=True):
        assert scores[2:] == pytest.approx([math.exp(0.75 * ln_p)], rel=1e-8)


def test_unknown_column() -> None:
    """The last column is exp(source plus target words unknown to the first model)."""
    other = tiny_model("other", words=([b"la", b"maison", b"un"],) * 2)
    scored = score([tiny_model(), other], ScoringSettings(unknown_column=True))
    assert [len(scores) for scores in columns(scored)] == [5, 5, 5]
    logarithms = [math.log(scores[-1]) for scores in columns(scored)]
    assert logarithms == pytest.approx([0, 0, 2], abs=1e-8)


TURNED = (b"the", b"house"), (b"la", b"maison", b"un")
# outside the shortlist, dog occurs 3 times, cat twice, owl never
OUTSIDE = OutsideWords((b"dog", b"cat"), (3, 2))
UNKNOWN_LINES = [
    b"la maison ||| the dog ||| 0.5 0.25",
    b"un chien ||| owl dog ||| 0.5 0.25",
    b"un chien ||| house ||| 1 1",
]
LN_SHARES = [math.log(4 / 8), math.log(1 / 8) + math.log(4 / 8), 0.0]


def test_unknown_words_share_their_probability() -> None:
    """--unknown share gives each unknown word only its share of p(<unk>), in each column."""
    models = [tiny_model(outside=OUTSIDE), tiny_model("o", TinyScorer(0.5), outside=OUTSIDE)]
    for settings in (ScoringSettings(), ScoringSettings(average=True, unknown_column=True)):
        sharing = dataclasses.replace(settings, unknown="share")
        whole, shared = (score(models, each, UNKNOWN_LINES) for each in (settings, sharing))
        ends = -1 if settings.unknown_column else 4
        for before, after, ln_share in zip(columns(whole), columns(shared), LN_SHARES, strict=True):
            ratios = np.array(after[2:ends]) / np.array(before[2:ends])
            assert np.log(ratios) == pytest.approx([ln_share] * len(ratios), abs=1e-8)
            assert (after[:2], after[ends:]) == (before[:2], before[ends:])
        for before_sum, after_sum in zip(whole[1].ln_p_sums, shared[1].ln_p_sums, strict=True):
            assert after_sum - before_sum == pytest.approx(sum(LN_SHARES))


def test_the_side_that_is_predicted_is_shared() -> None:
    """A target-source model shares among the unknown words of the table's source."""
    model = tiny_model(
        words=TURNED, direction="target-source", outside=OutsideWords((b"chien",), (1,))
    )
    whole, shared = (
        columns(score([model], ScoringSettings(unknown=unknown), UNKNOWN_LINES))
        for unknown in typing.get_args(Unknown)
    )
    ratios = [after[2] / before[2] for before, after in zip(whole, shared, strict=True)]
    assert ratios == pytest.approx([1.0, 2 / 3, 2 / 3], rel=1e-8)


def test_replace() -> None:
    """--replace-column replaces scores from a column on, and keeps the others."""
    scored = score([tiny_model()], ScoringSettings(replace_column=1))
    assert scored[0].split(b"\n")[0] == LINES[0].replace(b"0.5", b"%.9g" % math.exp(LN_P[0]))
    both = score([tiny_model()], ScoringSettings(replace_column=1, unknown_column=True))
    assert [len(scores) for scores in columns(both)] == [2, 2, 2]


def test_direction() -> None:
    """A target-source model reads the target and predicts the source."""
    model = tiny_model("inverse", words=TURNED, direction="target-source")
    scored = score([model], ScoringSettings(unknown_column=True))
    assert columns(scored)[0][2] == pytest.approx(math.exp(tiny_ln_p([2, 3], [2, 3])), rel=1e-8)
    assert columns(scored)[1][2] == pytest.approx(math.exp(tiny_ln_p([3], [2, 3])), rel=1e-8)
    assert (scored[1].source_unknown, scored[1].target_unknown) == (1, 1)
    assert math.log(columns(scored)[2][3]) == pytest.approx(2)


def test_counts() -> None:
    """Lines, tokens, unknown words, floor hits and sums are counted."""
    scored = score([tiny_model(), tiny_model("steep", TinyScorer(60.0))])
    assert scored[1] == ScoringCounts(
        lines=3,
        source_tokens=6,
        source_unknown=1,
        target_tokens=4,
        target_unknown=1,
        ln_p_sums=(pytest.approx(sum(LN_P)), pytest.approx(60 * sum(LN_P))),
        floor_hits=(0, sum(60 * ln_p <= -100 for ln_p in LN_P)),
    )
    assert scored[1].floor_hits[1] > 0
