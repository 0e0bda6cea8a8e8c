"""A document before and after it is sealed."""

from __future__ import annotations

from typing import NamedTuple


class SealedText(NamedTuple):
    """The bytes of a document before and after it is sealed; None before it existed.

    With `is_foreign` the stored file is no document of this kind, and replacing it would lose it.
    """

    path: str
    before: bytes | None
    after: bytes
    is_foreign: bool = False
