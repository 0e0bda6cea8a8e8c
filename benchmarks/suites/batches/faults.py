"""Spoils a few runs of a store, so that reports have something to say, and says what that is."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.contenders.contract import Material
from benchmarks.generate.runs import Run

EACH = 3
"""How many runs are spoilt in each way."""


def tamper(run: Run, first: Run) -> None:
    """Declare another checksum."""
    del first
    change_seal(run.aggregate_path, hashlib.sha256(b"other rows").hexdigest())


def tear(run: Run, first: Run) -> None:
    """Cut the rows off in the midst of the last one."""
    del first
    data = run.rows_path.read_bytes()
    run.rows_path.write_bytes(data[:-100])


def lose(run: Run, first: Run) -> None:
    """Take the rows away."""
    del first
    run.rows_path.unlink()


def drift(run: Run, first: Run) -> None:
    """Give a row the sample_id of another run's, and seal the rows as they then are."""
    with first.rows_path.open("rb") as file:
        sample_id = json.loads(file.readline())["sample_id"]
    head, *rest = run.rows_path.read_bytes().splitlines(keepends=True)
    row = json.loads(head) | {"sample_id": sample_id}
    data = b"".join([json.dumps(row).encode() + b"\n", *rest])
    run.rows_path.write_bytes(data)
    change_seal(run.aggregate_path, hashlib.sha256(data).hexdigest())


def repeat(run: Run, first: Run) -> None:
    """Put the run into the first one's folder as well, under another name."""
    folder = first.rows_path.parent
    shutil.copy(run.rows_path, folder / f"copy-of-{run.rows_path.name}")
    shutil.copy(run.aggregate_path, folder / f"copy-of-{run.aggregate_path.name}")


KINDS: tuple[tuple[str, Callable[[Run, Run], None]], ...] = (
    ("ES501", tamper),
    ("ES104", tear),
    ("ES001", lose),
    ("ES905", drift),
    ("ES903", repeat),
)
"""The code that a report has to have at least `EACH` times, and what brings it about."""


def spoil(store: Material) -> None:
    """Spoil runs of a store, spread over it; the first one stays as it is."""
    spoilt = len(KINDS) * EACH
    if len(store.runs) <= spoilt:
        message = f"{len(store.runs)} runs are too few to spoil {spoilt} of them"
        raise ValueError(message)
    for place in range(spoilt):
        _, change = KINDS[place % len(KINDS)]
        change(store.runs[(place + 1) * len(store.runs) // (spoilt + 1)], store.runs[0])


def change_seal(path: Path, checksum: str) -> None:
    """Declare a checksum in an aggregate."""
    aggregate = json.loads(path.read_bytes())
    aggregate["detailed_evaluation_results"]["checksum"] = checksum
    path.write_text(json.dumps(aggregate), encoding="utf-8")
