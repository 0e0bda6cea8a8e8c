"""Merge of shard reports into the report that one check would have written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evalstream.batch.parts import PartFile, PartTrailer
from evalstream.model.errors import CannotCheck, UsageError

MOST_NAMED: Final = 10
"""Number of missing shards that the message names."""


def open_parts(paths: Sequence[str]) -> list[PartFile]:
    """Open parts and check that together they are one complete report.

    Raises CannotCheck that names the part which is missing, repeated, truncated, damaged, or of
    another batch; UsageError where no part is given; OSError.
    """
    if not paths:
        raise UsageError("no part given")
    parts = [PartFile(path) for path in paths]
    first = parts[0]
    seen: dict[int, PartFile] = {}
    for part in parts:
        _refuse_other_batch(part, first)
        number = part.trailer.shard.number
        if number in seen:
            raise CannotCheck(
                f"{part.path}: shard {number} is given twice, also as {seen[number].path}; "
                "nothing was merged"
            )
        seen[number] = part
        if part.trailer.partial:
            raise CannotCheck(
                f"{part.path}: the check of this shard was stopped before its last run; run it "
                "again; nothing was merged"
            )
    _refuse_missing(seen, first.trailer)
    for part in parts:
        part.verify()
    return [seen[number] for number in sorted(seen)]


def _refuse_other_batch(part: PartFile, first: PartFile) -> None:
    own, expected = part.trailer, first.trailer
    for what, one, other in (
        ("number of shards", own.shard.of, expected.shard.of),
        ("version of evalstream", own.tool, expected.tool),
        ("options", own.options, expected.options),
        ("list of runs", (own.plan, own.planned), (expected.plan, expected.planned)),
    ):
        if one != other:
            raise CannotCheck(
                f"{part.path}: different {what} than in {first.path}; nothing was merged"
            )


def _refuse_missing(seen: dict[int, PartFile], trailer: PartTrailer) -> None:
    missing = [number for number in range(1, trailer.shard.of + 1) if number not in seen]
    if missing:
        named = ", ".join(map(str, missing[:MOST_NAMED]))
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise CannotCheck(
            f"missing shards of {trailer.shard.of:,}: {named}{more}; nothing was merged"
        )
    runs = sum(part.trailer.runs for part in seen.values())
    if runs != trailer.planned:
        raise CannotCheck(
            f"the parts contain {runs:,} of {trailer.planned:,} runs because files changed "
            "between the shards; nothing was merged"
        )
