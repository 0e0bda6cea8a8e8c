"""Running checksums of a file's bytes, and digests that distinguish texts."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from io import RawIOBase
from typing import Final

from xxhash import xxh64_digest

from evalstream.io.block_digests import BlockDigests, BlockLayout, RunningBlockDigests
from evalstream.model.block import Bytes
from evalstream.model.data_class import NamedTuple

_OTHER_SEED: Final = 0x27D4EB2F165667C5
"""Seed of the second half of a 128-bit digest; the scanner uses the same value."""

CHUNK_BYTES: Final = 1 << 18


def digest128(data: Bytes, seed: int = 0, other: int | None = None) -> bytes:
    """Return a 128-bit digest made of two XXH64, not safe against an attacker.

    The second half has its own seed where `other` is given.
    """
    second = seed if other is None else other
    return xxh64_digest(data, seed) + xxh64_digest(data, second ^ _OTHER_SEED)


class RunningDigest:
    """Digests of consecutive pieces of bytes, in several algorithms at once."""

    def __init__(self, algorithms: Sequence[str]) -> None:
        self._running = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}

    def update(self, data: bytes | memoryview) -> None:
        """Add the next bytes."""
        for running in self._running.values():
            running.update(data)

    def result(self) -> dict[str, str]:
        """Return the hex digests so far, by algorithm."""
        return self.with_more(b"")

    def with_more(self, data: bytes) -> dict[str, str]:
        """Return the hex digests as they would be if `data` came next."""
        digests = {}
        for name, running in self._running.items():
            continued = running.copy()
            continued.update(data)
            digests[name] = continued.hexdigest()
        return digests


class FileDigests(NamedTuple):
    """The hex digests of a file, by algorithm, and the digests of its blocks where requested."""

    digests: dict[str, str]
    block_digests: BlockDigests | None = None


class FileDigest:
    """Digest of the first `size` bytes of an open file, computed from pieces or in a thread.

    With `layout`, the digests of its blocks are computed from the same bytes.
    """

    def __init__(
        self,
        file: RawIOBase,
        size: int,
        algorithms: Sequence[str],
        layout: BlockLayout | None = None,
    ) -> None:
        self._file, self._size, self._digest = file, size, RunningDigest(algorithms)
        self._block_digests = None if layout is None else RunningBlockDigests(size, layout)
        self._done = 0
        self._error: OSError | None = None
        self._cancelled = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Digest the whole file in a thread; `result` raises its error."""
        self._thread = threading.Thread(target=self._run, name="evalstream-digest", daemon=True)
        self._thread.start()

    def take(self, data: bytes) -> None:
        """Add the next bytes, which the caller has read."""
        self._digest.update(data)
        self._done += len(data)

    def cancel(self) -> None:
        """Stop early; the result is then not valid."""
        self._cancelled = True
        if self._thread is not None:
            self._thread.join()

    def result(self) -> FileDigests:
        """Digest the remaining bytes and return the digests. Raises OSError."""
        if self._thread is not None:
            self._thread.join()
        else:
            self._read_on()
        if self._error is not None:
            raise self._error
        block_digests = None if self._block_digests is None else self._block_digests.result()
        return FileDigests(self._digest.result(), block_digests)

    def _read_on(self) -> None:
        """Read and add the bytes after the last one added. Raises OSError."""
        if self._done == self._size:
            return
        buffer = bytearray(min(CHUNK_BYTES, self._size - self._done))
        self._file.seek(self._done)
        with memoryview(buffer) as view:
            while self._done < self._size and not self._cancelled:
                count = self._file.readinto(view[: self._size - self._done])
                if not count:
                    raise OSError("the file became shorter while it was read")
                self._digest.update(view[:count])
                if self._block_digests is not None:
                    self._block_digests.update(buffer, count)
                self._done += count

    def _run(self) -> None:
        try:
            self._read_on()
        except OSError as error:
            self._error = error
