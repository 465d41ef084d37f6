"""The workers of a cluster: those that come, go, fall silent, or cannot be used."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

from phrasescore.cluster.worker_side import UnfitWorkerError, versions
from phrasescore.errors import ClusterError, counted

if TYPE_CHECKING:
    from distributed import Client

LOOK = 1.0  # seconds between two looks at the workers and their tasks
ANSWER = 20.0  # seconds within which a scheduler or a worker answers
_REMINDER = 60.0  # seconds between two messages that there is no worker


class Watch:
    """Watches the workers, and compares the versions of new ones.

    Args:
        client: The client of the cluster.
        address: The address of the scheduler.
        end: Gets the error that ends all work: a worker of another version, a lost scheduler.
        patience: Seconds without a sign of life after which a worker counts as silent.
        ours: The versions that workers must have.

    Attributes:
        threads: The number of threads of each present worker, by its address.
        silent: The workers without a recent sign of life.
        stuck: The names of the tasks that silent workers have.
        unfit: The errors of workers that get no more tasks, by their address.
        closing: Whether the connection is being closed.
    """

    def __init__(
        self,
        client: Client,
        address: str,
        end: asyncio.Future[None],
        patience: float,
        ours: dict[str, str],
    ) -> None:
        self._client, self._address, self._end = client, address, end
        self._patience, self._versions = patience, ours
        self._greetings: set[asyncio.Task[None]] = set()
        self.threads: dict[str, int] = {}
        self.silent: set[str] = set()
        self.stuck: set[str] = set()
        self.unfit: dict[str, UnfitWorkerError] = {}
        self.closing = False

    @property
    def fit(self) -> dict[str, int]:
        """The number of threads of each present worker that gets tasks, by its address."""
        return {name: count for name, count in self.threads.items() if name not in self.unfit}

    def pass_over(self, error: UnfitWorkerError) -> None:
        """Give a worker no more tasks, because it lacks something, and tell the user."""
        if error.worker not in self.unfit:
            say(f"{error.problem}; it takes no part")
        self.unfit[error.worker] = error

    async def run(self) -> None:
        """Watch the workers until the task is cancelled."""
        silent_since = told = time.monotonic()
        while True:
            scheduler: Any = self._client.scheduler
            found = await self.asked(scheduler.identity(n_workers=-1))
            now = time.monotonic()
            if found is not None:
                silent_since = now
                await self._look_at(found["workers"])
            elif now - silent_since > ANSWER and not self._end.done():
                self._end.set_exception(
                    ClusterError(
                        f"the scheduler at {self._address} has gone",
                        remedy="start it again, and type the same command: what is done is kept",
                    )
                )
            if self.fit:
                told = now
            elif now - told > _REMINDER:
                told = now
                which = (
                    "no worker that takes part is there" if self.threads else "no worker is there"
                )
                say(f"{which}; waiting for one to join {self._address}")
            await asyncio.sleep(LOOK)

    async def _look_at(self, workers: dict[str, dict[str, Any]]) -> None:
        """Note the present workers, the silent ones, and the tasks of these."""
        found = {name: int(worker["nthreads"]) for name, worker in workers.items()}
        self._tell_changes(found)
        self.threads = found
        # all times are by the scheduler's clock
        newest = max((worker["last_seen"] for worker in workers.values()), default=0.0)
        self.silent = {
            name
            for name, worker in workers.items()
            if newest - worker["last_seen"] > self._patience
        }
        at_work: dict[str, list[str]] = {}
        if self.silent:
            at_work = await self.asked(self._client.processing(list(self.silent))) or {}
        self.stuck = {name_of(key) for keys in at_work.values() for key in keys}

    def _tell_changes(self, found: dict[str, int]) -> None:
        come, gone = found.keys() - self.threads.keys(), self.threads.keys() - found.keys()
        for worker in come:
            greeting = asyncio.ensure_future(self._greet(worker))
            self._greetings.add(greeting)
            greeting.add_done_callback(self._greetings.discard)
        if come or gone:
            changes = [f"{len(come)} joined"] * bool(come) + [f"{len(gone)} left"] * bool(gone)
            say(f"{counted(len(found), 'worker')} at {self._address} ({', '.join(changes)})")

    async def _greet(self, worker: str) -> None:
        """End all work if a worker has other versions than this process."""
        run = self._client.run(versions, workers=[worker], on_error="return")
        found = (await self.asked(run) or {}).get(worker)
        if isinstance(found, ImportError):
            problem = f"the worker {worker} has no phrasescore of this version ({found})"
        elif isinstance(found, dict) and found != (ours := self._versions):
            differences = [
                f"{name} {found.get(name)}, this process {ours[name]}"
                for name in ours
                if found.get(name) != ours[name]
            ]
            problem = f"the worker {worker} has {'; '.join(differences)}"
        else:
            return
        if not self._end.done():
            remedy = "install the same versions wherever a worker runs"
            self._end.set_exception(ClusterError(problem, remedy=remedy))

    async def asked(self, question: Any) -> Any:
        """Return an answer of the cluster, or ``None`` if none comes in time."""
        try:
            return await asyncio.wait_for(question, ANSWER)
        except (OSError, asyncio.TimeoutError, ValueError):
            return None
        except asyncio.CancelledError:
            # Dask cancels when a connection breaks; only our own cancelling goes on
            if self.closing:
                raise
            return None


def say(text: str) -> None:
    """Print a note about the cluster on standard error."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a note to the user


def name_of(key: str) -> str:
    """Return the name of a task from the key of one of its attempts."""
    return key.rpartition("-")[0]
