"""The plan of a batch: its runs, their order, and their division into shards, kept on disk."""

from __future__ import annotations

import hashlib
import os
import pickle
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from evalstream.batch.shards import FolderPartition, NumberedRun, Shard, divide
from evalstream.io.names import is_remote, printable
from evalstream.model.run import STDIN, NoInput, Run

STREAM: Final = 1 << 62
"""The planned size of a stream: it comes first, because its writer may be waiting."""


class PlannedRun(NamedTuple):
    """A run, or an input without one, with its number in the order of the inputs.

    `size` is the size of its rows in bytes, 0 where it is not known or the rows are a stream.
    """

    number: int
    found: Run | NoInput
    size: int
    is_stream: bool = False


class RunPlan:
    """All runs of a call, in a temporary database.

    With a shard only its runs are returned; the numbers stay those of all runs. `count` is the
    number of all inputs, `runs` the number of those that are runs, and `found` the digest of their
    names. With a partition of which the shard did not search everything, they are those of the
    shard. `digest` is equal in all shards. The caller closes it.
    """

    def __init__(
        self,
        found: Iterable[Run | NoInput],
        shard: Shard | None = None,
        partition: FolderPartition | None = None,
    ) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            PRAGMA cache_size = -512;
            CREATE TABLE runs (number INTEGER PRIMARY KEY, size INTEGER, run BLOB, ours INTEGER);
            BEGIN;
            """
        )
        self.count = self.runs = 0
        try:
            if partition is None:
                self.digest = self.found = self._store(_number_all(found))
                if shard is not None:
                    self._drop_other_shards(shard)
            else:
                self.digest = partition.digest
                self.found = self._store(partition.number_runs(found))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete the database."""
        self._base.close()

    def numbers(self) -> Iterator[int]:
        """Iterate over the numbers of the shard's runs, in order."""
        for (number,) in self._base.execute("SELECT number FROM runs WHERE ours ORDER BY number"):
            yield number

    @property
    def total(self) -> int:
        """Number of bytes of rows in the shard's runs."""
        (total,) = self._base.execute(
            "SELECT coalesce(sum(size), 0) FROM runs WHERE ours AND size < ?", (STREAM,)
        ).fetchone()
        return int(total)

    @property
    def own_count(self) -> int:
        """Number of runs in the shard."""
        (count,) = self._base.execute("SELECT count(*) FROM runs WHERE ours").fetchone()
        return int(count)

    def in_order(self) -> Iterator[PlannedRun]:
        """Iterate over the shard's runs in the order of the inputs."""
        return self._iterate_runs("number")

    def by_size(self) -> Iterator[PlannedRun]:
        """Iterate over the shard's runs: streams first, then by descending size."""
        return self._iterate_runs("size DESC, number")

    def _iterate_runs(self, order: str) -> Iterator[PlannedRun]:
        query = f"SELECT number, run, size FROM runs WHERE ours ORDER BY {order}"  # noqa: S608 - no input
        for number, run, size in self._base.execute(query):
            found = pickle.loads(run)  # noqa: S301 - our own temporary database
            yield PlannedRun(number, found, size % STREAM, size == STREAM)

    def _store(self, found: Iterable[NumberedRun]) -> str:
        """Store the inputs of the shard, and count all; return the digest of all names."""
        digest = hashlib.sha256()
        for number, is_own, item in found:
            digest.update(f"{_name(item)}\n".encode())
            if is_own:
                row = (number, _size(item), pickle.dumps(item))
                self._base.execute("INSERT INTO runs VALUES (?, ?, ?, 1)", row)
            self.count += 1
            self.runs += isinstance(item, Run)
        return digest.hexdigest()

    def _drop_other_shards(self, shard: Shard) -> None:
        """Drop the runs of other shards."""
        sizes = (size for (size,) in self._base.execute("SELECT size FROM runs ORDER BY number"))
        owners = enumerate(divide(sizes, shard.of))
        others = ((number,) for number, owner in owners if owner != shard.number)
        self._base.executemany("UPDATE runs SET ours = 0 WHERE number = ?", others)


def _number_all(found: Iterable[Run | NoInput]) -> Iterator[NumberedRun]:
    """Iterate over the inputs of a call with their numbers."""
    return (NumberedRun(number, True, one) for number, one in enumerate(found))


def _name(found: Run | NoInput) -> str:
    """Return the names of an input on one line, to distinguish it from others."""
    if isinstance(found, NoInput):
        names: tuple[str | None, ...] = (found.path,)
    else:
        names = (found.rows, found.aggregate, found.inputs)
    return "\t".join("" if name is None else printable(name) for name in names).replace("\n", "\r")


def _size(found: Run | NoInput) -> int:
    if isinstance(found, NoInput) or found.rows is None:
        return 0
    if found.rows == STDIN:
        return STREAM
    if is_remote(found.rows):
        return getattr(found, "size", None) or 0
    try:
        status = os.stat(found.rows)
    except OSError:
        return 0
    if stat.S_ISREG(status.st_mode):
        return status.st_size
    return 0 if stat.S_ISDIR(status.st_mode) else STREAM
