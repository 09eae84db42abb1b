"""Waiting for results of a Dask cluster, with a time limit."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from distributed import Client, Future

R = TypeVar("R")

# Name in Dask's configuration; in the environment it is DASK_PLAGGM__NO_WORKERS_TIMEOUT.
SETTING = "plaggm.no-workers-timeout"
NO_WORKERS_SECONDS = 60.0
# Interval at which the scheduler is asked for its workers while waiting.
CHECK_SECONDS = 1.0
_kept = ContextVar(
    "kept",
    default="Only what is on disk already is kept; start workers and run the same again.",
)


class ClusterLostError(ConnectionError):
    """The scheduler, or all of its workers, were lost before the computation was finished.

    Examples
    --------
    >>> try:
    ...     raise ClusterLostError("no worker is left")
    ... except ClusterLostError as error:
    ...     print(error)
    no worker is left
    """


def no_workers_timeout() -> float:
    """Seconds without any worker after which a wait is given up.

    Dask's setting ``plaggm.no-workers-timeout``, a number of seconds or text such as ``"10m"``.

    Examples
    --------
    >>> import dask
    >>> with dask.config.set({"plaggm.no-workers-timeout": "2m"}):
    ...     no_workers_timeout()
    120.0
    """
    import dask
    from dask.utils import parse_timedelta

    given = dask.config.get(SETTING, NO_WORKERS_SECONDS)
    try:
        seconds = float(parse_timedelta(given))
    except (TypeError, ValueError, KeyError):
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise ValueError(
            f"Dask's setting {SETTING} must be a positive number of seconds, or text such as '10m'; got "
            f"{given!r}."
        )
    return seconds


@contextmanager
def keeping(sentence: str) -> Iterator[None]:
    """Add a sentence to errors of a lost cluster, about finished work and how to resume."""
    token = _kept.set(sentence)
    try:
        yield
    finally:
        _kept.reset(token)


def wait_for(client: Client, begin: Callable[[], Coroutine[Any, Any, R]]) -> R:
    """The result of a coroutine on the client's event loop; all waiting for a cluster happens here.

    Parameters
    ----------
    client : distributed.Client
    begin : callable
        Returns the coroutine.

    Raises
    ------
    ClusterLostError
        If the scheduler is lost, or has had no worker for :func:`no_workers_timeout` seconds.
    """
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    lost = (
        *(CommClosedError, FutureCancelledError),
        *(concurrent.futures.CancelledError, asyncio.CancelledError),
    )
    kept = _kept.get()
    scheduler_lost = (
        f"The connection to the Dask scheduler was lost, and with it the work in progress. {kept}"
    )
    scheduler: Any = client.scheduler
    if client.status == "closed":
        raise ClusterLostError(scheduler_lost)
    patience = no_workers_timeout()
    pause = min(CHECK_SECONDS, patience / 4)
    # Pauses are counted rather than read from a clock, which also runs while this process is suspended.
    absent = silent = 0.0
    waiting = asyncio.run_coroutine_threadsafe(begin(), _event_loop(client))
    try:
        while not concurrent.futures.wait([waiting], pause).done:
            workers = _threads_by_worker(client, CHECK_SECONDS)
            absent = absent + pause if workers == {} else 0.0
            silent = silent + pause if workers is None else 0.0
            if absent >= patience:
                raise ClusterLostError(
                    f"The Dask scheduler at {scheduler.address} has had no worker for "
                    f"{patience:g} seconds. {kept} To wait longer for workers, raise Dask's setting "
                    f"{SETTING}."
                )
            if silent >= max(patience, NO_WORKERS_SECONDS):
                raise ClusterLostError(f"The Dask scheduler does not answer any more. {kept}")
        return waiting.result()
    except lost as error:
        raise ClusterLostError(scheduler_lost) from error
    finally:
        waiting.cancel()


def results_as_finished(client: Client, futures: list[Future[Any]]) -> Iterator[tuple[int, Any]]:
    """Yield the place of each future in the list and its result, in the order in which they finish.

    The list is emptied, so that workers may forget each result once the client has it, and cancel what is
    no longer needed.
    """
    from distributed import as_completed

    left = {future.key: (place, future) for place, future in enumerate(futures)}
    finished = as_completed(futures, loop=client.loop)
    futures.clear()
    try:
        while left:
            future = wait_for(client, finished.__anext__)
            # If the worker has died since, the result is computed again.
            result = wait_for(client, partial(client.gather, future, asynchronous=True))
            place, _ = left.pop(future.key)
            yield place, result
    finally:
        finished.clear()
        # Dask has references to unfinished futures, too.
        for _, future in left.values():
            future.release()


def _event_loop(client: Client) -> asyncio.AbstractEventLoop:
    # The attribute is missing in Tornado's types.
    loop: Any = client.loop
    found: asyncio.AbstractEventLoop = loop.asyncio_loop
    return found


def count_threads(client: Client) -> int:
    """Number of threads of all workers at present; 0 if the scheduler does not answer."""
    return sum((_threads_by_worker(client, no_workers_timeout()) or {}).values())


def _threads_by_worker(client: Client, seconds: float) -> dict[str, int] | None:
    """Threads by address of the worker, or None if the scheduler does not answer in time."""
    if client.scheduler is None:
        return None
    asked = asyncio.run_coroutine_threadsafe(
        client.scheduler.ncores(workers=None), _event_loop(client)
    )
    try:
        threads: dict[str, int] = asked.result(seconds)
        return threads
    except (OSError, concurrent.futures.CancelledError):
        # Among them TimeoutError and Dask's CommClosedError.
        return None
    finally:
        asked.cancel()
