"""Schemas as tables: what they can say, and that they refuse the rest."""

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from each import each

from evalstream.formats.eee import row_view, versions
from evalstream.parsing.native import binding, schema_tables
from evalstream.parsing.native.schema_keywords import Discriminator, NotTabled
from evalstream.parsing.native.schema_tables import build_tables
from evalstream.parsing.schema_files import builtin_schema


@each("version", versions.INSTANCE_VERSIONS)
def test_what_is_looked_at_is_there_in_every_version(version: str) -> None:
    schema = builtin_schema(versions.instance_schema_name(version))
    slots = binding.slots()
    aliases = {row_view.transcript_key(version): "turns"}
    types = Discriminator("interaction_type", row_view.INTERACTION_TYPES)
    packed = build_tables(schema, slots, types, aliases)
    nodes = struct.Struct(schema_tables._NODE.format).iter_unpack(packed.nodes)
    assert {*slots} == {slots[node[7]] for node in nodes if node[7] >= 0}
    assert packed.wanted == (1 << slots.index("output"), *2 * [1 << slots.index("turns")])
    assert packed.unwanted == (1 << slots.index("turns"), *2 * [1 << slots.index("output")])


@each("version", versions.INSTANCE_VERSIONS)
def test_shapes_decide_which_versions_fit(version: str) -> None:
    """Nothing but names, kinds, the type of interaction, and the side of 0 and 1 may matter."""
    schema = builtin_schema(versions.instance_schema_name(version))
    rest = {word: node for word, node in schema.items() if word != "allOf"}
    for path, node in nodes_of(rest):
        assert node.get("minimum", 0) in (0, 1)
        assert "enum" not in node or path == ("interaction_type",)
        assert {*node} <= schema_tables._UNDERSTOOD | {"oneOf"}


def nodes_of(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return a schema and those in it, by the names of members."""
    if not isinstance(node, dict):
        return
    yield path, node
    for name, inner in node.get("properties", {}).items():
        yield from nodes_of(inner, (*path, name))
    for inner in (node.get("items"), node.get("additionalProperties"), *node.get("oneOf", ())):
        yield from nodes_of(inner, (*path, "*"))


BASE: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "null"}},
}


KINDS = Discriminator("kind", ("a", "b"))


def with_member(node: Any) -> dict[str, Any]:
    """Return what a schema with one more member differs in."""
    return {"properties": {**BASE["properties"], "y": node}}


def demanding(condition: Any, then: Any, **more: Any) -> dict[str, Any]:
    """Return what a schema with a condition differs in."""
    return {"allOf": [{"if": {"properties": condition}, "then": then, **more}]}


def tabled(schema: Any) -> Any:
    """Return the tables of a schema."""
    return build_tables(schema, ("kind", "x", "y"), KINDS, {})


@each(
    "change",
    [
        {"patternProperties": {}},
        {"minProperties": 1},
        with_member({"type": "string", "minLength": 1}),
        with_member({"type": "integer", "maximum": 1}),
        with_member({"type": "integer", "exclusiveMinimum": 1}),
        with_member({"type": "integer", "enum": [1]}),
        with_member({"type": "string", "enum": ['"']}),
        with_member({"type": "string", "enum": ["\\"]}),
        with_member({"type": "string", "enum": ["\u00fc"]}),
        with_member({"type": "array", "items": {"type": "string", "pattern": "a"}}),
        with_member({"type": "array", "minItems": 1}),
        with_member({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
        with_member({"oneOf": [{"type": "string"}, {"type": "string"}]}),
        with_member({"oneOf": [{"type": "string"}], "type": "string"}),
        with_member({"oneOf": [{"type": "integer", "minimum": 1}, {"type": "null", "minimum": 2}]}),
        with_member({"anyOf": [{"type": "string"}]}),
        with_member({"$ref": "#/properties/y"}),
        with_member({"$ref": "#/nowhere"}),
        with_member({"$ref": "other.json"}),
        with_member({"$ref": "#/properties/x", "type": "null"}),
        with_member({"$id": "other.json", "type": "null"}),
        with_member({"not": {"type": "string"}}),
        with_member(False),
        with_member({"type": "integer", "minimum": 10**40}),
        with_member({"type": "integer", "minimum": True}),
        with_member({"type": ["string", "integer"], "enum": ["a"]}),
        with_member({"type": "unheard"}),
        with_member({"type": "array", "items": [{"type": "string"}]}),
        with_member({"const": "a"}),
        with_member({"type": "object", "properties": {f"{place}": {} for place in range(65)}}),
        demanding({"kind": {"const": "a"}}, {}, **{"else": {}}),
        {"required": [], **demanding({"kind": {"const": "a"}}, {})},
        {
            "properties": {"kind": {"type": "string", "enum": ["a", "b", "c"]}},
            **demanding({"kind": {"const": "a"}}, {}),
        },
        {"properties": {"kind": {"type": "string"}}, **demanding({"kind": {"const": "a"}}, {})},
        demanding({"x": {"const": "a"}}, {}),
        demanding({"kind": {"pattern": "a"}}, {}),
        demanding({"kind": {"const": "a"}, "x": {"const": "a"}}, {}),
        demanding({"kind": {"const": "c"}}, {"properties": {"x": {"type": "null"}}}),
        demanding({"kind": {"const": "a"}}, {"properties": {"x": {"type": "string"}}}),
        demanding({"kind": {"const": "a"}}, {"properties": {"x": {"type": "null", "minimum": 1}}}),
        {
            **with_member({"type": ["string", "null"]}),
            **demanding(
                {"kind": {"const": "a"}}, {"properties": {"y": {"type": "string", "minLength": 1}}}
            ),
        },
        demanding({"kind": {"const": "a"}}, {"required": ["x"]}),
        demanding({"kind": {"const": "a"}}, {"minProperties": 1}),
    ],
)  # fmt: skip
def test_a_schema_that_no_table_can_say_is_refused(change: dict[str, Any]) -> None:
    tabled(BASE)
    with pytest.raises(NotTabled):
        tabled({**BASE, **change})


@each(
    ("condition", "wanted", "unwanted"),
    [
        ({"properties": {"x": {"type": "null"}}}, (0, 0), (2, 0)),
        ({"properties": {"y": {"type": "string", "not": {"type": "null"}}}}, (4, 0), (0, 0)),
        ({"required": ["y"], "properties": {"y": {"type": "string"}}}, (4, 0), (0, 0)),
        ({"properties": {"unheard_of": {"type": "string"}}}, (0, 0), (0, 0)),
    ],
)
def test_conditions_are_demands(condition: Any, wanted: Any, unwanted: Any) -> None:
    schema = {**BASE, **with_member({"type": ["string", "null"]})}
    found = tabled({**schema, **demanding({"kind": {"const": "a"}}, condition)})
    assert (found.wanted, found.unwanted) == (wanted, unwanted)
    found = tabled({**schema, **demanding({"kind": {"enum": ["a", "b"]}}, condition)})
    assert (found.wanted, found.unwanted) == (2 * wanted[:1], 2 * unwanted[:1])
    with pytest.raises(NotTabled):
        build_tables({**schema, **demanding({"kind": {"const": "a"}}, _THEN)}, ("kind",), KINDS, {})


_THEN = {"properties": {"x": {"type": "null"}}}


@each(
    "change",
    [
        {"required": []},
        {"required": ["kind", "z"]},
        {"properties": {**BASE["properties"], "kind": {"type": "string"}}},
        {"additionalProperties": False},
        {"type": ["object", "null"]},
        with_member({"type": ["string", "null"], "enum": ["a", None]}),
        with_member({"type": "object", "required": ["z"]}),
        with_member({"type": "object", "additionalProperties": False}),
        with_member({"type": "object", "additionalProperties": {"type": "string"}}),
        with_member({"$ref": "#/properties/x"}),
        with_member({"minimum": 3}),
        with_member({"enum": ["a"]}),
        with_member({"enum": ["a", None]}),
        with_member({"type": ["string", "number"], "enum": ["a"]}),
        with_member({}),
        with_member(True),
    ],
)
def test_a_schema_that_tables_can_say_is_taken(change: dict[str, Any]) -> None:
    assert tabled({**BASE, **change}).nodes
