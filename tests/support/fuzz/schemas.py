"""JSON Schemas that users may give: small ones, built-in ones, and built-in ones with changes."""

import copy
import json
import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from rows import Place

from evalstream.formats.eee import versions
from evalstream.parsing.schema_files import builtin_schema

_SMALL: Final = (
    {"type": "object"},
    {},
    True,
    {"required": ["sample_id"], "properties": {"sample_id": {"type": "string"}}},
    {"type": "object", "properties": {"evaluation": {"properties": {"score": {"maximum": 1}}}}},
    {"type": "object", "additionalProperties": False, "properties": {"schema_version": True}},
    {"properties": {"model_id": {"pattern": "/"}, "sample_hash": {"minLength": 64}}},
    {"additionalProperties": {"type": ["string", "object", "array", "number", "null"]}},
    {"properties": {"metadata": {"additionalProperties": {"required": ["a"]}}}},
    {"$ref": "#/$defs/row", "$defs": {"row": {"required": ["input", "score"]}}},
    {"type": "array"},
    {"properties": {"error": False, "performance": {"type": "object", "required": ["latency_ms"]}}},
)
_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")


def some_schema(chance: random.Random) -> tuple[str, list[Place]]:
    """Return a schema as a text, and the places of a row that it judges in another way."""
    if chance.random() < 0.25:
        return json.dumps(chance.choice(_SMALL)), []
    schema = copy.deepcopy(_builtin(chance.choice(versions.INSTANCE_VERSIONS)))
    places = [_change(schema, chance) for _ in range(chance.choice((0, 1, 2, 4)))]
    return json.dumps(schema), [place for place in places if place]


@lru_cache(maxsize=8)
def _builtin(version: str) -> Any:
    """Return a built-in schema without its descriptions."""

    def bare(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: bare(inner) for key, inner in node.items() if key != "description"}
        return [bare(inner) for inner in node] if isinstance(node, list) else node

    return bare(builtin_schema(versions.instance_schema_name(version)))


def _nodes(node: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Iterate over a schema and all schemas in it, conditions aside, with their places in a row."""
    if not isinstance(node, dict):
        return
    yield place, node
    for name, inner in node.get("properties", {}).items():
        yield from _nodes(inner, (*place, name))
    yield from _nodes(node.get("items"), (*place, 0))
    yield from _nodes(node.get("additionalProperties"), (*place, "epoch"))


def _change(schema: Any, chance: random.Random) -> Place:
    """Change one of the schemas in a schema, and return its place in a row."""
    place, node = chance.choice([*_nodes(schema)])
    names = [*node.get("properties", {}), "sample_id", "score", "x", "a/b", "epoch"]
    changes: tuple[dict[str, Any], ...] = (
        {"type": chance.choice(_TYPES)},
        {"type": chance.sample(_TYPES, 3)},
        {"additionalProperties": chance.random() < 0.5},
        {"additionalProperties": {"type": chance.sample(_TYPES, 3)}},
        {"additionalProperties": {"type": "object", "required": ["a"], "properties": {"a": {}}}},
        {"required": chance.sample(names, min(len(names), 3))},
        {"minimum": chance.choice((0, 1, -1, 0.5, 3, 1e20))},
        {"enum": chance.sample(["5", "user", "tool", "single_turn", "", "a"], 3)},
        {"enum": ["5", None]},
        {"enum": [1, 0, "5"]},
        {"items": {"type": chance.sample(_TYPES, 2)}},
        {"items": {"enum": ["5", "six"]}},
        {"maximum": 5},
        {"minLength": 1},
        {"minItems": 1},
        {"const": "5"},
        {"title": "x", "default": 1, "examples": [2]},
        {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        {"oneOf": [{"type": "integer", "minimum": 2}, {"type": "string", "enum": ["5", "s1"]}]},
        {"$ref": "#/properties/sample_id"},
        {"not": {"type": "null"}},
    )
    chosen = chance.choice(changes)
    if "oneOf" in chosen or "$ref" in chosen:
        if node is schema:
            return place
        node.clear()
    node |= chosen
    if node.get("properties") and chance.random() < 0.3:
        name = chance.choice([*node["properties"]])
        node["properties"][name] = chance.choice((True, False, {}, {"type": "string"}))
        place = (*place, name)
    return place
