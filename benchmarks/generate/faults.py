"""Spoils sound rows in ways that real files show, varying from row to row."""

from __future__ import annotations

import hashlib

from benchmarks.generate.dialect import Dialect, Document

KINDS = 4

Path = tuple[str, ...]

REQUIRED: tuple[Path, ...] = (
    ("model_id",),
    ("evaluation", "is_correct"),
    ("input", "reference"),
    ("answer_attribution",),
    ("evaluation_name",),
)
NUMBERS: tuple[Path, ...] = (
    ("evaluation", "score"),
    ("token_usage", "total_tokens"),
    ("performance", "latency_ms"),
)
NOT_NULLABLE: tuple[Path, ...] = (
    ("input", "formatted"),
    ("input", "choices"),
    ("evaluation", "num_turns"),
    ("metadata",),
)
NOT_NULLABLE_SINCE_RESULT_IDS: tuple[Path, ...] = (("evaluation_result_id",),)


def spoil(row: Document, index: int, dialect: Dialect) -> None:
    """Put one to four faults into the row: which ones depends on its index alone."""
    combination = index % (2**KINDS - 1) + 1
    variant = index // (2**KINDS - 1)
    if combination & 1:
        path = NUMBERS[variant % len(NUMBERS)]
        holder = _holder(row, path)
        holder[path[-1]] = str(holder[path[-1]])
    if combination & 2:
        optional = NOT_NULLABLE_SINCE_RESULT_IDS if dialect.has_result_ids else NOT_NULLABLE
        path = optional[variant % len(optional)]
        _holder(row, path)[path[-1]] = None
    if combination & 4:
        row["sample_hash"] = hashlib.sha256(b"another sample").hexdigest()
    if combination & 8:
        path = REQUIRED[variant % len(REQUIRED)]
        del _holder(row, path)[path[-1]]


def _holder(row: Document, path: Path) -> Document:
    """Return the object that holds the last key of the path."""
    for key in path[:-1]:
        row = row[key]
    return row
