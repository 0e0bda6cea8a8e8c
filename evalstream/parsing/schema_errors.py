"""One breach of a schema, as data that no longer depends on a library, and how to place it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from evalstream.parsing.json import resolve

Path_ = tuple[str | int, ...]

UNDECIDED: Final = "undecided pattern"
"""Stands for the keyword where a pattern took too many steps; the fault expects the pattern."""


class SchemaError(NamedTuple):
    """One breach of a schema, in the terms of the JSON Schema specification.

    `path` leads to the faulty value, `route` through the schema to the keyword. `expected`
    is the keyword's own payload (types, options, a limit), `member` the property that is
    missing or unknown. `optional` says that the value stands in a property that its object
    does not require. `variants` holds the faults in each branch of oneOf and anyOf, `known`
    the properties that an object with an unknown one may have.
    """

    path: Path_
    keyword: str
    route: Path_
    expected: Any
    found: Any
    member: str | None = None
    optional: bool = False
    variants: tuple[tuple[SchemaError, ...], ...] = ()
    known: tuple[str, ...] = ()

    def about(self, member: str, found: Any, known: tuple[str, ...] = ()) -> SchemaError:
        """Return the same fault, told of one missing or unknown member of the object."""
        return self._replace(member=member, found=found, known=known, expected=None, optional=False)


def path_of(route: Path_) -> Path_ | None:
    """Return the path of every value that a route judges, with 0 for indices.

    Return None where different values come under the route, or it is none through named
    properties, items and conditions alone.
    """
    path: list[str | int] = []
    steps = iter(route[:-1])
    for step in steps:
        if step == "properties":
            path.append(next(steps, ""))
        elif step == "items":
            path.append(0)
        elif step == "allOf":
            next(steps, None)
        elif step not in ("then", "else"):
            return None
    return tuple(path)


def payload_of(keyword: str, value: Any) -> Any:
    """Return a keyword's own value in one form, whichever library it comes from."""
    if keyword == "type":
        return [value] if isinstance(value, str) else sorted(value)
    return value


def is_optional(schema: Any, path: Path_) -> bool:
    """Tell whether the value at `path` stands in a property its object does not require."""
    if not path:
        return False
    owner = _node_at(schema, path[:-1])
    if path[-1] not in (resolve(owner, ("properties",)) or {}):
        return False
    return path[-1] not in (resolve(owner, ("required",)) or ())


def known_members(schema: Any, path: Path_) -> tuple[str, ...]:
    """Return the names of the properties that an object at `path` may have."""
    return tuple(resolve(_node_at(schema, path), ("properties",)) or ())


def _node_at(schema: Any, path: Path_) -> Any:
    """Walk through a schema's properties and items along the path of a value."""
    node = _dereferenced(schema, schema)
    for key in path:
        inner = resolve(node, ("properties", key)) if isinstance(key, str) else None
        if inner is None:
            keyword = "items" if isinstance(key, int) else "additionalProperties"
            inner = resolve(node, (keyword,))
        node = _dereferenced(schema, inner)
    return node


def _dereferenced(schema: Any, node: Any) -> Any:
    target = resolve(node, ("$ref",))
    if not isinstance(target, str) or not target.startswith("#/"):
        return node
    return resolve(schema, target.removeprefix("#/").split("/"))
