"""Worker processes of a Dask cluster, on this machine or on many."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures import wait as wait_for
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from evalstream.executors.base import Backend
from evalstream.model.signals import STOPPING

if TYPE_CHECKING:
    from evalstream.executors.dask.cluster import Cluster
    from evalstream.executors.dask.connect import ClusterAddress

PATIENCE_SECONDS: Final = 30.0
"""How long a scheduler, its file and a first worker are waited for, each."""


def backend(
    address: str | None = None,
    scheduler_file: str | None = None,
    workers: int = 1,
    *,
    patience: float = PATIENCE_SECONDS,
) -> Backend:
    """Describe the workers of a Dask cluster, which is joined, or started here with `workers`.

    `address` says where its scheduler is, else `scheduler_file`. It stays joined, for whoever
    asks again, until `leave` is called or the process ends. TLS is what Dask's own configuration
    says; a cluster that is started here always has it. Raises MissingExtra without Dask, and
    ExecutorLost where for `patience` seconds there is no scheduler or no worker, or where a worker
    would judge by other versions than this process.
    """
    from evalstream.executors.dask.connect import ClusterAddress

    cluster = _CLUSTERS.joined(ClusterAddress(address, scheduler_file, workers), patience)
    return Backend(
        "dask",
        parallelism=cluster.width,
        start=partial(_Tasks, cluster),
        look_ahead=4,
        broken=(BrokenExecutor,),
        survives=True,
        beside=cluster.submit,
        grown=lambda: cluster.width,
    )


def leave() -> None:
    """Leave the clusters that were joined, and end those that were started here."""
    _CLUSTERS.leave()


class _Tasks(Executor):
    """The tasks of one pass over a cluster that outlives it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._futures: WeakSet[Future[Any]] = WeakSet()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn` with one argument, its task, on a worker."""
        (task,) = args
        future = self._cluster.submit(partial(fn, **kwargs), task)
        self._futures.add(future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop the tasks, or wait for them; one that runs already ends unheard."""
        futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        elif wait:
            wait_for(futures)


class _Clusters:
    """The clusters that this process has joined: one connection to each, for all who ask."""

    def __init__(self) -> None:
        self._joined: dict[ClusterAddress, Cluster] = {}

    def joined(self, place: ClusterAddress, patience: float) -> Cluster:
        """Return the connection to a cluster; one that was lost is made anew."""
        from evalstream.executors.dask.connect import join

        cluster = self._joined.get(place)
        if cluster is not None and not cluster.is_lost:
            return cluster
        if cluster is not None:
            self._joined.pop(place).close()
        with STOPPING.waiting():
            cluster = join(place, patience)
        if not self._joined:
            atexit.register(self.leave)
        self._joined[place] = cluster
        return cluster

    def leave(self) -> None:
        """Close all connections."""
        atexit.unregister(self.leave)
        while self._joined:
            self._joined.popitem()[1].close()


_CLUSTERS: Final = _Clusters()
"""There are only these, as workers and ports are the whole machine's."""
