"""The value of --shard: which of several processes checks which part of a batch."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from evalstream.model.errors import UsageError

SLURM: Final = "slurm"
_VARIABLES: Final = "SLURM_ARRAY_TASK_"
MOST: Final = 1_000_000


class Shard(NamedTuple):
    """One shard: its number, from 1, and the number of shards."""

    number: int
    of: int


def parse_shard(text: str, environment: Mapping[str, str] = os.environ) -> Shard:
    """Parse `3/100`, `slurm/100` (the number is the task of the job array) or `slurm`.

    The variables are those of sbatch(1), "OUTPUT ENVIRONMENT VARIABLES". Raises UsageError.
    """
    number, slash, of = text.partition("/")
    if number == SLURM:
        return _make_shard(*_slurm(of if slash else None, environment))
    if not slash or not _is_number(number) or not _is_number(of):
        raise UsageError(f"invalid value for --shard: {text!r}; expected 3/100, slurm/100 or slurm")
    return _make_shard(int(number), int(of))


def _make_shard(number: int, of: int) -> Shard:
    if not 1 <= number <= of <= MOST:
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
