"""Files of vectors: numpy reads them, and equal content is equal bytes."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from phrasescore.analysis.vectors import write_vectors

TEXTS = [b"a b", b"caf\xe9 \xff", "ça".encode(), b"x" * 5000]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole one."""
    path = tmp_path / "v.npz"
    write_vectors(path, "phrases", "d" * 64, TEXTS, VECTORS)
    return path


def test_numpy_reads_it(file: Path) -> None:
    """Without pickle; texts of any bytes and length."""
    with np.load(file, allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays}
    assert found["vectors"].dtype == np.float32
    assert (found["vectors"] == VECTORS).all()
    assert str(found["what"]) == "phrases"
    text, offsets = found["text"].tobytes(), found["offsets"]
    assert [text[a:b] for a, b in itertools.pairwise(offsets)] == TEXTS


def test_the_same_content_is_the_same_file(file: Path, tmp_path: Path) -> None:
    """Whenever it is written."""
    again = tmp_path / "again.npz"
    write_vectors(again, "phrases", "d" * 64, TEXTS, VECTORS)
    assert again.read_bytes() == file.read_bytes()
