"""UTF-16 where text is read: it has zero bytes, and must not pass for other words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.hostile.world import write_world

# a file that becomes UTF-16, and a command that reads it
READERS = [
    ("dev.src", "nbest in/list --source in/dev.src --model in/search -o out"),
    ("dev.src", "decode in/moses.ini -i in/dev.src -o out"),
    ("dev.trg", "evaluate in/other.trg --reference in/dev.trg"),
    ("list", "rerank in/list --mbr --ties first -o out"),
    ("phrase-table", "score in/phrase-table --model in/model -o out"),
    ("phrase-table", "filter in/moses.ini --input in/dev.src -o out"),
    ("moses.ini", "ini show in/moses.ini"),
]


@pytest.mark.parametrize(("name", "command"), READERS)
def test_utf_16_is_refused(
    phrasescore: Phrasescore, tmp_path: Path, name: str, command: str
) -> None:
    """One sentence names the file and the likely cause."""
    write_world(tmp_path)
    file = tmp_path / "in" / name
    file.write_bytes(file.read_text().encode("utf-16-le"))
    ended = phrasescore(*command.split(" "))
    said = ended.stderr.decode().rpartition("phrasescore: ")[2]
    assert ended.returncode == 3, said
    assert f"in/{name}: " in said
    assert "UTF-16" in said
    assert not (tmp_path / "out").exists()
