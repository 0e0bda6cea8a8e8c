"""Executor backend: worker processes of a Dask cluster, on this machine or on several."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from concurrent.futures import wait as wait_for
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic
from weakref import WeakSet

from evalstream.executors.base import Backend, RemoteFunction, Result, TaskFuture, Work
from evalstream.model.signals import STOPPING

if TYPE_CHECKING:
    from evalstream.executors.dask.cluster import Cluster
    from evalstream.executors.dask.connect import ClusterAddress

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
    from evalstream.executors.dask.connect import ClusterAddress

    cluster = _CLUSTERS.connect(ClusterAddress(address, scheduler_file, workers, insecure), timeout)
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
    _CLUSTERS.leave()


class _Decoded(Generic[Result]):
    """The future of a task, whose answer is decoded when it is asked for."""

    def __init__(self, future: Future[bytes], decode: Callable[[bytes], Result]) -> None:
        self._future, self._decode = future, decode

    def result(self) -> Result:
        """Return the result of the task, or raise what `Cluster.submit` says."""
        return self._decode(self._future.result())


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
        return _Decoded(future, partial(fn.decode, task))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel the tasks, or wait for them; a task that already runs ends without effect."""
        futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        elif wait:
            wait_for(futures)


class _Clusters:
    """The clusters that this process is connected to: one connection to each."""

    def __init__(self) -> None:
        self._joined: dict[ClusterAddress, Cluster] = {}

    def connect(self, target: ClusterAddress, timeout: float) -> Cluster:
        """Return the connection to a cluster; a lost one is replaced."""
        from evalstream.executors.dask.connect import join_cluster

        cluster = self._joined.get(target)
        if cluster is not None and not cluster.is_lost:
            return cluster
        if cluster is not None:
            self._joined.pop(target).close()
        with STOPPING.interruptible():
            cluster = join_cluster(target, timeout)
        if not self._joined:
            atexit.register(self.leave)
        self._joined[target] = cluster
        return cluster

    def leave(self) -> None:
        """Close all connections."""
        atexit.unregister(self.leave)
        while self._joined:
            self._joined.popitem()[1].close()


_CLUSTERS: Final = _Clusters()
"""The connections of this process; workers and ports belong to the whole machine."""
