"""Schemas as tables: what they can say, and that they refuse the rest."""

import struct
from typing import Any

import pytest
from fast_rows import SLOTS_WITHOUT_USE

from evalstream.formats.eee import row_view, versions
from evalstream.parsing.native import binding, schema_tables
from evalstream.parsing.native.schema_tables import NotTabled, pinned, tables_of
from evalstream.parsing.schema_files import builtin_schema


@pytest.mark.parametrize("version", versions.INSTANCE_VERSIONS)
def test_what_is_looked_at_is_there_in_every_version(version: str) -> None:
    schema = builtin_schema(versions.instance_schema_name(version))
    slots = binding.slots()
    aliases = {row_view.transcript_key(version): "turns"}
    packed = tables_of(schema, slots, "interaction_type", aliases)
    nodes = struct.Struct(schema_tables._NODE.format).iter_unpack(packed.nodes)
    unused = {*slots} - {slots[node[7]] for node in nodes if node[7] >= 0}
    assert unused == SLOTS_WITHOUT_USE.get(version, set())
    assert packed.wanted == (1 << slots.index("output"), *2 * [1 << slots.index("turns")])
    assert packed.unwanted == (1 << slots.index("turns"), *2 * [1 << slots.index("output")])


@pytest.mark.parametrize("version", versions.INSTANCE_VERSIONS)
def test_what_arrays_hold_is_never_left_out(version: str) -> None:
    properties = builtin_schema(versions.instance_schema_name(version))["properties"]
    turns = properties.get("messages", properties.get("interactions"))["items"]
    answers = properties["answer_attribution"]["items"]
    # What is not there would be what it was in the turn, the call or the answer before.
    assert {"turn_idx", "role"} <= {*turns["required"]}
    assert "id" in turns["properties"]["tool_calls"]["items"]["required"]
    assert {"turn_idx", "source", "is_terminal"} <= {*answers["required"]}
    assert ("messages" in properties) != ("interactions" in properties)


BASE: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "null"}},
}


def with_member(node: Any) -> dict[str, Any]:
    """Return what a schema with one more member differs in."""
    return {"properties": {**BASE["properties"], "y": node}}


def demanding(condition: Any, then: Any, **more: Any) -> dict[str, Any]:
    """Return what a schema with a condition differs in."""
    return {"allOf": [{"if": {"properties": condition}, "then": then, **more}]}


def tabled(schema: Any) -> Any:
    """Return the tables of a schema."""
    return tables_of(schema, ("kind", "x", "y"), "kind", {})


@pytest.mark.parametrize(
    "change",
    [
        {"required": []},
        {"patternProperties": {}},
        {"minProperties": 1},
        {"required": ["kind", "z"]},
        {"properties": {**BASE["properties"], "kind": {"type": "string"}}},
        with_member({"type": "string", "minLength": 1}),
        with_member({"type": "integer", "maximum": 1}),
        with_member({"type": "integer", "exclusiveMinimum": 1}),
        with_member({"type": "integer", "enum": [1]}),
        with_member({"type": ["string", "null"], "enum": ["a", None]}),
        with_member({"type": "string", "enum": ['"']}),
        with_member({"type": "string", "enum": ["\\"]}),
        with_member({"type": "string", "enum": ["\u00fc"]}),
        with_member({"type": "object", "required": ["z"]}),
        with_member({"type": "object", "additionalProperties": False}),
        with_member({"type": "array", "items": {"type": "string", "pattern": "a"}}),
        with_member({"type": "array", "minItems": 1}),
        with_member({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
        with_member({"oneOf": [{"type": "string"}, {"type": "string"}]}),
        with_member({"oneOf": [{"type": "string"}], "type": "string"}),
        with_member({"oneOf": [{"type": "integer", "minimum": 1}, {"type": "null", "minimum": 2}]}),
        with_member({"anyOf": [{"type": "string"}]}),
        with_member({"$ref": "#/properties/x"}),
        with_member({"not": {"type": "string"}}),
        with_member({"const": "a"}),
        with_member({"type": "object", "properties": {f"{place}": {} for place in range(65)}}),
        demanding({"kind": {"const": "a"}}, {}, **{"else": {}}),
        demanding({"x": {"const": "a"}}, {}),
        demanding({"kind": {"pattern": "a"}}, {}),
        demanding({"kind": {"const": "a"}, "x": {"const": "a"}}, {}),
        demanding({"kind": {"const": "c"}}, {"properties": {"x": {"type": "null"}}}),
        demanding({"kind": {"const": "a"}}, {"properties": {"x": {"type": "string"}}}),
        demanding({"kind": {"const": "a"}}, {"properties": {"x": {"type": "null", "minimum": 1}}}),
        demanding({"kind": {"const": "a"}}, {"required": ["x"]}),
        demanding({"kind": {"const": "a"}}, {"minProperties": 1}),
    ],
)  # fmt: skip
def test_a_schema_that_no_table_can_say_is_refused(change: dict[str, Any]) -> None:
    tabled(BASE)
    with pytest.raises(NotTabled):
        tabled({**BASE, **change})


@pytest.mark.parametrize(
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
        tables_of({**schema, **demanding({"kind": {"const": "a"}}, _THEN)}, ("kind",), "kind", {})


_THEN = {"properties": {"x": {"type": "null"}}}


def test_a_member_can_be_pinned() -> None:
    schema = pinned(BASE, "kind", ["b"])
    assert schema["properties"]["kind"] == {"type": "string", "enum": ["b"]}
    assert BASE["properties"]["kind"]["enum"] == ["a", "b"]
    assert len(tabled(schema).wanted) == 1
