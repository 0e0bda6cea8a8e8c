"""Short text helpers that messages of all layers share."""

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
