"""Schema errors of a large document in parts of its lists, with bounded memory and stoppable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evalstream.model.signals import STOPPING
from evalstream.parsing.json_schema import Validator
from evalstream.parsing.schema_errors import SchemaError

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
            yield [_shift(error, start) for error in errors if _is_inside(error, key)]


def _is_inside(error: SchemaError, key: str) -> bool:
    return len(error.path) > 1 and error.path[0] == key


def _shift(error: SchemaError, by: int) -> SchemaError:
    """Change the position of an error from a part of a list to the whole list."""
    key, index, *rest = error.path
    if not isinstance(index, int):
        return error
    variants = tuple(tuple(_shift(inner, by) for inner in branch) for branch in error.variants)
    return error._replace(path=(key, index + by, *rest), variants=variants)
