"""Short text helpers that messages of all layers share, and messages about unknown words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

SMALLEST_P: Final = 0.0001
"""The smallest p value that is written as it is."""


def count_noun(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def p_value(p: float) -> str:
    """Write a p value; one below SMALLEST_P only as such."""
    return f"p < {SMALLEST_P}" if p < SMALLEST_P else f"p = {p:.4f}"


def join_words(words: Sequence[str]) -> str:
    """Join words with commas, and with `and` before the last one."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def split_entries(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the entries of an option that takes several; a single text is one entry."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def split_codes(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return codes; each entry may hold several, separated by commas."""
    codes = (code.strip() for text in split_entries(given) for code in text.split(","))
    return tuple(code for code in codes if code)


def with_article(noun: str) -> str:
    """Return the name of a JSON type with its article."""
    return noun if noun == "null" else f"an {noun}" if noun[0] in "aio" else f"a {noun}"


def on_one_line(text: str) -> str:
    """Replace each character that does not print, line breaks included, with a dot.

    A text that logs of CI would read as a command gets a dot as well: `::` at its beginning, and
    `##[` anywhere.
    """
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else "·" for letter in text)
    return disarm_command(text)


def disarm_command(line: str) -> str:
    """Return a line with a dot in what logs of CI would read as a command."""
    if line.lstrip(" ").startswith("::"):
        line = line.replace("::", "·:", 1)
    return line.replace("##[", "#·[")


def on_own_lines(text: str, breaks: str = "\n\r\t") -> str:
    """Make the pieces of a text harmless as `on_one_line` does; breaks between them remain."""
    if not breaks:
        return on_one_line(text)
    return breaks[0].join(on_own_lines(piece, breaks[1:]) for piece in text.split(breaks[0]))


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
    return f"unknown {what} {given!r}{meant or ';'} known are: {', '.join(allowed) or 'none'}"


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return "; did you mean …?" with the known words nearest to a mistyped one, "" for none."""
    close = nearest_words(given, known)
    if not close:
        return ""
    *others, last = close
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def nearest_words(given: str, known: Iterable[str]) -> list[str]:
    """Return the words least unlike a mistyped one, or that begin with it; none if all differ."""
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
    if abs(len(one) - len(other)) > limit or sum(letter not in other for letter in one) > limit:
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


ALGORITHM_OF_LENGTH: Final = {64: "sha256", 32: "md5"}
"""The algorithm of a digest, by its number of hex digits."""

ALGORITHMS: Final = tuple(ALGORITHM_OF_LENGTH.values())

_HEX: Final = frozenset("0123456789abcdef")


def normalise_digest(digest: str) -> str:
    """Return a digest in lower case, without spaces and without a `sha256:` or `md5:` prefix.

    A prefix that contradicts the length stays, because the text is then not a digest.
    """
    cleaned = digest.strip().lower()
    for length, algorithm in ALGORITHM_OF_LENGTH.items():
        rest = cleaned.removeprefix(f"{algorithm}:")
        if len(rest) == length:
            return rest
    return cleaned


def is_hex_digest(text: str) -> bool:
    """Tell whether a text is a lower-case hex digest of a known length."""
    return len(text) in ALGORITHM_OF_LENGTH and _HEX.issuperset(text)


def notify(text: str) -> None:
    """Tell people one thing at once, whatever the report will say.

    It goes to the logger `evalstream`, which writes to stderr unless the program that uses this
    package says otherwise.
    """
    # Few checks lose something, and the import takes 3 ms.
    import logging

    logging.getLogger("evalstream").error("evalstream: %s", text)
