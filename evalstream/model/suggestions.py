"""Messages about unknown words: what is wrong, what was probably meant, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LETTERS: Final = 3
"""One mistake is forgiven in so many letters."""

MOST: Final = 3
"""The largest number of suggestions."""

LONGEST: Final = 100
"""The longest word that is compared: longer ones are not mistyped."""


def describe_unknown(what: str, given: str, known: Iterable[str]) -> str:
    """Return the message for a word that is not one of the known ones."""
    allowed = list(known)
    meant = suggestion(given, allowed)
    return f"unknown {what} {given!r}{meant or ';'} known are: {', '.join(allowed)}"


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return "; did you mean …?" with the known words nearest to a mistyped one, "" for none."""
    close = nearest_words(given, known)
    if not close:
        return ""
    *others, last = close
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def nearest_words(given: str, known: Iterable[str]) -> list[str]:
    """Return the words that differ least from a mistyped one, or those that begin with it.

    Returns none if all differ too much.
    """
    if not given or len(given) > LONGEST:
        return []
    wanted, limit = given.lower(), len(given) // LETTERS
    distances = {one: _distance(wanted, one.lower(), limit) for one in known}
    least = min(distances.values(), default=limit + 1)
    if least > limit:
        return [one for one in distances if one.lower().startswith(wanted)][:MOST]
    return [one for one, n in distances.items() if n == least][:MOST]


def _distance(one: str, other: str, limit: int) -> int:
    """Return in how many places two words differ, or more than `limit` if it is exceeded.

    Letters that are missing, added, replaced, or swapped with the next one count as one place
    (optimal string alignment).
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, wanted in enumerate(other, 1):
            least = min(last[j] + 1, row[-1] + 1, last[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 1] + other[j - 2]:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        if min(row) > limit:
            return limit + 1
        before, last = last, row
    return last[-1]
