"""Places that follow from a schema: what it does not allow, and how this is mended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.parsing.json_tree import JsonType
from evalstream.parsing.reshape import Action, Place

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
