"""A target whose bytes are digested as they are written."""

from __future__ import annotations

import gzip
import hashlib
import io
import threading

import pytest

from evalstream.io.compressors import DigestedTarget
from evalstream.model.block import Bytes
from evalstream.model.errors import CannotWrite

PIECES = [b"first\n", b"", b"second\n" * 1000, b"third\n"]


class _Full:
    """A disk without space."""

    def write(self, data: Bytes, /) -> object:
        raise OSError(28, "No space left on device", len(data))


@pytest.mark.parametrize("codec", [None, "gzip"])
@pytest.mark.parametrize("threaded", [False, True])
def test_digests_are_those_of_the_stored_bytes(codec: str | None, *, threaded: bool) -> None:
    stored = io.BytesIO()
    target = DigestedTarget(stored, codec, ("sha256", "md5"))
    if threaded:
        target.use_thread()
    for piece in PIECES:
        target.write(piece)
    digests = target.finish()
    target.close()
    data = stored.getvalue()
    expected = {name: hashlib.new(name, data).hexdigest() for name in ("sha256", "md5")}
    assert digests == expected
    assert (data if codec is None else gzip.decompress(data)) == b"".join(PIECES)
    assert "evalstream-digest" not in {thread.name for thread in threading.enumerate()}


def test_the_bytes_of_a_view_may_change_after_they_were_written() -> None:
    target, expected = DigestedTarget(None, None, ("sha256",)), hashlib.sha256()
    target.use_thread()
    memory = bytearray(1 << 18)
    for number in range(40):
        memory[:] = bytes([number]) * len(memory)
        expected.update(memory)
        target.write(memoryview(memory))
    assert target.finish() == {"sha256": expected.hexdigest()}
    target.close()


def test_bytes_that_cannot_be_written_are_an_error() -> None:
    target = DigestedTarget(_Full(), None, ("sha256",))
    with pytest.raises(CannotWrite, match="No space left on device"):
        target.write(b"row\n")
    target = DigestedTarget(_Full(), "xz", ("sha256",))
    target.write(b"row\n")
    with pytest.raises(CannotWrite, match="No space left on device"):
        target.finish()
