"""Real Moses and the embedded decoder translate equally with new and extended generated tables."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.fresh_process import output_of
from tests.support.golden_systems import copy_system
from tests.support.random_models import save_random_model

pytestmark = pytest.mark.moses


@pytest.mark.parametrize("extend", [True, False])
def test_both_decoders_agree(
    extend: bool, bundled_golden: Path, moses_bin: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Both give equal translations of the sample text, some of them with new pairs."""
    system = copy_system(bundled_golden, tmp_path)
    words: list[set[bytes]] = [set(), set()]
    with gzip.open(system / "phrase-table.gz") as stream:
        for line in stream:
            for side, phrase in zip(words, line.split(b" ||| ")[:2], strict=True):
                side.update(phrase.split())
    save_random_model(tmp_path / "model", words[0], words[1])
    ini = system / "moses.ini"
    ini.write_text(ini.read_text().replace("reordering-table", "new-reordering"))
    phrasescore(
        *("generate", "--model", "model", "--table", system / "phrase-table.gz"),
        *("--reordering", system / "reordering-table.gz"),
        *("--reordering-output", "system/new-reordering.gz", "-o", "table.gz"),
        *("--beam", "3", "--max-length", "2"),
        *(["--extend"] if extend else []),
    ).well()
    phrasescore("ini", "add-column", ini, "--table", "table.gz", "-o", "new.ini").well()
    text = (tmp_path / "new.ini").read_text()
    (tmp_path / "new.ini").write_text(re.sub("(TranslationModel0=.*) .+ .+", r"\1 1 1", text))
    lines = (bundled_golden / "decode" / "input.en").read_bytes().split(b"\n")[:20]
    source = b"\n".join(lines) + b"\n"
    moses = moses_bin / "moses", "-f", "new.ini", "-t", "-v", "0"
    theirs = output_of(*moses, cwd=tmp_path, input=source)
    ours = phrasescore("decode", "new.ini", "-i", "-", "-t", stdin=source).well()
    assert [line.split() for line in ours.stdout.split(b"\n")] == [
        line.split() for line in theirs.split(b"\n")
    ]
    pairs = set()
    with gzip.open(tmp_path / "table.gz") as stream:
        for line in stream:
            columns = line.split(b" ||| ")
            if columns[2].endswith(b"2.71828183\n"):
                pairs.add(columns[1])
    used = {phrase.rsplit(b"|", 2)[0].strip() for phrase in theirs.split(b"| ")}
    assert pairs & {phrase.split(b" |")[0].strip() for phrase in used}
