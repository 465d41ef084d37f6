"""The commands in README and the tutorials run as printed, one page after the other."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.fresh_process import run_script
from tests.support.warm_process import WarmProcesses

TUTORIALS = PROJECT / "docs" / "tutorials"
# in reading order: each page uses the files that earlier pages made
PAGES = [
    TUTORIALS / "start-from-parallel-text.md",
    TUTORIALS / "rescore-your-table.md",
    TUTORIALS / "did-it-help.md",
    TUTORIALS / "rerank.md",
    TUTORIALS / "filter-a-bitext.md",
    TUTORIALS / "normalise-spelling.md",
    PROJECT / "README.md",
]
# lines of the sample corpus, so that all pages together take less than a minute
LINES = {"train": 150, "dev": 15, "test": 15}
# a page trains a model for the time that it needs; here training and tuning only have to run
SHORTER = [
    (r"--max-time \w+", "--max-epochs 1 --hidden 16"),
    (r"--time \w+", "--passes 1"),
    (r"--hidden \d+", "--hidden 16"),
    (r"--max-epochs \d+", "--max-epochs 1"),
    (r"(phrasescore tune .*)", r"\1 --rounds 1"),
    # with so little text, the model of the first page is poor, which must not stop the test
    (r"score --model", "score --accept-unknown --model"),
]


def commands(page: Path) -> str:
    """Return the page's blocks of commands as a shell script."""
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S))
    for pattern, replacement in SHORTER:
        script = re.sub(pattern, replacement, script)
    return script


def test_every_page(tmp_path: Path, warm_processes: WarmProcesses) -> None:
    """Each page's commands succeed in the folder that earlier pages left."""
    pytest.importorskip("thot", reason="the first page needs the extra alignment")
    (tmp_path / "sample_corpus").mkdir()
    for path in sorted((PROJECT / "sample_corpus").glob("*.[ef][nr]")):
        lines = path.read_bytes().splitlines(keepends=True)[: LINES[path.stem]]
        (tmp_path / "sample_corpus" / path.name).write_bytes(b"".join(lines))
    for path in (PROJECT / "sample_corpus").glob("*.tsv"):
        shutil.copy(path, tmp_path / "sample_corpus")
    for page in PAGES:
        script = commands(page)
        assert "phrasescore " in script
        if page.name == "README.md":  # it begins with the reader's own texts and system
            own = "mkdir prepared; cp dev.en dev.fr prepared; cp sample_corpus/{train,dev}.?? .\n"
            own += "cp system/moses.ini system/phrase-table.gz .; rm -r model"
            # from `doctor` on, the texts are those of a system of tokens
            rest = "cp prepared/* .\nphrasescore doctor"
            script = f"{own}\n{script.replace('phrasescore doctor', rest, 1)}"
        run_script(script, tmp_path, warm_processes).well()
    assert (tmp_path / "tuned" / "moses.ini").exists()
    assert (tmp_path / "translation.fr").read_bytes().count(b"\n") == LINES["test"]
    assert b"rnn" in (tmp_path / "compared.json").read_bytes()
    assert (tmp_path / "test.norm.txt").read_text().split("\n").count("") > 50
    assert (tmp_path / "kept.tsv").read_bytes().count(b"\t") > LINES["train"] // 2


def test_every_tutorial_is_run() -> None:
    """The list above contains every tutorial."""
    assert set(TUTORIALS.glob("*.md")) < set(PAGES)
