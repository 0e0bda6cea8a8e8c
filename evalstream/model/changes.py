"""Changes that `fix` and `migrate` make: their kinds, and how often each was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final

from evalstream.model.data_class import NamedTuple

MOST_PLACES: Final = 3
"""Number of lines that are kept of each change."""


class ChangeClass(str, Enum):
    """How much of a change follows from the source.

    A mechanical change can be reversed. A filled one adds what the source does not say. A decided
    one replaces or moves what the source says, and is made only if it is asked for.
    """

    MECHANICAL = "mechanical"
    FILLED = "filled"
    DECIDED = "decided"


class ChangeKind(NamedTuple):
    """A kind of change: name, class, a title of the change to a value, and the counted unit."""

    name: str
    change_class: ChangeClass
    title: str
    unit: str = "row"


class Change(NamedTuple):
    """A kind of change at a place.

    `pointer` is a JSON Pointer into the row or the aggregate with `*` for each index of an array
    and each name in a map; it is empty for changes of lines and of whole documents.
    """

    kind: ChangeKind
    pointer: str = ""


class Example(NamedTuple):
    """One change as it was made: where, and the JSON text before and after, None for nothing.

    `pointer` is the JSON Pointer of the value before the change, or after it if it is new.
    """

    pointer: str
    before: str | None
    after: str | None


class Need(NamedTuple):
    """A value that a source lacks, and the options that supply it."""

    what: str
    options: str


class Applied(NamedTuple):
    """A change that was made, with its example."""

    change: Change
    example: Example


def make_applied(
    kind: ChangeKind, where: str, before: str | None, after: str | None, place: str | None = None
) -> Applied:
    """Return a change of a value at a JSON Pointer; `place` is its pattern, by default itself."""
    return Applied(Change(kind, where if place is None else place), Example(where, before, after))


class Occurrences:
    """How often a change was made: in how many rows or documents, and the first of them.

    `lines` are the numbers of the first lines, empty for a document. `shown` is an example of the
    first, or what makes it.
    """

    __slots__ = ("lines", "shown", "times")

    def __init__(
        self,
        times: int,
        lines: tuple[int, ...] = (),
        shown: Example | Callable[[], Example] | None = None,
    ) -> None:
        self.times, self.lines, self.shown = times, lines, shown

    @property
    def example(self) -> Example | None:
        """The first of them as it was made."""
        return self.shown() if callable(self.shown) else self.shown

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Occurrences):
            return NotImplemented
        own = self.times, self.lines, self.example
        return own == (other.times, other.lines, other.example)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Occurrences({self.times!r}, {self.lines!r}, {self.example!r})"


class ChangeTally:
    """The changes made in rows or documents, in the order of their first occurrence."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[Change, Occurrences] = {}

    def add(
        self,
        change: Change,
        example: Example | Callable[[], Example] | None = None,
        *,
        lines: Iterable[int] = (),
        times: int = 1,
    ) -> None:
        """Count a change in so many rows or documents; `lines` are the first of these rows."""
        known = self._seen.get(change)
        if known is None:
            self._seen[change] = Occurrences(times, tuple(lines)[:MOST_PLACES], example)
            return
        places = known.lines
        if len(places) < MOST_PLACES:
            places = (*places, *lines)[:MOST_PLACES]
        self._seen[change] = Occurrences(known.times + times, places, known.shown or example)

    def add_each(self, applied: Iterable[Applied], *lines: int) -> None:
        """Count the changes of one document, or of the row on a line; each kind counts once."""
        firsts: dict[Change, Example] = {}
        for one in applied:
            firsts.setdefault(one.change, one.example)
        for change, example in firsts.items():
            self.add(change, example, lines=lines)

    def merge(self, other: ChangeTally, lines: int = 0) -> None:
        """Add the changes of what follows; its line numbers are raised by `lines`."""
        for change, seen in other.seen.items():
            places = (line + lines for line in seen.lines)
            self.add(change, seen.shown, lines=places, times=seen.times)

    @property
    def seen(self) -> Mapping[Change, Occurrences]:
        """The changes and how often each was made."""
        return self._seen

    def __bool__(self) -> bool:
        """Tell whether anything was changed."""
        return bool(self._seen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangeTally) and self._seen == other._seen

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ChangeTally({self._seen!r})"


def _mechanical(name: str, title: str, unit: str = "row") -> ChangeKind:
    return ChangeKind(name, ChangeClass.MECHANICAL, title, unit)


BYTE_ORDER_MARK: Final = _mechanical("byte-order-mark", "byte order mark removed", "file")
MARK_REMOVED: Final = Applied(Change(BYTE_ORDER_MARK), Example("", "\\ufeff", None))
"""The change of a document that began with a byte order mark."""
LINE_ENDS: Final = _mechanical("line-ends", "CRLF to LF", "line")
BLANK_LINES: Final = _mechanical("blank-lines", "blank line removed", "line")
FINAL_NEWLINE: Final = _mechanical("final-newline", "final newline added", "file")
ARRAY_TO_LINES: Final = _mechanical("array-to-lines", "JSON array to lines", "file")
NULL_DROPPED: Final = _mechanical("null-dropped", "null in an optional member dropped")
TO_TEXT: Final = _mechanical("to-text", "value to text")
TO_LIST: Final = _mechanical("to-list", "text to list of one")
TO_NUMBER: Final = _mechanical("to-number", "boolean to number")
RENAMED: Final = _mechanical("renamed", "member renamed")
DIGEST: Final = _mechanical("digest", "digest to lower-case hex without prefix")


class SealedText(NamedTuple):
    """The bytes of a document before and after it is sealed; None before it existed.

    With `is_foreign` the stored file is not of this kind, and replacing it would lose it.
    """

    path: str
    before: bytes | None
    after: bytes
    is_foreign: bool = False
