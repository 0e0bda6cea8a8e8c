"""Messages about unknown words: what is wrong, what was probably meant, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LIKENESS: Final = 0.7
"""The least similarity of a suggestion, as `difflib` measures it: 1 for equal words."""

TOLERANCE: Final = 0.1
"""How much less similar than the best suggestion the others may be."""

MOST: Final = 3
"""The largest number of suggestions."""

LONGEST: Final = 100
"""The longest word that is compared: longer ones are not mistyped."""


def unknown(what: str, given: str, known: Iterable[str]) -> str:
    """Return the message for a word that is not one of the known ones."""
    allowed = list(known)
    meant = suggestion(given, allowed)
    return f"unknown {what} {given!r}{meant or ';'} known are: {', '.join(allowed)}"


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return "; did you mean …?" with the most similar known words, or "" if none is similar."""
    # Only mistakes need it.
    from difflib import SequenceMatcher, get_close_matches

    by_spelling, wanted = {one.lower(): one for one in known}, given.lower()
    best = get_close_matches(wanted, by_spelling, 1, LIKENESS) if len(given) <= LONGEST else []
    if not best:
        return ""
    least = SequenceMatcher(None, best[0], wanted).ratio() - TOLERANCE
    close = get_close_matches(wanted, by_spelling, MOST, max(LIKENESS, least))
    *others, last = (by_spelling[one] for one in close)
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
