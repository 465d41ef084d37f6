"""The commands of docs/moses.md run as printed; all forms of a rescored table translate equally."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from moses_integration.doctor.examination import examine
from moses_integration.tables.copying import PhraseFilter, filter_table
from tests.conftest import PROJECT
from tests.support.fresh_process import run_script
from tests.support.golden_systems import copy_system
from tests.support.random_models import save_random_model

pytestmark = pytest.mark.moses

TEXT = (PROJECT / "docs" / "moses.md").read_text("utf-8")
# the number of scores of the phrase table in the golden moses.ini
LAST_WEIGHT = "-0.0329637835735919"
FORMS = {
    "compact": "processPhraseTableMin",
    "ondisk": "CreateOnDiskPt",
    "probing": "CreateProbingPT",
}


def block(command: str) -> str:
    """Return the document's block of commands that contains a command."""
    found = [text for text in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) if command in text]
    return found[0]


def run(script: str, folder: Path, moses_bin: Path) -> bytes:
    """Run commands in a shell; return their output."""
    given = f"export MOSES={moses_bin.parent} OMP_NUM_THREADS=1\n"
    return run_script(given + script, folder).well().stdout


@pytest.fixture(scope="module")
def system(bundled_golden: Path, moses_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the golden system, with its phrase table filtered and rescored as documented."""
    folder = tmp_path_factory.mktemp("forms")
    copy_system(bundled_golden, folder)
    for side in ("en", "fr"):
        shutil.copyfile(bundled_golden / "decode" / f"input.{side}", folder / f"dev.{side}")
    phrases = PhraseFilter((folder / "dev.en").read_bytes().split(b"\n"))
    table = "phrase-table.gz"
    filter_table(bundled_golden / "system" / table, folder / "system" / table, phrases)
    words = (
        (bundled_golden / "extraction" / f"corpus.{side}").read_bytes() for side in ("en", "fr")
    )
    save_random_model(folder / "model", *(text.split()[:3000] for text in words))
    run(block("phrasescore score"), folder, moses_bin)
    # so that the new score influences translations
    ini = (folder / "moses.rnn.ini").read_text()
    ini = ini.replace(f"{LAST_WEIGHT} 0\n", f"{LAST_WEIGHT} 0.02\n")
    (folder / "moses.rnn.ini").write_text(ini)
    return folder


def translations(folder: Path, ini: str, moses_bin: Path) -> bytes:
    return run(f"$MOSES/bin/moses -f {ini} -input-file dev.en", folder, moses_bin)


def require_program(moses_bin: Path, name: str) -> None:
    """Skip the test if Moses was built without this program, because of missing libraries."""
    if not (moses_bin / name).exists():
        pytest.skip(f"this Moses was built without {name}")


@pytest.mark.parametrize("form", FORMS)
def test_binary_forms(
    system: Path, moses_bin: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Binary tables translate like the text table; doctor or Moses checks their score counts."""
    require_program(moses_bin, FORMS[form])
    run(block(f"$MOSES/bin/{FORMS[form]} "), system, moses_bin)
    ini = f"moses.{form}.ini"
    expected = translations(system, "moses.rnn.ini", moses_bin)
    assert translations(system, ini, moses_bin) == expected
    assert expected.count(b"\n") == 40
    monkeypatch.chdir(system)
    assert not examine(ini).count("error")
    text = (system / ini).read_text().replace("num-features=5", "num-features=4")
    text = text.replace(f"{LAST_WEIGHT} 0.02", LAST_WEIGHT)
    (system / "wrong.ini").write_text(text)
    said = [each.what for each in examine("wrong.ini").findings]
    # Moses itself checks a compact table
    assert form == "compact" or "has 5 scores, but the ini says num-features=4" in said[0]


def test_the_new_score_matters(system: Path, moses_bin: Path) -> None:
    """Without the new score some translations differ, so the equality above is meaningful."""
    assert translations(system, "moses.rnn.ini", moses_bin) != translations(
        system, "system/moses.ini", moses_bin
    )


def test_filtering(system: Path, moses_bin: Path) -> None:
    """All forms of filtered systems keep five scores and translate equally."""
    for program in FORMS.values():
        require_program(moses_bin, program)
    run(block("filtered moses.rnn.ini"), system, moses_bin)
    run(block("-Binarizer"), system, moses_bin)
    run(block("--input-pt filtered/"), system, moses_bin)
    expected = translations(system, "moses.rnn.ini", moses_bin)
    for folder in ("filtered", "filtered.compact", "filtered.ondisk"):
        assert translations(system, f"{folder}/moses.ini", moses_bin) == expected, folder
    assert translations(system, "moses.filtered.probing.ini", moses_bin) == expected


def test_step_nine(system: Path, moses_bin: Path) -> None:
    """train-model.perl writes an ini with five scores, which Moses loads."""
    # the script expects Moses's own name of the reordering table
    shutil.copyfile(
        system / "system" / "reordering-table.gz",
        system / "system" / "reordering-table.wbe-msd-bidirectional-fe.gz",
    )
    run(block("train-model.perl"), system, moses_bin)
    ini = (system / "train" / "model" / "moses.ini").read_text()
    assert "TranslationModel0= 0.2 0.2 0.2 0.2 0.2\n" in ini
    assert translations(system, "train/model/moses.ini", moses_bin).count(b"\n") == 40


def test_lists(system: Path, moses_bin: Path) -> None:
    """A list is made, rescored, optimised and reranked."""
    run(block("phrasescore nbest").replace("test.", "dev."), system, moses_bin)
    assert b"PhraseModel0" in (system / "weights.json").read_bytes()
    assert (system / "dev.reranked.fr").read_bytes().count(b"\n") == 40


@pytest.mark.slow
def test_tuning(system: Path, moses_bin: Path) -> None:
    """mert-moses.pl tunes all five weights."""
    script = block("mert-moses.pl").replace("--maximum-iterations 8", "--maximum-iterations 2")
    run(script, system, moses_bin)
    ini = (system / "mert-work.rnn" / "moses.ini").read_text()
    [weights] = re.findall(r"^TranslationModel0= (.*)$", ini, re.MULTILINE)
    assert len(weights.split()) == 5
