"""``ini pack``, and ``filter`` and ``doctor`` of a folder: everything that the system needs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from moses_integration.ini.moses_ini import MosesIni
from tests.cli.test_system_folder import TEXT
from tests.conftest import Phrasescore
from tests.support.neural_language_models import save_random_language_model
from tests.support.system_folders import TARGET, write_system_folder


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Return a system with relative paths that rescores with two models."""
    write_system_folder(tmp_path / "system", ("There", "Phrases"))
    (tmp_path / "text").write_bytes(TEXT)
    return tmp_path / "system"


def test_a_packed_system_needs_nothing_else(
    phrasescore: Phrasescore, system: Path, tmp_path: Path
) -> None:
    """After the original is gone and the copy has moved, the translations are equal."""
    model = save_random_language_model(tmp_path / "lm", TARGET)
    added = ("add-language-model", system, "--model", model, "--absolute-paths")
    phrasescore("ini", *added, "-o", system / "new.ini").well()
    (system / "new.ini").replace(system / "moses.ini")
    rescoring = json.loads((system / "rescoring.json").read_text())
    rescoring["weights"]["NeuralLM0"] = [0.1]
    (system / "rescoring.json").write_text(json.dumps(rescoring))
    (system / "text.json").write_text('{"source": {}, "target": {}}')
    before = phrasescore("decode", system, stdin=TEXT).well()
    packed = phrasescore("ini", "pack", system, "packed").well()
    assert f"NeuralLM0.lm: {model}\n" in packed.stderr.decode()
    shutil.rmtree(system)
    shutil.rmtree(model)
    (tmp_path / "packed").rename(tmp_path / "moved")
    after = phrasescore("decode", "moved", stdin=TEXT).well()
    assert after.stdout == before.stdout
    assert (tmp_path / "moved" / "text.json").exists()
    paths = [
        line.options["path"]
        for line in MosesIni.parse((tmp_path / "moved" / "moses.ini").read_bytes()).features
        if "path" in line.options
    ]
    assert sorted(paths) == ["LM0.lm.arpa", "LexicalReordering0.reordering", "NeuralLM0.lm",
                             "TranslationModel0.table"]  # fmt: skip
    phrasescore("ini", "pack", "moved", "moved").refused(2)


def test_an_ini_alone_is_packed_without_rescoring(
    phrasescore: Phrasescore, system: Path, tmp_path: Path
) -> None:
    """Naming the ini means the search alone; a missing file leaves no folder behind."""
    ini = system / "moses.ini"
    ini.write_text(ini.read_text().replace("path=", f"path={system}/"))
    phrasescore("ini", "pack", ini, "packed").well()
    assert not (tmp_path / "packed" / "rescoring.json").exists()
    (system / "table").unlink()
    phrasescore("ini", "pack", ini, "other").refused(3, "table")
    assert not (tmp_path / "other").exists()


def test_a_filtered_folder_rescores(phrasescore: Phrasescore, system: Path, tmp_path: Path) -> None:
    """``filter`` copies rescoring.json and its models, and a second call finds them."""
    command = "filter", "system", "--input", "text", "-o", "filtered"
    for _ in range(2):
        phrasescore(*command).well()
    whole = phrasescore("decode", "system", stdin=TEXT)
    assert phrasescore("decode", "filtered", stdin=TEXT).stdout == whole.stdout


def test_doctor_examines_what_rescores(
    phrasescore: Phrasescore, system: Path, tmp_path: Path
) -> None:
    """A damaged or foreign model, and weights that do not fit, are errors."""
    phrasescore("doctor", "system").well()
    path = system / "rescoring.json"
    good = path.read_text()
    content = json.loads(good)
    del content["weights"]["LM0"]
    path.write_text(json.dumps(content))
    done = phrasescore("doctor", "system").refused(1)
    assert b"rescoring.json: " in done.stdout
    assert b"LM0" in done.stdout
    path.write_text(good)
    (system / "models" / "There" / "model.safetensors").write_bytes(b"x")
    done = phrasescore("doctor", "system").refused(1)
    assert b"damaged: model.safetensors" in done.stdout
