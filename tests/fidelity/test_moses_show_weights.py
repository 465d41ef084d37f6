"""Real Moses and our reader agree on the content of an ini, and on errors in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from moses_integration.ini.edits import find_table_feature, with_table
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.problems import section_problems
from phrasescore.errors import IniError
from tests.support.golden_systems import copy_system

pytestmark = pytest.mark.moses

ShowWeights = Callable[[bytes], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def golden_ini(golden: Path) -> bytes:
    """Return the ini of the golden system."""
    return (golden / "system" / "moses.ini").read_bytes()


@pytest.fixture
def show_weights(moses_bin: Path, golden: Path, tmp_path: Path) -> ShowWeights:
    """Run ``moses -show-weights`` on the bytes of an ini, in the folder of its files."""
    copy_system(golden, tmp_path)

    def run(ini: bytes) -> subprocess.CompletedProcess[str]:
        (tmp_path / "moses.ini").write_bytes(ini)
        return subprocess.run(
            [moses_bin / "moses", "-f", "moses.ini", "-show-weights", "-v", "0"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def expected_lines(ini: MosesIni) -> list[str]:
    """Return Moses's expected output, computed from our layout and weights."""
    layout = FeatureLayout.from_ini(ini)
    weights = layout.read_weights(ini)
    lines = []
    for feature in layout.features:
        if not any(feature.tuneable):
            lines.append(f"{feature.name} UNTUNEABLE")
            continue
        texts = [
            f"{weight:.6f}" if tuneable else "UNTUNEABLECOMPONENT"
            for weight, tuneable in zip(weights[feature.name], feature.tuneable, strict=True)
        ]
        lines.append(f"{feature.name}= " + " ".join(texts))
    return lines


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"", b""),
        (b"\n", b"\r\n"),
        (b"\nLM0= ", b"\n#LM0= "),
        (b"[weight]\n", b"[weight]\nLM0= 7 8 9\n"),
        (b"num-features=4", b"num-features=4 tuneable-components=1,0,1,1"),
        (b"KENLM ", b"KENLM num-features=3 "),
        (b"num-features=6", b"num-features=2"),
        (b"WordPenalty\n", b"WordPenalty tuneable=no # it is\n"),
        (b"[mapping]\n", b"[dl]\n3\n[drop-unknown]\n[mapping]\n"),
        (b"[weight]\n", b"[weight]\nLM0_sparse= 1\n"),
        (b"Distortion\n", b"Distortion name=D\nDistortion\n"),
    ],
)
def test_moses_prints_our_layout(
    show_weights: ShowWeights, golden_ini: bytes, old: bytes, new: bytes
) -> None:
    """Order, number, weights and tuneability of all features agree with `-show-weights`."""
    data = golden_ini.replace(old, new) if old else golden_ini
    printed = show_weights(data).stdout.splitlines()
    assert [" ".join(line.split()) for line in printed] == expected_lines(MosesIni.parse(data))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\nLM0= ", b"\nLM0="),
        (b"\nLM0= ", b"\nLM0 = "),
        (b"[weight]\n", b"[weight]\nNobody0= 1\n"),
        (b"\nLM0= ", b"\nLM0= 1 "),
        (b"num-features=4", b"num-features=5"),
        (b"num-features=4", b"num-features=4 num-features=4"),
        (b"num-features=4", b"num-features=4 tuneable-components=1,0"),
        (b"WordPenalty\n", b"WordPenalty tuneable=false tuneable-components=1\n"),
        (b"WordPenalty\n", b"WordPenalties\n"),
        (b"Distortion\n", b"Distortion name=LM0\n"),
        (b"[weight]\n", b"[weight\n"),
        (b"[weight]\n", b"[weight-d]\n0.3\n[weight]\n"),
    ],
)
def test_what_we_refuse_moses_refuses(
    show_weights: ShowWeights, golden_ini: bytes, old: bytes, new: bytes
) -> None:
    """We refuse no file that Moses would load."""
    data = golden_ini.replace(old, new)
    assert data != golden_ini
    assert show_weights(data).returncode != 0
    with pytest.raises(IniError):
        ini = MosesIni.parse(data)
        FeatureLayout.from_ini(ini).read_weights(ini)


@pytest.mark.parametrize("section", [b"bla", b"ttable-limits"])
def test_unknown_sections_are_those_of_moses(
    show_weights: ShowWeights, golden_ini: bytes, section: bytes
) -> None:
    """We report the sections that Moses refuses."""
    data = b"[%b]\n3\n" % section + golden_ini
    assert "Unknown parameter" in show_weights(data).stderr
    ((severity, error),) = section_problems(MosesIni.parse(data))
    assert (severity, error.line) == ("error", 2)
    assert f"unknown section [{section.decode()}]" in str(error)


def test_moses_loads_the_ini_with_the_new_column(
    show_weights: ShowWeights, golden_ini: bytes
) -> None:
    """Moses loads the ini, whose path, num-features and weights agree with the table."""
    ini = MosesIni.parse(golden_ini)
    table = "system/phrase-table.5col.gz"
    line = find_table_feature(ini)
    after, _ = with_table(ini, line, table, 5)
    after = after.with_weights({line.name: (*after.weights[line.name][:-1], 0.2)})
    done = show_weights(after.to_bytes())
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].split()[-1] == "0.200000"
