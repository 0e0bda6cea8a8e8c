"""Spoils sound rows and sound runs in ways that real files show."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.generate.dialect import Dialect, Document

KINDS_OF_ROW_FAULTS = 4
REQUIRED = [
    "model_id",
    "evaluation/is_correct",
    "input/reference",
    "answer_attribution",
    "evaluation_name",
]
NUMBERS = ["evaluation/score", "token_usage/total_tokens", "performance/latency_ms"]
NOT_NULLABLE = ["input/formatted", "input/choices", "evaluation/num_turns", "metadata"]
NOT_NULLABLE_SINCE_RESULT_IDS = ["evaluation_result_id"]
RUN_CODES = (*["ES804"] * 4, "ES805")
"""What a run of faulty rows adds: four open claims, as rows have no score; none is confirmed."""


def spoil_row(row: Document, index: int, dialect: Dialect) -> tuple[str, ...]:
    """Put one to four faults into the row, and return the codes of the findings.

    Which ones depends on the index of the row alone.
    """
    combinations = 2**KINDS_OF_ROW_FAULTS - 1
    combination, variant = index % combinations + 1, index // combinations
    codes = []
    if combination & 1:
        holder, key = _place(row, NUMBERS, variant)
        holder[key] = str(holder[key])
        codes.append("ES202")
    if combination & 2:
        optional = NOT_NULLABLE_SINCE_RESULT_IDS if dialect.has_result_ids else NOT_NULLABLE
        holder, key = _place(row, optional, variant)
        holder[key] = None
        codes.append("ES204")
    if combination & 8:
        holder, key = _place(row, REQUIRED, variant)
        del holder[key]
        codes.append("ES201")
    if combination & 4:
        row["sample_hash"] = hashlib.sha256(b"another sample").hexdigest()
        # A row without a reference has no hash to compare with.
        codes += ["ES401"] if "reference" in row["input"] else []
    return tuple(codes)


def _place(row: Document, paths: Sequence[str], variant: int) -> tuple[Document, str]:
    """Choose a path; return the object that holds its last key, and that key."""
    *above, key = paths[variant % len(paths)].split("/")
    for name in above:
        row = row[name]
    return row, key


EACH = 3
"""How many runs of a store are spoilt in each way."""


def change_checksum(rows: Path, aggregate: Path, first: Path) -> None:
    """Declare the checksum of other rows."""
    del rows, first
    _seal(aggregate, b"other rows")


def cut_last_row(rows: Path, aggregate: Path, first: Path) -> None:
    """Cut the rows off in the middle of the last one."""
    del aggregate, first
    rows.write_bytes(rows.read_bytes()[:-100])


def remove_rows(rows: Path, aggregate: Path, first: Path) -> None:
    """Delete the rows file."""
    del aggregate, first
    rows.unlink()


def reuse_sample_id(rows: Path, aggregate: Path, first: Path) -> None:
    """Give the first row the sample_id of another run's first row, and seal the rows."""
    with first.open("rb") as file:
        sample_id = json.loads(file.readline())["sample_id"]
    head, *rest = rows.read_bytes().splitlines(keepends=True)
    row = json.loads(head) | {"sample_id": sample_id}
    _rewrite(rows, aggregate, [json.dumps(row).encode() + b"\n", *rest])


def copy_run(rows: Path, aggregate: Path, first: Path) -> None:
    """Copy the run under another name into the folder of the first one."""
    for path in (rows, aggregate):
        shutil.copy(path, first.parent / f"copy-of-{path.name}")


KINDS: tuple[tuple[str, Callable[[Path, Path, Path], None]], ...] = (
    ("ES501", change_checksum),
    ("ES104", cut_last_row),
    ("ES001", remove_rows),
    ("ES905", reuse_sample_id),
    ("ES903", copy_run),
)
"""The code that a report must have at least `EACH` times, and what causes it."""


def spoil_store(runs: Sequence[tuple[Path, Path]]) -> None:
    """Spoil runs, given as rows file and aggregate, spread over the store; keep the first."""
    spoilt = len(KINDS) * EACH
    if len(runs) <= spoilt:
        message = f"{len(runs)} runs are too few to spoil {spoilt} of them"
        raise ValueError(message)
    for number in range(spoilt):
        _, change = KINDS[number % len(KINDS)]
        change(*runs[(number + 1) * len(runs) // (spoilt + 1)], runs[0][0])


def drop_model_id(rows: Path, aggregate: Path) -> None:
    """Take the model_id out of the last row, and seal the rows as they then are."""
    *lines, last = rows.read_bytes().splitlines(keepends=True)
    row = json.loads(last)
    del row["model_id"]
    _rewrite(rows, aggregate, [*lines, json.dumps(row).encode() + b"\n"])


def break_seal(aggregate: Path) -> None:
    """Declare another checksum than that of the rows."""
    _seal(aggregate, b"other rows")


def drop_source(aggregate: Path) -> None:
    """Take the source_metadata out of an aggregate."""
    document = json.loads(aggregate.read_bytes())
    del document["source_metadata"]
    aggregate.write_text(json.dumps(document), encoding="utf-8")


def _rewrite(rows: Path, aggregate: Path, lines: Sequence[bytes]) -> None:
    """Write other rows and seal them."""
    data = b"".join(lines)
    rows.write_bytes(data)
    _seal(aggregate, data)


def _seal(aggregate: Path, data: bytes) -> None:
    """Declare the checksum of some rows in an aggregate."""
    document = json.loads(aggregate.read_bytes())
    document["detailed_evaluation_results"]["checksum"] = hashlib.sha256(data).hexdigest()
    aggregate.write_text(json.dumps(document), encoding="utf-8")
