"""The choice of candidates from a list, and the errors in lists."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import InputError, SettingsError
from tuning.loop.reranking import RerankingReport, expected_losses, rerank
from tuning.loop.tuning_settings import Reranking

WEIGHTS: Mapping[str, Any] = {"LM0": 0.5, "TM": [1, 0.25]}


def line_of(
    sentence: int, words: str, lm: float = -1, tm: str = "0 0", total: float = -1, more: str = ""
) -> str:
    """Return a line of a list."""
    return f"{sentence} ||| {words}  ||| LM0= {lm} TM= {tm}{more} ||| {total}\n"


def chosen(
    folder: Path, lines: str, weights: Mapping[str, Any] | None = WEIGHTS, **options: Any
) -> tuple[list[str], RerankingReport]:
    """Rerank a list given as text; return the written lines and the report."""
    (folder / "list").write_text(lines)
    if weights is not None:
        (folder / "w.json").write_text(json.dumps(weights))
        options["weights"] = str(folder / "w.json")
    if isinstance(source := options.pop("source", None), str):
        (folder / "source").write_text(source)
        options["source"] = str(folder / "source")
    report = rerank(Reranking(nbest=str(folder / "list"), output=str(folder / "out"), **options))
    text = (folder / "out").read_text()
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1], report


def refused(folder: Path, lines: str, message: str, **options: Any) -> None:
    """Check that reranking a list fails with this message, and leaves no output."""
    (folder / "out").unlink(missing_ok=True)
    with pytest.raises(InputError, match=message):
        chosen(folder, lines, **options)
    assert {path.name for path in folder.iterdir()} <= {"list", "w.json", "source"}


def test_the_highest_sum_is_chosen(golden: Path, tmp_path: Path) -> None:
    """Choices from a real list with the weights of Moses's kbmira equal those of a plain loop."""
    [path] = golden.glob("tuning/run2.best*.gz")
    rows = (golden / "tuning" / "kbmira.weights").read_text().split("\n")[:-1]
    flat = np.array([float(row.split(" ")[1]) for row in rows])
    best: dict[str, tuple[float, str]] = {}
    weights: dict[str, list[float]] = {}
    for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]:
        sentence, words, features, _ = line.split(" ||| ")
        tokens = features.split(" ")
        score = np.array([float(t) for t in tokens if not t.endswith("=")]) @ flat
        if sentence not in best or score > best[sentence][0] + 1e-9:
            best[sentence] = score, words.rstrip(" ")
        if not weights:
            rest = flat.tolist()
            for token in tokens:
                if token.endswith("="):
                    weights[token[:-1]] = []
                else:
                    weights[list(weights)[-1]].append(rest.pop(0))
    (tmp_path / "w.json").write_text(json.dumps(weights))
    task = Reranking(
        nbest=str(path), output=str(tmp_path / "out.gz"), weights=str(tmp_path / "w.json")
    )
    report = rerank(task)
    written = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode()
    assert written == "".join(words + "\n" for _, words in best.values())
    assert report.sentences == len(best)
    assert 0 < report.moved < len(best)


def test_words_have_one_space_between_them(tmp_path: Path) -> None:
    """Outer and repeated spaces and phrase marks are removed; other blanks are parts of words."""
    lines = (
        line_of(0, " la   maison |0-1| . |2-2|") + line_of(1, "a\u00a0b\u2028c") + line_of(2, "")
    )
    assert chosen(tmp_path, lines)[0] == ["la maison .", "a\u00a0b\u2028c", ""]


def test_sparse_features(tmp_path: Path) -> None:
    """Sparse features have one weight or count as 0, with a note; lines may differ in them."""
    lines = line_of(0, "a", more=" TM_x= 1") + line_of(0, "b") + line_of(1, "c", more=" TM_y= 2")
    texts, report = chosen(tmp_path, lines, {**WEIGHTS, "TM_x": -0.5})
    assert texts == ["b", "c"]
    assert report.notes == ("sparse features without a weight count as 0, such as TM_y",)
    assert chosen(tmp_path, lines, {**WEIGHTS, "TM_x": 0.5, "TM_y": 0})[1].notes == ()
    assert chosen(tmp_path, lines, {**WEIGHTS, "TM_x": 0.5})[0] == ["a", "c"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (line_of(0, "a").replace("LM0", "LM1"), r"json: values for LM0, but .*\(did you"),
        (line_of(0, "a", more=" New0= 1"), "json: no values for the feature New0.*such as .*list"),
        (line_of(0, "a", tm="1 2 3"), "json: 2 values for TM, which has 3 components"),
        (line_of(0, "a") + line_of(1, "b", more=" New0= 1"),
         "list:2: the feature New0 is not in the list's first line"),
        (line_of(0, "a") + line_of(1, "b").replace("LM0= -1", ""),
         "list:2: the line has no feature LM0"),
        (line_of(0, "a") + line_of(2, "b") + line_of(1, "c"),
         "list:3: sentence 1 comes after sentence 2"),
        (line_of(0, "a") + line_of(0, "b", lm=-2) + line_of(2, "c"),
         "list:3: sentence 1 has no candidate"),
        (line_of(1, "a"), "list:1: sentence 0 has no candidate"),
        ("", "list: the list is empty"),
        (line_of(0, "a") + "1 ||| b", "list:2: the list ends in the middle of a line"),
        (line_of(0, "a", tm="1e999 0"), "list:1: the value of TM is .1e999., expected a finite"),
    ],
)  # fmt: skip
def test_wrong_lists(tmp_path: Path, lines: str, message: str) -> None:
    """Wrong lists are refused with the line, and nothing is written."""
    refused(tmp_path, lines, message)


def test_a_source_says_which_sentences_there_are(tmp_path: Path) -> None:
    """Empty source lines may lack candidates; all other lines must have candidates."""
    lines = line_of(1, "a") + line_of(4, "b") + line_of(5, "")
    texts, _ = chosen(tmp_path, lines, source="\nx\n \t\r\n\nx\n\n\n")
    assert texts == ["", "a", "", "", "b", "", ""]
    for source, message in (
        ("\nx\n\nx\nx\nx\n", "list:2: sentence 3 has no candidate. Decode line 4"),
        ("\nx\n\n\nx\n\n\nx\n", "list:3: sentence 7 has no candidate"),
        ("\nx\n\n\nx\n", r"list:3: sentence 5 \(counted from 0\), but the source has 5 lines"),
    ):
        refused(tmp_path, lines, message, source=source)


def test_ties(tmp_path: Path) -> None:
    """Of different translations with the same highest score, the first is chosen."""
    lines = line_of(0, "z", lm=-9) + line_of(0, "b") + line_of(0, "a", lm=-2, tm="0.5 0")
    texts, report = chosen(tmp_path, lines)
    assert (texts, report.moved) == (["b"], 1)


LISTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abcde"), max_size=6),
        st.integers(-4000, -1).map(lambda number: number / 64),
    ),
    min_size=1,
    max_size=8,
)


@given(candidates=LISTS, scale=st.sampled_from([0.0, 0.1, 1.0]), weighted=st.booleans())
def test_least_risk(
    tmp_path_factory: pytest.TempPathFactory,
    candidates: list[tuple[list[str], float]], scale: float, weighted: bool,
) -> None:  # fmt: skip
    """The choice has the least risk among the distinct candidates with the highest scores."""
    lines = "".join(
        line_of(0, " ".join(words), lm=score if weighted else 1, total=1 if weighted else score)
        for words, score in candidates
    )
    weights = {"LM0": 1, "TM": [0, 0]} if weighted else None
    risk = {"minimum_bayes_risk": True, "mbr_size": 3, "mbr_scale": scale}
    [text], _ = chosen(tmp_path_factory.mktemp("list"), lines, weights, **risk)
    distinct: dict[bytes, float] = {}
    for words, score in sorted(candidates, key=lambda candidate: -candidate[1]):
        distinct.setdefault(" ".join(words).encode(), score)
    kept = list(distinct)[:3]
    losses = expected_losses(kept, [distinct[words] for words in kept], scale)
    assert losses[kept.index(text.encode())] == pytest.approx(losses.min(), abs=1e-12)


def test_equal_risks_are_a_tie(tmp_path: Path) -> None:
    """Two candidates without common words and with equal probability have equal risk."""
    lines = line_of(0, "a b") + line_of(0, "c d")
    assert chosen(tmp_path, lines, weights=None, minimum_bayes_risk=True)[0] == ["a b"]


def test_a_criterion_is_required() -> None:
    """Without weights and without risk, nothing says how to choose."""
    with pytest.raises(SettingsError, match="does not say how"):
        Reranking(nbest="list", output="out")
