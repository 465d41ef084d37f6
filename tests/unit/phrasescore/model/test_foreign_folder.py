"""Malicious model folders with valid digests are refused with one sentence."""

from __future__ import annotations

import gzip
import json
import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from phrasescore.errors import ModelError
from phrasescore.model.folder import load_model, load_outside, load_weights, write_digests
from tests.support.random_models import save_random_model

Change = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a complete model folder."""
    words = [b"e%d" % number for number in range(6)]
    return save_random_model(tmp_path / "model", words, words)


def config(**values: object) -> Change:
    """Return a change of the settings."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return change


def text(name: str, content: bytes) -> Change:
    """Return a change of a file's content."""
    return lambda folder: (folder / name).write_bytes(content)


def vocabulary(change: Callable[[bytes], bytes]) -> Change:
    """Return a change of the vocabulary."""
    name = "target.vocabulary.txt"
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def weights(change: Callable[[dict[str, Any]], object]) -> Change:
    """Return a change of the weights in a well-formed file."""

    def changed(folder: Path) -> None:
        path = folder / "model.safetensors"
        arrays = {name: np.array(each) for name, each in safetensors.numpy.load_file(path).items()}
        change(arrays)
        safetensors.numpy.save_file(arrays, path)

    return changed


def header(content: bytes, length: int | None = None, body: bytes = b"") -> Change:
    """Return a change of the weights to a file with this header."""
    size = struct.pack("<Q", len(content) if length is None else length)
    return text("model.safetensors", size + content + body)


def _build_network(value: float) -> Callable[[dict[str, Any]], object]:
    return lambda arrays: arrays["output_words"].__setitem__((0, 0), value)


def _all_as(kind: str) -> Callable[[dict[str, Any]], object]:
    return lambda arrays: arrays.update({name: each.astype(kind) for name, each in arrays.items()})


ONE = b'"output_words":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
HUGE = b'{"a":{"dtype":"F32","shape":[0,%d],"data_offsets":[0,0]}}' % 2**62
MANY_DIMENSIONS = b'{"a":{"dtype":"F32","shape":[1%s],"data_offsets":[0,4]}}' % (b",1" * 70)
DEEP = b"[" * 200_000


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        *((config(format=value), "has no format number") for value in (0, -1, True, 1.0, "1")),
        (config(format=10**200), "this version reads up to 2"),
        (text("config.json", DEEP), "is not JSON .it is nested"),
        (text("config.json", b'{"format": 1, "hidden": ' + b"1" * 5000 + b"}"), "is not JSON"),
        (text("config.json", b"[]"), "is not JSON"),
        (text("config.json", b""), "is not JSON"),
        *((config(kind=value), "not a kind of model") for value in ([], None, "x" * 10**6)),
        *((config(hidden=value), "hidden is") for value in (0, -1, True, None, 1e3, [8], 10**12)),
        *((config(hidden=value), "differs") for value in (4, 2_000_000)),
        *((config(embedding=value), "embedding") for value in (10**12, 10**30, 10**200)),
        *((config(target_vocabulary=value), "vocabulary") for value in (0, 7, 10**6, 10**12)),
        *((config(factor=value), "factor is") for value in (-1, 10**12, 10**30)),
        (config(**{"x" * 10**6: 1}), "unknown setting"),
        *((weights(_all_as(kind)), "of the type") for kind in ("int64", "float64", "float16")),
        *((weights(_build_network(value)), "not finite") for value in (np.nan, np.inf, -np.inf)),
        (weights(lambda arrays: arrays.pop("output_words")), "output_words differs"),
        (weights(lambda arrays: arrays.update(more=np.zeros(3, "f"))), "more differs"),
        (weights(lambda arrays: arrays.update(output_words=np.zeros((0, 3), "f"))), "differs"),
        (weights(lambda arrays: arrays.clear()), "differs"),
        (text("model.safetensors", b""), "the weights cannot be read"),
        (text("model.safetensors", b"\x02"), "the weights cannot be read"),
        (header(b"{}", length=2**63), "the weights cannot be read"),
        (header(b"{}", length=50_000_000), "the weights cannot be read"),
        (header(HUGE), "the weights cannot be read"),
        (header(MANY_DIMENSIONS, body=b"\0" * 4), "the weights cannot be read"),
        (header(b'{"a":' + DEEP), "the weights cannot be read"),
        (header(b"{" + ONE + b"}", body=b"\0" * 3), "the weights cannot be read"),
        (header(b"{" + ONE + b"}", body=b"\0" * 5), "the weights cannot be read"),
        (header(b"{" + ONE + b"," + ONE + b"}", body=b"\0" * 4), "unreadable|differs"),
        (vocabulary(lambda old: b""), "begins with the lines"),
        (vocabulary(lambda old: old.replace(b"e1", b"e2")), "e2 occurs twice"),
        (vocabulary(lambda old: old.replace(b"e1", b"")), "is not one word"),
        (vocabulary(lambda old: old.replace(b"e1", b"e\0")), "is not one word"),
        (vocabulary(lambda old: old.replace(b"e1", b"e\r")), "is not one word"),
        (vocabulary(lambda old: old.replace(b"e1", b" " + b"e" * 10**7)), "is not one word"),
        (vocabulary(lambda old: old.replace(b"\n", b"\r\n")), "begins with the lines"),
        (vocabulary(lambda old: old + b"more\n"), "9 words, but config.json says 8"),
        (vocabulary(gzip.compress), "begins with the lines"),
    ],
)
def test_one_sentence(folder: Path, change: Change, problem: str) -> None:
    """The error is a short ModelError with the place."""
    change(folder)
    write_digests(folder)
    tracemalloc.start()
    with pytest.raises(ModelError, match=problem) as error:
        load_model(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(str(error.value)) < 500
    assert error.value.path is not None
    assert peak < 200_000_000


@pytest.mark.parametrize(
    "line",
    [*("../secret", "/dev/zero", "a/b", ".", "..", "x" * 300, "a\0b", "\x1b[2J"), "config.json"],
)
def test_digests_of_files_elsewhere(folder: Path, line: str) -> None:
    """No file outside the folder is opened, whatever the list of digests names."""
    (folder.parent / "secret").write_bytes(b"")
    path = folder / "SHA256SUMS"
    path.write_text(path.read_text() + f"{'0' * 64}  {line}\n")
    with pytest.raises(ModelError, match=r"is missing|damaged") as error:
        load_model(folder)
    assert str(error.value).isprintable()


def test_a_vocabulary_that_grows_when_it_is_read(folder: Path) -> None:
    """A gzip bomb as vocabulary is read as plain text."""
    for name in ("target.vocabulary.txt", "target.outside.txt"):
        (folder / name).write_bytes(gzip.compress(b"</s>\n<unk>\n" + b"\n" * 3 * 10**7))
    write_digests(folder)
    tracemalloc.start()
    for read in (load_weights, load_outside):
        with pytest.raises(ModelError):
            read(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_what_is_no_file(folder: Path) -> None:
    """Folders, link loops and devices in place of files are refused."""
    for name in ("config.json", "SHA256SUMS", "model.safetensors", "target.vocabulary.txt"):
        path = folder / name
        content = path.read_bytes()
        path.unlink()
        for put in (Path.mkdir, lambda it: it.symlink_to(it.name), os.mkfifo):
            put(path)
            with pytest.raises(ModelError, match=r"is missing|no config\.json"):
                load_model(folder)
            path.rmdir() if path.is_dir() else path.unlink()
        path.symlink_to("/dev/zero")
        with pytest.raises(ModelError, match=r"is missing|no config\.json"):
            load_model(folder)
        path.unlink()
        path.write_bytes(content)
    load_model(folder)
