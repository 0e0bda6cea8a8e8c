"""A digest of bytes that a thread computes while they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalstream.io.digest import RunningDigest

if TYPE_CHECKING:
    from threading import Thread

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
