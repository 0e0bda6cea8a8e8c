"""How a Dask cluster is found, or started on this machine."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextlib import suppress
from typing import Any, Final, NamedTuple

from evalstream.executors.dask import worker
from evalstream.executors.dask.cluster import FAREWELL_SECONDS, Cluster
from evalstream.model.errors import ExecutorLost, MissingExtra

LOUD: Final = frozenset({"asyncio", "distributed", "tornado"})
"""Whose loggers tell with tracebacks what is an exception here."""


class ClusterAddress(NamedTuple):
    """Where a cluster is; without address and file it is to be started here with some workers."""

    address: str | None
    scheduler_file: str | None
    workers: int

    def described(self) -> str:
        """Say whose scheduler it is."""
        if self.address is None and self.scheduler_file is not None:
            return f"the Dask scheduler of {self.scheduler_file}"
        return f"the Dask scheduler at {self.address or 'this machine'}"


def join(place: ClusterAddress, patience: float) -> Cluster:
    """Connect to a cluster and make sure that it can do the work. Raises ExecutorLost."""
    distributed = _library()
    address, owned = place.address, None
    if address is None and place.scheduler_file is not None:
        address = _address_in(place.scheduler_file, patience)
    try:
        if address is None:
            owned = _started(distributed, place.workers)
        # Dask would wait, and then complain, where a client that never came to be is let go.
        kind = type("Client", (distributed.Client,), {"__del__": _let_go})
        client = kind(owned or address, timeout=patience, set_as_default=False, name="evalstream")
    except Exception as error:
        if owned is not None:
            owned.close(timeout=FAREWELL_SECONDS)
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ExecutorLost(f"{place.described()} cannot be reached: {said}") from error
    cluster = Cluster(client, place.described(), owned)
    try:
        cluster.prepare(patience)
    except BaseException:
        cluster.close()
        raise
    return cluster


def _let_go(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=1)


def _started(distributed: Any, workers: int) -> Any:
    """Start a cluster on this machine that nobody else can use: whoever could, could run code."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        security=distributed.Security.temporary(),
        dashboard_address=None,
        # Dask serves its state over HTTP in any case: not on a port that somebody else may want.
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        memory_limit=0,
        preload=[worker.__name__],
        silence_logs=logging.CRITICAL,
    )


def _address_in(scheduler_file: str, patience: float) -> str:
    """Wait for the file in which a scheduler says where it is. Raises ExecutorLost."""
    until = time.monotonic() + patience
    while True:
        try:
            with open(scheduler_file, "rb") as file:
                return str(json.load(file)["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if time.monotonic() > until:
                reason = error.strerror if isinstance(error, OSError) else "it holds no address"
                message = f"the scheduler file {scheduler_file} is of no use: {reason}"
                raise ExecutorLost(f"{message}, after {patience:g} seconds") from error
        time.sleep(0.1)


def _library() -> Any:
    """Import Dask; where nobody else uses it in this process, its loggers are made quiet."""
    is_ours = "distributed" not in sys.modules
    try:
        import dask
        import distributed
    except ImportError as error:
        raise MissingExtra("Dask is not installed: pip install 'evalstream[dask]'") from error
    if is_ours and not dask.config.get("logging", None):
        for name in (*LOUD, *logging.root.manager.loggerDict):
            if name.partition(".")[0] in LOUD:
                logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed
