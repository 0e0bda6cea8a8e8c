"""Rows on their way: blocks of whole lines, and the bytes that they are cut from."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

MEBIBYTE: Final = 1 << 20


Bytes = bytes | memoryview
"""Bytes of their own, or a part of others."""


TOO_LONG_BY: Final = 4
"""How many bytes more than is allowed are kept of a line so that it shows as too long; a byte
order mark of three bytes may be taken from them."""


class Block(NamedTuple):
    """A stretch of rows: a byte range of a file, or the bytes themselves.

    `size` is the number of bytes of the whole file when it was opened and `inode` tells that
    file from a later one of the same name, as does `modified`, its time in nanoseconds, for blocks
    that other machines read; a block with `data` says with `final` that the input ends with it.
    `places` are the lines and offsets of its rows, by turns and packed as 64-bit numbers, where
    they are not simply the lines of `data`. An `overlong` block is one line that is longer than is
    allowed; only the first bytes of its `data` need be there.
    """

    path: str
    offset: int
    length: int
    size: int
    inode: int = 0
    data: bytes | None = None
    final: bool = False
    places: bytes | None = None
    overlong: bool = False
    modified: int = 0

    def described(self) -> str:
        """Say where the block lies."""
        return f"the rows in bytes {self.offset:,} to {self.offset + self.length:,}"


class ByteStream(Protocol):
    """Bytes that come once and in order: a pipe, a file, an object in a store."""

    def read(self) -> bytes:
        """Return the next bytes as they come, about a MiB at most; nothing at the end.

        Raises OSError where they cannot be read, and CannotCheck where they make no sense.
        """

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` has something to say, the end included, within some seconds."""

    def close(self) -> None:
        """Let go of whatever the bytes come from."""


class Lines(NamedTuple):
    """The bytes of whole lines, uncopied.

    They begin at index `start` of `data`, whose first byte has the offset `base` in the
    input; `tail` is what is left of the last line behind `data`. `final` says that the input
    ends here, so that the last line may lack its newline. `places` and `overlong` are those of a
    block.
    """

    data: bytes
    start: int = 0
    base: int = 0
    tail: bytes = b""
    final: bool = False
    places: bytes | None = None
    overlong: bool = False
