"""The bytes of an object in order, out of blocks that threads fetch ahead."""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event

from evalstream.io.remote import limits
from evalstream.io.remote.retry import Running, tried
from evalstream.io.remote.store import ETAG, Facts, Store, Stream, difference
from evalstream.io.remote.stores import store_of
from evalstream.model.signals import STOPPING


def exists(url: str) -> bool:
    """Tell whether there is an object. Raises OSError where that cannot be said, MissingExtra."""
    try:
        _looked_at(store_of(url))
    except (FileNotFoundError, IsADirectoryError):
        return False
    return True


def read_whole(url: str, most: int) -> bytes:
    """Return an object of at most `most` bytes. Raises OSError, MissingExtra."""
    reader = RemoteReader(url)
    data = bytearray()
    try:
        while len(data) <= most >= reader.size and (piece := reader.read()):
            data += piece
    finally:
        reader.close()
    if max(len(data), reader.size) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return bytes(data)


class RemoteReader:
    """The bytes of an object in a store; `size` counts them, 0 where the server does not say.

    Nothing that a library or a server says in its own words becomes part of a message: there
    may be credentials in it.
    """

    def __init__(self, url: str) -> None:
        """Look at the object.

        Raises FileNotFoundError, PermissionError, IsADirectoryError or another OSError where
        it cannot be read, and MissingExtra where a library for its store is not installed.
        """
        self._store = store_of(url)
        self._opened = _looked_at(self._store)
        self.size = self._opened.size or 0
        self._closed = Event()
        self._stream: Stream | None = None
        self._fetches = self._ranges() if self._opened.ranged else self._pieces()
        self._most_ahead = limits.WORKERS if self._opened.ranged else 1
        self._ahead: deque[Running[bytes]] = deque()
        self._block = memoryview(b"")
        self._delivered = 0

    def read(self) -> bytes:
        """Return the next bytes, `PIECE_BYTES` at most; nothing at the end.

        Raises OSError where a block cannot be had whole, or the object changed since it was
        opened, as far as the server tells with each block; then again and again.
        """
        if not self._block:
            self._next_block()
        piece = bytes(self._block[: limits.PIECE_BYTES])
        self._block = self._block[limits.PIECE_BYTES :]
        self._delivered += len(piece)
        return piece

    def wait(self, seconds: float) -> bool:
        """Tell whether the next block is there, or the end or a fault, within some seconds."""
        self._fill()
        if self._block or not self._ahead:
            return True
        with STOPPING.waiting():
            return self._ahead[0].ended(seconds)

    def changed(self) -> str | None:
        """Say what changed since the object was opened, None if nothing did.

        Where the server cannot be asked any more, the marks it sent with each block count.
        """
        try:
            now = _looked_at(self._store)
        except FileNotFoundError:
            return "it is gone"
        except OSError as error:
            pinned = self._store.pins and ETAG in self._opened.marks
            return None if pinned else f"it could not be looked at again: {error}"
        return difference(self._opened, now)

    def close(self) -> None:
        """Stop fetching; what is under way ends by itself and is dropped."""
        self._closed.set()
        self._ahead.clear()
        self._block = memoryview(b"")
        self._fetches = iter(())
        if self._stream is not None:
            self._stream.close()

    def _next_block(self) -> None:
        self._fill()
        if self._ahead:
            with STOPPING.waiting():
                self._block = memoryview(self._ahead[0].result())
            self._ahead.popleft()
            self._fill()
        known = self._opened.size is not None and not self._closed.is_set()
        if not self._block and known and self._delivered != self.size:
            raise OSError(f"it ended after {self._delivered:,} of {self.size:,} bytes")

    def _fill(self) -> None:
        """Begin to fetch what may be fetched ahead."""
        while len(self._ahead) < self._most_ahead and (fetch := next(self._fetches, None)):
            self._ahead.append(Running(fetch))

    def _ranges(self) -> Iterator[Callable[[], bytes]]:
        for start in range(0, self.size, limits.BLOCK_BYTES):
            end = min(start + limits.BLOCK_BYTES, self.size)
            fetch = partial(self._store.fetch, start, end, self._opened)
            yield partial(tried, fetch, self._closed)

    def _pieces(self) -> Iterator[Callable[[], bytes]]:
        """Iterate over what fetches the next bytes, where they come only from the first on."""
        ended = False

        def fetch() -> bytes:
            nonlocal ended
            if self._stream is None:
                self._stream = tried(partial(self._store.stream, self._opened), self._closed)
            piece = tried(self._stream.read, self._closed, tries=1)
            ended = not piece
            return piece

        while not ended:
            yield fetch


def _looked_at(store: Store) -> Facts:
    """Look at an object. Raises OSError."""
    with STOPPING.waiting():
        return tried(store.look, Event())
