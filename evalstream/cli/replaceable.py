"""What an output may replace: nothing, an empty file, or what evalstream wrote itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evalstream.io.names import printable
from evalstream.io.overwriting import is_device
from evalstream.model.errors import UsageError

LOOKED_AT: Final = 1 << 16
"""How many bytes at the beginning of a file tell what it is."""


def refuse_foreign(path: str, wrote: Callable[[bytes], bool], noun: str) -> None:
    """Raise UsageError where a file that is not of evalstream would be replaced.

    `wrote` takes its first bytes, and `noun` says what is expected.
    """
    if is_device(path):
        return
    try:
        with open(path, "rb") as file:
            head = file.read(LOOKED_AT)
    except FileNotFoundError:
        return
    if head and not wrote(head):
        raise UsageError(
            f"{printable(path)} exists and is not {noun} of evalstream; name another file, or "
            "replace it with --force"
        )
