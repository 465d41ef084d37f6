"""Where a result comes from."""

from __future__ import annotations

import json
from pathlib import Path

from phrasescore import __version__
from phrasescore.runs.final_names import packer
from phrasescore.runs.identity import machine, provenance, sha256_of
from phrasescore.runs.json_files import write_json


def test_a_record_has_versions_and_digests(tmp_path: Path) -> None:
    """Versions, the command, settings and the digest of each input but a pipe are there."""
    (tmp_path / "table").write_bytes(b"x")
    record = provenance(inputs=[tmp_path / "table", "-"], settings={"seed": 1})
    assert record["phrasescore"] == __version__
    assert record["libraries"]["torch"]
    assert record["gzip"] == packer()
    assert record["inputs"] == {str(tmp_path / "table"): sha256_of(tmp_path / "table")}
    assert record["settings"] == {"seed": 1}


def test_what_times_depend_on() -> None:
    """The processor has a name, and there is at least one core."""
    described = machine()
    assert described["processor"]
    assert described["cores"] >= 1
    assert json.loads(json.dumps(described)) == described


def test_json_is_stable(tmp_path: Path) -> None:
    """Keys are sorted and the file ends with a line feed, so that equal values are equal bytes."""
    write_json(tmp_path / "a", {"b": 1, "a": "é"})
    text = (tmp_path / "a").read_text("utf-8")
    assert text == '{\n  "a": "é",\n  "b": 1\n}\n'
    assert json.loads(text) == {"a": "é", "b": 1}
