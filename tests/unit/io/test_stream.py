"""Streams: lines are cut anywhere, read ahead, and their head is read first."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.io.stream import MOST_AHEAD, LineBuffer, ReadAhead, StreamSource
from evalstream.model.block import ByteStream
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


MEBIBYTE = 1 << 20


class Held(ByteStream):
    """Bytes that are there at once, in pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)
        self.close = self._data.close

    def read(self) -> bytes:
        return self._data.read(1 << 16)

    def wait(self, _seconds: float) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a": "' + b"x" * 90 + b'"}\n', 1),
        (b'{"a": "' + b"x" * 9_000 + b'"}\n', 2),  # too few rows
        (b'["a", "' + b"x" * 90 + b'"]\n', 2),  # perhaps an array
        (b'{"a": "' + b"x" * 90 + b'"\n', 2),  # perhaps a document of many lines
    ],
)
def test_a_stream_of_short_rows_has_a_short_head(text: bytes, expected: int) -> None:
    data = text * (3 * MEBIBYTE // len(text))
    source = StreamSource(Held(data), "-", MEBIBYTE)
    assert source.head(2 * MEBIBYTE) == data[: expected * MEBIBYTE]
    assert b"".join(source.pieces()) == data


def test_blocks_of_bytes_that_are_there_come_without_a_pause() -> None:
    data = b'{"a": 1}\n' * 100_000
    source = StreamSource(Held(data), "-", MEBIBYTE)
    blocks = [*source.blocks(1 << 17)]
    assert None not in blocks
    assert b"".join(block.data for block in filter(None, blocks)) == data


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("extend"), st.sampled_from([b"", b"\n", b"ab", b"a\nb", b"c" * 64])),
        st.tuples(st.just("take"), st.booleans()),
    ),
    max_size=40,
)


@bounded(max_examples=examples(100))
@given(steps=STEPS)
def test_a_buffer_gives_what_was_put_in(steps: list[tuple[str, Any]]) -> None:
    buffer, expected = LineBuffer(), b""
    for step, value in steps:
        if step == "extend":
            buffer.extend(value)
            expected += value
        else:
            length = buffer.size if value else buffer.whole
            assert buffer.take(length) == expected[:length]
            expected = expected[length:]
        assert buffer.size == len(expected)
        assert buffer.whole == expected.rfind(b"\n") + 1
