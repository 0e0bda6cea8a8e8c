"""Regular expressions of a user's own, found in hostile text without backtracking at will.

Python's `re` takes exponential time for some patterns. jsonschema-rs is built on an engine that
takes linear time, and on one for look-around and backreferences that counts its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from evalstream.model.errors import CannotCheck, UsageError

MOST_STEPS: Final = 100_000
"""How many steps back a pattern that needs them may take in one text: about 5 ms."""

Search = Callable[[str], bool]


class Undecided(CannotCheck):
    """A pattern takes too many steps in a text to tell whether it is found there."""


def undecided(pattern: str) -> str:
    """Say of a pattern that it took too many steps."""
    return f"the pattern {pattern!r} takes more than {MOST_STEPS:,} steps back on a text"


def stepping_options() -> Any:
    """Return the options under which jsonschema-rs counts steps: most patterns need none."""
    return _library().FancyRegexOptions(backtrack_limit=MOST_STEPS)


@lru_cache(maxsize=64)
def linear_search(pattern: str) -> Search:
    """Return what tells whether a pattern is found in a text, in time linear in the text.

    Digits, letters and ends are what they are in ECMA 262. Raises UsageError for a pattern that is
    none, or that cannot be found so, and says why.
    """
    compiled = _compiled(pattern, _library().RegexOptions())
    if compiled is not None:
        search: Search = compiled.is_valid
        return search
    if _compiled(pattern, stepping_options()) is None:
        raise UsageError(f"{pattern!r} is no regular expression (of ECMA 262)")
    raise UsageError(
        f"{pattern!r} has look-around or a backreference, for which a hostile text takes "
        "exponential time; write it without"
    )


@lru_cache(maxsize=256)
def bounded_search(pattern: str) -> Search:
    """Return what tells whether a pattern is found in a text, for any pattern of ECMA 262.

    What is returned raises Undecided past a number of steps. Raises UsageError for what is none.
    """
    try:
        return linear_search(pattern)
    except UsageError:
        compiled = _compiled(pattern, stepping_options())
        if compiled is None:
            raise

    def search(text: str) -> bool:
        if compiled.is_valid(text):
            return True
        if any("error" in error.kind.as_dict() for error in compiled.iter_errors(text)):
            raise Undecided(undecided(pattern))
        return False

    return search


def _compiled(pattern: str, options: Any) -> Any:
    schema = {"type": "string", "pattern": pattern}
    try:
        return _library().validator_for(schema, pattern_options=options)
    except ValueError:
        return None


def _library() -> Any:
    try:
        import jsonschema_rs
    except ImportError as error:
        raise UsageError("a pattern of one's own needs: pip install jsonschema-rs") from error
    return jsonschema_rs
