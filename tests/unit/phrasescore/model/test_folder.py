"""Model folders are read as written, and refused if they were changed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from phrasescore.errors import ModelError
from phrasescore.model.folder import load_model, load_outside, load_weights, save_model
from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.sequence_model import build
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, OutsideWords, Vocabulary

SETTINGS = EncoderDecoderSettings(
    source_vocabulary=5,
    target_vocabulary=6,
    hidden=4,
    embedding=3,
    maxout=2,
    rank=2,
    direction="target-source",
)


OUTSIDE = OutsideWords((b"v", b"u"), (7, 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a complete model folder."""
    model = build(SETTINGS)
    model.initialise(torch.Generator().manual_seed(1), "paper")
    vocabularies = (
        Vocabulary.from_words([b"a", "\u2028".encode(), b"c"]),
        Vocabulary.from_words([b"w", b"x", b"y", b"z"]),
    )
    save_model(tmp_path / "model", model, vocabularies, {"seed": 1}, outside=OUTSIDE)
    return tmp_path / "model"


def test_a_model_is_read_as_it_was_written(folder: Path) -> None:
    """Weights, vocabularies and settings are read back; equal models have equal digests."""
    expected = build(SETTINGS)
    expected.initialise(torch.Generator().manual_seed(1), "paper")
    loaded = load_model(folder)
    assert loaded.model.settings == SETTINGS
    assert loaded.direction == "target-source"
    assert loaded.source_vocabulary.words[3] == "\u2028".encode()
    for name, value in expected.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], value), name
    assert loaded.digest == load_model(folder).digest


def _edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def _configure(**values: object) -> Callable[[Path], object]:
    return _edit("config.json", lambda old: json.dumps({**json.loads(old), **values}).encode())


_count_a_word = _edit("target.outside.txt", lambda old: old + b"t\t1\n")


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (
            _edit("model.safetensors", lambda old: old[:-1] + bytes([old[-1] ^ 1])),
            "damaged: model.safetensors is not the file that was written",
        ),
        (_edit("model.safetensors", lambda old: old[:-5]), "damaged: model.safetensors"),
        (_edit("source.vocabulary.txt", lambda old: old + b"d\n"), "damaged: source.vocab"),
        (_count_a_word, "damaged: target.outside.txt"),
        (_configure(hidden=5), "damaged: config.json"),
        (_configure(format=3), "the model has format 3, but this version reads up to 2. Update"),
        (_configure(format=2), "incomplete: byte-pairs.txt is missing"),
        (_configure(format=None), "its config.json has no format number"),
        (lambda folder: (folder / "provenance.json").unlink(), "provenance.json is missing"),
        (lambda folder: (folder / "SHA256SUMS").unlink(), "SHA256SUMS is missing"),
        (lambda folder: (folder / "config.json").unlink(), "not a phrasescore model"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json is not JSON"),
    ],
)
def test_a_folder_that_was_tampered_with_is_refused(
    folder: Path, damage: Callable[[Path], object], text: str
) -> None:
    """Damaged, incomplete, newer and foreign folders are refused with one sentence."""
    damage(folder)
    with pytest.raises(ModelError, match=text.replace(".", r"\.")):
        load_model(folder)


def test_words_outside_the_shortlist(folder: Path, tmp_path: Path) -> None:
    """Words outside the shortlist are read back; there may be none."""
    assert load_outside(folder) == OUTSIDE
    loaded = load_model(folder)
    vocabularies = loaded.source_vocabulary, loaded.target_vocabulary
    save_model(tmp_path / "none", loaded.model, vocabularies, {"seed": 1})
    assert load_outside(tmp_path / "none") == NO_OUTSIDE_WORDS
    assert load_model(tmp_path / "none").digest != loaded.digest
    _count_a_word(folder)
    with pytest.raises(ModelError, match=r"damaged: target\.outside\.txt"):
        load_outside(folder)


def test_weights_are_read_as_arrays_without_torch(folder: Path) -> None:
    """The decoder reads weights as arrays, without importing torch."""
    stored = load_weights(folder)
    loaded = load_model(folder)
    assert (stored.settings, stored.digest, stored.path) == (SETTINGS, loaded.digest, folder)
    assert stored.target_vocabulary.words == loaded.target_vocabulary.words
    for name, value in loaded.model.state_dict().items():
        np.testing.assert_array_equal(stored.weights[name], value.numpy(), err_msg=name)
    code = (
        "import sys; from phrasescore.model.folder import load_weights; load_weights(sys.argv[1]); "
        "print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(folder)]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"
