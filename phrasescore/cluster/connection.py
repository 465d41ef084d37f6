"""Where a cluster is, and a connection to its scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from phrasescore.errors import ClusterError, MissingDependencyError, SettingsError
from phrasescore.runs.json_files import read_object

if TYPE_CHECKING:
    from distributed import Client

_FILE_PATIENCE = 10.0  # seconds for a scheduler that has just been started to write its file
_PATIENCE = 30.0  # seconds
_START_IT = "start one with: dask scheduler --scheduler-file FILE; see docs/cluster.md"


def address_of(place: str) -> str:
    """Return the address of a scheduler.

    Args:
        place: It, such as ``tcp://host:8786``, or the file that the scheduler writes it to.

    Raises:
        MissingDependencyError: Dask is not installed.
        ClusterError: There is no such file, or no address in it.
    """
    require_dask()
    if "://" in place:
        return place
    deadline = time.monotonic() + _FILE_PATIENCE
    while True:
        try:
            address = read_object(Path(place)).get("address")
            break
        except (OSError, ValueError) as error:
            # a file that is being written is not JSON yet
            if time.monotonic() > deadline:
                problem = f"no scheduler has written this file ({_told(error)})"
                raise ClusterError(problem, path=place, remedy=_START_IT) from None
        time.sleep(0.1)
    if not isinstance(address, str) or "://" not in address:
        raise ClusterError("there is no address of a scheduler here", path=place, remedy=_START_IT)
    return address


def require_dask() -> None:
    """See whether Dask is there.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        import distributed  # noqa: F401 - whether it can be
    except ImportError:
        raise MissingDependencyError.extra("distributed", "cluster") from None


def patience() -> float:
    """Return the seconds, at least, before work that is late is given to another worker, too.

    Dask's configuration may say them: ``phrasescore.patience``.

    Raises:
        SettingsError: What it says is no such number.
    """
    import dask

    found = dask.config.get("phrasescore.patience", _PATIENCE)
    if not isinstance(found, int | float) or not found > 0:
        raise SettingsError(
            "phrasescore.patience in Dask's configuration is no number of seconds above 0",
            remedy="correct it, or leave it out",
        )
    return float(found)


async def connected(address: str) -> Client:
    """Return a client of a scheduler, for the event loop that runs; certificates are Dask's own.

    Raises:
        ClusterError: It does not answer, or not to this machine.
    """
    from distributed import Client

    # what it tells of connections that break is told in our words
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    client = Client(address, asynchronous=True, set_as_default=False, name="phrasescore")
    try:
        return await client
    except (OSError, ValueError, TypeError, RuntimeError, asyncio.TimeoutError) as error:
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await client.close()
        raise ClusterError(
            f"the scheduler at {address} does not answer ({_told(error)})",
            remedy="see whether it runs, and with tls:// whether Dask's configuration names the "
            "certificates; see docs/cluster.md",
        ) from None


def _told(error: Exception) -> str:
    return str(error).split("\n")[0] or type(error).__name__
