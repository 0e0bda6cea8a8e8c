"""Digests of streams, also computed in a thread of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from xxhash import xxh64_digest

from evalstream.model.block import Bytes

if TYPE_CHECKING:
    from threading import Thread

_OTHER_SEED: Final = 0x27D4EB2F165667C5
"""Seed of the second half of a 128-bit digest; the scanner uses the same value."""


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
            self._thread = Thread(target=self._run, name="evalstream-digest", daemon=True)
            self._thread.start()

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
