"""The compressors of files, and a writer that compresses.

The same bytes give the same compressed bytes: no time and no name is stored.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from evalstream.io.codecs import zstandard_library
from evalstream.io.digest import BackgroundDigest, RunningDigest
from evalstream.model.block import MEBIBYTE, Bytes
from evalstream.model.errors import CannotWrite, describe_error

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


STEP_BYTES: Final = MEBIBYTE
"""Bytes that a library compresses in one call: always as many, so that only they decide the result.
"""

BZIP2_LEVEL: Final = 9
XZ_PRESET: Final = 6
"""The defaults of the programs `bzip2` and `xz`."""

ZSTANDARD_LEVEL: Final = 3
"""The default of the program `zstd`."""


class Compressor(Protocol):
    """Compresses one stream, with the interface of the standard library's compressors."""

    def compress(self, data: Bytes, /) -> bytes:
        """Add bytes and return the compressed bytes that are ready."""

    def flush(self) -> bytes:
        """End the stream and return its last bytes."""


class ByteSink(Protocol):
    """Whatever takes bytes, such as `evalstream.io.output.Output`."""

    def write(self, data: Bytes, /) -> object:
        """Add bytes; those of a view may change after the call."""


class CompressingWriter:
    """Compresses bytes and writes them to a target as one stream. Raises what the target raises."""

    def __init__(self, target: ByteSink, kind: str, threads: int = 1) -> None:
        """Wrap a target; `kind` is a key of COMPRESSORS. Raises MissingExtra.

        With more than one of `threads`, gzip uses them after the first STEP_BYTES.
        """
        self._target = target
        self._compressor = COMPRESSORS[kind](threads)
        self._waiting = bytearray()

    def write(self, data: Bytes) -> None:
        """Compress bytes, and write what is ready."""
        self._waiting += data
        done = len(self._waiting) // STEP_BYTES * STEP_BYTES
        with memoryview(self._waiting) as view:
            for start in range(0, done, STEP_BYTES):
                with view[start : start + STEP_BYTES] as step:
                    self._pass_on(self._compressor.compress(step))
        del self._waiting[:done]

    def finish(self) -> None:
        """Compress the last bytes, and end the stream."""
        self._pass_on(self._compressor.compress(bytes(self._waiting)))
        self._pass_on(self._compressor.flush())

    def close(self) -> None:
        """End the threads."""
        if isinstance(self._compressor, ParallelGzip):
            self._compressor.close()

    def _pass_on(self, packed: bytes) -> None:
        if packed:
            self._target.write(packed)


def _zstandard(_: int) -> Compressor:
    library = zstandard_library()
    parameter = library.CompressionParameter
    options = {parameter.compression_level: ZSTANDARD_LEVEL, parameter.checksum_flag: 1}
    compressor: Compressor = library.ZstdCompressor(options=options)
    return compressor


def _bzip2(_: int) -> Compressor:
    import bz2

    return bz2.BZ2Compressor(BZIP2_LEVEL)


def _xz(_: int) -> Compressor:
    import lzma

    return lzma.LZMACompressor(lzma.FORMAT_XZ, preset=XZ_PRESET)


COMPRESSORS: Final = MappingProxyType[str, Callable[[int], Compressor]](
    {"gzip": ParallelGzip, "zstandard": _zstandard, "bzip2": _bzip2, "xz": _xz}
)
"""The functions that begin a compressed stream, for a number of threads, by the names of
`evalstream.io.codecs.COMPRESSIONS`.
"""


class DigestedTarget:
    """Writes bytes to a target, or nowhere with None, and digests what is written.

    With `codec`, a key of `evalstream.io.compressors.COMPRESSORS`, the bytes are compressed, and
    the digests are those of the compressed bytes; gzip uses so many threads. Raises MissingExtra.
    """

    def __init__(
        self,
        target: ByteSink | None,
        codec: str | None,
        algorithms: Sequence[str],
        threads: int = 1,
    ) -> None:
        self._digest = BackgroundDigest(RunningDigest(algorithms))
        stored = _StoredBytes(target, self._digest)
        self._compressing = None if codec is None else CompressingWriter(stored, codec, threads)
        self._first: ByteSink = stored if self._compressing is None else self._compressing

    def write(self, data: bytes) -> None:
        """Write bytes. Raises CannotWrite."""
        if data:
            self._first.write(data)

    def use_thread(self) -> None:
        """Digest in a thread from now on; call this only after workers are forked."""
        self._digest.start()

    def finish(self) -> dict[str, str]:
        """Write the remaining bytes; return the hex digests by algorithm. Raises CannotWrite."""
        if self._compressing is not None:
            self._compressing.finish()
        return self._digest.result()

    def close(self) -> None:
        """End the threads."""
        if self._compressing is not None:
            self._compressing.close()
        self._digest.close()


class _StoredBytes:
    """Digests bytes and passes them to a target."""

    def __init__(self, target: ByteSink | None, digest: BackgroundDigest) -> None:
        self._target, self._digest = target, digest

    def write(self, data: Bytes) -> None:
        self._digest.add(bytes(data))
        try:
            if self._target is not None:
                self._target.write(data)
        except OSError as error:
            raise CannotWrite(f"the rows cannot be written: {describe_error(error)}") from error
