"""Rows migrated on parsed values, by tables that follow from the published schemas alone.

This shares no code with the package. Tests compare both over real and made-up rows.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spelled_json import Number, text_of, write

Row = dict[str, Any]

MEMBERS = (
    *("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id"),
    *("sample_id", "sample_hash", "interaction_type", "input", "output", "messages"),
    *("answer_attribution", "evaluation", "token_usage", "performance", "error", "metadata"),
)
"""The members of a row from version 0.2.3 on; all others are moved into `metadata`."""

VERSIONS = ("0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.3.0")
ANNOTATION = "instance_level_eval_"
DIGEST = re.compile(r"(?:sha256:|md5:)?([0-9A-Fa-f]{64}|[0-9A-Fa-f]{32})", re.IGNORECASE)
TURNS = ("interactions[", "messages[")


class Refused(Exception):
    """A row that cannot be migrated: the decision that it needs, or what is wrong with it."""


@dataclass(frozen=True)
class Facts:
    """What a row needs to know: the target, the aggregate's ids, and what the user decided."""

    version: str = "0.3.0"
    evaluation_id: str | None = None
    result_ids: Mapping[str, list[Any]] = field(default_factory=dict)
    decisions: frozenset[str] = frozenset()
    rehash: bool = False


def migrate_row(row: Any, facts: Facts) -> Row:
    """Return the row in the target's version. Raises Refused."""
    if not isinstance(row, dict):
        raise Refused("not an object")
    declared = row.get("schema_version", VERSIONS[0])
    if not isinstance(declared, str) or declared.removeprefix(ANNOTATION) not in VERSIONS:
        raise Refused("version")
    left, moved = _take_out(row, facts)
    migrated: Row = {}
    for name, value in left.items():
        if name not in MEMBERS:
            moved[name] = value
        else:
            migrated[name] = _MEMBERS[name](value) if name in _MEMBERS else value
    if "schema_version" in migrated:
        migrated["schema_version"] = facts.version
    _decide_ids(migrated, facts)
    if migrated.get("evaluation_result_id", "") is None:
        del migrated["evaluation_result_id"]
    if facts.rehash and isinstance(migrated.get("sample_hash"), str):
        migrated["sample_hash"] = preferred_hash(migrated)
    decided = ("evaluation_id", "sample_hash") if facts.rehash else ("evaluation_id",)
    for name in decided:
        if row.get(name) is not None and row[name] != migrated[name]:
            moved[name] = row[name]
    _keep(migrated, moved)
    return migrated


def preferred_hash(row: Row) -> str:
    """Return the sample_hash that the format prefers from 0.3.0 on."""
    hashed = {name: row["input"][name] for name in ("raw", "reference")}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _take_out(row: Row, facts: Facts) -> tuple[Row, Row]:
    """Return the row with at most one transcript, `messages`, and what has no place in it.

    A row with two transcripts keeps that of its own version.
    """
    plain = str(row.get("schema_version")).removeprefix(ANNOTATION)
    names = ("interactions", "messages") if plain == "0.2.0" else ("messages", "interactions")
    given = [name for name in names if row.get(name) is not None]
    chosen = (given or [name for name in names if name in row] or ["messages"])[0]
    moved = {name: row[name] for name in given[1:]}
    kind, decision = row.get("interaction_type"), "transcript" if moved else ""
    if kind == "single_turn" and given:
        moved[chosen], decision = row[chosen], "transcript"
    if kind in ("multi_turn", "agentic") and row.get("output") is not None:
        moved["output"], decision = row["output"], decision or "output"
    needed = {"output" if name == "output" else "transcript" for name in moved}
    if not needed <= facts.decisions:
        raise Refused(decision)
    left = {
        "messages" if name == chosen else name: value
        for name, value in row.items()
        if name not in moved and (name not in names or name == chosen)
    }
    return left, moved


def _decide_ids(row: Row, facts: Facts) -> None:
    if facts.evaluation_id is not None and row.get("evaluation_id") != facts.evaluation_id:
        if "evaluation-id" not in facts.decisions:
            raise Refused("evaluation-id")
        if "evaluation_id" in row:
            row["evaluation_id"] = facts.evaluation_id
    ids = facts.result_ids.get(str(row.get("evaluation_name")), [])
    is_decided = "result-id" in facts.decisions and row.get("evaluation_result_id") is None
    if is_decided and len(ids) == 1 and isinstance(ids[0], str):
        row["evaluation_result_id"] = ids[0]


def _keep(row: Row, moved: Row) -> None:
    """Keep members as texts in `metadata`."""
    if not moved:
        return
    metadata = row.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise Refused("metadata")
    kept = {f"migrated.{name}": text_of(value) for name, value in moved.items()}
    if metadata and kept.keys() & metadata.keys():
        raise Refused("taken")
    row["metadata"] = {**(metadata or {}), **kept}


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    """Make texts of the members of a map; null says as much as no member."""
    if not isinstance(value, dict):
        return value
    return {name: text_of(member) for name, member in value.items() if member is not None}


def _with(**changes: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a change of some members of an object; what is not an object stays."""

    def changed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            name: changes[name](member) if name in changes else member
            for name, member in value.items()
        }

    return changed


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: list(map(change, value)) if isinstance(value, list) else value


def _turn(value: Any) -> Any:
    old, new = TURNS
    if isinstance(value, str) and value.startswith(old):
        return new + value.removeprefix(old)
    return value


def _number(value: Any) -> Any:
    return Number(str(int(value))) if isinstance(value, bool) else value


def _digest(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    plain = DIGEST.fullmatch(value)
    return plain[1].lower() if plain else value


_MEMBERS: dict[str, Callable[[Any], Any]] = {
    "sample_id": lambda value: write(value) if isinstance(value, Number) else value,
    "input": _with(reference=_listed),
    "output": _with(raw=_listed, reasoning_trace=_listed),
    "messages": _each(_with(tool_calls=_each(_with(arguments=_texts)), tool_call_id=_listed)),
    "answer_attribution": _each(_with(source=_turn)),
    "evaluation": _with(score=_number),
    "sample_hash": _digest,
    "performance": _with(additional_details=_texts),
    "metadata": _texts,
}
