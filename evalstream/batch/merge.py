"""Put the parts that shards wrote together to the report that one check would have written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evalstream.batch.parts import Part, PartTrailer
from evalstream.model.errors import CannotCheck, UsageError

SHOWN: Final = 10
"""How many missing shards are named."""


def open_parts(paths: Sequence[str]) -> list[Part]:
    """Open parts and see that together they are one whole report.

    Raises CannotCheck that names the part which is missing, doubled, cut off, damaged, or of
    another batch; UsageError where none is named; OSError.
    """
    if not paths:
        raise UsageError("no part was named")
    parts = [Part(path) for path in paths]
    first = parts[0]
    seen: dict[int, Part] = {}
    for part in parts:
        _refuse_stranger(part, first)
        number = part.footing.shard.number
        if number in seen:
            raise CannotCheck(
                f"{part.path}: shard {number} is there twice, also as {seen[number].path}; "
                "nothing was merged"
            )
        seen[number] = part
        if part.footing.partial:
            raise CannotCheck(
                f"{part.path}: its check was stopped; run it again; nothing was merged"
            )
    _refuse_gaps(seen, first.footing)
    for part in parts:
        part.verify()
    return [seen[number] for number in sorted(seen)]


def _refuse_stranger(part: Part, first: Part) -> None:
    ours, theirs = part.footing, first.footing
    for what, one, other in (
        ("number of shards", ours.shard.of, theirs.shard.of),
        ("version of evalstream", ours.tool, theirs.tool),
        ("options", ours.options, theirs.options),
        ("list of runs", (ours.plan, ours.planned), (theirs.plan, theirs.planned)),
    ):
        if one != other:
            raise CannotCheck(
                f"{part.path}: it has another {what} than {first.path}; nothing was merged"
            )


def _refuse_gaps(seen: dict[int, Part], footing: PartTrailer) -> None:
    missing = [number for number in range(1, footing.shard.of + 1) if number not in seen]
    if missing:
        named = ", ".join(map(str, missing[:SHOWN]))
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        raise CannotCheck(
            f"of {footing.shard.of:,} shards these are missing: {named}{more}; nothing was merged"
        )
    runs = sum(part.footing.runs for part in seen.values())
    if runs != footing.planned:
        raise CannotCheck(
            f"the parts hold {runs:,} runs of {footing.planned:,}, since files changed between the "
            "shards; nothing was merged"
        )
