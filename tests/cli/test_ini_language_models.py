"""`phrasescore ini add-language-model` and `remove-feature`, as a user runs them."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from moses_integration.ini.moses_ini import MosesIni
from tests.conftest import Phrasescore
from tests.support.golden_systems import copy_system
from tests.support.neural_language_models import save_random_language_model
from tests.support.random_models import save_random_model

ADD = ("ini", "add-language-model", "system/moses.ini")


@pytest.fixture(scope="module")
def prepared(bundled_golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the golden system, and models of the words of its sides."""
    folder = tmp_path_factory.mktemp("prepared")
    copy_system(bundled_golden, folder)
    with gzip.open(folder / "system" / "phrase-table.gz") as table:
        lines = [line.split(b" ||| ") for line in table]
    english, french = (
        sorted({word for line in lines for word in line[side].split()}) for side in (0, 1)
    )
    save_random_language_model(folder / "lm7", french)
    save_random_language_model(folder / "devlin", french, self_normalise=0.1)
    save_random_language_model(folder / "english", english)
    save_random_language_model(folder / "small", [b"le", b"la", b"."])
    save_random_model(folder / "search", english, french, kind="search")
    return folder


@pytest.fixture
def system(prepared: Path, tmp_path: Path) -> Path:
    """Copy the system to the current directory of the commands."""
    for part in prepared.iterdir():
        shutil.copytree(part, tmp_path / part.name, copy_function=os.link)
    return tmp_path / "system" / "moses.ini"


def test_added_and_taken_out_again(phrasescore: Phrasescore, system: Path, tmp_path: Path) -> None:
    """Adding and removing a model are reported, and together restore the original file."""
    done = phrasescore(*ADD, "--model", "lm7/", "-o", "moses.nlm.ini").well()
    ini = MosesIni.read(tmp_path / "moses.nlm.ini")
    assert ini.features[-1].options == {"name": "NeuralLM0", "path": "lm7"}
    assert list(ini.weights.items())[-1] == ("NeuralLM0", (0.0,))
    said = done.stderr.decode().splitlines()
    assert said[0].startswith("lm7/: a model that knows ")
    assert said[1:] == [
        "NeuralLM0: path=lm7, with the weight 0",
        "now tune all weights of moses.nlm.ini together (phrasescore tune): until then the "
        "new weight is 0",
        "warning: moses.nlm.ini:15: real Moses has no FeedForwardLM and refuses the file. "
        "Remove NeuralLM0 with phrasescore ini remove-feature.",
    ]
    more = phrasescore(
        "ini", "add-language-model", "moses.nlm.ini", "--model", "devlin", "--unnormalised",
        "--absolute-paths", "-o", "-",
    )  # fmt: skip
    assert (
        b"FeedForwardLM name=NeuralLM1 path=%b/devlin normalised=false\n" % bytes(tmp_path)
        in more.stdout
    )
    assert b"name=NeuralLM0 path=%b/lm7\n" % bytes(tmp_path) in more.stdout
    assert b"\nNeuralLM1= 0\n" in more.stdout
    gone = phrasescore("ini", "remove-feature", "moses.nlm.ini", "NeuralLM0", "-o", "plain.ini")
    assert gone.stderr == b"removed the feature NeuralLM0 (FeedForwardLM) and its weights\n"
    assert (tmp_path / "plain.ini").read_bytes() == system.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--model", "nothing"], 4, "nothing: no such model folder"),
        (["--model", "system"], 4, "system: not a phrasescore model"),
        (["--model", "search"], 4, "search: a model of kind search, but decoding needs a model"),
        (["--model", "-"], 2, "a model cannot come from standard input"),
        (["--model", "lm7", "--unnormalised"], 2, "was not trained with --self-normalise"),
        (["--model", "lm7", "--name", "LM0"], 3, "there is a feature LM0 already"),
        (["--model", "english"], 4, "of the words on the other side"),
    ],
)
def test_models_that_cannot_work(
    phrasescore: Phrasescore, system: Path, arguments: list[str], status: int, sentence: str
) -> None:
    """Each unusable model gets one sentence, and no ini is written."""
    phrasescore(*ADD, *arguments, "-o", "out.ini").refused(status, sentence)
    assert not (system.parent.parent / "out.ini").exists()


@pytest.mark.parametrize(
    ("arguments", "line", "words"),
    [
        ((), b"path=devlin normalised=false\n", "so its scores omit ln Z"),
        (
            ("--unnormalised",),
            b"path=devlin normalised=false\n",
            "normalised=false, with the weight",
        ),
        (("--normalised",), b"path=devlin\n", "path=devlin, with the weight"),
    ],
)
def test_the_way_a_self_normalised_model_is_asked(
    phrasescore: Phrasescore, system: Path, arguments: tuple[str, ...], line: bytes, words: str
) -> None:
    """Without an option the fast way is used; options select either way; the way is reported."""
    done = phrasescore(*ADD, "--model", "devlin", *arguments, "-o", "-").well()
    assert line in done.stdout
    assert words in done.stderr.decode()


def test_a_damaged_model(phrasescore: Phrasescore, system: Path, tmp_path: Path) -> None:
    """The whole model is checked before the ini is written."""
    path = tmp_path / "lm7" / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.unlink()
    path.write_bytes(data)
    phrasescore(*ADD, "--model", "lm7", "-o", "out.ini").refused(
        4, "lm7: damaged: model.safetensors is not the file"
    )


def test_a_model_of_few_words(phrasescore: Phrasescore, system: Path) -> None:
    """A small vocabulary may be intended, so a warning states its share of the table's words."""
    done = phrasescore(*ADD, "--model", "small", "-o", "-").well()
    assert b"warning: small: the model knows " in done.stderr
    assert b"of the words on the target side of system/phrase-table.gz: check that" in done.stderr


def test_filtering_keeps_the_model(
    phrasescore: Phrasescore, system: Path, bundled_golden: Path, tmp_path: Path
) -> None:
    """The filtered system finds the model's folder from any directory."""
    phrasescore(*ADD, "--model", "lm7", "-o", "nlm.ini").well()
    text = bundled_golden / "decode" / "input.en"
    phrasescore("filter", "nlm.ini", "--input", text, "-o", "filtered").well()
    ini = MosesIni.read(tmp_path / "filtered" / "moses.ini")
    assert ini.feature("NeuralLM0").options["path"] == str(tmp_path / "lm7")


def test_an_ngram_model(phrasescore: Phrasescore, system: Path, tmp_path: Path) -> None:
    """An ARPA file becomes a KENLM feature, which the decoder and real Moses can read."""
    done = phrasescore(*ADD, "--model", "system/lm.arpa", "-o", "two.ini").well()
    line = MosesIni.read(tmp_path / "two.ini").features[-1]
    assert (line.kind, line.name) == ("KENLM", "LM1")
    assert line.options["path"] == "system/lm.arpa"
    said = done.stderr.decode()
    assert "system/lm.arpa: n-grams of up to 3 words, of " in said
    assert "LM1: factor=0 path=system/lm.arpa order=3, with the weight 0" in said
    done = phrasescore("decode", "two.ini", "--nbest", "-", stdin=b"good day\n").well()
    fields = done.stdout.split(b"\n")[0].split(b" ||| ")[2].split()
    assert fields[fields.index(b"LM1=") + 1] == fields[fields.index(b"LM0=") + 1]
    phrasescore(*ADD, "--model", "system/lm.arpa", "--normalised", "-o", "two.ini").refused(
        2, "are for models of kind feed-forward-lm"
    )
    (tmp_path / "bad").write_text("no model\n")
    done = phrasescore(*ADD, "--model", "bad", "-o", "three.ini")
    assert (done.returncode, (tmp_path / "three.ini").exists()) == (3, False)


def test_real_moses_is_not_asked_to_tune(
    phrasescore: Phrasescore, system: Path, bundled_golden: Path
) -> None:
    """Tuning with real Moses is refused before filtering, with a remedy."""
    phrasescore(*ADD, "--model", "lm7", "-o", "nlm.ini").well()
    texts = ("--source", bundled_golden / "decode" / "input.en")
    texts += ("--reference", bundled_golden / "decode" / "input.fr")
    done = phrasescore("tune", "nlm.ini", *texts, "-o", "tuned", "--decoder", "moses").refused(
        3, "nlm.ini:15: real Moses has no FeedForwardLM, the class of NeuralLM0"
    )
    said = done.stderr.decode()
    assert "phrasescore ini remove-feature" in said
    assert "phrasescore nbest" in said


@pytest.mark.moses
def test_real_moses_reads_it_again(
    phrasescore: Phrasescore, system: Path, tmp_path: Path, moses_bin: Path
) -> None:
    """Moses refuses the ini with the model, and reads it after the model is removed."""
    phrasescore(*ADD, "--model", "lm7", "-o", "nlm.ini").well()
    for name, source in (("NeuralLM0", "nlm.ini"), ("LexicalReordering0", "plain.ini")):
        output = "plain.ini" if name == "NeuralLM0" else "less.ini"
        phrasescore("ini", "remove-feature", source, name, "-o", output).well()
    shown = {}
    for name in ("nlm.ini", "plain.ini", "less.ini"):
        command = [moses_bin / "moses", "-f", name, "-show-weights"]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        shown[name] = process.stdout if process.returncode == 0 else b""
    assert shown["nlm.ini"] == b""
    assert b"LexicalReordering0= " in shown["plain.ini"]
    assert b"LM0= " in shown["less.ini"]
    assert b"LexicalReordering0= " not in shown["less.ini"]
