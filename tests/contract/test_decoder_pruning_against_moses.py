"""The limits of the search have the same effect as in Moses: equal pruning, equal scores."""

from __future__ import annotations

import gzip
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.fresh_process import output_of

pytestmark = [pytest.mark.moses, pytest.mark.slow]
# Moses's spelling of each limit -> its values, each with the number of sentences to translate
STACKS = {1: 1014, 5: 1014, 20: 1014, 100: 300}
POP_LIMITS = {5: 1014, 50: 1014, 500: 300}
CUBE_PRUNING = ["-search-algorithm", "1"]

Scores = tuple[float, float]


@pytest.fixture(scope="module")
def system(multi30k: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Multi30k system, unpacked, with its validation text."""
    folder = tmp_path_factory.mktemp("system")
    for path in multi30k.iterdir():
        (folder / path.name).symlink_to(path)
    for name in ("lm.5gram.arpa", "val.en"):
        with gzip.open(multi30k / f"{name}.gz") as packed, (folder / name).open("wb") as stream:
            shutil.copyfileobj(packed, stream)
    return folder


def mean_score(output: bytes) -> float:
    """Return the mean of the scores that begin the lines."""
    scores = [float(line.split(b" ")[0]) for line in output.split(b"\n")[:-1]]
    return sum(scores) / len(scores)


@pytest.fixture
def scores(
    system: Path, moses_bin: Path, phrasescore: Phrasescore
) -> Callable[[list[str], int], Scores]:
    """Translate some sentences with Moses's options; return our mean model score and Moses's."""

    def both(options: list[str], sentences: int) -> Scores:
        lines = (system / "val.en").read_bytes().split(b"\n")[:sentences]
        text = b"".join(line + b"\n" for line in lines)
        moses = moses_bin / "moses", "-f", "moses.tuned.ini", "-v", "0", "-output-hypo-score"
        theirs = output_of(*moses, "-threads", "2", *options, input=text, cwd=system)
        ini = system / "absolute.ini"
        ini.write_text(
            (system / "moses.tuned.ini").read_text().replace(" path=", f" path={system}/")
        )
        own = [f"-{word}" if word.startswith("-") else word for word in options]
        ours = phrasescore("decode", ini, "--output-hypo-score", *own, stdin=text).well()
        return mean_score(ours.stdout), mean_score(theirs)

    return both


def check(found: list[Scores]) -> None:
    """Check that both agree at every limit, and that no wider limit is worse."""
    for ours, theirs in found:
        assert ours == pytest.approx(theirs, abs=0.1)
    for (narrow, _), (wide, _) in itertools.pairwise(found):
        assert wide >= narrow - 1e-6


def test_stack_sizes(scores: Callable[[list[str], int], Scores]) -> None:
    """Mean model scores with stacks of 1 to 100 hypotheses are within 0.1 of Moses's."""
    found = [scores(["-stack", str(size)], count) for size, count in STACKS.items()]
    check(found[:3])
    check(found[3:])


def test_pop_limits(scores: Callable[[list[str], int], Scores]) -> None:
    """Mean model scores with pop limits of 5 to 500 are within 0.1 of Moses's."""
    found = [
        scores([*CUBE_PRUNING, "-cube-pruning-pop-limit", str(limit)], count)
        for limit, count in POP_LIMITS.items()
    ]
    check(found[:2])
    check(found[2:])
