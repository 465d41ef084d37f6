"""Who works at a cluster: workers that come, go, fall silent, or cannot be worked with."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

from phrasescore.cluster.worker_side import UnfitWorkerError, versions
from phrasescore.errors import ClusterError, counted

if TYPE_CHECKING:
    from distributed import Client

LOOK = 1.0  # seconds between two looks at who is there, and at what they do
ANSWER = 20.0  # seconds within which a scheduler or a worker answers
_WORD = 60.0  # seconds between two words of waiting


class Watch:
    """Looks at the workers from time to time, and greets new ones.

    Args:
        client: Of the cluster.
        address: Of its scheduler.
        end: Gets what ends all work: a worker of another version, a scheduler that is gone.
        patience: Seconds without a sign of life after which a worker is silent.
        ours: The versions that workers must have.

    Attributes:
        threads: How many each worker has that is there, by its address.
        silent: The workers that have given no sign of life for the patience with them.
        stuck: The names of the tasks that those have.
        unfit: What the workers lack that get no more tasks, by their address.
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
        """How many threads each worker has that is there and gets tasks, by its address."""
        return {name: count for name, count in self.threads.items() if name not in self.unfit}

    def pass_over(self, error: UnfitWorkerError) -> None:
        """Note, and tell, that a worker lacks something."""
        if error.worker not in self.unfit:
            say(f"{error.problem}; it takes no part")
        self.unfit[error.worker] = error

    async def run(self) -> None:
        """Know the workers, and greet new ones."""
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
            elif now - told > _WORD:
                told = now
                which = (
                    "no worker that takes part is there" if self.threads else "no worker is there"
                )
                say(f"{which}; waiting for one to join {self._address}")
            await asyncio.sleep(LOOK)

    async def _look_at(self, workers: dict[str, dict[str, Any]]) -> None:
        """Note who is there, who gives no sign of life, and what they have to do."""
        found = {name: int(worker["nthreads"]) for name, worker in workers.items()}
        self._tell_changes(found)
        self.threads = found
        # all by the scheduler's clock
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
        """Refuse a worker that is unlike this process."""
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
        """Return an answer of the cluster, ``None`` if there is none."""
        try:
            return await asyncio.wait_for(question, ANSWER)
        except (OSError, asyncio.TimeoutError, ValueError):
            return None
        except asyncio.CancelledError:
            # by Dask, where a connection breaks, unless it is by us
            if self.closing:
                raise
            return None


def say(text: str) -> None:
    """Tell the user something on standard error."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a note to the user


def name_of(key: str) -> str:
    """Return the name of a task from the key of one of its tries."""
    return key.rpartition("-")[0]
