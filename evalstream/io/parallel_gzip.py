"""A gzip compressor that compresses pieces in threads, as the program pigz does."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from evalstream.model.block import Bytes

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

LEVEL: Final = 6
"""The default of the program `gzip`."""

WINDOW_BYTES: Final = 1 << 15
"""The bytes before a piece that its compressor knows: those that deflate can refer to."""

WAITING_PER_THREAD: Final = 2
"""Pieces that may be under way for each thread."""

_RAW_DEFLATE: Final = -15
_MEMORY_LEVEL: Final = 8
_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""The header of a member (RFC 1952): deflate, without flags, time, and known system."""

_LAST_BLOCK: Final = b"\x03\0"
"""An empty block that ends a deflate stream (RFC 1951)."""


class ParallelGzip:
    """Compresses one gzip member; the result depends on the pieces, and not on the threads.

    zlib releases the lock of the interpreter, so that threads run at the same time. The first piece
    is compressed without a thread, since most files have only one. Call `close` at the end, also
    after an error.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._header = _HEADER
        self._window = b""
        self._checksum = self._size = 0
        self._waiting: deque[Callable[[], bytes]] = deque()
        self._executor: ThreadPoolExecutor | None = None

    def compress(self, data: Bytes, /) -> bytes:
        """Add a piece and return the compressed bytes that are ready."""
        piece = bytes(data)
        self._checksum = zlib.crc32(piece, self._checksum)
        self._waiting.append(self._submit(piece))
        self._size += len(piece)
        self._window = (self._window + piece)[-WINDOW_BYTES:]
        return self._take(self._threads * WAITING_PER_THREAD if self._executor else 0)

    def flush(self) -> bytes:
        """End the member and return its last bytes."""
        trailer = self._checksum.to_bytes(4, "little") + (self._size % (1 << 32)).to_bytes(
            4, "little"
        )
        return self._take(0) + _LAST_BLOCK + trailer

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def _submit(self, piece: bytes) -> Callable[[], bytes]:
        """Compress a piece, in a thread if others came before; return what gives the result."""
        if self._threads <= 1 or not self._size:
            compressed = _deflate_piece(piece, self._window)
            return lambda: compressed
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            self._executor = ThreadPoolExecutor(self._threads, "evalstream-gzip")
        future: Future[bytes] = self._executor.submit(_deflate_piece, piece, self._window)
        return future.result

    def _take(self, most: int) -> bytes:
        """Return the oldest compressed pieces until so many are left."""
        ready = [self._header]
        self._header = b""
        while len(self._waiting) > most:
            ready.append(self._waiting.popleft()())
        return b"".join(ready)


def _deflate_piece(piece: bytes, window: bytes) -> bytes:
    """Compress a piece that follows other bytes, up to a byte boundary."""
    compressor = zlib.compressobj(
        LEVEL, zlib.DEFLATED, _RAW_DEFLATE, _MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, window
    )
    return compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)
