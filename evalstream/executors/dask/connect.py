"""Connection to a Dask cluster, or start of one on this machine."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextlib import suppress
from typing import Any, Final, NamedTuple

from evalstream.executors.dask import worker
from evalstream.executors.dask.cluster import CLOSE_TIMEOUT_SECONDS, Cluster
from evalstream.model.errors import ExecutorLost, MissingExtra
from evalstream.model.extras import install_command

NOISY_LOGGERS: Final = frozenset({"asyncio", "distributed", "tornado"})
"""Loggers that print tracebacks for failures which are raised as exceptions here."""


class ClusterAddress(NamedTuple):
    """The address of a cluster; without address and file a cluster is started with `workers`."""

    address: str | None
    scheduler_file: str | None
    workers: int

    def described(self) -> str:
        """Describe the scheduler for messages."""
        if self.address is None and self.scheduler_file is not None:
            return f"the Dask scheduler of {self.scheduler_file}"
        return f"the Dask scheduler at {self.address or 'this machine'}"


def join(target: ClusterAddress, timeout: float) -> Cluster:
    """Connect to a cluster and check its workers. Raises ExecutorLost."""
    distributed = _library()
    address, owned = target.address, None
    if address is None and target.scheduler_file is not None:
        address = _address_in(target.scheduler_file, timeout)
    try:
        if address is None:
            owned = _start_cluster(distributed, target.workers)
        # Dask's destructor would wait and log errors for a client that failed to connect.
        kind = type("Client", (distributed.Client,), {"__del__": _close_quietly})
        client = kind(owned or address, timeout=timeout, set_as_default=False, name="evalstream")
    except Exception as error:
        if owned is not None:
            owned.close(timeout=CLOSE_TIMEOUT_SECONDS)
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ExecutorLost(f"{target.described()} cannot be reached: {reason}") from error
    cluster = Cluster(client, target.described(), owned)
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
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        security=distributed.Security.temporary(),
        dashboard_address=None,
        # Dask serves its state over HTTP in any case: not on its usual port, which may be in use.
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        memory_limit=0,
        preload=[worker.__name__],
        silence_logs=logging.CRITICAL,
    )


def _address_in(scheduler_file: str, timeout: float) -> str:
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
