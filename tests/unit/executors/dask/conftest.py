"""The cluster that all tests of a process share."""

from collections.abc import Iterator

import pytest
from dask_cluster import Machines, machines


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Return a scheduler, which no test harms, and two workers."""
    with machines(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started
