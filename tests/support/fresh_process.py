"""Commands in new processes, for what a warm process has imported or opened already."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.warm_process import PROJECT, WarmProcesses, client

PHRASESCORE = ("-m", "phrasescore")


class Done(subprocess.CompletedProcess[bytes]):
    """A command that has ended."""

    def well(self) -> Done:
        """Check that the command has succeeded."""
        assert self.returncode == 0, (self.args, self.stdout, self.stderr)
        return self

    def refused(self, status: int, sentence: str = "") -> Done:
        """Check that the command has ended with this status, and says this on standard error."""
        errors = self.stderr.decode("utf-8", "replace")
        assert self.returncode == status, errors
        assert sentence in errors
        assert "Traceback" not in errors
        return self


def output_of(*command: str | Path, **more: Any) -> bytes:
    """Run another program, which must succeed; return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, **more).stdout


def run_fresh(
    folder: Path,
    *arguments: str | Path,
    program: tuple[str, ...] = PHRASESCORE,
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> Done:
    """Run ``phrasescore``, or another program of Python, in a folder; catch what it prints."""
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **(environment or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 600, **more},
        check=False,
    )
    return Done(done.args, done.returncode, done.stdout, done.stderr)


def run_script(script: str, folder: Path, processes: WarmProcesses | None = None) -> Done:
    """Run commands of a document in a shell that stops at the first failure.

    Args:
        script: The commands.
        folder: The current directory.
        processes: The server that runs ``phrasescore``; by default, each call starts a process.
    """
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    ours = client(processes.place) if processes else [sys.executable, *PHRASESCORE]
    for name, started in (("phrasescore", ours), ("python3", [sys.executable])):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {" ".join(started)} "$@"\n')
        program.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600)
    return Done(done.args, done.returncode, done.stdout, done.stderr)
