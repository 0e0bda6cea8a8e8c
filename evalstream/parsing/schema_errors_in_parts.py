"""What a schema says against a large document, list by list: in bounded memory, and stoppable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evalstream.model.signals import STOPPING
from evalstream.parsing.json_schema import Validator
from evalstream.parsing.schema_errors import SchemaError

PART: Final = 500
"""How many elements of a list are judged together; a validator says all at once."""


def error_parts(validator: Validator, value: Any) -> Iterator[list[SchemaError]]:
    """Give everything that a schema of ours says against a document, part by part.

    The elements of its long lists are judged some at a time, as what is said of one of them
    does not depend on the others: our schemas ask nothing of a document's lists as a whole but
    that they are not empty. Raises Stopped between two parts.
    """
    members = value.items() if isinstance(value, dict) else ()
    long = {key: inner for key, inner in members if isinstance(inner, list) and len(inner) > PART}
    first = {**value, **{key: inner[:PART] for key, inner in long.items()}} if long else value
    yield list(validator.faults(first))
    for key, inner in long.items():
        for start in range(PART, len(inner), PART):
            STOPPING.check()
            faults = validator.faults({key: inner[start : start + PART]})
            yield [_moved(fault, start) for fault in faults if _is_inside(fault, key)]


def _is_inside(fault: SchemaError, key: str) -> bool:
    return len(fault.path) > 1 and fault.path[0] == key


def _moved(fault: SchemaError, by: int) -> SchemaError:
    """Place a fault that was found in a part of a list in the whole of it."""
    key, index, *rest = fault.path
    if not isinstance(index, int):
        return fault
    variants = tuple(tuple(_moved(inner, by) for inner in branch) for branch in fault.variants)
    return fault._replace(path=(key, index + by, *rest), variants=variants)
