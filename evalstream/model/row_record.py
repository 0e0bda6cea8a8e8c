"""Row records: a fixed-size record of digests per row, made where the row is read."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from evalstream.model.data_class import NamedTuple

DIGEST_BYTES: Final = 16
ABSENT: Final = bytes(DIGEST_BYTES)
"""The input digest of a row without an input."""

UNJOINED: Final = -1
"""The result index of a row that joins no result."""

_RECORD: Final = struct.Struct("<Q16s16sQQQQqQQd")
_WORD: Final = 8
_WORDS: Final = _RECORD.size // _WORD
RECORD_BYTES: Final = _RECORD.size
SAMPLE_AT: Final = struct.calcsize("<Q")
INPUT_AT: Final = struct.calcsize("<Q16s")
CONTENT_AT: Final = struct.calcsize("<Q16s16s")
KEY_AT: Final = SAMPLE_AT + DIGEST_BYTES // 2
MARK_AT: Final = struct.calcsize("<Q16s16sQQ")
PLACE_AT: Final = struct.calcsize("<Q16s16sQQQQ")
"""The byte positions of the digests of sample, input, content, key, mark and place in a record."""

KEY_BYTES: Final = 8
"""Bytes of the digest of the content, and of the key."""

_DIGESTS: Final = {
    place: struct.Struct(f"{place}x{DIGEST_BYTES}s{RECORD_BYTES - place - DIGEST_BYTES}x")
    for place in (SAMPLE_AT, INPUT_AT)
}
_MARK_WORD: Final = MARK_AT // _WORD
_PLACE_WORD: Final = PLACE_AT // _WORD
_OFFSET_WORD: Final = 10


class RowRecord(NamedTuple):
    """One row: its line, its position, and digests of its content.

    `sample` identifies the sample, the evaluation_name and the evaluation; its second half does not
    depend on the name. `input` digests the input within the evaluation, `content` the bytes, and
    `output` the choices and the output of the model (0: not computed). `mark` digests the members
    that number the repeats of a sample (0: none) and `result` the evaluation_result_id (0: none);
    `place` is the index of the result that the row joins. `offset` is the byte offset of the row,
    `name` digests evaluation and evaluation_name, and `score` is NaN where the row's score is not a
    double.
    """

    line: int
    sample: bytes
    input: bytes
    content: int
    output: int
    mark: int
    result: int
    place: int
    offset: int
    name: int
    score: float

    @property
    def result_identity(self) -> int:
        """The identity of the scored result: the joined result, else the digest of the id; 0: none.

        Indices are negative here, so that they differ from digests.
        """
        return self.result if self.place == UNJOINED else -1 - self.place

    @property
    def word(self) -> int:
        """The first eight bytes of `sample` as a number."""
        return int.from_bytes(self.sample[:_WORD], sys.byteorder)

    @property
    def key(self) -> bytes:
        """The identity of the sample within its evaluation, the same for each evaluation_name."""
        return self.sample[-KEY_BYTES:]


class RowRecords:
    """The records of some rows, packed one after the other."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.data) // RECORD_BYTES

    def digest(self, index: int, place: int) -> bytes:
        """Return a digest of one row: the one at SAMPLE_AT or INPUT_AT."""
        start = index * RECORD_BYTES + place
        return self.data[start : start + DIGEST_BYTES]

    def digests(self, place: int) -> list[bytes]:
        """Return the same digest of each row."""
        return [*chain.from_iterable(_DIGESTS[place].iter_unpack(self.data))]

    def sample_words(self) -> list[int]:
        """Return the first eight bytes of each row's sample as a number."""
        return self._words(1)

    def lines(self) -> list[int]:
        """Return the line of each row."""
        return self._words(0)

    def offsets(self) -> list[int]:
        """Return the byte offset of each row."""
        return self._words(_OFFSET_WORD)

    def marks(self) -> list[int]:
        """Return the digest of what numbers each row among the repeats of its sample; 0: none."""
        return self._words(_MARK_WORD)

    def places(self) -> list[int]:
        """Return the index of the result that each row joins."""
        return memoryview(self.data).cast("q")[_PLACE_WORD::_WORDS].tolist()

    def record(self, index: int) -> RowRecord:
        """Return one row."""
        return RowRecord(*_RECORD.unpack_from(self.data, index * RECORD_BYTES))

    def records(self) -> Iterator[RowRecord]:
        """Iterate over the rows."""
        return map(RowRecord._make, _RECORD.iter_unpack(self.data))

    def shift_lines(self, shift: int) -> bytes:
        """Return the packed records with `shift` added to their lines."""
        words = array("Q", self.data)
        words[::_WORDS] = array("Q", map(shift.__add__, words[::_WORDS]))
        return words.tobytes()

    def _words(self, word: int) -> list[int]:
        return memoryview(self.data).cast("Q")[word::_WORDS].tolist()


pack: Final[Callable[..., bytes]] = _RECORD.pack
"""Packs one row, its fields in the order of RowRecord."""
