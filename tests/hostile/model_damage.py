"""Damages model folders, with matching checksums, as an attacker would make them."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.hostile.content_damage import CONTENTS, JSON, TYPES, Damage, changed_json, new_content

_SUMS = "SHA256SUMS"
_CONFIG, _WEIGHTS, _WORDS = "config.json", "model.safetensors", "target.vocabulary.txt"
_DEEP = 200_000
# damage to every file of a folder
_SOME = ("missing", "a folder", "a link loop", "empty", "random bytes", "cut off", "UTF-16")


def _setting(name: str, value: Any) -> Damage:
    return changed_json(lambda content: {**content, name: value})


_SETTINGS: Mapping[str, Damage] = {
    **JSON,
    **{f"format {value!r}": _setting("format", value) for value in (0, -1, True, 1.5, "1", 10**30)},
    **{
        f"{name} {value!r}": _setting(name, value)
        for name in ("hidden", "target_vocabulary")
        for value in (0, -1, 10**9, 10**12, 10**30, "8", True, 8.5, None, [8])
    },
    "kind x": _setting("kind", "x"),
    "kind 1": _setting("kind", 1),
    "an unknown setting": _setting("colour", 1),
}


def _header(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Return a damage to the JSON header with the places and types of the weights."""

    def changed(text: bytes) -> bytes:
        (size,) = struct.unpack("<Q", text[:8])
        header = json.loads(text[8 : 8 + size])
        change(header)
        new = json.dumps(header).encode()
        return struct.pack("<Q", len(new)) + new + text[8 + size :]

    return new_content(changed)


def _each(name: str, value: Any) -> Damage:
    def change(header: dict[str, Any]) -> None:
        for tensor in header.values():
            tensor[name] = value

    return _header(change)


_TENSORS: Mapping[str, Damage] = {
    "a head of 2^63 bytes": new_content(lambda text: struct.pack("<Q", 1 << 63) + text[8:]),
    "a head of deep lists": new_content(lambda _: struct.pack("<Q", _DEEP) + b"[" * _DEEP),
    "weights of whole numbers": _each("dtype", "I32"),
    "weights of an unknown type": _each("dtype", "X9"),
    "weights of 10^30": _each("shape", [10**30]),
    "weights of no shape": _each("shape", []),
    "weights outside the file": _each("data_offsets", [10**12, 2 * 10**12]),
    "a weight less": _header(lambda header: header.popitem()),
    "weights NaN": new_content(
        lambda text: (
            text[: 8 + struct.unpack("<Q", text[:8])[0]]
            + b"\0\0\xc0\x7f" * ((len(text) - 8 - struct.unpack("<Q", text[:8])[0]) // 4)
        )
    ),
}
_LISTED: Mapping[str, Damage] = {
    "a word twice": new_content(lambda text: text + text.splitlines(keepends=True)[-1]),
    "a word less": new_content(lambda text: b"".join(text.splitlines(keepends=True)[:-1])),
    "carriage returns": new_content(lambda text: text.replace(b"\n", b"\r\n")),
    "an empty word": new_content(lambda text: text.replace(b"\n", b"\n\n", 1)),
    "words with blanks": new_content(lambda text: text.replace(b"0\n", b" 0\n")),
}


def model_damage() -> Iterator[tuple[str, Damage]]:
    """Yield each damage to a folder with its name."""
    for name in ("missing", "a link loop", "a dangling link", "/dev/null"):
        yield name, TYPES[name]
    for file in (_CONFIG, _WEIGHTS, _WORDS, _SUMS):
        for name in _SOME:
            yield f"{file}: {name}", _inside(file, {**TYPES, **CONTENTS}[name])
    for file, table in ((_CONFIG, _SETTINGS), (_WEIGHTS, _TENSORS), (_WORDS, _LISTED)):
        for name, damage in table.items():
            yield f"{file}: {name}", _inside(file, damage)
    yield (
        f"{_SUMS}: a file outside",
        _inside(_SUMS, new_content(lambda text: text + b"0" * 64 + b"  ../../elsewhere/x\n")),
    )


def _inside(file: str, damage: Damage) -> Damage:
    """Return a damage to a file in a folder that also updates the checksums."""

    def spoil(folder: Path) -> None:
        path = folder / file
        old = hashlib.sha256(path.read_bytes()).hexdigest()
        damage(path)
        if file != _SUMS and path.is_file():
            sums = folder / _SUMS
            new = hashlib.sha256(path.read_bytes()).hexdigest()
            sums.write_text(sums.read_text().replace(old, new))

    return spoil
