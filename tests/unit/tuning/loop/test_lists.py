"""Reading n-best lists into candidates with statistics, and the errors in lists."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from phrasescore.errors import NBestError
from tuning.loop.lists import (
    ListOptimization,
    ScoredList,
    optimize_lists,
    read_scored,
    with_empty_translations,
)
from tuning.metrics.metric_scores import CandidateStatistics
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import CandidatePool

REFERENCES = [
    b"the little house is old",
    b"a dog runs in the park",
    b"",
    b"two men are talking now",
]
FEATURES = b"LM0= -4 TM= -1 -2"


@pytest.fixture
def statistics(tmp_path: Path) -> CandidateStatistics:
    """Return references, one of them empty."""
    path = tmp_path / "refs"
    path.write_bytes(b"".join(line + b"\n" for line in REFERENCES))
    return CandidateStatistics.read([path], Objective())


def line_of(sentence: int, words: bytes, features: bytes = FEATURES, total: float = -3) -> bytes:
    """Return a line of a list."""
    return b"%d ||| %s  ||| %s ||| %g\n" % (sentence, words, features, total)


def read(tmp_path: Path, statistics: CandidateStatistics, *lines: bytes) -> ScoredList:
    """Write a list and read it."""
    path = tmp_path / "nbest.gz"
    path.write_bytes(gzip.compress(b"".join(lines)))
    return read_scored(path, statistics, expected={"LM0": 1, "TM": 2})


PERFECT = [line_of(number, words) for number, words in enumerate(REFERENCES)]


def test_what_the_decoder_chose_is_scored(tmp_path: Path, statistics: CandidateStatistics) -> None:
    """The first candidate of each sentence is the decoder's choice."""
    scored = read(tmp_path, statistics, *PERFECT, line_of(3, b"bad"))
    assert scored.decoder_bleu == 1.0
    assert scored.length_ratio == 1.0
    assert len(scored.candidates) == 5
    assert list(scored.candidates.sizes.items()) == [("LM0", 1), ("TM", 2)]


def test_sentences_without_candidates_count_as_empty(
    tmp_path: Path, statistics: CandidateStatistics
) -> None:
    """Sentences without candidates count as empty translations, with a note."""
    scored = read(tmp_path, statistics, *PERFECT[:2])
    assert scored.length_ratio == pytest.approx(11 / 16)
    assert any("2 of 4 sentences have no candidate" in note for note in scored.notes)


def test_empty_choices_are_told(tmp_path: Path, statistics: CandidateStatistics) -> None:
    """An empty translation is read, scored, and noted."""
    scored = read(tmp_path, statistics, *PERFECT[:3], line_of(3, b""), line_of(3, b"bad"))
    # sentence 2 has no other candidate
    assert any("the decoder's choice for 1 sentence is empty" in note for note in scored.notes)
    assert scored.statistics[3].tolist()[:2] == [0, 0]


def test_what_lists_do_not_show(tmp_path: Path, statistics: CandidateStatistics) -> None:
    """The fixed part is the total minus the weighted features that the list shows."""
    scored = read(tmp_path, statistics, line_of(0, b"a house", total=-107.0), *PERFECT[1:])
    fixed = scored.fixed_part(np.array([0.5, 1.0, 2.0]))
    assert fixed[0] == pytest.approx(-107.0 - (-2 - 1 - 4))
    pool = CandidatePool(4, 4, 9)
    assert scored.add_to(pool, fixed) == 4
    assert pool.arrays.features[:, 0].tolist() == [-4, -1, -2, -100]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([line_of(4, b"a")], "candidates of sentence 4 .*only 4 references"),
        ([line_of(0, b"a")[:-4]], "ends in the middle of a line"),
        ([line_of(0, b"a"), b"1 ||| cut"], "ends in the middle of a line"),
        ([], "the list is empty"),
        ([line_of(0, b"a", b"LM0= -4")], r"the features LM0\(1\) .*; expected LM0\(1\) TM\(2\)"),
        ([line_of(0, b"a", b"LM0= -4 TM= 1")], r"the features LM0\(1\) TM\(1\) "),
        ([line_of(0, b"a", b"TM= 1 1 LM0= -4")], r"the features TM\(2\) LM0\(1\) "),
        ([line_of(0, b"a", FEATURES + b" New= 1")], r"the features LM0\(1\) TM\(2\) New\(1\) "),
        ([line_of(0, b"a", b"LM0= nan TM= 1 1")], "LM0"),
    ],
)
def test_wrong_lists(
    tmp_path: Path, statistics: CandidateStatistics, lines: list[bytes], sentence: str
) -> None:
    """Wrong lists are refused with path and problem."""
    with pytest.raises(NBestError, match=f"nbest.gz.*{sentence}"):
        read(tmp_path, statistics, *lines)


def test_empty_translations_fill_the_pool(statistics: CandidateStatistics) -> None:
    """Only sentences without candidates get an empty translation."""
    arrays = with_empty_translations(CandidatePool(4, 3, 9), statistics)
    assert np.diff(arrays.starts).tolist() == [1, 1, 1, 1]
    assert arrays.statistics[:, 8].tolist() == [5, 6, 0, 5]
    assert not arrays.statistics[:, :8].any()


def test_line_ends_of_references_are_noted_once(tmp_path: Path) -> None:
    """The CR changes the last word of each reference, so tuning would aim at other words."""
    path = tmp_path / "refs"
    path.write_bytes(b"".join(line + b"\r\n" for line in REFERENCES))
    statistics = CandidateStatistics.read([path], Objective())
    (told,) = statistics.notes
    assert told.startswith(f"{path}: lines end in CR LF, ")
    worse = line_of(0, b"a house is old", b"LM0= -5 TM= -2 -3")
    read(tmp_path, statistics, PERFECT[0], worse, *PERFECT[1:])
    lists = (str(tmp_path / "nbest.gz"),) * 2
    task = ListOptimization(lists=lists, references=(str(path),), restarts=0)
    assert optimize_lists(task).notes.count(told) == 1
