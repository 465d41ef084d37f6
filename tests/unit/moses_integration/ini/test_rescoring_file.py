"""``rescoring.json``: only models of the folder, with the digests that were tuned."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from moses_integration.ini.rescoring_file import RESCORING, Rescoring, carry_rescoring
from phrasescore.errors import InputError, ModelError, SettingsError
from tests.support.random_models import save_random_model
from tests.support.system_folders import SOURCE, TARGET, write_system_folder


@pytest.fixture
def rescoring(tmp_path: Path) -> Rescoring:
    """Return the content of the file in the folder ``system``, which has one model."""
    found = write_system_folder(tmp_path / "system", ("There",))
    assert found is not None
    return found


def test_what_is_written_is_read(rescoring: Rescoring, tmp_path: Path) -> None:
    """The file is read back, but not from an ini beside it, and a folder may have none."""
    system = tmp_path / "system"
    assert Rescoring.read(system) == rescoring
    assert Rescoring.read(system / "moses.ini") is None
    assert Rescoring.read(tmp_path) is None
    assert rescoring.folders(system) == [system / "models" / "There"]


@pytest.mark.parametrize("folder", ["../There", "models/../models/There", "out", "{}/There"])
def test_models_outside_are_refused(rescoring: Rescoring, tmp_path: Path, folder: str) -> None:
    """A folder from a stranger cannot name a model elsewhere, by a path or a link."""
    system = tmp_path / "system"
    (system / "out").symlink_to(tmp_path / "There")
    model = dataclasses.replace(rescoring.models[0], folder=folder.format(tmp_path))
    with pytest.raises(SettingsError, match="inside the folder of its system"):
        dataclasses.replace(rescoring, models=(model,)).folders(system)


@pytest.mark.parametrize("name", ["models/There/config.json", RESCORING])
def test_files_outside_are_refused(rescoring: Rescoring, tmp_path: Path, name: str) -> None:
    """Nor can a file of a model, or the file itself, be a link out of the folder."""
    system = tmp_path / "system"
    (system / name).rename(tmp_path / "elsewhere")
    (system / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="inside the folder of its system"):
        carry_rescoring(system, tmp_path / "copy")


def test_another_model_is_refused(rescoring: Rescoring, tmp_path: Path) -> None:
    """The second weights belong to one model."""
    place = tmp_path / "system" / "models" / "There"
    shutil.rmtree(place)
    with pytest.raises(ModelError, match="SHA256SUMS is missing"):
        rescoring.folders(tmp_path / "system")
    save_random_model(place, SOURCE, TARGET, seed=9, kind="search")
    with pytest.raises(ModelError, match="not the model There"):
        rescoring.folders(tmp_path / "system")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"canditates": 5}, "did you mean candidates"),
        ({"candidates": 0}, "candidates is 0"),
        ({"version": 2}, "version is 2"),
        ({"weights": {"LM0": ["a"]}}, "expected float"),
        ({"models": []}, "no models and no scorers"),
        ({"scorers": ["There"]}, "two features have the name There"),
        ({"scorers": ["a b"]}, "'a b' cannot be the name of a feature"),
        ({"models": [{"name": "A", "folder": "b"}]}, "the setting digest is missing"),
    ],
)
def test_the_record_is_closed(
    rescoring: Rescoring, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    """Unknown keys, and values of another kind, are errors that name the file."""
    path = tmp_path / "system" / RESCORING
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(SettingsError, match=said) as caught:
        Rescoring.read(path.parent)
    assert str(path) in str(caught.value)
    path.write_text("[")
    with pytest.raises(InputError, match="not valid JSON"):
        Rescoring.read(path.parent)
