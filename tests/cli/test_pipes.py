"""Named pipes as inputs of every command are read, or refused in one sentence; no process hangs."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.toy_system import toy_list, write_toy_system

# the input that becomes a pipe, and the command
COMMANDS = {
    "decode: input": ("dev.src", "decode moses.ini -i dev.src -o out"),
    "decode: ini": ("moses.ini", "decode moses.ini -i dev.src -o out"),
    "decode: table": ("phrase-table", "decode moses.ini -i dev.src -o out"),
    "decode: language model": ("lm.arpa", "decode moses.ini -i dev.src -o out"),
    "doctor: table": ("phrase-table", "doctor moses.ini --source dev.src --reference dev.trg"),
    "doctor: language model": ("lm.arpa", "doctor moses.ini --source dev.src"),
    "doctor: source": ("dev.src", "doctor moses.ini --source dev.src --reference dev.trg"),
    "doctor: reference": ("dev.trg", "doctor moses.ini --source dev.src --reference dev.trg"),
    "tune: source": ("dev.src", "tune moses.ini --source dev.src --reference dev.trg -o work"),
    "tune: reference": ("dev.trg", "tune moses.ini --source dev.src --reference dev.trg -o work"),
    "tune: ini": ("moses.ini", "tune moses.ini --source dev.src --reference dev.trg -o work"),
    "filter: text": ("dev.src", "filter moses.ini --input dev.src -o filtered"),
    "filter: table": ("phrase-table", "filter moses.ini --input dev.src -o filtered"),
    "build: source": ("dev.src", "build dev.src dev.trg system"),
    "build: target": ("dev.trg", "build dev.src dev.trg system"),
    "evaluate: hypothesis": ("dev.trg", "evaluate dev.trg --reference dev.src"),
    "compare: system": (
        "dev.trg",
        "compare --baseline dev.src --system dev.trg --reference dev.src",
    ),
    "compare: reference": (
        "dev.src",
        "compare --baseline dev.trg --system dev.trg --reference dev.src",
    ),
    "optimize: list": ("list", "optimize --nbest list --reference dev.trg -o weights.json"),
    "optimize: reference": ("dev.trg", "optimize --nbest list --reference dev.trg -o weights.json"),
    "rerank: list": ("list", "rerank list --mbr -o out"),
    "rerank: source": ("dev.src", "rerank list --mbr --source dev.src -o out"),
    "force-score: list": ("segments", "force-score moses.ini -i dev.src --nbest segments -o out"),
    "force-score: table": (
        "phrase-table",
        "force-score moses.ini -i dev.src --nbest segments -o out",
    ),
    "prune: table": ("phrase-table", "prune phrase-table --top 1 --column 1 -o out"),
    "ini: absolute-paths": ("moses.ini", "ini absolute-paths moses.ini -o out"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_nobody_waits(phrasescore: Phrasescore, tmp_path: Path, name: str) -> None:
    """The command ends by itself; a failing command prints one sentence."""
    toy = write_toy_system(tmp_path, sentences=4)
    (tmp_path / "list").write_bytes(toy_list(toy))
    if name.startswith("force-score: "):
        lists = "--nbest segments --nbest-size 2 --include-segmentation-in-n-best"
        phrasescore(*f"decode moses.ini -i dev.src -o first {lists}".split(" "))
    piped, command = COMMANDS[name]
    data = (tmp_path / piped).read_bytes()
    (tmp_path / piped).unlink()
    os.mkfifo(tmp_path / piped)
    writer = threading.Thread(target=write_once, args=(tmp_path / piped, data), daemon=True)
    writer.start()
    done = phrasescore(*command.split(" "))
    said = done.stderr.decode()
    if done.returncode == 3:
        assert f"{piped}: a pipe, but it must be read more than once. Write it to a file" in said, (
            said
        )
    elif name.startswith("doctor: ") and done.returncode == 1:
        assert b"is a pipe or a device" in b" ".join(done.stdout.split())
    else:
        assert done.returncode == 0, said


def write_once(path: Path, data: bytes) -> None:
    with contextlib.suppress(OSError):
        path.write_bytes(data)
