"""Steps run once, run again after changes, and are never left half done."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from phrasescore.errors import InterruptedWorkError, PhrasescoreError
from tests.support.killed import wait_for
from tests.support.warm_process import is_running
from tuning.experiment import runner
from tuning.experiment.runner import CommandStep, Runner, command_step


def shell(folder: Path, name: str, script: str, *inputs: Path, **more: Path) -> CommandStep:
    """Return a step whose script makes the file ``name`` in the folder."""
    return command_step(name, ("/bin/sh", "-c", script), (folder / name,), inputs, **more)


def run(folder: Path, *steps: CommandStep, jobs: int = 1) -> tuple[int, list[str]]:
    """Run steps; return their number and their names in order."""
    ran: list[str] = []
    steady = Runner(folder, folder, lambda line: None, lambda step: ran.append(step.name))
    return steady.run(steps, jobs), ran


def test_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    """Finished steps are not repeated; a missing output is made again."""
    step = shell(tmp_path, "out", "echo x >> count; echo y > out")
    assert run(tmp_path, step) == (1, ["out"])
    assert run(tmp_path, step) == (0, [])
    (tmp_path / "out").unlink()
    assert run(tmp_path, step) == (1, ["out"])
    assert (tmp_path / "count").read_text() == "x\nx\n"


def test_changed_content_and_changed_commands_run_again(tmp_path: Path) -> None:
    """A changed input or command makes a step and its successors stale."""
    source = tmp_path / "source"
    source.write_text("1")
    first = shell(tmp_path, "first", "cat source > first", source)
    second = shell(tmp_path, "second", "cat first > second", tmp_path / "first")
    assert run(tmp_path, first, second)[0] == 2
    source.write_text("1")  # a new time with equal bytes
    assert run(tmp_path, first, second)[0] == 0
    source.write_text("2")
    assert run(tmp_path, first, second)[1] == ["first", "second"]
    assert (tmp_path / "second").read_text() == "2"
    other = shell(tmp_path, "second", "cat first first > second", tmp_path / "first")
    assert run(tmp_path, first, other)[1] == ["second"]


def test_an_unchanged_result_stops_the_avalanche(tmp_path: Path) -> None:
    """If a repeated step writes equal bytes, its successors are not repeated."""
    source = tmp_path / "source"
    source.write_text("1")
    first = shell(tmp_path, "first", "wc -c < source > first", source)
    second = shell(tmp_path, "second", "cat first > second", tmp_path / "first")
    run(tmp_path, first, second)
    source.write_text("2")
    assert run(tmp_path, first, second)[1] == ["first"]


def test_steps_wait_for_what_they_read(tmp_path: Path) -> None:
    """Steps wait for their inputs in any order and parallelism, also for files in made folders."""
    maker = shell(tmp_path, "made", "sleep 0.2; mkdir made; echo 1 > made/inside")
    reader = shell(tmp_path, "read", "cat made/inside > read", tmp_path / "made" / "inside")
    assert run(tmp_path, reader, maker, jobs=2) == (2, ["made", "read"])


def test_independent_steps_run_at_the_same_time(tmp_path: Path) -> None:
    """With two jobs, two steps that wait for each other can finish."""
    scripts = [
        f"touch here{me}; for i in $(seq 100); do [ -e here{you} ] && break; sleep 0.05; done; "
        f"[ -e here{you} ] && touch out{me}"
        for me, you in ((1, 2), (2, 1))
    ]
    steps = [shell(tmp_path, f"out{n}", script) for n, script in enumerate(scripts, 1)]
    assert run(tmp_path, *steps, jobs=2)[0] == 2


def test_a_failure_says_the_last_words_and_keeps_the_rest(tmp_path: Path) -> None:
    """The error names the step, its status and its log; finished steps are kept."""
    good = shell(tmp_path, "good", "touch good")
    bad = shell(tmp_path, "bad", "echo no such luck >&2; exit 3", tmp_path / "good")
    with pytest.raises(PhrasescoreError, match=r"(?s)step bad ended with status 3.*no such luck"):
        run(tmp_path, good, bad)
    mended = shell(tmp_path, "bad", "touch bad", tmp_path / "good")
    assert run(tmp_path, good, mended)[1] == ["bad"]


def test_a_command_that_makes_nothing_has_failed(tmp_path: Path) -> None:
    """A command with status 0 but without its output is an error."""
    with pytest.raises(PhrasescoreError, match="succeeded but left no output"):
        run(tmp_path, shell(tmp_path, "out", "true"))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """A missing program is named."""
    with pytest.raises(PhrasescoreError, match="/no/such/program: the step out could not"):
        run(tmp_path, command_step("out", ("/no/such/program",), (tmp_path / "out",)))


def test_what_is_printed_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    """Standard output gets its file name only if the command succeeds."""
    out = tmp_path / "out"
    with pytest.raises(PhrasescoreError):
        run(tmp_path, shell(tmp_path, "out", "echo half; exit 1", standard_output=out))
    assert [path.name for path in tmp_path.iterdir()] == ["steps"]
    run(tmp_path, shell(tmp_path, "out", "echo whole", standard_output=out))
    assert out.read_text() == "whole\n"


@pytest.mark.parametrize(("status", "own"), [(8, 8), (3, 3), (70, 1), (130, 1)])
def test_the_status_is_that_of_the_step(tmp_path: Path, status: int, own: int) -> None:
    """The status of a step says what the fault is, unless it is a bug or a signal."""
    with pytest.raises(PhrasescoreError, match=f"the step out ended with status {status}") as error:
        run(tmp_path, shell(tmp_path, "out", f"exit {status}"))
    assert error.value.exit_code == own


def test_stale_states_are_not_continued(tmp_path: Path) -> None:
    """If the command has changed, the unfinished work of the old command is deleted first."""
    script = "[ -e state ] && exit 1; mkdir state; exit 1 # {}"
    with pytest.raises(PhrasescoreError):
        run(tmp_path, shell(tmp_path, "out", script.format("old"), state=tmp_path / "state"))
    new = shell(tmp_path, "out", "[ -e state ] || touch out", state=tmp_path / "state")
    assert run(tmp_path, new)[0] == 1


def test_nothing_outside_the_results_is_deleted(tmp_path: Path) -> None:
    """An output elsewhere is never deleted; only its command may overwrite it."""
    results = tmp_path / "results"
    outside = tmp_path / "outside"
    runner = Runner(results, tmp_path, lambda line: None, lambda step: None)
    for number in (1, 2):
        words = ("/bin/sh", "-c", f"echo {number} >> outside")
        runner.run([command_step("s", words, (outside,))])
    assert outside.read_text() == "1\n2\n"


def test_a_finished_step_whose_end_nobody_noted(tmp_path: Path) -> None:
    """An output is accepted after a kill between the output and its stamp."""
    step = shell(tmp_path, "out", "touch out")
    run(tmp_path, step)
    stamp = tmp_path / "steps" / "out.json"
    stamp.write_text(stamp.read_text().replace('"finished": true', '"finished": false'))
    assert run(tmp_path, step)[0] == 0
    assert '"finished": true' in stamp.read_text()


def test_it_is_said_what_has_changed(tmp_path: Path) -> None:
    """A message names the changed file, or the changed command."""
    (tmp_path / "source").write_text("1")
    said: list[str] = []
    runner = Runner(tmp_path, tmp_path, said.append, lambda step: None)
    runner.run([shell(tmp_path, "out", "cat source > out", tmp_path / "source")])
    (tmp_path / "source").write_text("2")
    runner.run([shell(tmp_path, "out", "cat source > out", tmp_path / "source")])
    assert f"out: {tmp_path}/source has changed; therefore the step runs again" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_commands_too(tmp_path: Path, number: signal.Signals) -> None:
    """The error says how to continue, and no process is left running."""
    step = shell(tmp_path, "out", "echo $$ > pid; trap 'exit 9' INT; sleep 30 & wait")

    def stop() -> None:
        wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(
        InterruptedWorkError, match=r"finished work is kept\. To continue, type: phrasescore"
    ):
        run(tmp_path, step)
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_another_signal_ends_the_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that goes on after Ctrl-C is ended by a second Ctrl-C at once."""
    patience = 100.0
    signals = ((signal.SIGINT, patience), (signal.SIGTERM, patience))
    monkeypatch.setattr("tuning.experiment.runner._SIGNALS", signals)
    script = "trap 'echo > told' INT; echo $$ > pid; while :; do sleep 0.1; done"
    step = shell(tmp_path, "out", script)

    def stop() -> None:
        for name in ("pid", "told"):
            wait_for((tmp_path / name).exists)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop)
    thread.start()
    begin = time.monotonic()
    with pytest.raises(InterruptedWorkError):
        run(tmp_path, step)
    thread.join()
    assert time.monotonic() - begin < patience
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_steps_tell_their_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten seconds, and then once a minute, the last line of a command's log is printed."""
    monkeypatch.setattr(runner, "_FIRST_TOLD", 0.1)
    said: list[str] = []
    step = shell(tmp_path, "out", "echo one; echo two; sleep 1; echo y > out")
    for is_announced in (True, False):
        said.clear()
        (tmp_path / "out").unlink(missing_ok=True)
        announce = (lambda step: said.append(step.name)) if is_announced else None
        Runner(tmp_path, tmp_path, said.append, lambda step: None, announce).run([step])
        assert said[:2] == ["out" if is_announced else "out: /bin/sh -c ...", "out: two"]
