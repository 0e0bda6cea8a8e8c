"""Schema errors as data that does not depend on a library, and their position in a schema."""

from __future__ import annotations

from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import resolve

Path_ = tuple[str | int, ...]

UNDECIDED: Final = "undecided pattern"
"""The keyword of an error whose pattern exceeded the step limit; `expected` is the pattern."""


class SchemaError(NamedTuple):
    """One schema error, in the terms of the JSON Schema specification.

    `path` leads to the invalid value, `route` through the schema to the keyword. `expected` is the
    keyword's value (types, options, a limit), `member` the property that is missing or unknown.
    `optional` means that the value is in a property that its object does not require. `variants`
    holds the errors in each branch of oneOf and anyOf, `known` the allowed properties of an object
    with an unknown one.
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

    @property
    def is_undecided(self) -> bool:
        """Whether a pattern exceeded the step limit."""
        return self.keyword == UNDECIDED

    def about(self, member: str, found: Any, known: tuple[str, ...] = ()) -> SchemaError:
        """Return the same error for one missing or unknown member of the object."""
        return self._replace(member=member, found=found, known=known, expected=None, optional=False)


def instance_path(route: Path_) -> Path_ | None:
    """Return the path of the values that a route validates, with 0 for indices.

    None where the route leads to values at different paths, or through other keywords than
    properties, items and conditions.
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


def keyword_payload(keyword: str, value: Any) -> Any:
    """Return a keyword's value in one form for all libraries."""
    if keyword == "type":
        return [value] if isinstance(value, str) else sorted(value)
    return value


def is_optional(schema: Any, path: Path_) -> bool:
    """Tell whether the value at `path` is in a property that its object does not require."""
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
    """Follow a schema's properties and items along the path of a value."""
    node = _dereference(schema, schema)
    for key in path:
        inner = resolve(node, ("properties", key)) if isinstance(key, str) else None
        if inner is None:
            keyword = "items" if isinstance(key, int) else "additionalProperties"
            inner = resolve(node, (keyword,))
        node = _dereference(schema, inner)
    return node


def _dereference(schema: Any, node: Any) -> Any:
    target = resolve(node, ("$ref",))
    if not isinstance(target, str) or not target.startswith("#/"):
        return node
    return resolve(schema, target.removeprefix("#/").split("/"))
