"""The outline of a JSON document that arrives in pieces, by the compiled scanner."""

from __future__ import annotations

import ctypes
import weakref
from ctypes import byref, c_uint64
from enum import IntEnum


class DocumentProgress(IntEnum):
    """The result of the pieces so far, as `outline.h` numbers it.

    TOO_LARGE means that the outline has no room, or that the document is nested too deeply.
    """

    UNFINISHED = 0
    WHOLE = 1
    INVALID = 2
    TOO_LARGE = 3


class Outline:
    """Reads a JSON document in pieces, and keeps its structure without most items.

    The outline keeps all members of the outermost object and of the objects directly in it. Long
    lists and inner objects lose their later items, and long strings their ends. Raises MemoryError.
    """

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library, self._handle = loaded, loaded.new_outline()
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, loaded.free_outline, self._handle).atexit = False

    def add(self, data: bytes) -> DocumentProgress:
        """Read the next piece; after INVALID or TOO_LARGE all others are ignored."""
        return DocumentProgress(self._library.add_to_outline(self._handle, data, len(data)))

    def text(self) -> bytes:
        """Return the outline so far, which is JSON once the result is WHOLE."""
        size = c_uint64()
        start = self._library.outline_text(self._handle, byref(size))
        return ctypes.string_at(start, size.value)
