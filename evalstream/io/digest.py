"""Digests of streams, also in a thread of their own, and why a checksum is not that of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from xxhash import xxh3_64, xxh64_digest

from evalstream.io.inputs import open_stored
from evalstream.io.readers import StoppableReader
from evalstream.model.block import MEBIBYTE, Bytes, ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.hashing import WORTH_OPENSSL_BYTES, hash_function
from evalstream.model.signals import Stopped

if TYPE_CHECKING:
    from threading import Thread


_OTHER_SEED: Final = 0x27D4EB2F165667C5
"""Seed of the second half of a 128-bit digest; the scanner uses the same value."""


def digest128(data: Bytes, seed: int = 0, other: int | None = None) -> bytes:
    """Return a digest of two XXH64, not safe against an attacker; the second may have a seed."""
    second = seed if other is None else other
    return xxh64_digest(data, seed) + xxh64_digest(data, second ^ _OTHER_SEED)


XXH3: Final = "xxh3_64"
"""The name of a digest of 64 bits, not safe against an attacker, that takes next to no time."""


class RunningDigest:
    """Digests of consecutive pieces of bytes, in several algorithms at once."""

    def __init__(self, algorithms: Sequence[str], size: int = WORTH_OPENSSL_BYTES) -> None:
        """Take the algorithms, and the number of bytes if it is known."""
        self._running: dict[str, Any] = {
            name: xxh3_64() if name == XXH3 else hash_function(name, size)(usedforsecurity=False)
            for name in algorithms
        }
        self._before_newline: dict[str, str] = {}

    def update(self, data: bytes | memoryview) -> None:
        """Add the next bytes."""
        view, is_ended = memoryview(data), bool(data) and data[-1] == ord("\n")
        for running in self._running.values():
            running.update(view[:-1] if is_ended else view)
        if is_ended:
            self._before_newline = self.result()
            for running in self._running.values():
                running.update(b"\n")
        elif data:
            self._before_newline = {}

    def without_newline(self) -> dict[str, str]:
        """Return the hex digests as they would be without a final newline; empty without one."""
        return self._before_newline

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


MOST_WAITING: Final = 4
"""Most pieces that wait for the thread."""


class BackgroundDigest:
    """Adds bytes to a running digest in a thread, in order.

    Start it only after workers are forked. Pieces that are added before are digested at once.
    """

    def __init__(self, digest: RunningDigest) -> None:
        self._digest = digest
        self._added = self._done = 0
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread, if it does not run."""
        if self._thread is None:
            # Small files need no thread.
            from queue import SimpleQueue
            from threading import Condition, Thread

            self._pieces: SimpleQueue[bytes | None] = SimpleQueue()
            self._changed = Condition()
            thread = Thread(target=self._run, name="evalstream-digest", daemon=True)
            with suppress(RuntimeError):  # where the system has no more, this thread digests
                thread.start()
                self._thread = thread

    def add(self, data: bytes) -> None:
        """Add the next bytes."""
        if self._thread is None:
            self._digest.update(data)
            self._done += 1
        else:
            self._pieces.put(data)
        self._added += 1
        self._wait(self._added - MOST_WAITING)

    def result(self) -> dict[str, str]:
        """Wait for all bytes, and return the hex digests by algorithm."""
        return self.finish().result()

    def finish(self) -> RunningDigest:
        """Wait for all bytes, and return the digest of them."""
        self._wait(self._added)
        return self._digest

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._pieces.put(None)
            self._thread.join()

    def _wait(self, number: int) -> None:
        """Wait until the digest has what was added up to a number."""
        if self._done < number:
            with self._changed:
                self._changed.wait_for(lambda: self._done >= number)

    def _run(self) -> None:
        while (data := self._pieces.get()) is not None:
            self._digest.update(data)
            with self._changed:
                self._done += 1
                self._changed.notify()


def hash_stored(path: str) -> str:
    """Return the SHA-256 of the stored bytes of a file. Raises OSError, CannotCheck, Stopped."""
    digest = RunningDigest(["sha256"])
    with closing(StoppableReader(open_stored(path))) as reader:
        while data := reader.read():
            digest.update(data)
    return digest.result()["sha256"]


LINE_ENDS_BYTES: Final = 64 * MEBIBYTE
"""Most bytes that are read again to find out only whether their line ends were changed."""

DIAGNOSED_LINE_BYTES: Final = 16 * MEBIBYTE
"""Longer lines are looked at in parts."""


def explain_end(digest: RunningDigest, declared: str, algorithm: str) -> str | None:
    """Say whether the declared digest is that of the bytes with or without a final newline."""
    if digest.without_newline().get(algorithm) == declared:
        return "a final newline was added"
    if digest.with_more(b"\n").get(algorithm) == declared:
        return "its final newline is missing"
    return None


def explain_mismatch(
    reopen: Callable[[], ByteStream],
    size: int,
    digest: RunningDigest,
    declared: str,
    algorithm: str,
    *,
    grew: bool,
) -> str | None:
    """Explain why the digest of `size` bytes is not the declared one.

    They are read again if they are few, or `grew`: if they may have more rows than were sealed.
    Returns None if there is no explanation, if the bytes cannot be read again, or if they are not
    those of the digest.
    """
    reason = explain_end(digest, declared, algorithm)
    if reason is not None or (size > LINE_ENDS_BYTES and not grew):
        return reason
    actual, reader = digest.result()[algorithm], None
    try:
        reader = StoppableReader(reopen())
        return _explain(_whole_lines(reader, size), declared, algorithm, actual, grew=grew)
    except (OSError, CannotCheck, Stopped):
        return None
    finally:
        if reader is not None:
            reader.close()


def _whole_lines(reader: ByteStream, size: int) -> Iterator[bytes]:
    """Iterate over whole lines of the first `size` bytes, many at once; very long ones in parts."""
    rest = b""
    while size > 0 and (data := reader.read()[:size]):
        size -= len(data)
        lines, newline, rest = (rest + data).rpartition(b"\n")
        yield lines + newline
        if len(rest) >= DIAGNOSED_LINE_BYTES:
            yield rest
            rest = b""
    yield rest


def _explain(
    parts: Iterator[bytes], declared: str, algorithm: str, actual: str, *, grew: bool
) -> str | None:
    """Compare a declared digest with those of probable earlier states of the bytes."""
    make = hash_function(algorithm, WORTH_OPENSSL_BYTES)
    plain, unix, dos = (make(usedforsecurity=False) for _ in range(3))
    lines, reason = 0, None
    for part in parts:
        start = 0
        while grew and reason is None and (stop := part.find(b"\n", start) + 1):
            plain.update(part[start:stop])
            start, lines = stop, lines + 1
            if plain.hexdigest() == declared:
                match = "line matches" if lines == 1 else f"{lines:,} lines match"
                reason = f"its first {match}, so rows were appended"
        plain.update(part[start:])
        text = part.replace(b"\r\n", b"\n")
        unix.update(text)
        dos.update(text.replace(b"\n", b"\r\n"))
    if plain.hexdigest() != actual:
        return None
    if unix.hexdigest() == declared:
        return "its line ends were changed from LF to CR LF"
    if dos.hexdigest() == declared:
        return "its line ends were changed from CR LF to LF"
    return reason
