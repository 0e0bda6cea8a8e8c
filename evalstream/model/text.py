"""Small texts that messages of all layers share."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"
