"""Read a whole JSON document: with the fast parser if that suffices, else with the exact one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalstream.parsing.json import FAST_DEPTH, Parsed, fast


def parse_document(
    text: bytes, max_depth: int, accepts: Callable[[Any], bool] | None = None
) -> Parsed:
    """Parse a document like `parse_exactly`, many times faster if it has no issue.

    `accepts` is a check that never accepts a value with an infinite number.
    """
    # The fast parser has a depth limit of its own, so it cannot decide for a smaller one.
    if max_depth >= FAST_DEPTH:
        try:
            value = fast(text)
        except ValueError:
            pass
        else:
            if accepts is not None and accepts(value):
                return Parsed(value, True, [], accepted=True)
            # Numbers such as 1e999 are the only issue that the fast parser does not refuse.
            if _is_finite(value):
                return Parsed(value, True, [])
    from evalstream.parsing.strict_json import parse_exactly

    return parse_exactly(text, max_depth)


def _is_finite(value: Any) -> bool:
    from evalstream.parsing.json_schema import finite_check

    return finite_check()(value)
