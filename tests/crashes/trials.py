"""Runs one misfortune and one repetition, and finds the faults in the files that they leave."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from phrasescore.errors import StorageError
from tests.crashes.calls import Call
from tests.support.warm_process import PROJECT, Observed, Surroundings, WarmProcesses

# these files contain times but nothing that a result depends on
_VOLATILE = ("*.log", "digests.json", "table.md")
_TIMES = ("seconds", "per_second", "attempts", "resumed")
_DIGESTS = ("inputs", "outputs")
_ROOM, _SMALLEST = 1 << 29, 1 << 14  # maximum and minimum bytes of a small disk
_NOISE = ("Traceback", "Exception ignored", "internal error", "Fatal Python error")


@dataclass(frozen=True)
class Misfortune:
    """An event during a call.

    Args:
        kind: ``kill``, ``kill at a file``, ``SIGTERM`` and other signals, ``SIGINT twice``,
            ``full disk`` or ``file limit``.
        when: The moment, as a share of the call's time or disk space, or as a number of file steps.
        pause: The seconds between the first and the second signal.
    """

    kind: str
    when: float
    pause: float = 0.0

    @property
    def signals(self) -> list[int]:
        """The signals to send."""
        names = {"SIGINT twice": ["SIGINT"] * 2}.get(self.kind, [self.kind])
        return [signal.Signals[name] for name in names if name.startswith("SIG")]

    def earlier(self) -> Misfortune:
        """Return the same misfortune at an earlier moment."""
        return replace(self, when=self.when * 0.7)


@dataclass(frozen=True)
class Undisturbed:
    """The result of an undisturbed call.

    Args:
        seconds: The running time.
        files: The digest of each file in ``out``, by name.
        sizes: The size of each file in bytes.
    """

    seconds: float
    files: Mapping[str, str]
    sizes: Mapping[str, int]


class Ground:
    """A folder with a world in which calls are made, one at a time.

    Args:
        folder: The folder.
        processes: The server that runs the calls.
    """

    def __init__(self, folder: Path, processes: WarmProcesses) -> None:
        self.folder, self.out = folder, folder / "out"
        self._processes = processes
        self._known: dict[str, Undisturbed] = {}

    @cached_property
    def _inputs(self) -> dict[str, tuple[int, int]]:
        return dict(self._beside())

    def _beside(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield all files that no call may change, with their sizes and times."""
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and not path.is_relative_to(self.out):
                state = path.stat()
                yield str(path), (state.st_size, state.st_mtime_ns)

    def clear(self) -> None:
        """Empty the folder ``out``, which may be the mount point of a disk."""
        self.out.mkdir(exist_ok=True)
        for path in self.out.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        _ = self._inputs

    def call(self, call: Call, **surroundings: Any) -> Observed:
        """Make a call."""
        path = f"{self.folder / 'in' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PATH": path}
        return self._processes.observe(
            call.arguments, Surroundings(self.folder, environment, **surroundings)
        )

    def undisturbed(self, call: Call) -> Undisturbed:
        """Return the result of an undisturbed call; cheap calls run twice, to find what varies."""
        if call.name not in self._known:
            found = []
            for _ in range(1 if call.costly else 2):
                self.clear()
                done = self.call(call)
                assert done.status == 0, done.errors.decode()
                found.append(self.files())
            sizes = {name: (self.out / name).stat().st_size for name in found[0]}
            differences = _differences(found[0], found[-1])
            assert not differences, f"two undisturbed calls differ: {differences}"
            self._known[call.name] = Undisturbed(done.seconds, found[0], sizes)
        return self._known[call.name]

    def files(self) -> dict[str, str]:
        """Return a digest of each file in ``out`` without times, and the names of folders."""
        found = {}
        for path in sorted(self.out.rglob("*")):
            name = str(path.relative_to(self.out))
            if path.match("cache/[!.]*"):
                continue  # its content depends on where a call continued
            if path.is_dir():
                found[f"{name}/"] = ""
            elif any(path.match(pattern) for pattern in _VOLATILE):
                found[name] = ""
            else:
                found[name] = hashlib.sha256(_timeless(path)).hexdigest()
        return found

    def suffer(self, call: Call, misfortune: Misfortune) -> Observed:
        """Make a call with a misfortune."""
        reference = self.undisturbed(call)
        when = misfortune.when
        if misfortune.kind == "kill":
            return self.call(call, timeout=when * reference.seconds)
        if misfortune.kind == "kill at a file":
            return self.call(call, last_step=max(1, round(when)))
        if misfortune.kind == "full disk":
            self._resize(int(when * sum(reference.sizes.values())))
            try:
                return self.call(call)
            finally:
                self._resize(_ROOM)
        if misfortune.kind == "file limit":
            largest = max(reference.sizes.values())
            return self.call(call, largest_file=max(1, int(when * largest)))
        begin = when * reference.seconds
        moments = (begin, begin + misfortune.pause)
        return self.call(call, signals=tuple(zip(moments, misfortune.signals, strict=False)))

    @contextlib.contextmanager
    def disk(self, misfortune: Misfortune) -> Iterator[None]:
        """Mount a small disk at ``out`` during the block, if the misfortune needs one."""
        if misfortune.kind != "full disk":
            yield
            return
        subprocess.run(["mount", "-t", "tmpfs", "crashes", str(self.out)], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", str(self.out)], check=True)

    def _resize(self, size: int) -> None:
        options = f"remount,size={max(size, _SMALLEST)}"
        subprocess.run(["mount", "-o", options, str(self.out)], check=True)

    def kept_work(self, call: Call) -> bool:
        """Return whether there is finished work that the next call must use."""
        # a call that was killed between its last renames has finished all work
        if not call.kept or any(
            (self.out / name).is_file() for name in self._known[call.name].files
        ):
            return False
        return any(
            # a journal without its part file belongs to a finished output
            path.suffix != ".journal" or path.with_suffix(".part").exists()
            for path in self.out.glob(call.kept)
        )

    def finished(self, call: Call) -> dict[Path, int]:
        """Return the files that a repetition must not make again, with their times."""
        files = (path for pattern in call.stays for path in self.out.glob(pattern))
        return {path: path.stat().st_mtime_ns for path in files}

    def unlike(self, call: Call) -> list[str]:
        """Return the differences from the files of an undisturbed call."""
        faults = _differences(self.undisturbed(call).files, self.files())
        if dict(self._beside()) != self._inputs:
            faults.append("something beside the output was changed")
            del self._inputs
        return faults


def half_written(ground: Ground, call: Call) -> list[str]:
    """Return the files that have their final name but not their final content."""
    reference, found = ground.undisturbed(call).files, ground.files()
    visible = {name for name in found if not any(part[:1] == "." for part in Path(name).parts)}
    return [
        f"{name} was there, and not whole"
        for name in sorted(visible & reference.keys())
        if found[name] != reference[name] and not _GROWS.intersection(Path(name).parts)
    ]


# files and folders that are rewritten during a call; each state is complete
_GROWS = {"steps", "result.json", "results.json", "commands.sh"}


def judged_end(misfortune: Misfortune, ended: Observed) -> list[str]:
    """Return the faults in the status and the messages of a call."""
    said = ended.errors.decode("utf-8", "replace")
    faults = [f"said {word!r}: {said[-600:]}" for word in _NOISE if word in said]
    if ended.left:
        faults.append(f"{ended.left} processes were left")
    if misfortune.signals:
        if ended.status != 130:
            faults.append(f"status {ended.status}, expected 130: {said[-400:]}")
        elif "interrupted" not in said and "To continue, type: phrasescore" not in said:
            faults.append(f"it does not say that it was stopped: {said[-400:]}")
    elif "disk" in misfortune.kind or "limit" in misfortune.kind:
        if ended.status != StorageError.exit_code:
            faults.append(f"status {ended.status}, expected 8: {said[-400:]}")
        elif "cannot be written further" not in said:
            faults.append(f"it does not say what is full: {said[-400:]}")
    elif ended.status != -signal.SIGKILL:
        faults.append(f"status {ended.status}, expected a kill: {said[-400:]}")
    return faults


def repeated(ground: Ground, call: Call) -> list[str]:
    """Repeat a call after a misfortune; return the faults."""
    has_work, finished = ground.kept_work(call), ground.finished(call)
    done = ground.call(call)
    said = done.errors.decode("utf-8", "replace")
    if done.status != 0:
        return [f"the repetition ended with status {done.status}: {said[-600:]}"]
    faults = ground.unlike(call)
    if has_work and not re.search(call.says, said):
        faults.append(f"finished work was not used: {said[:400]}")
    if any(path.stat().st_mtime_ns != time for path, time in finished.items()):
        faults.append("what was finished was made again")
    return faults


def _differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    return [
        *(f"{name} is missing" for name in sorted(expected.keys() - found.keys())),
        *(f"{name} is left over" for name in sorted(found.keys() - expected.keys())),
        *(
            f"{name} differs"
            for name in sorted(expected.keys() & found.keys())
            if expected[name] != found[name]
        ),
    ]


def _timeless(path: Path) -> bytes:
    """Return the content of a file without running times."""
    content = path.read_bytes()
    if path.suffix == ".json":
        return json.dumps(_without_times(json.loads(content)), sort_keys=True).encode()
    if path.suffix == ".jsonl":
        lines = [_without_times(json.loads(line)) for line in content.splitlines()]
        return json.dumps(lines, sort_keys=True).encode()
    if path.name == "SHA256SUMS":  # of a model, whose provenance contains times
        return b"\n".join(line for line in content.splitlines() if b".json" not in line)
    return content


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_times(one)
            for key, one in value.items()
            # the digests in a stamp belong to files with times in them
            if not (key.endswith(_TIMES) or (key in _DIGESTS and isinstance(one, list)))
        }
    return [_without_times(one) for one in value] if isinstance(value, list) else value
