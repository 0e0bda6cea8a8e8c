"""Digests: running checksums of a file's bytes, and digests that tell texts apart."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from io import RawIOBase
from typing import TYPE_CHECKING, Final, NamedTuple

from xxhash import xxh64_digest

from evalstream.io.block_digests import Cuts, RunningStretches, Stretches
from evalstream.model.block import Bytes
from evalstream.model.errors import WorkerLost

if TYPE_CHECKING:
    from concurrent.futures import Future

ALGORITHM_OF_LENGTH: Final = {64: "sha256", 32: "md5"}
"""Which algorithm gives a digest of so many hex digits."""

ALGORITHMS: Final = tuple(ALGORITHM_OF_LENGTH.values())
_OTHER_SEED: Final = 0x27D4EB2F165667C5
"""What makes the second half of a wide digest another one; the scanner knows it, too."""

CHUNK_BYTES: Final = 1 << 18
_HEX = frozenset("0123456789abcdef")


def wide_digest(data: Bytes, seed: int = 0, other: int | None = None) -> bytes:
    """Return 16 bytes that tell texts apart, though not against an attacker: two of XXH64.

    The second half has a seed of its own where an `other` one is given.
    """
    second = seed if other is None else other
    return xxh64_digest(data, seed) + xxh64_digest(data, second ^ _OTHER_SEED)


def normalised(digest: str) -> str:
    """Return a digest in lower case and without a `sha256:` or `md5:` prefix or spaces.

    A prefix that names another algorithm than the length does stays: that is not a digest.
    """
    bare = digest.strip().lower()
    for length, algorithm in ALGORITHM_OF_LENGTH.items():
        rest = bare.removeprefix(f"{algorithm}:")
        if len(rest) == length:
            return rest
    return bare


def is_hex_digest(text: str) -> bool:
    """Tell whether a text is a lower-case hex digest of a length we know."""
    return len(text) in ALGORITHM_OF_LENGTH and _HEX.issuperset(text)


class RunningDigest:
    """Digests of bytes that come piece by piece, in several algorithms at once."""

    def __init__(self, algorithms: Sequence[str]) -> None:
        self._running = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}

    def update(self, data: bytes | memoryview) -> None:
        """Take the next bytes."""
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


class Digested(NamedTuple):
    """The hex digests of a file, by algorithm, and those of its stretches where wanted."""

    digests: dict[str, str]
    stretches: Stretches | None = None


class FileDigest:
    """Digest of the first `size` bytes of an open file, taken piece by piece or beside others.

    With `cuts` those of its stretches are taken of the same bytes.
    """

    def __init__(
        self, file: RawIOBase, size: int, algorithms: Sequence[str], cuts: Cuts | None = None
    ) -> None:
        self._file, self._size, self._digest = file, size, RunningDigest(algorithms)
        self._stretches = None if cuts is None else RunningStretches(size, cuts)
        self._done = 0
        self._error: OSError | None = None
        self._cancelled = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Take the whole file in a thread; an error is kept for `result`."""
        self._thread = threading.Thread(target=self._run, name="evalstream-digest", daemon=True)
        self._thread.start()

    def take(self, data: bytes) -> None:
        """Take the next bytes, which were read already."""
        self._digest.update(data)
        self._done += len(data)

    def cancel(self) -> None:
        """Stop early; the result is then worthless."""
        self._cancelled = True
        if self._thread is not None:
            self._thread.join()

    def result(self) -> Digested:
        """Take what is left and return the digests. Raises OSError of the reading."""
        if self._thread is not None:
            self._thread.join()
        else:
            self._read_on()
        if self._error is not None:
            raise self._error
        stretches = None if self._stretches is None else self._stretches.result()
        return Digested(self._digest.result(), stretches)

    def _read_on(self) -> None:
        """Take the bytes from the last that was taken on. Raises OSError."""
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
                if self._stretches is not None:
                    self._stretches.update(buffer, count)
                self._done += count

    def _run(self) -> None:
        try:
            self._read_on()
        except OSError as error:
            self._error = error


class DistantDigest:
    """Digest of a file that somebody else takes, as `future` tells; `name` is the file's."""

    def __init__(self, future: Future[Digested], name: str) -> None:
        self._future, self._name = future, name

    def cancel(self) -> None:
        """Stop early, if it has not begun."""
        self._future.cancel()

    def result(self) -> Digested:
        """Wait for the digests. Raises OSError of the reading, and WorkerLost."""
        # Who has no workers need not load what they are made of.
        from concurrent.futures import BrokenExecutor

        try:
            return self._future.result()
        except BrokenExecutor as error:
            message = f"{self._name}: a worker process died each time it took the file's digest"
            raise WorkerLost(message) from error
