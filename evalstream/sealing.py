"""Seal rows: write into their aggregate what a check verifies, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from evalstream import layout
from evalstream.aggregate import Aggregate
from evalstream.collector import Collector
from evalstream.documents import document_bytes
from evalstream.errors import CannotCheck, CannotWrite
from evalstream.model import Options
from evalstream.output import Output
from evalstream.parsing import fast
from evalstream.places import place_of
from evalstream.row_pass import RowPass
from evalstream.rules.seal import LOOKED_AT
from evalstream.runs import Run
from evalstream.sources.remote import is_remote

MEMBER: Final = "detailed_evaluation_results"
KNOWN_OF_ROWS: Final = ("schema_version", "evaluation_id")
"""What an aggregate that is not there yet can be told from its rows alone."""


@dataclass(frozen=True, slots=True)
class Seal:
    """An aggregate's text before and after its rows are sealed; None before it was there."""

    path: str
    before: bytes | None
    after: bytes

    def difference(self) -> str:
        """Return the change for people, as a unified diff."""
        from evalstream.editing import difference

        return difference(self.before or b"", self.after, os.path.basename(self.path))

    def write(self) -> None:
        """Write the sealed aggregate, whole or not at all. Raises CannotWrite."""
        try:
            with Output(self.path) as output:
                output.write(self.after)
        except OSError as error:
            raise CannotWrite(f"{self.path}: {error.strerror or error}") from error


def seal_of(
    run: Run,
    options: Options,
    aggregate: Aggregate | None,
    rows: RowPass,
    collector: Collector,
) -> Seal | None:
    """Return the seal of rows that were read to their end, None where none is wanted.

    The aggregate to be completed is the one that is to be sealed, else that of the run, else a
    new one. The algorithm is the declared one, else that of the rows' own hashes. Raises
    CannotCheck where an aggregate cannot be edited, and OSError where it cannot be read.
    """
    flow, opened = options.flow, rows.opened
    is_read = bool(rows.digests) and rows.layout in LOOKED_AT
    if flow.seal_to is None or opened is None or run.rows is None or not is_read:
        return None
    standing = next(
        (name for name in (flow.seal_to, run.aggregate) if name and _is_there(name)), None
    )
    base = None if standing is None else document_bytes(standing)
    algorithm = aggregate.hash_algorithm if aggregate is not None else None
    algorithm = algorithm or collector.context.algorithm
    # A copy holds no noise that was skipped.
    digests = rows.digests.get("rows", {}) if flow.tee else {}
    digests = digests or rows.digests["stored"]
    declared = aggregate.file_path if aggregate is not None else None
    members = {
        "format": "json" if rows.layout == layout.JSON_ARRAY else "jsonl",
        "file_path": flow.file_path or _path_of(flow.tee or run.rows, declared, flow.seal_to),
        "hash_algorithm": algorithm,
        "checksum": digests[algorithm],
        "total_rows": collector.tally.rows,
    }
    return Seal(flow.seal_to, base, _with_seal(base, _new(opened.head), members))


def _with_seal(base: bytes | None, new: dict[str, Any], members: Mapping[str, Any]) -> bytes:
    """Return an aggregate's text with a seal, a new one where there is none."""
    if base is None:
        return json.dumps({**new, MEMBER: dict(members)}, indent=2).encode() + b"\n"
    from evalstream.editing import with_members

    try:
        return with_members(base, MEMBER, members)
    except ValueError as error:
        raise CannotCheck(f"the aggregate cannot be sealed: {error}") from error


def _is_there(path: str) -> bool:
    return is_remote(path) or os.path.exists(path)


def _new(head: bytes) -> dict[str, Any]:
    """Return what the first row tells of its aggregate."""
    try:
        row = fast(head.partition(b"\n")[0])
    except ValueError:
        row = None
    if not isinstance(row, dict):
        return {}
    return {key: row[key] for key in KNOWN_OF_ROWS if isinstance(row.get(key), str)}


def _path_of(rows: str, declared: str | None, aggregate: str) -> str:
    """Return how an aggregate names its rows.

    A declared path that names them already stays. In a datastore that is their path from its
    root on, elsewhere the way from the aggregate to them, if they lie beside or below it.
    """
    name = os.path.basename(rows)
    place = place_of(rows)
    if place.inside:
        return place.path
    parts = PurePosixPath(declared or "")
    if declared and parts.name == name and not parts.is_absolute() and ".." not in parts.parts:
        return declared
    folder = os.path.dirname(os.path.abspath(aggregate))
    way = os.path.relpath(os.path.abspath(rows), folder).replace(os.sep, "/")
    return name if way.startswith("../") else way
