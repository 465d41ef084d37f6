"""Files of vectors: numpy reads them, so do we, and damage is said."""

from __future__ import annotations

import io
import itertools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phrasescore.analysis.vector_files import open_vectors, write_vectors
from phrasescore.errors import InputError

TEXTS = [b"a b", b"caf\xe9 \xff", "ça".encode(), b"x" * 5000]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole one."""
    offsets = np.cumsum([0, *map(len, TEXTS)], dtype=np.int64)
    path = tmp_path / "v.npz"
    blocks = [VECTORS[:1], VECTORS[1:]]
    write_vectors(path, "phrases", "d" * 64, (b"".join(TEXTS), offsets), blocks, 3)
    return path


def test_numpy_and_we_read_the_same(file: Path) -> None:
    """Without pickle; texts of any bytes and length."""
    with np.load(file, allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays}
    assert found["vectors"].dtype == np.float32
    assert (found["vectors"] == VECTORS).all()
    assert str(found["what"]) == "phrases"
    text, offsets = found["text"].tobytes(), found["offsets"]
    assert [text[a:b] for a, b in itertools.pairwise(offsets)] == TEXTS
    ours = open_vectors(file)
    assert (ours.what, ours.model, ours.size, len(ours)) == ("phrases", "d" * 64, 3, 4)
    assert [ours.text_of(row) for row in range(4)] == TEXTS
    ((first, block),) = ours.blocks()
    assert first == 0
    assert (block == VECTORS).all()


def test_the_same_content_is_the_same_file(file: Path, tmp_path: Path) -> None:
    """Whenever it is written, and in whichever blocks."""
    offsets = np.cumsum([0, *map(len, TEXTS)], dtype=np.int64)
    again = tmp_path / "again.npz"
    write_vectors(again, "phrases", "d" * 64, (b"".join(TEXTS), offsets), [VECTORS], 3)
    assert again.read_bytes() == file.read_bytes()


def changed(file: Path, **arrays: Any) -> None:
    """Write the file again with other arrays; ``None`` leaves one out."""
    with np.load(file) as before:
        all_arrays = {name: before[name] for name in before} | arrays
    np.savez(file, **{name: each for name, each in all_arrays.items() if each is not None})


@pytest.mark.parametrize(
    "arrays",
    [
        {"vectors": None},
        {"vectors": VECTORS.astype(np.float64)},
        {"vectors": VECTORS[:3]},
        {"vectors": np.asfortranarray(VECTORS)},
        {"vectors": VECTORS.ravel()},
        {"what": np.array("birds")},
        {"model": np.array([1])},
        {"offsets": np.array([0, 9, 3, 5, 5007])},
        {"offsets": np.array([0, 3])},
        {"offsets": np.array([0.0, 3, 8, 11, 5011])},
        {"text": np.zeros(3, np.uint8)},
        {"text": np.array([{}], object)},
    ],
)
def test_other_arrays_are_refused(arrays: dict[str, Any], file: Path) -> None:
    """Each gets a sentence."""
    changed(file, **arrays)
    with pytest.raises(InputError, match="no file of vectors"):
        list(open_vectors(file).blocks())


def test_a_number_that_is_none(file: Path) -> None:
    """It would make every cosine none."""
    changed(file, vectors=np.full((4, 3), np.nan, np.float32))
    with pytest.raises(InputError, match="not finite"):
        list(open_vectors(file).blocks())


def test_any_damage_is_said_or_harmless(file: Path, rng: np.random.Generator) -> None:
    """Whatever byte is wrong, and wherever it ends."""
    whole = file.read_bytes()
    damaged = [whole[:length] for length in rng.integers(0, len(whole), 60)]
    for at, value in zip(rng.integers(0, len(whole), 300), rng.integers(0, 256, 300), strict=True):
        damaged.append(whole[:at] + bytes([value]) + whole[at + 1 :])
    for data in damaged:
        file.write_bytes(data)
        try:
            for _, block in open_vectors(file).blocks():
                assert block.shape[1] == 3
        except InputError as error:
            assert str(error).startswith(str(file))


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    """Zip files and texts are none."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("vectors.npy", b"no array")
    for data in (b"", b"text", archive.getvalue()):
        path = tmp_path / "other"
        path.write_bytes(data)
        with pytest.raises(InputError, match="no file of vectors"):
            open_vectors(path)
