"""Damages the content of files of any kind.

A damage is a function that replaces the valid file or folder at a path.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Damage = Callable[[Path], None]
_DEEP = 200_000
_MANY = 1_000_000


def new_content(change: Callable[[bytes], bytes]) -> Damage:
    """Return a damage that replaces a file by a new file with changed content."""

    def spoil(path: Path) -> None:
        content = change(path.read_bytes())
        path.unlink()
        path.write_bytes(content)

    return spoil


def instead(make: Callable[[Path], object]) -> Damage:
    """Return a damage that removes a file and makes something else with its name."""

    def spoil(path: Path) -> None:
        remove(path)
        make(path)

    return spoil


def remove(path: Path) -> None:
    """Remove a file, a link or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _noise(_: bytes) -> bytes:
    return random.Random(20141025).randbytes(3000)


def _numbers_as(number: bytes) -> Callable[[bytes], bytes]:
    """Return a function that replaces every number that does not begin a line."""
    return lambda text: re.sub(rb"(?<=[ \t=])-?\d*\.?\d+(?=[\s,\]])", lambda _: number, text)


def _cut(text: bytes) -> bytes:
    return text[: len(text) * 3 // 5]


# other types of file
TYPES: Mapping[str, Damage] = {
    "missing": remove,
    "a folder": instead(Path.mkdir),
    "a link loop": instead(lambda path: path.symlink_to(path.name)),
    "a dangling link": instead(lambda path: path.symlink_to("nothing")),
    "/dev/null": instead(lambda path: path.symlink_to("/dev/null")),
    "/dev/zero": instead(lambda path: path.symlink_to("/dev/zero")),
    "a socket": instead(lambda path: os.mknod(path, 0o140600)),
}

# damage to any file
CONTENTS: Mapping[str, Damage] = {
    name: new_content(change)
    for name, change in {
        "empty": lambda text: b"",
        "one NUL": lambda text: b"\0",
        "a line feed": lambda text: b"\n",
        "random bytes": _noise,
        "cut off": _cut,
        "cut gzip": lambda text: gzip.compress(text, mtime=0)[:-9],
        "gzip in gzip": lambda text: gzip.compress(gzip.compress(text, mtime=0), mtime=0),
        "gzip and more": lambda text: gzip.compress(text, mtime=0) + b"more",
        "UTF-16": lambda text: text.decode("utf-8", "replace").encode("utf-16"),
        "CR line ends": lambda text: text.replace(b"\n", b"\r"),
        "CR LF line ends": lambda text: text.replace(b"\n", b"\r\n"),
        "10^6 tokens in a line": lambda text: b"s0 " * _MANY + b"\n" + text,
        "NULs in it": lambda text: text.replace(b" ", b" \0").replace(b"\n", b"\0\n"),
        "a picture": lambda text: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100),
        "a program": lambda text: b"\x7fELF\2\1\1" + bytes(200),
    }.items()
}

# damage to files with numbers
NUMBERS: Mapping[str, Damage] = {
    name: new_content(_numbers_as(number))
    for name, number in {
        "numbers NaN": b"nan",
        "numbers 10^400": b"1" + b"0" * 400,
        "numbers of 5,000 digits": b"9" * 5000,
        "numbers 1e999": b"1e999",
        "numbers -1": b"-1",
        "numbers 10^12": b"1000000000000",
        "numbers not ASCII": "²".encode(),
        "numbers of another script": "٣".encode(),
    }.items()
}


def changed_json(change: Callable[[Any], Any]) -> Damage:
    """Return a damage that changes the value in a JSON file."""

    def changed(text: bytes) -> bytes:
        return json.dumps(change(json.loads(text))).encode()

    return new_content(changed)


def whole(text: bytes) -> Damage:
    """Return a damage that replaces the content of a file."""
    return new_content(lambda _: text)


NESTED: Mapping[str, Damage] = {
    "deep lists": whole(b"[" * _DEEP),
    "deep lists, closed": whole(b"[" * _DEEP + b"]" * _DEEP),
    "deep objects": whole(b'{"a":' * _DEEP),
}
JSON: Mapping[str, Damage] = {
    **NESTED,
    "a list": whole(b"[]"),
    "null": whole(b"null"),
    "a number of 5,000 digits": whole(b"9" * 5000),
    "an empty object": whole(b"{}"),
    "a name twice": new_content(lambda text: text.replace(b"{", b'{"format": 1, "format": 2, ', 1)),
    "not UTF-8": new_content(lambda text: text.replace(b'"', b'"\xff', 1)),
}
