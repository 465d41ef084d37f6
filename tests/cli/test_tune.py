"""``phrasescore tune`` as a user runs it: results, and kills in every phase."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phrasescore.table.input_files import read_lines
from tests.conftest import Phrasescore, StartPhrasescore
from tests.support import fake_moses
from tests.support.killed import kill_when
from tests.support.toy_system import TOY_WEIGHTS, ToySystem, toy_list, write_toy_system
from tests.support.warm_process import Observed, Started

# long enough to be killed, short enough to wait for
RESTARTS = "1200"


@pytest.fixture
def toy(tmp_path: Path) -> ToySystem:
    """Make a system and a dev set."""
    return write_toy_system(tmp_path / "toy")


def arguments(toy: ToySystem, output: str = "tuned") -> list[str]:
    """Return the common arguments of all calls."""
    return toy.tuning("-o", output)


def weights_of(folder: Path) -> dict[str, Any]:
    """Return weights.json without its provenance."""
    content: dict[str, Any] = json.loads((folder / "weights.json").read_text())
    assert set(content.pop("provenance")["inputs"]) != set()
    return content


def test_real_moses_is_not_ignored(phrasescore: Phrasescore, toy: ToySystem) -> None:
    """A path to Moses without --decoder moses is an error, not a run of the embedded decoder."""
    phrasescore(*arguments(toy), "--moses-bin", "moses").refused(
        2, "--moses-bin names real Moses, but the embedded decoder"
    )


def test_a_wrong_setting_is_found_first(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path
) -> None:
    """The folder is not yet made, so the corrected command can use it."""
    phrasescore(*arguments(toy), "--set", "search-algorithm=2").refused(
        3, "search_algorithm is 2, expected 0 to 1"
    )
    assert not (tmp_path / "tuned").exists()


def test_a_system_is_tuned(phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path) -> None:
    """MERT finds better weights with the embedded decoder; only weights change in the tuned ini."""
    (toy.ini.parent / "text.json").write_text("{}")
    done = phrasescore(
        *arguments(toy), "--rounds", "4", "--json", "--json-file", "result.json"
    ).well()
    for content in (done.stdout, (tmp_path / "result.json").read_bytes()):
        assert json.loads(content) == json.loads((tmp_path / "tuned/weights.json").read_bytes())
    assert b"the tuned system is tuned/moses.ini" in done.stderr
    for folder in ("tuned", "tuned/filtered"):  # how text is prepared is known beside every ini
        assert (tmp_path / folder / "text.json").read_text() == "{}"
    found = weights_of(tmp_path / "tuned")
    curve = json.loads((tmp_path / "tuned/result.json").read_text())["curve"]
    # people read scores from 0 to 100
    assert f"-> {100 * found['bleu']:.2f} on the dev set" in done.stderr.decode()
    assert found["bleu"] == max(line["bleu"] for line in curve) > curve[0]["bleu"] + 0.2


class Faulty:
    """A tuning run that is started, stopped at a given moment, and started again."""

    def __init__(self, toy: ToySystem, folder: Path, start: StartPhrasescore) -> None:
        self.folder, self.bin = folder, folder / "bin"
        self._start = start
        moses = fake_moses.printing(self.bin, toy_list(toy), TOY_WEIGHTS)
        self.options = ["--decoder", "moses", "--moses-bin", str(moses), "--restarts", RESTARTS]
        self.toy = toy
        self.processes: list[Started] = []

    def start(self, output: str) -> Started:
        """Start a run."""
        process = self._start(self.folder, *arguments(self.toy, output), *self.options)
        self.processes.append(process)
        return process

    def finish(self, output: str) -> str:
        """Run to the end; return the messages."""
        ended = self.start(output).wait()
        said = ended.errors.decode()
        assert ended.status == 0, said
        return said


@pytest.fixture
def faulty(toy: ToySystem, tmp_path: Path, start_phrasescore: StartPhrasescore) -> Iterator[Faulty]:
    """Stop the run if a test left it running."""
    run = Faulty(toy, tmp_path, start_phrasescore)
    yield run
    (run.bin / "hang").unlink(missing_ok=True)
    for process in run.processes:
        process.send_signal(signal.SIGKILL)


def test_killed_in_every_phase(faulty: Faulty) -> None:
    """After SIGKILL at any time, the same command continues and ends with equal files."""
    faulty.finish("whole")
    killed, hang = faulty.folder / "killed", faulty.bin / "hang"

    def kill_run_when(is_so: Callable[[], bool]) -> None:
        kill_when(is_so, faulty.start("killed"))

    kill_run_when((killed / "run.json").exists)
    hang.touch()
    kill_run_when((faulty.bin / "hanging").exists)
    assert not (killed / "round01/nbest.gz").exists()
    hang.unlink()
    kill_run_when((killed / "round01/nbest.gz").exists)
    optimized = killed / "steps/optimize.1.json"
    assert not optimized.exists()
    kill_run_when(optimized.exists)
    kill_run_when((killed / "round02/nbest.gz").exists)
    faulty.finish("killed")
    whole = faulty.folder / "whole"
    # compare the text first, so that a failure distinguishes content from compression
    assert [*read_lines(killed / "round02/nbest.gz")] == [*read_lines(whole / "round02/nbest.gz")]
    for name in ("moses.ini", "round02/moses.ini", "round02/nbest.gz"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert weights_of(killed) == weights_of(faulty.folder / "whole")
    assert not list(killed.rglob(".*.part"))


@pytest.mark.parametrize("seeds", ["1", "2"])
@pytest.mark.parametrize("name", ["nbest.gz", "decode.1.json", "weights.json"])
def test_killed_between_two_files_of_a_round(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path, name: str, seeds: str
) -> None:
    """Whichever file of a round was written last, the same command makes the missing files."""
    options = ("--decoder", "embedded", "--rounds", "1", "--restarts", "3", "--seeds", seeds)

    def tune(output: str, named: str | None = None) -> Observed:
        return phrasescore.start(*arguments(toy, output), *options, named=named).wait()

    assert tune("killed", name).status == -signal.SIGKILL
    for output in ("killed", "whole"):
        ended = tune(output)
        assert ended.status == 0, ended.errors.decode()
    files = [
        {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "killed", tmp_path / "whole")
    ]
    assert files[0].keys() == files[1].keys()
    for path in files[0]:
        assert files[0][path].stat().st_size > 0
        if path.name == "nbest.gz":
            assert files[0][path].read_bytes() == files[1][path].read_bytes()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_stopped_by_hand(faulty: Faulty, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM stop Moses, print how to continue, and end with status 130."""
    (faulty.bin / "hang").touch()
    ended = kill_when((faulty.bin / "hanging").exists, faulty.start("tuned"), number)
    said = ended.errors.decode()
    assert ended.status == 130
    assert "finished work is kept. To continue, type: phrasescore tune" in said
    assert "Traceback" not in said
    (faulty.bin / "hanging").unlink()
    time.sleep(0.3)
    assert not (faulty.bin / "hanging").exists()
    assert not list((faulty.folder / "tuned").rglob("*nbest*"))


def test_a_dev_set_of_another_system_is_refused(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path
) -> None:
    """Swapped texts, another case and untokenised text are refused before decoding."""
    swapped = ["--source", str(toy.reference), "--reference", str(toy.source)]
    phrasescore("tune", str(toy.ini), *swapped, "-o", "swapped").refused(
        3, "the phrase table does not know"
    )
    capitals = toy.source.read_text().upper()
    toy.source.write_text(capitals)
    done = phrasescore(*arguments(toy, "capitals")).refused(
        3, "tokens it does not know if they were in lower case"
    )
    assert b"preprocess --lowercase" in done.stderr
    lines = toy.source.read_text().lower().splitlines()
    toy.source.write_text("".join(f"{line}.\n" for line in lines))
    done = phrasescore(*arguments(toy, "untokenised"), "--rounds", "1").well()
    said = done.stderr.decode()
    assert f"warning: {toy.source}: the phrase table would know at least" in said
    assert "if they were without the punctuation at the end" in said
    assert said.index("warning:") < said.index("round 1: decoding")
    decoded = phrasescore("decode", str(toy.ini), "-i", str(toy.reference), "-o", "out").well()
    assert b"warning: the phrase table has no translation of 100% of the words" in decoded.stderr
