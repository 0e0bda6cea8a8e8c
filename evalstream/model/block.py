"""Blocks of whole lines, and the byte streams that they are cut from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Set
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from evalstream.model.data_class import NamedTuple

if TYPE_CHECKING:
    from evalstream.model.finding import CountKey

MEBIBYTE: Final = 1 << 20


Bytes = bytes | memoryview
"""A bytes object, or a view of part of one."""


TOO_LONG_BY: Final = 4
"""Extra bytes kept of a line above the limit, so that it still shows as too long.

A byte order mark of three bytes may be removed from them.
"""


class Block(NamedTuple):
    """Whole lines of an input, about 2 MiB: their bytes, and where they begin.

    `length` counts the bytes of its lines in the input. `final` means that the input ends with it.
    `places` are the lines and offsets of its rows, alternating and packed as 64-bit numbers, where
    they are not the lines of `data`. An `overlong` block is one line above the length limit; its
    `data` need only hold the first bytes.
    """

    path: str
    offset: int
    length: int
    data: bytes
    final: bool = False
    places: bytes | None = None
    overlong: bool = False

    def describe(self) -> str:
        """Describe the position of the block."""
        return f"the rows in bytes {self.offset:,} to {self.offset + self.length:,}"

    def lines(self, unshown: Set[CountKey] = frozenset()) -> Lines:
        """Return its lines."""
        return Lines(self.data, self.offset, self.final, self.places, self.overlong, unshown)


Item = TypeVar("Item")


def group_by_size(
    items: Iterable[Item], size: Callable[[Item], int], most_size: int, most_items: float = math.inf
) -> Iterator[list[Item]]:
    """Iterate over items, some at a time: as many as reach a size in all, or a number."""
    group: list[Item] = []
    total = 0
    for item in items:
        group.append(item)
        total += size(item)
        if total >= most_size or len(group) == most_items:
            yield group
            group, total = [], 0
    if group:
        yield group


class ByteStream(Protocol):
    """Bytes that arrive once and in order: a pipe, a file, an object in a store.

    A subclass whose reads do not block, and that holds nothing open, only needs `read`.
    """

    def read(self) -> bytes:
        """Return the next bytes that arrive, about 1 MiB at most; empty at the end.

        Raises OSError where they cannot be read, and CannotCheck where they are not valid.
        """

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` would return within some seconds, the end included."""
        del seconds
        return True

    def close(self) -> None:
        """Release the source of the bytes."""
        return  # mypy takes a method without a body for an abstract one


class Lines(NamedTuple):
    """The bytes of whole lines, the first of which has the offset `base` in the input.

    `final` means that the input ends here, so that the last line may lack its newline. `places` and
    `overlong` are those of a block. `unshown` has the codes and severities of which no further
    finding is shown; it may grow at any time.
    """

    data: bytes
    base: int = 0
    final: bool = False
    places: bytes | None = None
    overlong: bool = False
    unshown: Set[CountKey] = frozenset()
