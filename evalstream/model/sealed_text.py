"""A document before and after it is sealed."""

from __future__ import annotations

from typing import NamedTuple


class SealedText(NamedTuple):
    """The bytes of a document before and after it is sealed; None before it existed."""

    path: str
    before: bytes | None
    after: bytes
