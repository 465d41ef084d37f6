"""The Python code in the documents runs as printed, in a folder with a moses.ini."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import PROJECT, Phrasescore
from tests.support.random_models import save_random_model

_BLOCKS = [
    pytest.param(block, id=f"{path.relative_to(PROJECT)}:{number}")
    for path in (PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md")))
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S), 1
    )
]


@pytest.mark.parametrize("block", _BLOCKS)
def test_it_runs(
    block: str, bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """Each block runs alone, in a folder with a system, models, and a text to translate."""
    for part in ("system", "decode"):
        shutil.copytree(bundled_golden / part, tmp_path / part)
    shutil.copy(tmp_path / "system" / "moses.ini", tmp_path / "moses.ini")
    save_random_model(tmp_path / "model", [b"the", b"house"], [b"la", b"maison"])
    save_random_model(tmp_path / "lm", [], [b"la", b"maison"], kind="feed-forward-lm")
    assert phrasescore("-c", block).well().stdout


def test_the_long_command_of_the_guide_works(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """The command that the guide adds writes its table and keeps no work file."""
    guide = (PROJECT / "docs" / "carry-on.md").read_text("utf-8")
    block = re.search(r"^```py\n(.*?)^```$", guide, re.M | re.S)
    assert block is not None
    (tmp_path / "shorten.py").write_text(block[1], "utf-8")
    (tmp_path / "table").write_bytes(b"a b ||| c ||| 1\na ||| b ||| 1\n")
    code = "import sys; sys.path.append(''); from shorten import shorten as run; run()"
    phrasescore("-c", code, "table", "-o", "out", "--words", "1").well()
    assert (tmp_path / "out").read_bytes() == b"a ||| b ||| 1\n"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]


def test_there_is_some() -> None:
    """The documents contain Python blocks; otherwise nothing above is checked."""
    assert _BLOCKS
