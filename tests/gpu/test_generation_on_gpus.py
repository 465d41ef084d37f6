"""What models write on a GPU is what they write on the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model

WORDS = [b"w%d" % number for number in range(200)]


def write_text(path: Path, lines: int, longest: int) -> None:
    rng = np.random.default_rng(4)
    text = [b" ".join(rng.choice(WORDS, rng.integers(1, longest + 1))) for _ in range(lines)]
    path.write_bytes(b"".join(line + b"\n" for line in text))


@pytest.mark.parametrize("kind", ["phrase", "feed-forward-phrase", "search"])
@pytest.mark.parametrize("options", [["--beam", "7"], ["--samples", "5"]])
def test_generated_targets(
    phrasescore: Phrasescore, tmp_path: Path, kind: str, options: list[str]
) -> None:
    """The same targets, by search and at random, with ln p that agrees to rounding."""
    save_random_model(tmp_path / "model", WORDS, WORDS, kind=kind)
    write_text(tmp_path / "in", 200, 5)
    found = []
    for device in ("cpu", "cuda"):
        asked = ["--model", "model", "-i", "in", "-o", device, "--device", device]
        phrasescore("generate", *asked, *options).well()
        found.append([line.split(b"\t") for line in (tmp_path / device).read_bytes().splitlines()])
    expected, written = found
    assert [line[:2] for line in written] == [line[:2] for line in expected]
    assert [float(line[2]) for line in written] == pytest.approx(
        [float(line[2]) for line in expected], abs=1e-3
    )


@pytest.mark.parametrize("kind", ["search", "encdec"])
def test_translations(phrasescore: Phrasescore, tmp_path: Path, kind: str) -> None:
    """Sentences of any length, the best translations and what stands for unknown words."""
    save_random_model(tmp_path / "model", WORDS, WORDS, kind=kind)
    write_text(tmp_path / "in", 60, 25)
    replaced = ["--replace-unknown"] if kind == "search" else []
    for device in ("cpu", "cuda"):
        asked = ["--model", "model", "-i", "in", "-o", device, "--device", device]
        phrasescore("translate", *asked, "--beam", "4", *replaced).well()
    assert (tmp_path / "cuda").read_bytes() == (tmp_path / "cpu").read_bytes()
