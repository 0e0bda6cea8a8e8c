"""Which runs are to be checked, in which order, and by which of several shards: on disk."""

from __future__ import annotations

import hashlib
import heapq
import os
import pickle
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.batch.planned import PlannedRun
from evalstream.batch.shards import Shard
from evalstream.io.names import printable
from evalstream.io.remote import is_remote
from evalstream.model.run import STDIN, NoInput, Run

COST_OF_A_RUN: Final = 256 << 10
"""How many bytes of rows take as long as everything else that a run takes, about."""

STREAM: Final = 1 << 62
"""Stands for the size of a stream: it comes first, since somebody is writing it."""


class RunPlan:
    """All runs of a call, kept in a database of this process alone.

    With a shard only its runs are handed out; the numbers stay those of all runs. `count` counts
    everything that was found, `runs` what there are files to check of. To be closed.
    """

    def __init__(self, found: Iterable[Run | NoInput], shard: Shard | None = None) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            CREATE TABLE runs (number INTEGER PRIMARY KEY, size INTEGER, run BLOB, ours INTEGER);
            BEGIN;
            """
        )
        self.count = self.runs = 0
        try:
            self.digest = self._keep(found)
            if shard is not None:
                self._share(shard)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Forget the runs; none can be asked for any more."""
        self._base.close()

    def numbers(self) -> Iterator[int]:
        """Iterate over the numbers of our runs, in order."""
        for (number,) in self._base.execute("SELECT number FROM runs WHERE ours ORDER BY number"):
            yield number

    @property
    def total(self) -> int:
        """How many bytes of rows our runs have."""
        (total,) = self._base.execute(
            "SELECT coalesce(sum(size), 0) FROM runs WHERE ours AND size < ?", (STREAM,)
        ).fetchone()
        return int(total)

    @property
    def ours(self) -> int:
        """How many runs are ours."""
        (count,) = self._base.execute("SELECT count(*) FROM runs WHERE ours").fetchone()
        return int(count)

    def in_order(self) -> Iterator[PlannedRun]:
        """Iterate over our runs in the order of the inputs."""
        return self._planned("number")

    def by_size(self) -> Iterator[PlannedRun]:
        """Iterate over our runs, streams and then the largest first, so that none is last."""
        return self._planned("size DESC, number")

    def _planned(self, order: str) -> Iterator[PlannedRun]:
        query = f"SELECT number, run, size FROM runs WHERE ours ORDER BY {order}"  # noqa: S608 - no input
        for number, run, size in self._base.execute(query):
            found = pickle.loads(run)  # noqa: S301 - our own temporary database
            yield PlannedRun(number, found, size % STREAM, size == STREAM)

    def _keep(self, found: Iterable[Run | NoInput]) -> str:
        """Keep and count what was found; return the digest of all names."""
        digest = hashlib.sha256()
        for number, one in enumerate(found):
            digest.update(f"{_name(one)}\n".encode())
            row = (number, _size(one), pickle.dumps(one))
            self._base.execute("INSERT INTO runs VALUES (?, ?, ?, 1)", row)
            self.count += 1
            self.runs += isinstance(one, Run)
        return digest.hexdigest()

    def _share(self, shard: Shard) -> None:
        """Leave what is another shard's: each run goes to the one with the least to do so far.

        That is Graham's longest processing time first (1969): no shard has more than 4/3 of
        what the best division would give it.
        """
        loads = [(0, number) for number in range(1, shard.of + 1)]
        others = []
        query = "SELECT number, size FROM runs ORDER BY size DESC, number"
        for number, size in self._base.execute(query):
            load, least = loads[0]
            heapq.heapreplace(loads, (load + size + COST_OF_A_RUN, least))
            if least != shard.number:
                others.append((number,))
        self._base.executemany("UPDATE runs SET ours = 0 WHERE number = ?", others)


def _name(found: Run | NoInput) -> str:
    """Return what tells an input from others, as a text on one line."""
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
