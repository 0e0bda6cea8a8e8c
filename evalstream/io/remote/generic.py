"""Objects in any other store that fsspec knows, by what all of them have in common."""

from functools import partial
from typing import Any

from evalstream.io.remote import limits
from evalstream.io.remote.filesystem import facts_of, located
from evalstream.io.remote.ranges import whole
from evalstream.io.remote.retry import Running, within
from evalstream.io.remote.store import GENERATION, Facts, Stream


class AnyObject:
    """An object in a store of any kind."""

    pins = False

    def __init__(self, url: str, _scheme: str) -> None:
        self._files, self._path = located(url)
        self._options: dict[str, Any] = {}
        if not self._files.async_impl:
            self._options["cache_type"] = "none"

    def look(self) -> Facts:
        """Ask for what is known of the object."""
        options = {"expand_info": True, "refresh": True} if self._speaks("hf") else {}
        self._files.invalidate_cache()
        return facts_of(within(partial(self._files.info, self._path, **options)))

    def fetch(self, start: int, end: int, opened: Facts) -> bytes:
        """Ask for a part, of the generation that was opened where there are such."""
        options = dict(self._options)
        if self._speaks("gs") and GENERATION in opened.marks:
            options[GENERATION] = opened.marks[GENERATION]
        data = within(partial(self._files.cat_file, self._path, start, end, **options))
        return whole(data, end - start)

    def stream(self, opened: Facts) -> Stream:
        """Open the object as a file."""
        del opened
        return _FileStream(within(partial(self._files.open, self._path, "rb")))

    def _speaks(self, protocol: str) -> bool:
        known = self._files.protocol
        return protocol in ((known,) if isinstance(known, str) else known)


class _FileStream:
    """A file of fsspec that is read from its first byte on."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self) -> bytes:
        """Return what comes next."""
        piece: bytes = within(partial(self._file.read, limits.PIECE_BYTES))
        return piece

    def close(self) -> None:
        """Close the file, in the background as it may stall."""
        Running(self._file.close)
