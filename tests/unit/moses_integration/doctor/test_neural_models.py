"""The doctor's findings about neural language models in a moses.ini."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moses_integration.doctor.examination import check_moses, check_neural_models
from moses_integration.doctor.findings import Diagnosis, Finding
from moses_integration.doctor.texts import TextWords
from moses_integration.ini.moses_ini import MosesIni
from tests.support.neural_language_models import save_random_language_model
from tests.support.random_models import save_random_model

INI = """\
[feature]
PhraseDictionaryMemory name=TM num-features=1 input-factor=0 output-factor=0 path=table
FeedForwardLM name=NeuralLM0 path=lm{options}
[weight]
TM= 0.3
NeuralLM0= 0.2
"""
FRENCH = [b"le", b"chat", b"noir"]
ENGLISH = [b"the", b"black", b"cat"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory with a table and a model of its target side."""
    monkeypatch.chdir(tmp_path)
    pairs = zip(ENGLISH, FRENCH, strict=True)
    Path("table").write_bytes(b"".join(b"%b , ||| %b , ||| 0.5\n" % pair for pair in pairs))
    save_random_language_model(Path("lm"), FRENCH)
    return tmp_path


def found(
    options: str = "", references: tuple[TextWords, ...] = (), path: str = " path=lm"
) -> tuple[Finding, ...]:
    """Return the findings about the neural language models of an ini."""
    diagnosis = Diagnosis()
    text = INI.format(options=options).replace(" path=lm", path)
    check_neural_models(diagnosis, MosesIni.parse(text.encode()), list(references))
    return diagnosis.findings


def test_a_model_that_fits(folder: Path) -> None:
    """A fitting model has no faults; its coverage of the references is reported."""
    assert found() == ()
    (known,) = found(references=(TextWords(FRENCH, "dev.fr"),))
    assert known.severity == "note"
    assert known.what == "the language model NeuralLM0 knows all 3 tokens"


def test_normalisation(folder: Path) -> None:
    """An invalid value, and a value that does not fit the model's training, are found."""
    (wrong,) = found(" normalised=maybe")
    assert (wrong.severity, wrong.what) == (
        "error", "normalised is 'maybe', expected true or false"
    )  # fmt: skip
    (unfit,) = found(" normalised=false")
    assert unfit.severity == "error"
    assert "was not trained with --self-normalise" in unfit.what
    shutil.rmtree("lm")
    save_random_language_model(Path("lm"), FRENCH, self_normalise=0.1)
    assert found(" normalised=false") == ()
    (slow,) = found()
    assert (slow.severity, slow.remedy) == ("note", "write normalised=false into its line")


def test_folders_that_are_no_such_model(folder: Path) -> None:
    """Missing, unsuitable and damaged models are reported with the folder's name."""
    save_random_model(Path("other"), ENGLISH, FRENCH)
    shutil.move("lm", "moved")
    (missing,) = found()
    shutil.copytree("other", "lm")
    (other,) = found()
    Path("lm/model.safetensors").write_bytes(b"")
    (damaged,) = found()
    assert [each.severity for each in (missing, other, damaged)] == ["error"] * 3
    assert [each.where for each in (missing, other, damaged)] == ["lm"] * 3
    assert missing.what == "no such model folder"
    assert other.what.startswith("a model of kind phrase, but decoding needs")
    assert damaged.what.startswith("damaged: model.safetensors")
    assert [each.what for each in found(path="")] == ["NeuralLM0 names no model"]


def test_a_model_of_the_source_language(folder: Path) -> None:
    """A model of the source language is recognised by the table's words, without a dev set."""
    shutil.rmtree("lm")
    save_random_language_model(Path("lm"), [*ENGLISH, b","])
    (finding,) = found()
    assert (finding.severity, finding.where) == ("error", "lm")
    assert finding.what == (
        "the model knows 0% of the words on the target side of table, but 100% of the words on the "
        "other side"
    )
    shutil.rmtree("lm")
    save_random_language_model(Path("lm"), [b"le"])
    (few,) = found()
    assert (few.severity, few.what) == (
        "warning", "the model knows 33% of the words on the target side of table"
    )  # fmt: skip


def test_real_moses_is_not_asked(folder: Path) -> None:
    """Real Moses is not run, because it would refuse the line with a less helpful message."""
    ini = MosesIni.parse(INI.format(options="").encode())
    diagnosis = Diagnosis()
    check_moses(diagnosis, ini, Path("/nowhere/moses"))
    (finding,) = diagnosis.findings
    assert finding.severity == "moses error"
    assert finding.what == "real Moses has no FeedForwardLM, the class of NeuralLM0"


def test_torch_is_not_needed(folder: Path) -> None:
    """The examination of a neural model does not import torch."""
    Path("moses.ini").write_text(INI.format(options=""))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from moses_integration.doctor.examination import examine\n"
        "print([each.what for each in examine('moses.ini').findings])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"real Moses has no FeedForwardLM" in done.stdout
