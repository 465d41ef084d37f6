"""Processes of ``phrasescore`` that begin with everything imported.

Most of what a short call costs is importing torch. A server imports all modules once and forks:
each call is still a process of its own, with its own arguments, folder, environment and status.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
_PACKAGES = ("phrasescore", "moses_integration", "tuning")
_MOST = 1 << 20  # bytes of a request


class WarmProcesses:
    """Starts a server; use it in a ``with`` block."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm_process", str(theirs.fileno())],
                cwd=PROJECT,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
            )

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stdin: bytes,
        timeout: float,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``phrasescore ARGUMENTS`` in a folder; as ``subprocess.run`` with pipes."""
        request = {"arguments": list(arguments), "folder": str(folder), "timeout": timeout}
        request["environment"] = dict(environment)
        (read, fed), (out, printed), (err, told) = os.pipe(), os.pipe(), os.pipe()
        socket.send_fds(self._ours, [json.dumps(request).encode()], [read, printed, told])
        for end in (read, printed, told):
            os.close(end)
        with ThreadPoolExecutor(3) as pool:
            feeding = pool.submit(_feed, fed, stdin)
            texts = [pool.submit(_drain, end) for end in (out, err)]
            output, errors = (text.result() for text in texts)
            feeding.result()
        status = int(self._ours.recv(_MOST))
        if status == -signal.SIGKILL:
            raise subprocess.TimeoutExpired(list(arguments), timeout, output, errors)
        return subprocess.CompletedProcess(list(arguments), status, output, errors)

    def __enter__(self) -> WarmProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._server.wait(60)


def _feed(end: int, text: bytes) -> None:
    with os.fdopen(end, "wb") as stream:
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            return  # it did not want to read everything


def _drain(end: int) -> bytes:
    with os.fdopen(end, "rb") as stream:
        return stream.read()


def _serve(connection: socket.socket) -> None:
    for package in _PACKAGES:
        for module in pkgutil.walk_packages([str(PROJECT / package)], f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    while True:
        text, ends, *_ = socket.recv_fds(connection, _MOST, 3)
        if not text:
            return
        request = json.loads(text)
        child = os.fork()
        if child == 0:
            connection.close()
            _become(request, ends)
        for end in ends:
            os.close(end)
        connection.send(str(_status_of(child, request["timeout"])).encode())


def _become(request: dict[str, Any], ends: Sequence[int]) -> None:
    """Be the process that was asked for; does not return."""
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["phrasescore", *request["arguments"]]
    status = 70
    try:
        from phrasescore.cli import main

        main()
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (BrokenPipeError, ValueError):
                status = status or 120
        os._exit(status)


def _status_of(child: int, timeout: float) -> int:
    """Wait for a process; kill it when its time is up."""
    end = time.monotonic() + timeout
    pause = 0.001
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
