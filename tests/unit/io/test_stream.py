"""Streams: lines are cut anywhere, and their head is read first."""

from __future__ import annotations

import io
from typing import Any

from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.io.stream import LineBuffer, StreamSource
from evalstream.model.block import ByteStream

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


@each(
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
