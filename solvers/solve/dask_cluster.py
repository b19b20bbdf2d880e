"""Calls made by the workers of a Dask cluster, one at a time in each process.

Everything is pickled here, and not by Dask, whose arrays cannot always be written to. A call whose worker is lost is
made again by another one; Dask gives up on those that took several workers with them.
"""

from __future__ import annotations

import logging
import multiprocessing
import pickle
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any, TypeVar

from maxent.models.arguments import shorten
from maxent.models.errors import ARGUMENT, MaxentError, invalid
from maxent.models.files.input_files import redacted
from maxent.models.packages import need
from maxent.solvers.workers import memory_kept, one_thread

# Seconds to wait for what the scheduler says, and for its first worker; and between looks at whether to give up.
CONNECT, POLL = 10.0, 0.2
Key = TypeVar("Key")
# A function of an installed module, and its arguments.
Call = tuple[Callable[..., Any], tuple[Any, ...]]
# What the processes of a new cluster on this machine share.
LOADED = ("distributed", "distributed.nanny", "pyarrow.compute", "pyarrow.parquet", "scipy.linalg")
_ONE = threading.Lock()


class ClusterLost(MaxentError, RuntimeError):
    """A cluster that cannot be reached, or cannot make calls."""


class SchedulerLost(ClusterLost):
    """A cluster whose scheduler has gone: there is nobody left who could make calls."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that one is connected to."""

    client: Any

    @property
    def workers(self) -> int:
        """How many workers there are now, at least 1."""
        return max(len(self.client.nthreads()), 1)

    def share(self, data: bytes) -> Any:
        """Data that calls may have among their arguments; workers get it once, and from each other."""
        with _however_large():
            # Not scattered: what was is lost with its worker, while the scheduler can have this made again.
            return self.client.submit(bytes, data)

    def run(
        self,
        calls: Mapping[Key, Call],
        give_up: Callable[[], bool] = lambda: False,
        first: Callable[[], object] = lambda: None,
    ) -> Generator[tuple[Key, Callable[[], Any]], None, None]:
        """Make calls, and yield their keys as they are done, with functions that return or raise what they did.

        Meanwhile this process does something ``first``; it ends early when ``give_up()``, or when it is closed.
        """
        from distributed import Future as Shared

        executor = self.client.get_executor(pure=False)
        running: dict[Future[bytes], Key] = {}
        try:
            with _however_large():
                for key, (function, arguments) in calls.items():
                    shared = {i: argument for i, argument in enumerate(arguments) if isinstance(argument, Shared)}
                    plain = [None if i in shared else argument for i, argument in enumerate(arguments)]
                    call = pickle.dumps((function, plain))
                    running[executor.submit(_answer, call, tuple(shared), *shared.values())] = key
            first()
            while running and not give_up():
                done, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), partial(_result, future)
        finally:
            executor.shutdown(wait=False)


@contextmanager
def _however_large() -> Iterator[None]:
    """Send data without being told that it is much."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        yield


@contextmanager
def _own_words() -> Iterator[None]:
    """Keep the client's log of lost connections, tracebacks and all, from what we say about them."""
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def _answer(call: bytes, places: tuple[int, ...], *shared: bytes) -> bytes:
    """Make a call in a worker; its threads take turns, as solvers and thread limits are per process."""
    function, arguments = pickle.loads(call)
    for place, data in zip(places, shared, strict=True):
        arguments[place] = data
    with _ONE, one_thread(), memory_kept():
        return pickle.dumps(function(*arguments))


def _result(future: Future[bytes]) -> Any:
    """The result of a call; errors of the cluster in words."""
    try:
        return pickle.loads(future.result())
    except MaxentError:
        raise
    except CancelledError as error:
        raise SchedulerLost("the scheduler of the Dask cluster has gone") from error
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        raise ClusterLost("several workers of the cluster did not survive it, perhaps for want of memory") from error


def version(name: str) -> str:
    """The version of an installed package."""
    return metadata.version(name)


def _is_address(text: object) -> bool:
    """Whether a value is an address as distributed has them, with a port that there can be."""
    if not isinstance(text, str):
        return False
    from distributed.comm.addressing import get_address_host_port

    if re.fullmatch(r"(inproc|ucx)://\S+", text):  # which name no port
        return True
    try:
        host, port = get_address_host_port(text)
    except ValueError:
        return False
    return bool(re.fullmatch(r"[^\s/]+", host)) and 0 < port < 2**16


@contextmanager
def _sharing() -> Iterator[None]:
    """Fork Dask's processes from one that has loaded the packages: saves a second for each."""
    if sys.platform != "linux":
        yield
        return
    from dask import config

    multiprocessing.get_context("forkserver").set_forkserver_preload([*LOADED])
    with config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        yield


@contextmanager
def _started(workers: int) -> Iterator[str]:
    """The address of a cluster of so many processes of one thread each on this machine, which is gone at the end."""
    from distributed import LocalCluster

    with _sharing():
        try:
            cluster: Any = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                scheduler_kwargs={
                    "dashboard_address": "localhost:0"
                },  # what else it serves is not for the world, on any port
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
        except RuntimeError as error:  # they run the script that started them again, up to that line
            text = "no process of local:N starts: a script needs if __name__ == '__main__', and a file; or try jobs="
            raise ClusterLost(f"{text} ({error})") from error
        with cluster:
            yield cluster.scheduler_address


def check_address(address: str | None) -> None:
    """Refuse anything but an address of a scheduler, ``local:N``, or None for no cluster."""
    if address is None:
        return
    need("distributed", "a Dask cluster needs distributed")
    if not (_local(address) or _is_address(address)):  # distributed would complain for twenty seconds, and at the end
        expected = "the address of a Dask scheduler, such as tcp://host:8786, or local:N for N processes here"
        raise invalid("options", ARGUMENT, "dask", expected, shorten(_shown(address)))


def _shown(address: object) -> object:
    """An address without possible names and passwords: everything before the host is removed."""
    if not isinstance(address, str):
        return address
    start, mark, rest = address.rpartition("://")
    return redacted(f"{start}{mark}...@{rest.rpartition('@')[2]}" if "@" in rest else address)


def _local(address: object) -> re.Match[str] | None:
    """``local:N``."""
    return re.fullmatch(r"local:([1-9][0-9]{0,3})", address) if isinstance(address, str) else None


@contextmanager
def running(address: str | None) -> Iterator[str | None]:
    """The address of a cluster that runs meanwhile: for ``local:N`` of one that is started, else the one given."""
    if address is None or not (local := _local(address)):
        yield address
        return
    check_address(address)
    with _started(int(local[1])) as started:
        yield started


def _in_time(connect: Callable[[], Any], address: str, seconds: float) -> Any:
    """A client that is connected, or an error after so many seconds: who says nothing is no scheduler."""
    # Distributed's own limit is about the connection, not about what is said afterwards. The thread that still waits is
    # left behind.
    found: list[Any] = []
    wrong: list[Exception] = []

    def attempt() -> None:
        try:
            found.append(connect())
        except Exception as error:  # whatever there is in place of a scheduler
            wrong.append(error)

    thread = threading.Thread(target=attempt, daemon=True, name="connecting to a scheduler")
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    shown = _shown(address)
    if not wrong:
        raise ClusterLost(f"no Dask scheduler at {shown!r}: nothing was said for {seconds:.3g} s")
    raise ClusterLost(f"no Dask scheduler at {shown!r}: {redacted(str(wrong[0]))}") from wrong[0]


@contextmanager
def connected(address: str, limit: float | None = None) -> Iterator[Cluster]:
    """A cluster, by the address of its scheduler: ``tcp://host:8786``, or ``local:N`` for a new one of N processes.

    Raises `MissingExtra` without distributed, `ClusterLost` without a scheduler or workers of this version in time.
    """
    check_address(address)
    from distributed import Client

    if _local(address):
        with running(address) as started, connected(str(started)) as cluster:
            yield cluster
        return
    end = time.monotonic() + min(CONNECT, CONNECT if limit is None else max(limit, POLL))
    with _own_words():
        connect = partial(Client, address, timeout=CONNECT, set_as_default=False)
        client = _in_time(connect, address, end - time.monotonic())
    with _own_words(), client:
        try:
            client.wait_for_workers(1, timeout=max(end - time.monotonic(), POLL))
            found = client.run(version, "maxent")
        except TimeoutError as error:
            raise ClusterLost(f"the Dask scheduler at {redacted(address)!r} has no workers") from error
        except Exception as error:  # whatever keeps a worker from importing it
            raise ClusterLost(
                f"the workers at {redacted(address)!r} cannot use maxent: {redacted(str(error))}"
            ) from error
        if others := {f"{worker} has {theirs}" for worker, theirs in found.items() if theirs != version("maxent")}:
            raise ClusterLost(f"workers need maxent {version('maxent')}: {', '.join(sorted(others))}")
        yield Cluster(client)
