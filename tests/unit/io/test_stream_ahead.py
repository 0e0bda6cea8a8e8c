"""Reading ahead gives what the reader gives, and ends when it is closed."""

from __future__ import annotations

import threading

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.io.stream import MOST_AHEAD, ReadAhead
from evalstream.model.errors import BrokenCompression


class Pieces:
    """Gives some pieces, then an error or the end."""

    def __init__(self, pieces: list[bytes], error: Exception | None = None) -> None:
        self._pieces, self._error = [*pieces], error
        self.reads, self.is_closed = 0, False

    def read(self) -> bytes:
        self.reads += 1
        if self._pieces:
            return self._pieces.pop(0)
        if self._error is not None:
            raise self._error
        return b""

    def wait(self, _seconds: float) -> bool:
        return True

    def close(self) -> None:
        self.is_closed = True


@bounded(max_examples=examples(100))
@given(pieces=st.lists(st.binary(min_size=1, max_size=9), max_size=9), breaks=st.booleans())
def test_the_same_pieces_come_in_order(pieces: list[bytes], breaks: bool) -> None:
    error = BrokenCompression("broken") if breaks else None
    reader = ReadAhead(Pieces(pieces, error))
    assert reader.wait(0)
    assert [reader.read() for _ in pieces] == pieces
    for _ in range(2):
        if breaks:
            with pytest.raises(BrokenCompression, match="broken"):
                reader.read()
        else:
            assert reader.read() == b""
    reader.close()


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_few_pieces_are_read_ahead_and_closing_ends_the_thread(taken: int) -> None:
    pieces = Pieces([b"x"] * 50)
    reader = ReadAhead(pieces)
    for _ in range(taken):
        reader.read()
    reader.close()
    assert pieces.is_closed
    assert pieces.reads <= taken + MOST_AHEAD
    assert "evalstream-reader" not in {thread.name for thread in threading.enumerate()}
