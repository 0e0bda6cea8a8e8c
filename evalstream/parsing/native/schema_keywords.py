"""The demands of those keywords of a JSON Schema that the scanner's tables can express."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final

from evalstream.model.data_class import NamedTuple

Schema = Mapping[str, Any]

KINDS: Final = {
    "null": 1,
    "boolean": 2,
    "integer": 4,
    "number": 4 | 8,
    "string": 16,
    "array": 32,
    "object": 64,
}
_ANY: Final = ("null", "boolean", "number", "string", "array", "object")
ANNOTATIONS: Final = frozenset(
    {
        "$schema", "$id", "$comment", "$defs", "definitions", "version", "title", "description",
        "default", "examples", "deprecated", "readOnly", "writeOnly",
    }
)  # fmt: skip
_NULL: Final = {"type": "null"}


class NotTabled(Exception):
    """The schema demands something that no table can say."""


class Discriminator(NamedTuple):
    """The one member that conditions of a schema may depend on, and the values that they name."""

    member: str
    values: Sequence[str]


def says_nothing(node: Any) -> bool:
    """Tell whether a schema demands nothing."""
    return isinstance(node, Mapping) and set(node) <= ANNOTATIONS


def read_choices(node: Schema, path: str) -> list[str]:
    """Return the texts that a schema lists; it may list null beside them."""
    if "enum" not in node:
        return []
    listed = node["enum"]
    texts = [text for text in listed if isinstance(text, str)]
    others = [other for other in listed if other is not None and not isinstance(other, str)]
    # Of 1.0 it would not be known whether it has a wrong type, too.
    takes_integers_alone = read_kinds(node, path) & KINDS["number"] == KINDS["integer"]
    if not texts or others or takes_integers_alone:
        raise NotTabled(path)
    return texts


def read_least(node: Schema, path: str) -> float:
    """Return the least number that a schema accepts, 0 if it names none."""
    least = node.get("minimum", 0)
    if isinstance(least, bool) or not isinstance(least, (int, float)) or abs(least) > 1 << 53:
        raise NotTabled(path)
    return float(least)


def read_kinds(node: Schema, path: str) -> int:
    """Return the kinds of value that a schema allows, as bits; all of them if it names none."""
    kinds = node.get("type", _ANY)
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(kinds, (list, tuple)) or not {*kinds} <= KINDS.keys():
        raise NotTabled(path)
    return reduce(or_, (KINDS[kind] for kind in kinds), 0)


def merge_alternatives(node: Schema, path: str) -> Schema:
    """Return alternatives as one schema; no value may fit two, nor a word be in two but `type`."""
    branches = node["oneOf"]
    if not all(isinstance(branch, Mapping) and "type" in branch for branch in branches):
        raise NotTabled(path)
    kinds = [read_kinds(branch, path) for branch in branches]
    words = [word for branch in branches for word in {*branch} - ANNOTATIONS - {"type"}]
    if set(node) - ANNOTATIONS != {"oneOf"} or len(words) != len({*words}):
        raise NotTabled(path)
    if sum(kinds) != reduce(or_, kinds, 0):
        raise NotTabled(path)
    merged: dict[str, Any] = {}
    for branch in branches:
        merged |= branch
    return {**merged, "type": [name for name, kind in KINDS.items() if kind & sum(kinds) == kind]}


def read_conditions(
    schema: Schema, discriminator: Discriminator
) -> Iterator[tuple[str, str, bool | None]]:
    """Read the conditions: `if` the discriminator has one of some values, `then` what holds.

    Each is a value, a member, and whether it must be there or must not; None where a demand is
    undecided if the member is there. The schema must demand one of the values of every row.
    """
    conditions = schema.get("allOf", ())
    if not conditions:
        return
    known = schema.get("properties", {})
    node = known.get(discriminator.member)
    listed = node.get("enum", ()) if isinstance(node, Mapping) else ()
    if discriminator.member not in schema.get("required", ()) or not listed:
        raise NotTabled(discriminator.member)
    if not {*listed} <= {*discriminator.values}:
        raise NotTabled(discriminator.member)
    for condition in conditions:
        if not isinstance(condition, Mapping) or set(condition) - ANNOTATIONS != {"if", "then"}:
            raise NotTabled("allOf")
        demanded = list(_read_demands(condition["then"], known))
        for value in _values(condition["if"], discriminator):
            for member, is_wanted in demanded:
                yield value, member, is_wanted


def _values(node: Schema, discriminator: Discriminator) -> Sequence[str]:
    if not isinstance(node, Mapping) or set(node) != {"properties"}:
        raise NotTabled("if")
    if set(node["properties"]) != {discriminator.member}:
        raise NotTabled("if")
    (wanted,) = node["properties"].values()
    if not isinstance(wanted, Mapping) or set(wanted) not in ({"const"}, {"enum"}):
        raise NotTabled("if")
    values: Sequence[str] = [wanted["const"]] if "const" in wanted else wanted["enum"]
    if not {*values} <= {*discriminator.values}:
        raise NotTabled("if")
    return values


def _read_demands(node: Schema, known: Schema) -> Iterator[tuple[str, bool | None]]:
    """Read what `then` demands of members; of one that the schema does not know it is undecided."""
    if not isinstance(node, Mapping) or set(node) - ANNOTATIONS - {"required", "properties"}:
        raise NotTabled("then")
    present = set()
    for member, inner in node.get("properties", {}).items():
        if member not in known:
            yield member, None
            continue
        kinds = read_kinds(inner, member) if isinstance(inner, Mapping) and "type" in inner else 0
        others = set(inner) - ANNOTATIONS - {"type"}
        if kinds == KINDS["null"] and not others:
            yield member, False
        elif inner.get("not", _NULL) == _NULL and others <= {"not"}:
            own = read_kinds(known[member], member) if isinstance(known[member], Mapping) else 0
            if own & ~KINDS["null"] != kinds or kinds & (kinds - 1):
                raise NotTabled("then")
            present.add(member)
            yield member, True
        else:
            raise NotTabled("then")
    if not set(node.get("required", ())) <= present:
        raise NotTabled("then")
