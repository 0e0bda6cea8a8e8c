"""A reader that reads in a thread what will be asked for next."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Final

from evalstream.model.block import ByteStream

MOST_AHEAD: Final = 2
"""Most pieces that are read before they are asked for."""


class ReadAhead:
    """Wraps a reader whose reads do not wait for anybody, such as one that unpacks a file.

    Start it only after workers are forked.
    """

    def __init__(self, reader: ByteStream) -> None:
        self._reader = reader
        self._pieces: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self._room = threading.Semaphore(MOST_AHEAD)
        self._last: bytes | BaseException | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="evalstream-reader", daemon=True)
        self._thread.start()

    def read(self) -> bytes:
        """Return the next bytes, or raise what the reader raised, again on each later call."""
        if self._last is None:
            piece = self._pieces.get()
            self._room.release()
            if isinstance(piece, bytes) and piece:
                return piece
            self._last = piece
        if isinstance(self._last, bytes):
            return self._last
        raise self._last

    def wait(self, _seconds: float) -> bool:
        """Return True: the reader waits for nobody."""
        return True

    def close(self) -> None:
        """End the thread and close the reader."""
        self._is_closed = True
        self._room.release()
        self._thread.join()
        self._reader.close()

    def _run(self) -> None:
        piece: bytes | BaseException = b"-"
        while piece and isinstance(piece, bytes):
            self._room.acquire()
            if self._is_closed:
                return
            try:
                piece = self._reader.read()
            except BaseException as error:  # noqa: BLE001 - whoever asks for the bytes gets it
                piece = error
            self._pieces.put(piece)
