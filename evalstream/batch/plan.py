"""The plan of a batch, kept on disk: its runs, their order, and their division into shards."""

from __future__ import annotations

import hashlib
import heapq
import os
import pickle
import re
import stat
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from evalstream.io.names import is_remote, printable
from evalstream.io.spill_table import SpillTable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run

if TYPE_CHECKING:
    from evalstream.discovery.folder_pairs import FolderPairs

STREAM: Final = 1 << 62
"""The planned size of a stream: it comes first, because its writer may be waiting."""


_RUNS: Final = (
    "CREATE TABLE runs (number INTEGER PRIMARY KEY, size INTEGER, run BLOB, ours INTEGER)"
)


class PlannedRun(NamedTuple):
    """A run, or an input without one: its number, and the bytes of its rows, 0 if not known."""

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
        self._table = SpillTable(_RUNS)
        self.count = self.runs = 0
        try:
            if partition is None:
                self.digest = self.found = self._store(
                    NumberedRun(number, True, one) for number, one in enumerate(found)
                )
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
        self._table.close()

    def numbers(self) -> Iterator[int]:
        """Iterate over the numbers of the shard's runs, in order."""
        for (number,) in self._table.iterate("SELECT number FROM runs WHERE ours ORDER BY number"):
            yield number

    @property
    def total(self) -> int:
        """Number of bytes of rows in the shard's runs."""
        query = "SELECT coalesce(sum(size), 0) FROM runs WHERE ours AND size < ?"
        ((total,),) = self._table.rows(query, STREAM)
        return int(total)

    @property
    def own_count(self) -> int:
        """Number of runs in the shard."""
        ((count,),) = self._table.rows("SELECT count(*) FROM runs WHERE ours")
        return int(count)

    def in_order(self) -> Iterator[PlannedRun]:
        """Iterate over the shard's runs in the order of the inputs."""
        return self._iterate_runs("number")

    def by_size(self) -> Iterator[PlannedRun]:
        """Iterate over the shard's runs: streams first, then by descending size."""
        return self._iterate_runs("size DESC, number")

    def _iterate_runs(self, order: str) -> Iterator[PlannedRun]:
        query = f"SELECT number, run, size FROM runs WHERE ours ORDER BY {order}"  # noqa: S608 - no input
        for number, run, size in self._table.iterate(query):
            found = pickle.loads(run)  # noqa: S301 - our own temporary database
            found = Run(*found) if isinstance(found, list) else found
            yield PlannedRun(number, found, size % STREAM, size == STREAM)

    def _store(self, found: Iterable[NumberedRun]) -> str:
        """Store the inputs of the shard, and count all; return the digest of all names."""
        digest = hashlib.sha256()
        for number, is_own, item in found:
            digest.update(f"{_name(item)}\n".encode())
            if is_own:
                # The names of a class and of its fields take longer to pickle than all else.
                plain = [*vars(item).values()] if item.__class__ is Run else item
                row = (number, _size(item), pickle.dumps(plain))
                self._table.add("INSERT INTO runs VALUES (?, ?, ?, 1)", [row])
            self.count += 1
            self.runs += isinstance(item, Run)
        return digest.hexdigest()

    def _drop_other_shards(self, shard: Shard) -> None:
        sizes = (size for (size,) in self._table.iterate("SELECT size FROM runs ORDER BY number"))
        owners = enumerate(divide(sizes, shard.of))
        others = ((number,) for number, owner in owners if owner != shard.number)
        self._table.change("UPDATE runs SET ours = 0 WHERE number = ?", others)


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


SLURM: Final = "slurm"
_VARIABLES: Final = "SLURM_ARRAY_TASK_"
MOST_SHARDS: Final = 1_000_000


class Shard(NamedTuple):
    """One shard: its number, from 1, and the number of shards."""

    number: int
    of: int


def parse_shard(text: str, environment: Mapping[str, str] = os.environ) -> Shard:
    """Parse `3/100`, `slurm/100` or `slurm` by the variables of sbatch(1). Raises UsageError."""
    number, slash, of = text.partition("/")
    if number == SLURM:
        return _make_shard(*_slurm(of if slash else None, environment))
    if not slash or not _is_number(number) or not _is_number(of):
        raise UsageError(f"invalid value for --shard: {text!r}; expected 3/100, slurm/100 or slurm")
    return _make_shard(int(number), int(of))


def _make_shard(number: int, of: int) -> Shard:
    if not 1 <= number <= of <= MOST_SHARDS:
        raise UsageError(f"invalid value for --shard: {number} of {of}; shards are numbered from 1")
    return Shard(number, of)


def _slurm(of: str | None, environment: Mapping[str, str]) -> tuple[int, int]:
    """Return number and count of shards from the variables of a job array."""
    task = _variable("ID", environment)
    if of is not None:
        if not _is_number(of):
            raise UsageError(f"invalid number of shards: {of!r}; expected slurm/100")
        return task, int(of)
    first, last, count = (_variable(name, environment) for name in ("MIN", "MAX", "COUNT"))
    if count < 2 or count != last - first + 1:
        # Such an array is the rest of a larger one, whose size is not known.
        raise UsageError(
            f"the job array has {count} tasks numbered {first} to {last}, from which the number of "
            "shards is not clear; give the number, as in --shard slurm/100"
        )
    return task - first + 1, count


def _variable(name: str, environment: Mapping[str, str]) -> int:
    value = environment.get(_VARIABLES + name, "")
    if not _is_number(value):
        raise UsageError(f"not a task of a Slurm job array: {_VARIABLES}{name} is not set")
    return int(value)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}", text) is not None


COST_OF_A_RUN: Final = 256 << 10
"""Fixed cost of a run, as the number of bytes of rows that take the same time."""

COST_OF_A_SEARCH: Final = COST_OF_A_RUN // 8
"""Cost of searching one file, likewise."""

LEAST_PAIRS: Final = 4
"""So many pairs a shard, or the folder is searched by every shard."""

MOST_PAIRS: Final = 100_000
"""So many pairs, whose names are in memory, or the folder is searched by every shard."""


class NumberedRun(NamedTuple):
    """A run, or an input without one: its number, which grows in order, and if the shard has it."""

    number: int
    is_own: bool
    found: Run | NoInput


class FolderPartition:
    """The runs of a folder that belong to a shard.

    Each pair goes to one shard, by the names and sizes that all shards see. The last shard searches
    the folder, and has all other runs. A shard whose pairs are not what their names show searches
    the folder as well: a run of the search belongs to the pair that has its aggregate.
    """

    def __init__(self, pairs: FolderPairs, shard: Shard) -> None:
        self._pairs, self._shard = pairs, shard
        self._owners = divide(pairs.sizes, shard.of, COST_OF_A_SEARCH * (len(pairs) + pairs.others))
        self.digest = pairs.digest
        self.is_whole = False
        """Whether the shard searched all of the folder."""

    def number_runs(self, search: Iterable[Run | NoInput]) -> Iterator[NumberedRun]:
        """Iterate over the shard's runs, or if it needs `search`, which finds all, over all."""
        alone = None if self._shard.number == self._shard.of else self._find_alone()
        if alone is not None:
            yield from alone
            return
        self.is_whole = True
        pair = beside = 0
        for one in search:
            index = self._pairs.index_of(one)
            owner = self._shard.of if index is None else self._owners[index]
            if index is not None and index >= pair:
                pair, beside = index + 1, 0
            else:
                beside += 1
            yield NumberedRun(_number(pair, beside), owner == self._shard.number, one)

    def _find_alone(self) -> list[NumberedRun] | None:
        """Return the runs of the shard's pairs, two or more; None if all must be searched."""
        own = [at for at, owner in enumerate(self._owners) if owner == self._shard.number]
        found: list[NumberedRun] = []
        for index in own:
            run = self._pairs.find_run(index)
            if run is None:
                return None
            found.append(NumberedRun(_number(index + 1, 0), True, run))
        return found if len(found) > 1 else None


def _number(pair: int, beside: int) -> int:
    """Return the number of a run: after so many pairs, and so many other runs behind the last."""
    return pair << 32 | beside


def divide(sizes: Iterable[int], shards: int, last: int = 0) -> array[int]:
    """Return the shard of each run, by size: the largest first, each to the one with least to do.

    `last` is what the last shard has to do besides. This is Graham's longest processing time rule
    (1969): no shard has more than 4/3 of the work that the best division would give it.
    """
    sizes = array("q", sizes)
    loads = [(0, number) for number in range(1, shards)] + [(last, shards)]
    heapq.heapify(loads)
    owners = array("l", bytes(0)) + array("l", [0]) * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        load, least = loads[0]
        heapq.heapreplace(loads, (load + sizes[index] + COST_OF_A_RUN, least))
        owners[index] = least
    return owners


def partition_folder(path: str, exclude: Iterable[str], shard: Shard) -> FolderPartition | None:
    """Return the partition of a folder; None if names do not show that most files are pairs."""
    # Plans of other calls need no listing.
    from evalstream.discovery.folder_pairs import FolderPairs

    pairs = FolderPairs(path, exclude)
    # The aggregates of a public store are judged by paths that only a search finds.
    is_public = any("objects/" in one for one in pairs.paths())
    is_even = pairs.others * shard.of <= len(pairs)
    is_worth = LEAST_PAIRS * shard.of <= len(pairs) <= MOST_PAIRS
    return FolderPartition(pairs, shard) if is_even and is_worth and not is_public else None
