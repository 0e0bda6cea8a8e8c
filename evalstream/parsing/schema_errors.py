"""Schema errors as data that does not depend on a library, and their position in a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

from evalstream.model.data_class import NamedTuple
from evalstream.model.signals import STOPPING
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
    """Return the path of the values that a route validates, 0 for indices, None for several."""
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


class Validator(Protocol):
    """A compiled schema.

    `accepts` returns True only if a value is valid and contains no infinite number; `fits` requires
    a value without infinite numbers.
    """

    @property
    def accepts(self) -> Callable[[Any], bool]:
        """The fast check of a value."""

    def fits(self, value: Any) -> bool:
        """Tell whether a value without infinite numbers is valid. Raises RecursionError."""

    def errors(self, value: Any) -> Iterable[SchemaError]:
        """Return all errors of `value`. Raises RecursionError as above."""


PART: Final = 500
"""Number of list elements validated together; a validator returns all errors at once."""


def error_parts(validator: Validator, value: Any) -> Iterator[list[SchemaError]]:
    """Yield all errors of a document against a schema of the package, part by part.

    The elements of long lists are validated in parts. This gives the same errors, because our
    schemas require nothing of a document's lists as a whole but that they are not empty. Raises
    Stopped between two parts.
    """
    members = value.items() if isinstance(value, dict) else ()
    long = {key: inner for key, inner in members if isinstance(inner, list) and len(inner) > PART}
    first = {**value, **{key: inner[:PART] for key, inner in long.items()}} if long else value
    yield list(validator.errors(first))
    for key, inner in long.items():
        for start in range(PART, len(inner), PART):
            STOPPING.check()
            errors = validator.errors({key: inner[start : start + PART]})
            inside = (one for one in errors if len(one.path) > 1 and one.path[0] == key)
            yield [_shift(error, start) for error in inside]


def _shift(error: SchemaError, by: int) -> SchemaError:
    """Change the position of an error from a part of a list to the whole list."""
    key, index, *rest = error.path
    if not isinstance(index, int):
        return error
    variants = tuple(tuple(_shift(inner, by) for inner in branch) for branch in error.variants)
    return error._replace(path=(key, index + by, *rest), variants=variants)
