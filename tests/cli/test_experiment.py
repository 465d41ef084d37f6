"""``phrasescore experiment`` as a user runs it, on a small system with the embedded decoder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT, Phrasescore
from tuning.loop.weight_files import read_weights_file
from tuning.metrics.metric_settings import shown_p

DATA = """
name = "Golden system"
seeds = [1]
[data]
folder = "{golden}"
system = "system/moses.ini"
phrase_table = "system/phrase-table.gz"
train_source = "{golden}/decode/input.en"
train_target = "{golden}/decode/input.fr"
dev_source = "{folder}/dev.en"
dev_reference = "{folder}/dev.fr"
[[data.test]]
name = "test"
source = "{folder}/test.en"
reference = "{folder}/test.fr"
[decoder.sections]
search-algorithm = 1
cube-pruning-pop-limit = 20
[tuning]
rounds = 1
nbest_size = 10
options = ["--restarts", "2"]
"""
SYSTEMS = """
[translate]
options = ["--beam", "2", "--max-length", "10", "--threads", "1"]
[models.untrained]
train = ["--hidden", "8", "--embedding", "4", "--rank", "4", "--max-epochs", "0", "--threads", "1"]
[models.sentences]
kind = "search"
train = ["--hidden", "8", "--embedding", "4", "--rank", "4", "--max-epochs", "0", "--threads", "1"]
[[systems]]
name = "Baseline"
[[systems]]
name = "RNN + WP"
models = ["untrained"]
unknown_column = true
[[systems]]
name = "Reranked"
rerank = ["untrained", "sentences"]
[[systems]]
name = "Alone"
translate = ["sentences"]
[[systems]]
name = "Later"
not_run = "it is not there yet"
"""


def write_experiment(golden: Path, folder: Path, text: str) -> Path:
    """Write an experiment file; dev and test have ten sentences each."""
    for side in ("en", "fr"):
        lines = (golden / "decode" / f"input.{side}").read_bytes().split(b"\n")
        (folder / f"dev.{side}").write_bytes(b"\n".join(lines[:10]) + b"\n")
        (folder / f"test.{side}").write_bytes(b"\n".join(lines[10:20]) + b"\n")
    path = folder / "experiment.toml"
    path.write_text(text.format(golden=golden, folder=folder), "utf-8")
    return path


@pytest.fixture
def experiment(bundled_golden: Path, tmp_path: Path) -> Path:
    """Write the experiment with a system of each kind."""
    return write_experiment(bundled_golden, tmp_path, DATA + SYSTEMS)


def rows(folder: Path) -> list[bytes]:
    """Return the lines of the table."""
    text = (folder / "results" / "table.md").read_bytes()
    return [line for line in text.split(b"\n") if line.startswith(b"| ")]


def test_from_a_file_to_the_table_and_again(
    phrasescore: Phrasescore, experiment: Path, tmp_path: Path, bundled_golden: Path
) -> None:
    """Rows can be added one by one; finished steps are kept, missing steps are run."""
    (tmp_path / "system").symlink_to(bundled_golden / "system")
    call = "experiment", experiment.name, "--data", ".", "-o", "results"
    done = phrasescore(*call, "--only", "RNN + WP").well()
    said = done.stdout.decode()
    assert "| Baseline | " in said
    assert "| Later | not run | not run |" in said
    assert "Reranked: not run; left out by --only." in said
    record = json.loads((tmp_path / "results" / "result.json").read_text("utf-8"))
    baseline, extended, _, _, later = record["systems"]
    assert baseline["seeds"] == extended["seeds"] == [1]
    first, second = record["texts"]["test"]["metrics"]["bleu"]
    # the golden system was built from other, similar sentences
    assert 0.05 < first["mean"] < 0.9
    assert 0 < second["p_bootstrap"] <= 1
    assert later["not_run"] == "it is not there yet"
    assert "[weight]" in (tmp_path / "results/systems/rnn-wp/seed1/moses.ini").read_text("utf-8")
    before = rows(tmp_path)
    files = [tmp_path / f"results/systems/{name}/seed1.test.txt" for name in ("baseline", "rnn-wp")]
    compared = phrasescore(
        "compare", "--reference", "test.fr", "--baseline", files[0], "--system", files[1],
        "--metric", "bleu", "--json",
    )  # fmt: skip
    same = json.loads(compared.stdout)["metrics"]["bleu"][1]
    assert second == {**same, "system": "RNN + WP"}
    files[1].unlink()
    more = phrasescore(*call, "--only", "Reranked")
    assert b"8 of 13 steps were run" in more.stderr
    assert "RNN + WP: kept results of an earlier call" in more.stdout.decode()
    assert rows(tmp_path)[:4] == before[:4]
    again = phrasescore(*call, "--json")
    assert b"3 of 20 steps were run" in again.stderr
    record = json.loads(again.stdout)
    assert [system["seeds"] for system in record["systems"]] == [[1], [1], [1], [], []]
    scores = {name: text["metrics"]["bleu"] for name, text in record["texts"].items()}
    assert scores["test"][1] == second
    assert len(scores["test"][3]["runs"]) == 1
    # the translation of the tuned system is among the candidates
    assert scores["dev"][2]["mean"] >= scores["dev"][0]["mean"]
    phrasescore("report", "results", "-o", "results/report.html").well()
    page = (tmp_path / "results" / "report.html").read_text("utf-8")
    cells = set(re.findall('<td class="number">([^<]*)</td>', page))
    for score in (score for each in scores.values() for score in each):
        assert f"{100 * score['mean']:.2f}" in cells
        if "gain" in score:
            assert f"{100 * score['low']:+.2f} to {100 * score['high']:+.2f}" in cells
            assert shown_p(score["p_bootstrap"]) in cells
    weights = read_weights_file(tmp_path / "results/systems/rnn-wp/seed1/weights.json")
    assert {f"{weight:.4f}" for weight in weights["TranslationModel0"]} <= cells


def test_rows_of_another_folder(phrasescore: Phrasescore, experiment: Path) -> None:
    """Given rows are not run again; with other settings they are refused before any step."""
    call = ["experiment", experiment.name, "--only", "Baseline", "-o"]
    phrasescore(*call, "first").well()
    given = ["--rows", "first/results.json"]
    done = phrasescore(*call, "results", *given, "--json").well()
    assert b"0 of 0 steps were run" in done.stderr
    record, before = (
        json.loads((experiment.parent / folder / "result.json").read_text("utf-8"))
        for folder in ("results", "first")
    )
    assert record["systems"][0] == {**before["systems"][0], "not_run": "given by --rows"}
    for text, comparison in record["texts"].items():
        assert comparison["metrics"] == before["texts"][text]["metrics"]
    experiment.write_text(experiment.read_text("utf-8").replace("rounds = 1", "rounds = 2"))
    phrasescore(*call, "results", *given).refused(2, "tuning.rounds was 1 and is now 2")


def test_only_some_systems(
    phrasescore: Phrasescore, experiment: Path, bundled_golden: Path
) -> None:
    """--only leaves rows out, and --dry-run prints commands without making files."""
    done = phrasescore(
        "experiment", experiment.name, "-o", "results", "--dry-run", "--only", "Baseline"
    ).well()
    commands = done.stdout.decode().strip().split("\n")
    assert len(commands) == 4
    assert commands[0].startswith(f"phrasescore filter {bundled_golden}/system/moses.ini")
    assert not (experiment.parent / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--only", "RNN"], 2, "--only names the system RNN, which the file does not have"),
        (["--data", "nowhere"], 3, "the folder that [data] names does not exist"),
        (["--data", "."], 3, "moses.ini: no such file"),
    ],
)
def test_wrong_calls(
    phrasescore: Phrasescore, experiment: Path, arguments: list[str], status: int, sentence: str
) -> None:
    """Each wrong call prints one sentence, before any step runs."""
    phrasescore("experiment", experiment.name, "-o", "results", *arguments).refused(
        status, sentence
    )
    assert not (experiment.parent / "results").exists()


def test_the_folder_of_another_command_is_refused(
    phrasescore: Phrasescore, experiment: Path
) -> None:
    """Files that are not those of an experiment are kept, whatever they are called."""
    (experiment.parent / "results").mkdir()
    for names in (("table.md",), ("commands.sh", "table.md"), ("result.json",), (".train",)):
        paths = [experiment.parent / "results" / name for name in names]
        for path in paths:
            path.write_text('{"kind": "tune"}\n')
        phrasescore("experiment", experiment.name, "-o", "results").refused(
            6, f"the folder is not empty ({names[0]}) and has no record of an exper"
        )
        for path in paths:
            assert path.read_text() == '{"kind": "tune"}\n'
            path.unlink()
        assert list((experiment.parent / "results").iterdir()) == []
    phrasescore("experiment", experiment.name, "-o", ".").refused(6)


def test_a_run_stopped_at_any_file_continues(phrasescore: Phrasescore, experiment: Path) -> None:
    """The record that makes the folder an experiment's own is its first file."""
    given = "experiment", experiment.name, "-o", "results", "--only", "Baseline"
    for name in ("result.json", "commands.sh", "results.json", "table.md"):
        folder = experiment.parent / "results"
        phrasescore.start(*given, named=name).wait()
        assert (folder / "result.json").exists()
        (folder / "table.md").unlink(missing_ok=True)
    phrasescore(*given).well()


def test_a_text_that_is_not_there(phrasescore: Phrasescore, experiment: Path) -> None:
    """The inputs of all steps are checked before the first step runs."""
    (experiment.parent / "test.fr").unlink()
    phrasescore("experiment", experiment.name, "-o", "results").refused(
        3, "test.fr: the experiment reads this file or folder"
    )


@pytest.mark.moses
def test_with_real_moses(
    phrasescore: Phrasescore, experiment: Path, tmp_path: Path, moses_bin: Path
) -> None:
    """--decoder moses tunes, translates and makes lists with Moses; commands.sh contains moses."""
    phrasescore(
        "experiment", experiment.name, "-o", "results", "--decoder", "moses", "--only", "Reranked"
    ).well()
    record = json.loads((tmp_path / "results" / "result.json").read_text("utf-8"))
    assert record["settings"]["decoder"]["kind"] == "moses"
    for system in record["texts"]["test"]["metrics"]["bleu"]:
        assert 0.05 < system["mean"] < 0.9
    weights = (tmp_path / "results/systems/reranked/seed1.weights.json").read_text("utf-8")
    assert '"PhraseModel0"' in weights
    assert '"AttentionModel0"' in weights
    script = (tmp_path / "results" / "commands.sh").read_text("utf-8")
    assert f"{moses_bin}/moses -f " in script
    assert record["systems"][1]["not_run"] == "left out by --only"


@pytest.mark.moses
def test_the_script_of_commands_gives_the_same_table(
    phrasescore: Phrasescore, experiment: Path, tmp_path: Path, moses_bin: Path
) -> None:
    """The commands of commands.sh, run by hand in another folder, give equal weights."""
    arguments = ["--decoder", "moses", "--only", "Baseline"]
    phrasescore("experiment", experiment.name, "-o", "results", *arguments).well()
    script = (tmp_path / "results" / "commands.sh").read_text("utf-8")
    script = script.replace("/results", "/by-hand")
    program = f'phrasescore() {{ {sys.executable} -m phrasescore "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    subprocess.run(["bash", "-c", program + script], check=True, env=environment)
    tuned = [
        tmp_path / folder / "systems" / "baseline" / "seed1" for folder in ("by-hand", "results")
    ]
    weights = [json.loads((folder / "weights.json").read_bytes())["weights"] for folder in tuned]
    assert weights[0] == weights[1]
    # among tied translations, Moses chooses by memory address
    texts = [folder.with_name("seed1.test.txt").read_bytes() for folder in tuned]
    assert texts[0].count(b"\n") == texts[1].count(b"\n") > 0


@pytest.mark.parametrize("name", ["dev.en", "small.ini", "model-1/config.json"])
def test_a_result_replaces_no_file_of_the_experiment(
    phrasescore: Phrasescore, experiment: Path, tmp_path: Path, name: str
) -> None:
    """Files named only by the experiment file or its moses.ini are protected as inputs, too."""
    text = experiment.read_text("utf-8").replace(
        "[models.untrained]\ntrain",
        '[models.untrained]\nfolder = "model-{seed}"\nper_seed = true\n#',
    )
    (tmp_path / "model-1").mkdir()
    (tmp_path / "model-1" / "config.json").write_text("{}", "utf-8")
    (tmp_path / "small.ini").write_text("[feature]\nWordPenalty\n", "utf-8")
    before = (tmp_path / name).read_bytes()
    changed = text.replace('system = "system/moses.ini"', f'system = "{tmp_path / "small.ini"}"')
    experiment.write_text(changed if name == "small.ini" else text, "utf-8")
    phrasescore("experiment", experiment.name, "-o", "results", "--json-file", name).refused(
        2, "would replace an input: the experiment"
    )
    assert (tmp_path / name).read_bytes() == before and not (tmp_path / "results").exists()
