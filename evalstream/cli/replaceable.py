"""Decide which files an output may replace: empty files, and those that evalstream wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evalstream.io.names import printable
from evalstream.io.overwriting import is_device
from evalstream.model.errors import UsageError

HEAD_BYTES: Final = 1 << 16
"""How many bytes at the beginning of a file are enough to recognise it."""


def refuse_foreign(path: str, wrote: Callable[[bytes], bool], noun: str) -> None:
    """Raise UsageError if an output would replace a file that evalstream did not write.

    `wrote` recognises a file by its first bytes, and `noun` names the expected file.
    """
    if is_device(path):
        return
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError:
        return
    if head and not wrote(head):
        raise UsageError(
            f"{printable(path)} exists and is not {noun} of evalstream; name another file, or "
            "replace it with --force"
        )
