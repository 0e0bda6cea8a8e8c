"""How much of a stream is read before its rows are checked."""

import io

import pytest

from evalstream.io.stream import StreamSource
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
