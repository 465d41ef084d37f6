"""``tune --rescore``: the search's weights first, then those that choose among its candidates."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model
from tests.support.toy_system import ToySystem, write_toy_system

SOURCE = [b"s%d" % number for number in range(6)]
TARGET = [b"%c%d" % (letter, number) for letter in b"rw" for number in range(6)]
FAST = "--rounds", "1", "--restarts", "1", "--nbest-size", "30", "--threads", "1"


@pytest.fixture
def toy(tmp_path: Path) -> ToySystem:
    """Return a system with a dev set, and save models of sentences and of phrases."""
    save_random_model(tmp_path / "there", SOURCE, TARGET, kind="search")
    save_random_model(tmp_path / "phrases", SOURCE, TARGET, seed=2)
    return write_toy_system(tmp_path / "toy", sentences=24)


def result(folder: Path) -> dict[str, Any]:
    """Return the record of a tuning."""
    content: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return content


def test_the_tuned_folder_is_the_whole_system(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path
) -> None:
    """It decodes as the three commands do, tells what rescoring brings, and can be tuned again."""
    models = "--rescore", "there", "--rescore", "phrases"
    done = phrasescore(*toy.tuning(*FAST, *models, "--rescore-size", "20", "-o", "tuned")).well()
    said = done.stderr.decode()
    tuned = tmp_path / "tuned"
    record = result(tuned)
    names = [benefit["name"] for benefit in record["benefits"]]
    assert names == ["AttentionModel0", "PhraseModel0", "rescoring"]
    assert "rescoring: choosing among up to 20 candidates of each sentence: bleu " in said
    for name in names:
        assert f"note: {name} " in said
    rescoring = json.loads((tuned / "rescoring.json").read_text())
    assert [model["folder"] for model in rescoring["models"]] == [
        "models/AttentionModel0",
        "models/PhraseModel0",
    ]
    assert rescoring["candidates"] == record["rescoring"]["candidates"] == 20
    assert record["rescoring"]["score"] >= record["rescoring"]["start_score"]
    assert rescoring["weights"].keys() == {*record["weights"], *names[:2]}
    # the dev set decoded by the folder scores what the second weights reach on the lists
    out = "-i", toy.source, "-o", "dev.out", "--nbest", "dev.nbest", "--nbest-size", "1"
    phrasescore("decode", "tuned", *out).well()
    scored = phrasescore("evaluate", "dev.out", "--reference", toy.reference, "--json")
    bleu = json.loads(scored.stdout)["results"][0]["bleu"]
    assert bleu == pytest.approx(record["rescoring"]["score"], abs=1e-4)
    # the folder as SYSTEM: its models are tuned again, and a name in --freeze keeps its weight
    phrasescore(
        *("tune", "tuned", "--source", toy.source, "--reference", toy.reference, *FAST),
        *("-o", "again", "--freeze", "PhraseModel0"),
    ).well()
    second = json.loads((tmp_path / "again" / "rescoring.json").read_text())
    assert second["models"] == rescoring["models"]
    assert second["weights"]["PhraseModel0"] == rescoring["weights"]["PhraseModel0"]


def test_a_killed_tuning_continues(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path
) -> None:
    """After SIGKILL during the second step, the result has the same bytes, and no round repeats."""
    command = toy.tuning(*FAST, "--rescore", "there")
    ended = phrasescore.start(*command, "-o", "tuned", named="rescoring.score.json").wait()
    assert ended.status == -signal.SIGKILL, ended.errors.decode()
    assert not (tmp_path / "tuned" / "rescoring.json").exists()
    again = phrasescore(*command, "-o", "tuned").well()
    assert b"round 1: decoding" not in again.stderr
    assert b"computing AttentionModel0" not in again.stderr
    phrasescore(*command, "-o", "whole").well()
    for name in ("rescoring.json", "moses.ini"):
        assert (tmp_path / "tuned" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    # the list of the best round has as many candidates, so nothing is decoded once more
    same = phrasescore(*command, "-o", "same", "--rescore-size", "30").well()
    assert b"rescoring: decoding" not in same.stderr
    # without models, no rescoring.json stays
    phrasescore(*toy.tuning(*FAST), "-o", "tuned").well()
    assert not (tmp_path / "tuned" / "rescoring.json").exists()


def test_a_program_is_tuned(phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path) -> None:
    """The weight of a program's numbers is found, and only its name is written."""
    script = tmp_path / "right.py"
    script.write_text(
        "import sys\n"
        "for line in sys.stdin:\n"
        "    print(line.split('\\t')[1].count('r'))\n"
    )  # fmt: skip
    command = f"{sys.executable} {script}"
    phrasescore(
        *toy.tuning(*FAST, "--rescore-scorer", f"Right={command}", "--seeds", "2", "-o", "tuned")
    ).well()
    text = (tmp_path / "tuned" / "rescoring.json").read_text()
    assert json.loads(text)["scorers"] == ["Right"]
    assert "right.py" not in text
    assert result(tmp_path / "tuned")["benefits"][-1]["name"] == "rescoring"
    phrasescore(
        *("tune", "tuned", "--source", toy.source, "--reference", toy.reference, "-o", "again")
    ).refused(2, "--rescore-scorer Right='COMMAND'")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rescore-scorer", "LM0=true"], "two features have the name LM0"),
        (["--rescore-scorer", "a b=true"], "'a b' cannot be the name of a feature"),
        (["--rescore-scorer", "A"], "is not NAME='COMMAND'"),
    ],
)
def test_wrong_options(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path, options: list[str], said: str
) -> None:
    """They are refused before anything is decoded."""
    phrasescore(*toy.tuning(*options, "-o", "tuned")).refused(2, said)
    assert not (tmp_path / "tuned" / "steps").exists()
