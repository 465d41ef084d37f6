"""The processes that share a training run: a crew.

A crew consists of a process and the processes that it forks. Its members do each step together, and
each member does a part of the step. Members have all objects that existed before the fork, and
share arrays in shared memory. They are not threads: a step of a small network consists of a hundred
short products, and threads would wait for Python's interpreter lock.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

import torch

from phrasescore.errors import StorageError
from phrasescore.runs.interruption import ignore_signals

Found = TypeVar("Found")


def can_fork() -> bool:
    """Tell whether forked processes can compute gradients here.

    They can do so only on Linux, because elsewhere system libraries fail after a fork, and only
    without CUDA, because torch with CUDA fails after a fork, too.
    """
    return sys.platform == "linux" and not torch.cuda.is_available()


class Crew:
    """A crew: this process, which is member 0, and the processes that it forks.

    Args:
        members: Number of members, this process included.
        steps: The functions that `do` accepts. Their first argument is the member's index.
    """

    def __init__(self, members: int, steps: Sequence[Callable[..., object]]) -> None:
        self._steps = list(steps)
        self._others: list[tuple[int, Connection]] = []
        self._warm: set[int] = set()
        for number in range(1, members):
            self._others.append(self._fork(number))

    def do(self, step: Callable[..., Found], *arguments: object) -> list[Found]:
        """Have every member do a step, and return the results in the order of the members.

        Raises:
            StorageError: A member has died.
        """
        number = self._steps.index(step)
        # the first time, member 0 does its part before the other members begin, so that they
        # find numba's compiled code in the cache
        results = [] if number in self._warm else [step(0, *arguments)]
        for process, channel in self._others:
            with _death_told(process):
                channel.send((number, arguments))
        if number in self._warm:
            results = [step(0, *arguments)]
        self._warm.add(number)
        for process, channel in self._others:
            with _death_told(process):
                results.append(channel.recv())
        return results

    def close(self) -> None:
        """End the other members and wait for their exit."""
        for _, channel in self._others:
            channel.close()
        for process, _ in self._others:
            os.waitpid(process, 0)
        self._others.clear()

    def _fork(self, number: int) -> tuple[int, Connection]:
        ours, theirs = multiprocessing.Pipe()
        with warnings.catch_warnings():
            # Python warns that other threads may hold locks; the child does not acquire any of them
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            theirs.close()
            return process, ours
        try:
            # close inherited copies of channels: a member notices that member 0 has closed a
            # channel only if no other copy is open
            for channel in (ours, *(channel for _, channel in self._others)):
                channel.close()
            self._serve(number, theirs)
            os._exit(0)
        except BaseException:  # the child must not return into its parent's code
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)

    def _serve(self, number: int, orders: Connection) -> None:
        ignore_signals()  # member 0 handles signals, and ends the others
        torch.set_num_threads(1)
        with contextlib.suppress(EOFError, ConnectionError):  # member 0 has closed or died
            while True:
                step, arguments = orders.recv()
                orders.send(self._steps[step](number, *arguments))


@contextlib.contextmanager
def _death_told(process: int) -> Iterator[None]:
    """Turn the error of a closed channel into one about the process at its other end."""
    try:
        yield
    except (EOFError, OSError):
        raise StorageError(
            f"process {process}, which shared the training, has ended; perhaps memory ran out",
            remedy="run the command again with fewer --threads; it continues from the checkpoint",
        ) from None
