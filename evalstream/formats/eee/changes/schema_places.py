"""Places that follow from a schema: what it does not allow, and how this is mended."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.changes.kinds import VERSION
from evalstream.formats.eee.changes.row_places import only
from evalstream.model.data_class import replace
from evalstream.parsing.json_tree import JsonType
from evalstream.parsing.reshape import Action, Place
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.base import RepairAction

TO_TEXT: Final[Mapping[JsonType, Action]] = {
    kind: Action.TEXT for kind in JsonType if kind is not JsonType.TEXT
}
"""Text of every value."""

IN_MAP: Final[Mapping[JsonType, Action]] = {**TO_TEXT, JsonType.NULL: Action.DROP}
"""Text of every value in a map of strings, where null says as much as no member."""

Schema = Mapping[str, Any]


class SchemaPlaces:
    """Derives places from a schema.

    Null in an optional member that may not be null is dropped, and so is null in a map of strings;
    other values in such a map become text.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def root(self) -> Place:
        """Return the place of a whole document."""
        return self.place(self._schema, "", optional=False)

    def place(self, schema: Schema, pointer: str, *, optional: bool) -> Place:
        """Return the place of a value that a part of the schema describes."""
        variants = list(self._variants(schema))
        actions: dict[JsonType, Action] = {}
        if optional and not any(map(_allows_null, variants)):
            actions[JsonType.NULL] = Action.DROP
        members: dict[str, Place] = {}
        others = items = None
        for variant in variants:
            members = self._members(variant, pointer) | members
            others = others or self._others(variant, pointer)
            items = items or self._items(variant, pointer)
        closed = any(variant.get("additionalProperties") is False for variant in variants)
        return Place(pointer, actions, members, others, items, closed=closed)

    def _variants(self, schema: Schema) -> Iterator[Schema]:
        """Iterate over the alternatives of a part of the schema, references resolved."""
        reference = schema.get("$ref")
        if reference is not None:
            node: Any = self._schema
            for key in reference.removeprefix("#/").split("/"):
                node = node[key]
            schema = node
        alternatives = schema.get("oneOf")
        if alternatives is None:
            yield schema
            return
        for alternative in alternatives:
            yield from self._variants(alternative)

    def _members(self, schema: Schema, pointer: str) -> dict[str, Place]:
        required = schema.get("required", ())
        return {
            name: self.place(inner, f"{pointer}/{name}", optional=name not in required)
            for name, inner in schema.get("properties", {}).items()
        }

    def _others(self, schema: Schema, pointer: str) -> Place | None:
        others = schema.get("additionalProperties")
        if not isinstance(others, Mapping) or _types(others) != ["string"]:
            return None
        return Place(f"{pointer}/*", IN_MAP)

    def _items(self, schema: Schema, pointer: str) -> Place | None:
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return None
        return self.place(items, f"{pointer}/*", optional=False)


def _allows_null(schema: Schema) -> bool:
    types = _types(schema)
    return "null" in types or (not types and None in schema.get("enum", (None,)))


def _types(schema: Schema) -> Sequence[str]:
    types = schema.get("type", ())
    return [types] if isinstance(types, str) else list(types)


RESULT: Final = ("evaluation_results", "*")
SAMPLE_IDS: Final = (*RESULT, "source_data", "sample_ids", "*")
STEPS: Final = (*RESULT, "generation_config", "generation_args", "eval_plan", "steps", "*")


@lru_cache(maxsize=8)
def migration_place(target: str) -> Place:
    """Return the place of an aggregate that is migrated to a version."""
    place = SchemaPlaces(builtin_schema(versions.aggregate_schema_name(target))).root()
    number = Place(
        "/schema_version", dict.fromkeys(JsonType, Action.SET), constant=f'"{target}"', kind=VERSION
    )
    place = replace(place, members={**place.members, "schema_version": number})
    place = _acting(place, SAMPLE_IDS, {JsonType.NUMBER: Action.TEXT})
    return _acting(place, STEPS, TO_TEXT)


@lru_cache(maxsize=32)
def repair_place(version: str, repairs: Collection[RepairAction]) -> Place:
    """Return the place of an aggregate of a version, for the repairs that are to be made."""
    return only(
        SchemaPlaces(builtin_schema(versions.aggregate_schema_name(version))).root(), repairs
    )


def _acting(place: Place, path: tuple[str, ...], actions: Mapping[JsonType, Action]) -> Place:
    """Return a place with more actions at a path below it."""
    if not path:
        return replace(place, actions={**place.actions, **actions})
    first, *rest = path
    if first == "*":
        return replace(place, items=_acting(place.items or Place(), tuple(rest), actions))
    inner = _acting(place.members[first], tuple(rest), actions)
    return replace(place, members={**place.members, first: inner})
