"""Regular expressions of users, searched in untrusted text with bounded backtracking.

Python's `re` takes exponential time for some patterns. jsonschema-rs contains an engine with linear
time, and one for look-around and backreferences that counts its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from evalstream.model.errors import CannotCheck, UsageError

MOST_STEPS: Final = 100_000
"""Most backtracking steps of a pattern in one text: about 5 ms."""

Search = Callable[[str], bool]


class Undecided(CannotCheck):
    """A pattern exceeds the limit of backtracking steps in a text."""


def describe_undecided(pattern: str) -> str:
    """Return the message for a pattern that exceeds the limit of steps."""
    return f"the pattern {pattern!r} takes more than {MOST_STEPS:,} backtracking steps on a text"


def backtracking_options() -> Any:
    """Return the options with which jsonschema-rs counts steps; most patterns take none."""
    import jsonschema_rs

    return jsonschema_rs.FancyRegexOptions(backtrack_limit=MOST_STEPS)


@lru_cache(maxsize=64)
def linear_search(pattern: str) -> Search:
    """Return a function that searches for a pattern in time linear in the text.

    Digits, letters and anchors are those of ECMA 262. Raises UsageError, with the reason, for a
    pattern that is invalid or cannot be searched in linear time.
    """
    import jsonschema_rs

    compiled = _compile_pattern(pattern, jsonschema_rs.RegexOptions())
    if compiled is not None:
        search: Search = compiled.is_valid
        return search
    if _compile_pattern(pattern, backtracking_options()) is None:
        raise UsageError(f"{pattern!r} is not a valid regular expression (ECMA 262)")
    raise UsageError(
        f"{pattern!r} has look-around or a backreference, which can take exponential time "
        "on untrusted text; rewrite it without them"
    )


@lru_cache(maxsize=256)
def bounded_search(pattern: str) -> Search:
    """Return a search for a pattern of ECMA 262, which raises Undecided. Raises UsageError."""
    try:
        return linear_search(pattern)
    except UsageError:
        compiled = _compile_pattern(pattern, backtracking_options())
        if compiled is None:
            raise

    def search(text: str) -> bool:
        if compiled.is_valid(text):
            return True
        if any("error" in error.kind.as_dict() for error in compiled.iter_errors(text)):
            raise Undecided(describe_undecided(pattern))
        return False

    return search


def _compile_pattern(pattern: str, options: Any) -> Any:
    import jsonschema_rs

    schema = {"type": "string", "pattern": pattern}
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=options)
    except ValueError:
        return None
