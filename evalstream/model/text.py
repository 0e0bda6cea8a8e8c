"""Small texts that messages of all layers share."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def with_article(noun: str) -> str:
    """Put the article before the name of a JSON type."""
    return noun if noun == "null" else f"an {noun}" if noun[0] in "aio" else f"a {noun}"


def on_one_line(text: str) -> str:
    """Put a dot in the place of each character that does not print, line breaks included."""
    return "".join(letter if letter.isprintable() else "·" for letter in text)
