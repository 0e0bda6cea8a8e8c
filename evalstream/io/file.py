"""Rows from a local file: blocks of whole lines, each byte read and digested once."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from evalstream.io.digest import BackgroundDigest, RunningDigest
from evalstream.io.file_state import describe_change
from evalstream.io.readers import READ_BYTES, FileReader
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block

SHORTER: Final = "the file became shorter while it was read"


class FileSource:
    """A regular file, read up to the size it has when it is opened.

    Of a line above `longest` bytes, and above the mark that may begin it, only the beginning is
    kept, one byte or more above the limit. Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str, longest: int) -> None:
        self.path = path
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._opened = os.fstat(self._file.fileno())
        self.size, self._kept_bytes = self._opened.st_size, longest + TOO_LONG_BY
        self._digest: BackgroundDigest | None = None
        self._head = b""
        self._done = 0

    def head(self, size: int = 8 * MEBIBYTE) -> bytes:
        """Return the first bytes, at most `size`."""
        self._file.seek(0)
        self._head = self._file.read(min(size, self.size)) or b""
        return self._head

    def blocks(self, length: int) -> Iterator[Block]:
        """Iterate over blocks of whole lines, about `length` bytes each. Raises OSError.

        The head is not read again.
        """
        pending: list[bytes | memoryview] = []
        size = offset = 0
        for piece, final in self._pieces(length):
            view, start = memoryview(piece), 0
            while start < len(piece):
                is_long = size > self._kept_bytes
                stop = (piece.find if is_long else piece.rfind)(b"\n", start) + 1
                if final and not (is_long and stop):
                    stop = len(piece)
                chunk = view[start : stop or None]
                start, size = start + len(chunk), size + len(chunk)
                if not is_long:
                    pending.append(chunk)
                if stop:
                    data, ends = b"".join(pending), final and start == len(piece)
                    yield Block(self.path, offset, size, data, final=ends, overlong=is_long)
                    offset, size, pending = offset + size, 0, []

    def start_digest(self, algorithms: Sequence[str]) -> None:
        """Begin digests of the bytes that are read."""
        self._digest = BackgroundDigest(RunningDigest(algorithms))

    def digest_in_thread(self) -> None:
        """Digest in a thread from now on; call this only after workers are forked."""
        if self._digest is not None:
            self._digest.start()

    def checksums(self) -> dict[str, str]:
        """Read what is left, and return the digests of all bytes by algorithm. Raises OSError."""
        if self._digest is None:
            return {}
        for _ in self._pieces(READ_BYTES):
            pass
        return self._digest.result()

    def describe_change(self) -> str | None:
        """Describe what changed since the file was opened, or return None."""
        return describe_change(self.path, self._opened)

    def diagnose(self, algorithm: str, declared: str, *, grew: bool) -> str | None:
        """Explain a checksum mismatch; None if there is no explanation.

        The file is read again if it is small, or `grew`: if it may have more rows than were sealed.
        """
        from evalstream.io.mismatch import explain_mismatch

        if self._digest is None:
            return None
        reopen, digest = partial(FileReader, self.path), self._digest.finish()
        return explain_mismatch(reopen, self.size, digest, declared, algorithm, grew=grew)

    def close(self) -> None:
        """Stop digesting and close the file."""
        if self._digest is not None:
            self._digest.close()
        self._file.close()

    def _pieces(self, length: int) -> Iterator[tuple[bytes, bool]]:
        """Iterate over the bytes that are left, with an end flag. Raises OSError."""
        while self._done < self.size:
            piece = self._head[self._done : self._done + length]
            if not piece:
                self._head = b""
                self._file.seek(self._done)
                piece = self._file.read(min(length, self.size - self._done)) or b""
            if not piece:
                raise OSError(SHORTER)
            if self._digest is not None:
                self._digest.add(piece)
            self._done += len(piece)
            yield piece, self._done == self.size
