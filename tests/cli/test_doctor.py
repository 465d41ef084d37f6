"""``phrasescore doctor`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Phrasescore
from tests.support.golden_systems import copy_system


def test_statuses(bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore) -> None:
    """The status is 0 for warnings, 1 for errors or with --strict; JSON has the same findings."""
    copy_system(bundled_golden, tmp_path)
    texts = ["--source", bundled_golden / "decode" / "input.en"]
    texts += ["--reference", bundled_golden / "decode" / "input.fr"]
    process = phrasescore("doctor", "system/moses.ini", *texts, "--json-file", "found.json").well()
    verdict = b"this system can be tuned; read the warnings first.\n"
    assert process.stdout.endswith(
        b"\n0 errors, 1 warning and 3 notes.\nreal Moses: "
        + verdict
        + b"embedded decoder: "
        + verdict
    )
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["errors"], found["warnings"], found["notes"]) == (0, 1, 3)
    assert found["usable"] == {"moses": True, "embedded": True}
    assert set(found["findings"][0]) == {"severity", "what", "where", "remedy"}
    strict = phrasescore("doctor", "system/moses.ini", *texts, "--strict")
    assert (strict.returncode, strict.stdout) == (1, process.stdout)
    (tmp_path / "columns").write_bytes(texts[1].read_bytes().replace(b" ", b"\t"))
    columns = phrasescore("doctor", "system/moses.ini", "--source", "columns").well()
    assert b"columns:1: lines with a tab: a table of several columns? (" in columns.stdout
    (tmp_path / "system" / "lm.arpa").unlink()
    unlike = phrasescore("doctor", "system/moses.ini", *texts).well()
    assert unlike.stdout.startswith(
        b"moses errors\n  system/moses.ini:14: system/lm.arpa does not exist"
    )
    assert b"\nreal Moses: cannot use this system; see the moses errors.\n" in unlike.stdout
    (tmp_path / "system" / "lm.arpa.gz").unlink()
    broken = phrasescore("doctor", "system/moses.ini", *texts).refused(1)
    assert broken.stdout.startswith(b"errors\n  system/moses.ini:14: system/lm.arpa: no such file")
    assert broken.stdout.endswith(b"repair the errors before tuning.\n")


def test_refusals(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """A missing ini is an error instead of a finding, and references need a source."""
    process = phrasescore("doctor", "moses.ini")
    assert (process.returncode, process.stdout) == (3, b"")
    assert process.stderr == b"phrasescore: moses.ini: no such file.\n"
    process = phrasescore("doctor", "moses.ini", "--reference", "dev.fr").refused(2)
    assert process.stderr == (
        b"phrasescore: --reference needs --source, which is not given. "
        b"Add --source, or leave out --reference.\n"
    )
    phrasescore("doctor", "--json").refused(2, "Missing argument 'SYSTEM'")
