"""Compares a built system with the files of Moses's own training on the same text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from moses_integration.system_building.build import build_system
from moses_integration.system_building.build_settings import (
    BuildInputs,
    BuildSettings,
    SystemFolder,
)


def build(folder: Path, inputs: BuildInputs, **settings: int) -> None:
    for _ in build_system(inputs, SystemFolder(folder), BuildSettings(threads=2, **settings)):
        pass


def unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_golden_system(golden: Path, tmp_path: Path) -> None:
    """Every file equals those of train-model.perl (steps 4 to 6) and lmplz, byte for byte."""
    given = golden / "extraction"
    texts = given / "corpus.en", given / "corpus.fr"
    build(tmp_path / "s", BuildInputs(*texts, (given / "aligned.grow-diag-final-and",)))
    for name in ("phrase-table.gz", "reordering-table.gz", "lm.arpa.gz"):
        assert unzipped(tmp_path / "s" / name) == unzipped(golden / "system" / name), name
    for name in ("lex.e2f", "lex.f2e"):  # Moses writes them in hash table order
        lines = sorted((tmp_path / "s" / name).read_bytes().split(b"\n"))
        assert lines == sorted(unzipped(given / f"{name}.gz").split(b"\n")), name


@pytest.mark.slow
def test_multi30k_system(multi30k: Path, tmp_path: Path) -> None:
    """Files are equal for 29,000 sentences (839,237 pairs), with many runs and slices."""
    texts = multi30k / "train.en.gz", multi30k / "train.fr.gz"
    inputs = BuildInputs(*texts, (multi30k / "train.aligned.gz",))
    build(tmp_path / "s", inputs, memory=50_000_000)
    for name in ("phrase-table.gz", "reordering-table.gz"):
        assert unzipped(tmp_path / "s" / name) == unzipped(multi30k / name), name


@pytest.mark.slow
def test_memory_is_bounded(multi30k: Path, tmp_path: Path) -> None:
    """Ten copies of this corpus are built within 1.5 GiB of process memory."""
    import subprocess
    import sys

    paths = []
    for name in ("train.en.gz", "train.fr.gz", "train.aligned.gz"):
        paths.append(tmp_path / name)
        paths[-1].write_bytes((multi30k / name).read_bytes() * 10)  # concatenated gzip members
    # not ru_maxrss, which includes the memory of the process that started this one
    program = (
        "import re; from phrasescore.cli import main\n"
        "try: main()\n"
        "finally: print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    arguments = ["build", *map(str, paths[:2]), str(tmp_path / "s"), "--alignment", str(paths[2])]
    process = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, check=True, text=True
    )
    assert "290,000 pairs read, 290,000 pairs kept" in process.stderr
    assert int(process.stdout) * 1024 < 3 << 29
