"""Names and lines of files are printed to a terminal without control characters."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.conftest import Phrasescore

# set the window's title, ring the bell, clear the screen (also with a single character)
COMMANDS = "\x1b]0;title\x07 \x1b[2J \x9b2J \x7f"
NO_UNICODE = os.fsdecode(b"caf\xe9")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
INI = f"""\
[feature]
PhraseDictionaryMemory name=Translation\x1b[2J\x9b num-features=1 path=a\x07{NO_UNICODE}
Distortion
[weight]
Translation\x1b[2J\x9b= 0.3
Distortion0= 0.1
"""


FILES = {f"{COMMANDS}.ini": INI, f"{COMMANDS}{NO_UNICODE}": "a b c d e\n", "reference": "a b\n"}


@pytest.mark.parametrize(
    "call",
    [
        ("doctor", f"{COMMANDS}.ini"),
        ("doctor", f"{COMMANDS}.ini", "--json"),
        ("evaluate", f"{COMMANDS}{NO_UNICODE}", "--reference", "reference"),
        ("evaluate", f"{COMMANDS}{NO_UNICODE}", "--reference", "reference", "--json"),
        ("ini", "remove-feature", f"{COMMANDS}.ini", "--feature", "Distortion0", "-o", "new.ini"),
        ("ini", f"show{COMMANDS}"),
    ],
    ids=lambda call: " ".join(call[:2]) if call[0] == "ini" else call[0],
)
def test_names_command_no_terminal(
    phrasescore: Phrasescore, tmp_path: Path, call: tuple[str, ...]
) -> None:
    """Control characters are escaped on both streams, and JSON stays JSON."""
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(os.fsencode(text))
    done = phrasescore(*call)
    assert done.returncode in (0, 1, 2, 3), done.stderr
    said = done.stdout.decode("utf-8") + done.stderr.decode("utf-8")
    assert not CONTROLS.search(said), said
    assert "x1b" in said or "u001b" in said or "remove-feature" in call
    if "--json" in call:
        assert json.loads(done.stdout)
