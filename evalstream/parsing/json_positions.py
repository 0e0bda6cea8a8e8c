"""The lines and columns of JSON Pointers in a document, found in one pass over its bytes.

Nothing but the places that are wanted is kept, and values without any are skipped from bracket to
bracket. So time grows with the text and its values alone, and memory with the number of pointers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from evalstream.model.finding import Position
from evalstream.parsing.json import UTF8_MARK, split_pointer
from evalstream.parsing.json_tokens import NoToken, TokenCursor
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.parsing.strict_json import SURROGATE

_CHUNK: Final = 1 << 20
"""How many bytes of a long line are counted at once."""


def find_positions(text: bytes, pointers: Iterable[str]) -> dict[str, Position]:
    """Return the positions of the values that JSON Pointers name.

    A pointer to a missing member has the position of the object that lacks it; other pointers that
    name nothing are left out. Of a repeated name the last counts. In a text that is not JSON only
    what stands before the error is found.
    """
    root = _Place()
    places = {pointer: root.at(split_pointer(pointer)) for pointer in dict.fromkeys(pointers)}
    if not places:
        return {}
    _Walk(text, _mark_size(text)).run(root)
    starts = {
        pointer: start for pointer, place in places.items() if (start := place.shown_offset) >= 0
    }
    positions = locate_offsets(text, sorted({*starts.values()}))
    return {pointer: positions[start] for pointer, start in starts.items()}


class _Place:
    """A value that is wanted, or one around it: where it starts, and the places within it."""

    __slots__ = ("is_object", "outer", "places", "start")

    def __init__(self, outer: _Place | None = None) -> None:
        self.outer, self.start, self.is_object = outer, -1, False
        self.places: dict[str, _Place] = {}

    def at(self, names: Iterable[str]) -> _Place:
        """Return the place at a path of names."""
        place = self
        for name in names:
            place = place.places.setdefault(name, _Place(place))
        return place

    def forget(self) -> None:
        """Forget what an earlier member of the same name holds."""
        self.start, self.is_object = -1, False
        for place in self.places.values():
            place.forget()

    @property
    def shown_offset(self) -> int:
        """The offset of the value, or of the object that lacks it; -1 if there is neither."""
        if self.start < 0 and self.outer is not None and self.outer.is_object:
            return self.outer.start
        return self.start


class _Walk(TokenCursor):
    def run(self, root: _Place) -> None:
        """Find the starts of all places, as far as the text is JSON."""
        try:
            self._value(self.next(), root)
        except (NoToken, RecursionError):
            return

    def _value(self, token: bytes, place: _Place | None) -> None:
        """Step over the value that begins with a token, and note the places in it."""
        if place is not None:
            place.forget()
            place.start, place.is_object = self.start, token == b"{"
        if token in (b"{", b"["):
            if place is None or not place.places:
                self.skip_container()
            elif place.is_object:
                self._members(place.places)
            else:
                self._items(place.places)
        elif token in _SIGNS:
            raise NoToken

    def _members(self, places: Mapping[str, _Place]) -> None:
        while (token := self.next()) != b"}":
            if token != b",":
                if token[:1] != b'"' or self.next() != b":":
                    raise NoToken
                self._value(self.next(), places.get(_decode_token(token)))

    def _items(self, places: Mapping[str, _Place]) -> None:
        number = 0
        for wanted in sorted(map(int, filter(_INDEX.fullmatch, places))):
            while number < wanted:
                if self.skip_item() == b"]":
                    return
                number += 1
            token = self.next()
            if token == b"]":
                return
            self._value(token, places[str(wanted)])
            if self.skip_item() == b"]":
                return
            number += 1
        self.skip_container()


_INDEX: Final = LazyPattern(r"0|[1-9][0-9]{0,9}")

_SIGNS: Final = frozenset((b"}", b"]", b",", b":", b'"'))


def _decode_token(token: bytes) -> str:
    """Return the string of a token, as findings name it: with U+FFFD for unpaired surrogates."""
    if b"\\" not in token:
        return token[1:-1].decode(errors="replace")
    try:
        name: str = json.loads(token, strict=False)
    except ValueError as error:
        raise NoToken from error
    return SURROGATE.sub("\ufffd", name)


def locate_offsets(text: bytes, starts: Iterable[int]) -> dict[int, Position]:
    """Return the positions of offsets that come in order."""
    done, line, column, positions = _mark_size(text), 1, 1, {}
    for start in starts:
        breaks = text.count(b"\n", done, start)
        if breaks:
            line, column = line + breaks, 1
            done = text.rfind(b"\n", done, start) + 1
        column += _characters(text, done, start)
        positions[start], done = Position(line, column), start
    return positions


def _mark_size(text: bytes) -> int:
    return len(UTF8_MARK) if text.startswith(UTF8_MARK) else 0


def _characters(text: bytes, start: int, stop: int) -> int:
    pieces = (text[at : min(at + _CHUNK, stop)] for at in range(start, stop, _CHUNK))
    return sum(map(count_characters, pieces))


CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""


def count_characters(text: bytes) -> int:
    """Return how many characters of UTF-8 begin in a text."""
    return len(text.translate(None, CONTINUATION))
