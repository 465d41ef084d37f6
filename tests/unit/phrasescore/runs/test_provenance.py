"""The provenance of results."""

from __future__ import annotations

from pathlib import Path

from phrasescore import __version__
from phrasescore.runs.final_names import packer
from phrasescore.runs.identity import provenance, sha256_of


def test_a_record_has_versions_and_digests(tmp_path: Path) -> None:
    """A record has versions, command, settings, and the digest of each input except pipes."""
    (tmp_path / "table").write_bytes(b"x")
    record = provenance(inputs=[tmp_path / "table", "-"], settings={"seed": 1})
    assert record["phrasescore"] == __version__
    assert record["libraries"]["torch"]
    assert record["gzip"] == packer()
    assert record["inputs"] == {str(tmp_path / "table"): sha256_of(tmp_path / "table")}
    assert record["settings"] == {"seed": 1}
