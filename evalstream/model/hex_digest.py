"""Digests as hex text: their algorithm, and how they should be written."""

from __future__ import annotations

from typing import Final

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
