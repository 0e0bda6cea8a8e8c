"""A target of bytes that are digested as they are written, compressed or not."""

from __future__ import annotations

from collections.abc import Sequence

from evalstream.io.compressors import CompressingWriter, Sink
from evalstream.io.digest import BackgroundDigest, RunningDigest
from evalstream.model.block import Bytes
from evalstream.model.errors import CannotWrite


class DigestedTarget:
    """Writes bytes to a target, or nowhere with None, and digests what is written.

    With `codec`, a key of `evalstream.io.compressors.COMPRESSORS`, the bytes are compressed, and
    the digests are those of the compressed bytes; gzip uses so many threads. Raises MissingExtra.
    """

    def __init__(
        self, target: Sink | None, codec: str | None, algorithms: Sequence[str], threads: int = 1
    ) -> None:
        self._digest = BackgroundDigest(RunningDigest(algorithms))
        stored = _StoredBytes(target, self._digest)
        self._compressing = None if codec is None else CompressingWriter(stored, codec, threads)
        self._first: Sink = stored if self._compressing is None else self._compressing

    def write(self, data: bytes) -> None:
        """Write bytes. Raises CannotWrite."""
        if data:
            self._first.write(data)

    def use_thread(self) -> None:
        """Digest in a thread from now on; call this only after workers are forked."""
        self._digest.start()

    def finish(self) -> dict[str, str]:
        """Write what is left, and return the hex digests by algorithm. Raises CannotWrite."""
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

    def __init__(self, target: Sink | None, digest: BackgroundDigest) -> None:
        self._target, self._digest = target, digest

    def write(self, data: Bytes) -> None:
        self._digest.add(bytes(data))
        try:
            if self._target is not None:
                self._target.write(data)
        except OSError as error:
            raise CannotWrite(f"the rows cannot be written: {error.strerror or error}") from error
