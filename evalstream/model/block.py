"""Blocks of whole lines, and the byte streams that they are cut from."""

from typing import Final, Protocol, Self

from evalstream.model.data_class import NamedTuple
from evalstream.model.shared_bytes import SharedBytes

MEBIBYTE: Final = 1 << 20


Bytes = bytes | memoryview
"""A bytes object, or a view of part of one."""


TOO_LONG_BY: Final = 4
"""Extra bytes kept of a line above the limit, so that it still shows as too long.

A byte order mark of three bytes may be removed from them.
"""


class Block(NamedTuple):
    """A block of rows: a byte range of a file, or the bytes themselves.

    `size` is the number of bytes of the whole file when it was opened. `inode` identifies the file
    among later ones of the same name. In a block with `data`, which may be shared with forked
    workers, `final` means that the input ends with it. `places` are the lines and offsets of its
    rows, alternating and packed as 64-bit numbers, where they are not the lines of `data`. An
    `overlong` block is one line above the length limit; its `data` need only hold the first bytes.
    """

    path: str
    offset: int
    length: int
    size: int
    inode: int = 0
    data: bytes | SharedBytes | None = None
    final: bool = False
    places: bytes | None = None
    overlong: bool = False

    @property
    def content(self) -> bytes:
        """The bytes of a block with `data`; a copy of them if they are shared."""
        data = self.data or b""
        return bytes(data.view) if isinstance(data, SharedBytes) else data

    def unshared(self) -> Self:
        """Return the block with bytes of its own, for processes that do not share them."""
        if isinstance(self.data, SharedBytes):
            return self._replace(data=self.content)
        return self

    def described(self) -> str:
        """Describe the position of the block."""
        return f"the rows in bytes {self.offset:,} to {self.offset + self.length:,}"


class BlockTask(NamedTuple):
    """A block, and memory shared with forked workers for the bytes that its task returns."""

    block: Block
    room: SharedBytes | None = None

    @property
    def path(self) -> str:
        """The name of the file that the task reads."""
        return self.block.path

    def described(self) -> str:
        """Describe the position of the block."""
        return self.block.described()

    def unshared(self) -> Self:
        """Return the task for processes that do not share memory with this one."""
        return self._replace(block=self.block.unshared(), room=None)


class ByteStream(Protocol):
    """Bytes that arrive once and in order: a pipe, a file, an object in a store.

    A class that derives from it need not define `read_into`.
    """

    def read(self) -> bytes:
        """Return the next bytes that arrive, about 1 MiB at most; empty at the end.

        Raises OSError where they cannot be read, and CannotCheck where they are not valid.
        """

    def read_into(self, buffer: memoryview) -> int:
        """Write the next bytes into a buffer and return their number, 0 at the end.

        The buffer must have room for what `read` returns. Raises what `read` raises.
        """
        data = self.read()
        buffer[: len(data)] = data
        return len(data)

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` would return within some seconds, the end included."""

    def close(self) -> None:
        """Release the source of the bytes."""


class Lines(NamedTuple):
    """The bytes of whole lines, not copied.

    They begin at index `start` of `data`, whose first byte has the offset `base` in the input;
    `tail` is the end of the last line, after `data`. `final` means that the input ends here, so
    that the last line may lack its newline. `places` and `overlong` are those of a block.
    """

    data: bytes
    start: int = 0
    base: int = 0
    tail: bytes = b""
    final: bool = False
    places: bytes | None = None
    overlong: bool = False
