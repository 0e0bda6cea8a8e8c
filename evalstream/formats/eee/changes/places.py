"""The places of rows and aggregates: what `migrate` and `fix` do with each of their values."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.changes.supplied import EVALUATION_ID, MIGRATED, VERSION
from evalstream.formats.eee.row_view import SINGLE_TURN, TRANSCRIPT_TYPES
from evalstream.model.data_class import replace
from evalstream.parsing.json import resolve
from evalstream.parsing.json_tree import JsonType
from evalstream.parsing.reshape import Action, Place, Probe, RowPlace, Test
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.base import RepairAction

TO_TEXT: Final[Mapping[JsonType, Action]] = {
    kind: Action.TEXT for kind in JsonType if kind is not JsonType.TEXT
}
"""Text of every value."""

IN_MAP: Final[Mapping[JsonType, Action]] = {**TO_TEXT, JsonType.NULL: Action.DROP}
"""Text of every value in a map of strings, where null says as much as no member."""

Schema = Mapping[str, Any]


def _derive_place(name: str) -> Place:
    """Return the place of a whole document, from the name of its schema."""
    schema = builtin_schema(name)
    return _place_of(schema, schema, "", optional=False)


def _place_of(whole: Schema, schema: Schema, pointer: str, *, optional: bool) -> Place:
    """Return the place of a value that a part of a whole schema describes.

    Null in an optional member that may not be null is dropped, and so is null in a map of strings;
    other values in such a map become text.
    """
    variants = list(_iterate_variants(whole, schema))
    actions: dict[JsonType, Action] = {}
    if optional and not any(map(_allows_null, variants)):
        actions[JsonType.NULL] = Action.DROP
    members: dict[str, Place] = {}
    others = items = None
    for variant in variants:
        required, below = variant.get("required", ()), f"{pointer}/*"
        own = {
            name: _place_of(whole, inner, f"{pointer}/{name}", optional=name not in required)
            for name, inner in variant.get("properties", {}).items()
        }
        members = own | members
        more, listed = variant.get("additionalProperties"), variant.get("items")
        if others is None and isinstance(more, Mapping) and _types(more) == ["string"]:
            others = Place(below, IN_MAP)
        if items is None and isinstance(listed, Mapping):
            items = _place_of(whole, listed, below, optional=False)
    closed = any(variant.get("additionalProperties") is False for variant in variants)
    return Place(pointer, actions, members, others, items, closed=closed)


def _iterate_variants(whole: Schema, schema: Schema) -> Iterator[Schema]:
    if "$ref" in schema:
        schema = resolve(whole, schema["$ref"].removeprefix("#/").split("/"))
    if "oneOf" not in schema:
        yield schema
    for alternative in schema.get("oneOf", ()):
        yield from _iterate_variants(whole, alternative)


def _allows_null(schema: Schema) -> bool:
    types = _types(schema)
    return "null" in types or (not types and None in schema.get("enum", (None,)))


def _types(schema: Schema) -> Sequence[str]:
    types = schema.get("type", ())
    return [types] if isinstance(types, str) else list(types)


OLD_TRANSCRIPT: Final = "interactions"
NEW_TRANSCRIPT: Final = "messages"

REPAIRS: Final = {Action.DROP: RepairAction.DROP_NULL, Action.TEXT: RepairAction.WRITE_TEXT}
"""The repairs that consist of what follows from a schema.

In a map of strings both are part of writing text.
"""

MEMBER_REPAIRS: Final[Mapping[RepairAction, tuple[str, Mapping[JsonType, Action]]]] = {
    RepairAction.WRITE_PLAIN_SAMPLE_HASH: ("sample_hash", {JsonType.TEXT: Action.DIGEST})
}
"""The repairs of a member of all rows: its name, and what becomes of values of some types."""

METADATA: Final = "metadata"
KEPT_ID: Final = f"{MIGRATED}evaluation_id"


def migration_place(
    target: str, evaluation_id: str | None, *, sets_id: bool, keeps_hash: bool = True
) -> RowPlace:
    """Return the place of rows that are migrated to a version with the transcript in `messages`.

    Rows whose evaluation_id is not `evaluation_id`, if it is known, get it with `sets_id`, and are
    left to the exact path without. Without `keeps_hash` the caller sees to sample_hash. Rows of
    unknown versions, with two transcripts, with a transcript or an output where their type has
    none, or with members that the target does not know go to the exact path.
    """
    place = base = _schema_place(target, keeps_hash=keeps_hash)
    exact = _MISPLACED
    if evaluation_id is not None and sets_id:
        place = replace(base, members=_with_evaluation_id(base.members, evaluation_id))
    elif evaluation_id is not None:
        exact += ((Probe("evaluation_id", Test.DIFFERS, evaluation_id),),)
    return RowPlace(place, exact, base)


@lru_cache(maxsize=8)
def _schema_place(target: str, *, keeps_hash: bool) -> Place:
    place = _derive_place(versions.instance_schema_name(target))
    for path, kind, action in _ROW_ACTIONS:
        if keeps_hash or action is not Action.DIGEST:
            place = _acting_below(place, path, {kind: action})
    # Turns are alike under both keys.
    turns = place.members[NEW_TRANSCRIPT]
    moved = _move_place(turns, turns.pointer, f"/{OLD_TRANSCRIPT}")
    return _with_members(
        place,
        {
            "schema_version": _set_version(place, target),
            OLD_TRANSCRIPT: replace(moved, name=NEW_TRANSCRIPT),
        },
    )


_ROW_ACTIONS: Final = (
    (("sample_id",), JsonType.NUMBER, Action.TEXT),
    (("input", "reference"), JsonType.TEXT, Action.LIST),
    (("output", "raw"), JsonType.TEXT, Action.LIST),
    (("output", "reasoning_trace"), JsonType.TEXT, Action.LIST),
    (("evaluation", "score"), JsonType.BOOLEAN, Action.NUMBER),
    ((NEW_TRANSCRIPT, "*", "tool_call_id"), JsonType.TEXT, Action.LIST),
    (("answer_attribution", "*", "source"), JsonType.TEXT, Action.TURN),
    (("sample_hash",), JsonType.TEXT, Action.DIGEST),
)
"""Actions on values of a type in the rows of a migration, beside those that its schema gives."""


_MISPLACED: Final[tuple[tuple[Probe, ...], ...]] = (
    tuple(Probe("schema_version", Test.DIFFERS, form) for form in sorted(versions.KNOWN_VERSIONS)),
    (Probe(OLD_TRANSCRIPT, Test.PRESENT), Probe(NEW_TRANSCRIPT, Test.PRESENT)),
    *(
        (Probe("interaction_type", Test.EQUALS, SINGLE_TURN), Probe(name, Test.NOT_NULL))
        for name in (OLD_TRANSCRIPT, NEW_TRANSCRIPT)
    ),
    *(
        (Probe("interaction_type", Test.EQUALS, name), Probe("output", Test.NOT_NULL))
        for name in TRANSCRIPT_TYPES
    ),
)
"""Rows of unknown versions, and what a version with one transcript per row has no place for."""


def _with_evaluation_id(members: Mapping[str, Place], evaluation_id: str) -> dict[str, Place]:
    """Return the places of members of a row that gets an evaluation_id and keeps its own."""
    own = replace(
        members["evaluation_id"],
        actions=dict.fromkeys(JsonType, Action.SET),
        constant=json.dumps(evaluation_id, ensure_ascii=False),
        kind=EVALUATION_ID,
        is_kept=True,
    )
    metadata = replace(members[METADATA], keeps=json.dumps(KEPT_ID))
    return {**members, "evaluation_id": own, METADATA: metadata}


def other_ids(evaluation_id: str, foreign_id: str) -> tuple[Probe, ...]:
    """Return the tests of rows that have neither the one evaluation_id nor the other."""
    known = sorted({evaluation_id, foreign_id})
    return tuple(Probe("evaluation_id", Test.DIFFERS, one) for one in known)


def repair_place(
    version: str,
    repairs: Collection[RepairAction],
    evaluation_id: str | None,
    *,
    annotated: bool = False,
) -> RowPlace:
    """Return the place of rows of a version that keep it, for the repairs that are to be made.

    With `evaluation_id` each row gets that id, and with `annotated` the plain number of the
    version. Rows that declare their version otherwise go to the exact path.
    """
    place = _kept_place(version, frozenset(repairs))
    members = dict(place.members)
    number = version.partition("+")[0]
    if annotated and RepairAction.WRITE_PLAIN_VERSION in repairs:
        members["schema_version"] = _set_version(place, number)
    for repair, (name, actions) in MEMBER_REPAIRS.items():
        if repair in repairs:
            members[name] = _acting(members[name], actions)
    if evaluation_id is not None:
        members = _with_evaluation_id(members, evaluation_id)
    exact = ((Probe("schema_version", Test.DIFFERS, number),),)
    return RowPlace(replace(place, members=members, closed=False), exact, place)


@lru_cache(maxsize=32)
def _kept_place(version: str, repairs: frozenset[RepairAction]) -> Place:
    """Return the place of all rows of a version for these repairs."""
    return only(_derive_place(versions.instance_schema_name(version)), repairs)


def only(place: Place, repairs: Collection[RepairAction], *, in_map: bool = False) -> Place:
    """Leave out the actions of other repairs."""
    actions = {
        kind: action
        for kind, action in place.actions.items()
        if (RepairAction.WRITE_TEXT if in_map else REPAIRS[action]) in repairs
    }
    return replace(
        place,
        actions=actions,
        members={name: only(inner, repairs) for name, inner in place.members.items()},
        others=place.others and only(place.others, repairs, in_map=True),
        items=place.items and only(place.items, repairs),
    )


def _set_version(place: Place, version: str) -> Place:
    """Return the version of a place, set whatever it is, unless it is written alike."""
    actions, own = dict.fromkeys(JsonType, Action.SET), place.members["schema_version"]
    return replace(own, actions=actions, constant=json.dumps(version), kind=VERSION)


def _acting(place: Place, actions: Mapping[JsonType, Action]) -> Place:
    return replace(place, actions={**place.actions, **actions})


def _with_members(place: Place, members: Mapping[str, Place]) -> Place:
    return replace(place, members={**place.members, **members})


def _move_place(place: Place, old: str, new: str) -> Place:
    def move_inner(inner: Place | None) -> Place | None:
        return inner and _move_place(inner, old, new)

    return replace(
        place,
        pointer=new + place.pointer.removeprefix(old),
        members={name: _move_place(inner, old, new) for name, inner in place.members.items()},
        others=move_inner(place.others),
        items=move_inner(place.items),
    )


RESULT: Final = ("evaluation_results", "*")
SAMPLE_IDS: Final = (*RESULT, "source_data", "sample_ids", "*")
STEPS: Final = (*RESULT, "generation_config", "generation_args", "eval_plan", "steps", "*")


@lru_cache(maxsize=8)
def aggregate_migration_place(target: str) -> Place:
    """Return the place of an aggregate that is migrated to a version."""
    place = _derive_place(versions.aggregate_schema_name(target))
    place = _with_members(place, {"schema_version": _set_version(place, target)})
    place = _acting_below(place, SAMPLE_IDS, {JsonType.NUMBER: Action.TEXT})
    return _acting_below(place, STEPS, TO_TEXT)


@lru_cache(maxsize=32)
def aggregate_repair_place(version: str, repairs: Collection[RepairAction]) -> Place:
    """Return the place of an aggregate of a version, for the repairs that are to be made."""
    return only(_derive_place(versions.aggregate_schema_name(version)), repairs)


def _acting_below(place: Place, path: tuple[str, ...], actions: Mapping[JsonType, Action]) -> Place:
    if not path:
        return _acting(place, actions)
    first, *rest = path
    if first == "*":
        return replace(place, items=_acting_below(place.items or Place(), tuple(rest), actions))
    inner = _acting_below(place.members[first], tuple(rest), actions)
    return _with_members(place, {first: inner})
