"""HarpIA Lab: what went into an evaluation, what came out, and its log."""

from __future__ import annotations

from typing import Final

from evalstream.glimpse import Glimpse

NAME: Final = "harpia"


def recognised(seen: Glimpse, path: str) -> str | None:
    """Return which of the system's documents a file is, None where it is none of them."""
    del seen, path
    return None


def recognised_folder(path: str) -> bool:
    """Tell whether a folder holds documents of the system, by the first of its files."""
    del path
    return False
