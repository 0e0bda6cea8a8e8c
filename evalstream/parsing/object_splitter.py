"""The splitter of a JSON object with one large array: its elements, and the object without them."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from evalstream.parsing.array_splitter import ArrayError, ArraySplitter, Element

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|["{}\[\]:,]', re.DOTALL)


class Envelope(NamedTuple):
    """The text of an object whose large array is left empty, and how places in it are found.

    `cut` is the offset in `text` behind the array's opening bracket; there `left_out` bytes with
    `lines` line feeds are missing. Without such an array the text is the object's own.
    `is_whole` is False where the text was longer than is allowed, so that it breaks off.
    """

    text: bytes
    cut: int | None = None
    left_out: int = 0
    lines: int = 0
    is_whole: bool = True

    def offset(self, place: int) -> int:
        """Return the byte offset in the input of a place in the text."""
        return place + self.left_out if self.is_behind(place) else place

    def is_behind(self, place: int) -> bool:
        """Tell whether a place in the text lies behind the array."""
        return self.cut is not None and place >= self.cut


class ObjectSplitter:
    """Splits an object that comes in pieces: the elements of the array that one member holds.

    The first member called `name` whose value is an array counts. `trouble` is what is wrong
    with that array, once it is known; nothing behind it is understood then. Held are at most a
    piece, an element, and of the rest of the object `longest` bytes.
    """

    def __init__(self, name: str, longest: int) -> None:
        self._name, self._longest = name, longest
        self._before, self._behind = bytearray(), bytearray()
        self._scan = _Scan(name)
        self._elements: ArraySplitter | None = None
        self._shift = (0, 0)
        self._inside = self._lines_inside = 0
        self._is_whole = True
        self._is_behind = False

    @property
    def trouble(self) -> ArrayError | None:
        """What is wrong with the array, by its place in the input."""
        found = self._elements.trouble if self._elements is not None else None
        if found is None:
            return None
        offset, lines = self._shift
        return found._replace(offset=found.offset + offset, line=found.line + lines)

    @property
    def has_begun(self) -> bool:
        """Whether the array has begun, so that all members before it are held."""
        return self._elements is not None

    def feed(self, data: bytes) -> list[Element]:
        """Take the next bytes, and return the elements that are known to be complete by now."""
        if self._is_behind:
            self._hold(self._behind, data)
            return []
        if self._elements is not None:
            return self._fed(self._elements, data)
        self._hold(self._before, data)
        return self._begin(at_end=False)

    def end(self) -> list[Element]:
        """Take note that the input has ended, and return the elements that are left."""
        found = self._begin(at_end=True) if self._elements is None else []
        if self._elements is not None and not self._is_behind:
            found += self._moved(self._elements.end())
            self._leave(self._elements)
        return found

    def envelope(self) -> Envelope:
        """Return the object without the elements, once the input has ended."""
        if self._elements is None:
            return Envelope(bytes(self._before), is_whole=self._is_whole)
        cut = len(self._before)
        text = bytes(self._before) + b"]" + bytes(self._behind)
        # Of the array its two brackets are in the text.
        return Envelope(text, cut, self._inside - 2, self._lines_inside, self._is_whole)

    def _begin(self, *, at_end: bool) -> list[Element]:
        """Look whether the array has begun, and take what there is of it."""
        start = self._scan.array_in(self._before, at_end=at_end) if self._is_whole else None
        if start is None:
            return []
        data = bytes(self._before[start:])
        del self._before[start + 1 :]
        self._shift = start, self._before.count(b"\n")
        self._elements = ArraySplitter(self._longest, inner=True)
        return self._fed(self._elements, data)

    def _fed(self, elements: ArraySplitter, data: bytes) -> list[Element]:
        self._inside += len(data)
        self._lines_inside += data.count(b"\n")
        found = self._moved(elements.feed(data))
        self._leave(elements)
        return found

    def _leave(self, elements: ArraySplitter) -> None:
        """Hold what follows the array, if it has ended."""
        if elements.after is not None:
            self._is_behind = True
            self._inside -= len(elements.after)
            self._lines_inside -= elements.after.count(b"\n")
            self._hold(self._behind, elements.after)

    def _moved(self, found: list[Element]) -> list[Element]:
        """Give elements their places in the input instead of those in the array."""
        offset, lines = self._shift
        return [
            element._replace(offset=element.offset + offset, line=element.line + lines)
            for element in found
        ]

    def _hold(self, held: bytearray, data: bytes) -> None:
        room = self._longest - len(self._before) - len(self._behind)
        # The array itself may begin in what is held before it.
        room += self._longest if held is self._before else 0
        self._is_whole = self._is_whole and len(data) <= room
        held += data[: max(0, room)]


class _Scan:
    """Looks for a member's array in the beginning of an object that grows."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[bytes] = []
        self._key: bytes | None = None
        self._latest = b""
        self._place, self._wanted = 0, 0

    def array_in(self, text: bytearray, *, at_end: bool) -> int | None:
        """Return where the array begins, None where it does not yet."""
        if len(text) < self._wanted and not at_end:
            return None
        view = bytes(text[self._place :])
        for token in _TOKEN.finditer(view):
            sign = token.group()
            if sign == b'"':
                # To try again only with twice as much keeps the cost of a long text linear.
                self._place += token.start()
                self._wanted = self._place + 2 * (len(view) - token.start())
                return None
            if sign == b"[" and self._open == [b"{"] and self._is_named():
                return self._place + token.start()
            self._take(sign)
        self._place += len(view)
        return None

    def _take(self, sign: bytes) -> None:
        """Note what a token opens, closes or names."""
        if sign in (b"{", b"["):
            self._open.append(sign)
        elif sign in (b"}", b"]"):
            # What follows the end of the object is none of its members.
            self._open = self._open[:-1] or [sign]
        elif sign == b":":
            self._key = self._latest
        if sign != b":":
            self._key = None
        self._latest = sign

    def _is_named(self) -> bool:
        if self._key is None or not self._key.startswith(b'"'):
            return False
        try:
            named: bool = json.loads(self._key, strict=False) == self._name
        except ValueError:
            return False
        return named
