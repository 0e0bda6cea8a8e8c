"""Executor backend: worker processes of a Dask cluster, on this machine or on several."""

from __future__ import annotations

import atexit
import ipaddress
import json
import logging
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from functools import partial
from typing import Any, Final
from weakref import WeakSet

from evalstream.executors.base import (
    Backend,
    DeferredTask,
    RemoteFunction,
    Result,
    TaskFuture,
    Work,
)
from evalstream.executors.dask import worker
from evalstream.executors.dask.cluster import CLOSE_TIMEOUT_SECONDS, Cluster
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import ExecutorLost, MissingExtra, UsageError, install_command
from evalstream.model.signals import STOPPING

CONNECT_TIMEOUT_SECONDS: Final = 30.0
"""Timeout for a scheduler, for its file, and for the first worker, each."""


def backend(
    address: str | None = None,
    scheduler_file: str | None = None,
    workers: int = 1,
    *,
    insecure: bool = False,
    timeout: float = CONNECT_TIMEOUT_SECONDS,
) -> Backend:
    """Describe the workers of a Dask cluster, connecting to one or starting one with `workers`.

    `address` is the address of its scheduler, or else `scheduler_file` contains it. The connection
    stays open for later calls until `leave` is called or the process ends. TLS follows Dask's own
    configuration; a cluster that is started here always uses it. The functions that its executor
    takes are RemoteFunctions.

    Raises UsageError for a scheduler on another machine without TLS, unless `insecure` is set;
    MissingExtra without Dask; and ExecutorLost where no scheduler or no worker answers within
    `timeout` seconds, or where a worker has other versions than this process.
    """
    cluster = connect(ClusterAddress(address, scheduler_file, workers, insecure), timeout)
    return Backend(
        "dask",
        parallelism=cluster.width,
        start=partial(_Tasks, cluster),
        look_ahead=4,
        broken=(BrokenExecutor,),
        survives_worker_death=True,
        current_parallelism=lambda: cluster.width,
    )


def leave() -> None:
    """Close all connections, and stop the clusters that this process started."""
    atexit.unregister(leave)
    while _JOINED:
        _JOINED.popitem()[1].close()


def connect(target: ClusterAddress, timeout: float) -> Cluster:
    """Return the connection to a cluster; a lost one is replaced. Raises what `backend` says."""
    cluster = _JOINED.get(target)
    if cluster is not None and not cluster.is_lost:
        return cluster
    if cluster is not None:
        _JOINED.pop(target).close()
    with STOPPING.interruptible():
        cluster = join_cluster(target, timeout)
    if not _JOINED:
        atexit.register(leave)
    _JOINED[target] = cluster
    return cluster


class _Tasks:
    """The tasks of one pass over a cluster; the cluster outlives it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._futures: WeakSet[Future[Any]] = WeakSet()

    def submit(self, fn: Callable[[Work], Result], task: Work, /) -> TaskFuture[Result]:
        """Run a RemoteFunction over a task on a worker."""
        if not isinstance(fn, RemoteFunction):
            raise TypeError(f"{fn} does not travel as data")
        future = self._cluster.submit(fn.answer, fn.encode(task))
        self._futures.add(future)
        return DeferredTask(lambda: fn.decode(task, future.result()))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel the tasks, or wait for them; a task that already runs ends without effect."""
        futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        elif wait:
            wait_for(futures)


NOISY_LOGGERS: Final = frozenset({"asyncio", "distributed", "tornado"})
"""Loggers that print tracebacks for failures which are raised as exceptions here."""

ENCRYPTED: Final = frozenset({"tls", "wss"})
"""Schemes of addresses that Dask reaches with TLS alone."""

WITHIN: Final = "inproc"
"""The scheme of addresses within this process."""


class ClusterAddress(NamedTuple):
    """The address of a cluster; without address and file a cluster is started with `workers`.

    `insecure` permits an address on another machine without TLS.
    """

    address: str | None
    scheduler_file: str | None
    workers: int
    insecure: bool = False

    def describe(self) -> str:
        """Describe the scheduler for messages."""
        if self.address is None and self.scheduler_file is not None:
            return f"the Dask scheduler of {self.scheduler_file}"
        return f"the Dask scheduler at {self.address or 'this machine'}"


def join_cluster(target: ClusterAddress, timeout: float) -> Cluster:
    """Connect to a cluster and check its workers. Raises UsageError, and ExecutorLost."""
    distributed = _library()
    address, owned = target.address, None
    if address is None and target.scheduler_file is not None:
        address = _read_address(target.scheduler_file, timeout)
    if address is not None and not target.insecure:
        refuse_open_address(address, target.describe())
    try:
        if address is None:
            owned = _start_cluster(distributed, target.workers)
        # Dask's destructor would wait and log errors for a client that failed to connect.
        kind = type("Client", (distributed.Client,), {"__del__": _close_quietly})
        client = kind(
            owned or address,
            timeout=timeout,
            set_as_default=False,
            name="evalstream",
            # Answers are bytes: nothing else is read from them. Dask pickles its own messages.
            serializers=["msgpack"],
            deserializers=["msgpack"],
        )
    except Exception as error:
        if owned is not None:
            owned.close(timeout=CLOSE_TIMEOUT_SECONDS)
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ExecutorLost(f"{target.describe()} cannot be reached: {reason}") from error
    cluster = Cluster(client, target.describe(), owned)
    try:
        cluster.prepare(timeout)
    except BaseException:
        cluster.close()
        raise
    return cluster


def _close_quietly(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=1)


def _start_cluster(distributed: Any, workers: int) -> Any:
    """Start a cluster on this machine with TLS: who reaches a scheduler can run code on it."""
    import dask

    # Workers would sample their own stacks a hundred times a second, for a page that is not shown.
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            security=distributed.Security.temporary(),
            dashboard_address=None,
            # Dask serves its state over HTTP in any case: not on its usual port, which may be in
            # use.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            memory_limit=0,
            preload=[worker.__name__],
            silence_logs=logging.CRITICAL,
        )


def _read_address(scheduler_file: str, timeout: float) -> str:
    """Wait for a scheduler file and return the address in it. Raises ExecutorLost."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            with open(scheduler_file, "rb") as file:
                return str(json.load(file)["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if time.monotonic() > deadline:
                reason = error.strerror if isinstance(error, OSError) else "it contains no address"
                message = f"cannot use the scheduler file {scheduler_file}: {reason}"
                raise ExecutorLost(f"{message}, after {timeout:g} seconds") from error
        time.sleep(0.1)


def refuse_open_address(address: str, name: str) -> None:
    """Raise UsageError for a scheduler on another machine without TLS.

    Whoever is on the way to it could run code here, as Dask unpickles what it receives. `name`
    describes the scheduler.
    """
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        scheme, place = parse_address(address)
        host = place if scheme in ENCRYPTED or scheme == WITHIN else parse_host_port(place, 0)[0]
    except ValueError as error:
        raise UsageError(
            f"{name}: {address!r} is not an address such as tls://host:8786"
        ) from error
    if scheme in ENCRYPTED or scheme == WITHIN or _is_loopback(host):
        return
    raise UsageError(
        f"{name} has the address {address}, which is without TLS on another machine: everyone on "
        "the way could run code here; configure TLS in Dask and name it tls://…, or add "
        "--dask-insecure if you are alone on that network"
    )


def _is_loopback(host: str) -> bool:
    """Tell whether an address, or what the name localhost stands for, is this machine alone."""
    try:
        hosts = (
            [host]
            if host != "localhost"
            else [str(found[4][0]) for found in socket.getaddrinfo(host, None)]
        )
        return all(ipaddress.ip_address(one).is_loopback for one in hosts)
    except (OSError, ValueError):
        return False


def _library() -> Any:
    """Import Dask, and silence its loggers unless the process already uses it."""
    is_first_use = "distributed" not in sys.modules
    try:
        import dask
        import distributed
    except ImportError as error:
        raise MissingExtra(f"Dask is not installed: {install_command('dask')}") from error
    if is_first_use and not dask.config.get("logging", None):
        for name in (*NOISY_LOGGERS, *logging.root.manager.loggerDict):
            if name.partition(".")[0] in NOISY_LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


_JOINED: Final[dict[ClusterAddress, Cluster]] = {}
"""The connections of this process; workers and ports belong to the whole machine."""
