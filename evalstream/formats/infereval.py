"""infereval: a model's verdicts on the inferences of a benchmark."""

from __future__ import annotations

from typing import Final

from evalstream.glimpse import Glimpse

NAME: Final = "infereval"


def recognised(seen: Glimpse, path: str) -> str | None:
    """Return which of the system's documents a file is, None where it is none of them."""
    del seen, path
    return None


def recognised_folder(path: str) -> bool:
    """Tell whether a folder holds documents of the system, by the first of its files."""
    del path
    return False
