"""The embedded decoder in the tuning loop, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.copying import FilteredTable
from phrasescore.errors import InputError
from tests.support.toy_system import ToySystem, write_toy_system
from tuning.loop.decoding import NBestDecoder, read_source
from tuning.loop.decoding import prepare as prepare_lines
from tuning.loop.outer_loop import tune
from tuning.loop.tuning_settings import TuningSettings


def settings_of(toy: ToySystem, **others: int) -> TuningSettings:
    """Return the settings of a tuning of the toy system."""
    paths = {"ini": str(toy.ini), "source": str(toy.source)}
    return TuningSettings(**paths, references=(str(toy.reference),), **others)  # type: ignore[arg-type]


def prepare(
    settings: TuningSettings, ini: MosesIni, folder: Path
) -> tuple[NBestDecoder, list[FilteredTable]]:
    """Make the decoder for the source text of the settings."""
    count = Path(settings.source).read_bytes().count(b"\n")
    lines = read_source(settings, count, lambda note: None)
    return prepare_lines(settings, ini, lines, folder)


def test_lines_that_cannot_be_translated_are_numbered(tmp_path: Path) -> None:
    """Lines that cannot be translated are reported with file and line before loading tables."""
    toy = write_toy_system(tmp_path / "toy")
    toy.source.write_bytes(b"s1\n\ns1 <b x='1'> s2\n")
    with pytest.raises(InputError, match=r"dev\.src:3: XML markup"):
        prepare(settings_of(toy), MosesIni.read(toy.ini), tmp_path)
    assert not (tmp_path / "filtered").exists()


def test_a_dev_set_has_one_long_line(tmp_path: Path) -> None:
    """A line longer than the longest of a published dev set, 333 words, is decoded like others."""
    toy = write_toy_system(tmp_path / "toy")
    for path in (toy.source, toy.reference):
        text = path.read_bytes()
        path.write_bytes(text + b" ".join(text.split() * 400)[:3000].rpartition(b" ")[0] + b"\n")
    assert len(toy.source.read_bytes().splitlines()[-1].split()) > 333
    report = tune(settings_of(toy, rounds=1), tmp_path / "tuned", [].append)
    assert report.runs[0].rounds[0].candidates > 0


def test_what_lists_do_not_show_is_reckoned_with(tmp_path: Path) -> None:
    """A component that is not tuned keeps its weight, and tuning takes it into account."""
    toy = write_toy_system(tmp_path / "toy")
    ini = toy.ini.read_bytes().replace(b"num-features=2", b"num-features=2 tuneable-components=1,0")
    toy.ini.write_bytes(ini)
    report = tune(settings_of(toy, restarts=5, rounds=8), tmp_path / "tuned", [].append)
    first = report.runs[0].rounds[0]
    assert report.mean_and_deviation()[0] > first.score + 0.2
    assert report.best_run.weights["TranslationModel0"][1] == 0.4
    # the optimiser predicted the decoder's choices
    optimized = json.loads((tmp_path / "tuned/steps/optimize.1.json").read_text())["counts"]
    assert optimized["start_score"] == pytest.approx(first.score, abs=0.02)
