"""Several processes of one machine that do the same step at the same time, each its own part.

They are forked, so they see what was there before, and share what lies in shared memory. Threads
would wait for each other at the interpreter's lock: a step of a small network is a hundred short
products.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence

import torch

from phrasescore.errors import StorageError
from phrasescore.runs.interruption import ignore_signals

Step = Callable[[int], None]  # of the member with this number, from 0
_DONE = b"."


def can_fork() -> bool:
    """Tell whether forked processes can compute gradients here.

    Elsewhere than on Linux, libraries of the system do not stand it; with a GPU, torch's do not.
    """
    return sys.platform == "linux" and not torch.cuda.is_available()


class Crew:
    """This process, as member 0, and others that it forks.

    Args:
        members: How many there are.
        steps: What they can be told to do together, by number.
    """

    def __init__(self, members: int, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._others: list[tuple[int, socket.socket]] = []
        self._known: set[int] = set()
        for number in range(1, members):
            self._others.append(self._fork(number))

    def do(self, step: int) -> None:
        """Have every member do a step, and return when all have.

        Raises:
            StorageError: A member is there no longer.
        """
        order = bytes([step])
        if step not in self._known:
            # what the first one compiles the others find compiled
            self._known.add(step)
            self._steps[step](0)
            self._send(order)
        else:
            self._send(order)
            self._steps[step](0)
        for process, channel in self._others:
            if channel.recv(1) != _DONE:
                raise _lost(process)

    def _send(self, order: bytes) -> None:
        for process, channel in self._others:
            try:
                channel.send(order)
            except OSError:
                raise _lost(process) from None

    def close(self) -> None:
        """Let the others end."""
        for _, channel in self._others:
            channel.close()
        for process, _ in self._others:
            os.waitpid(process, 0)
        self._others.clear()

    def _fork(self, number: int) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            # of locks that other threads may hold: the child takes none
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            theirs.close()
            return process, ours
        try:
            ours.close()
            for _, channel in self._others:
                channel.close()  # else nobody would see the end of it
            self._serve(number, theirs)
            os._exit(0)
        except BaseException:  # nothing above this may run in the child
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)

    def _serve(self, number: int, orders: socket.socket) -> None:
        ignore_signals()  # the first member hears them, and ends the others
        torch.set_num_threads(1)
        with contextlib.suppress(ConnectionError):  # it is gone, with something unread
            while order := orders.recv(1):
                self._steps[order[0]](number)
                orders.send(_DONE)


def _lost(process: int) -> StorageError:
    return StorageError(
        f"process {process}, which shared the training, has ended; perhaps the memory was full",
        remedy="the same command goes on from the last checkpoint; give it fewer --threads",
    )
