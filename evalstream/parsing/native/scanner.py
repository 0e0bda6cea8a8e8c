"""The compiled scanner of rows: the request for a block, and its answer about the rows."""

from __future__ import annotations

import ctypes
import weakref
from array import array
from collections.abc import Sequence
from ctypes import byref, c_char, c_uint64, pointer
from itertools import chain
from mmap import ACCESS_COPY, mmap
from typing import Any, Final, TypeVar

from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import RECORD_BYTES
from evalstream.model.sample_record import ROW_BYTES
from evalstream.parsing.json import split_pointer
from evalstream.parsing.native.binding import (
    COLUMNS,
    KIND,
    LINK_WORDS,
    MOST_LIKENESSES,
    Hasher,
    RowConstraints,
    ScanState,
    ScopeEntry,
    StopReason,
    TablePointers,
)
from evalstream.parsing.native.schema_tables import Tables

MOST_ROWS: Final = 512
"""How many lines are listed in one go."""

MOST_RECORDS: Final = 4096
"""How many rows one call scans at most."""

MOST_KINDS: Final = 1024
"""How many kinds of rows are counted in one go."""

TEXT_BYTES: Final = 4194304
"""Room for the texts of rows, in bytes; the exact path takes rows with more."""


class RowKind(NamedTuple):
    """Taken rows of one scope that agree in flags, score, and whether their hash is in doubt.

    `first` is the line of the first row.
    """

    scope: int
    flags: int
    doubtful: int
    score: float
    rows: int
    first: int


class ScannerConfig:
    """The tables against which the scanner checks rows."""

    def __init__(self, tables: Tables, demands: RowConstraints, hasher: Hasher) -> None:
        self.demands = demands
        # They keep alive what they point to.
        self.pointers = tuple(map(pointer, (TablePointers(*tables[:4]), demands, hasher)))


Room = TypeVar("Room", bound=ctypes.Array[Any])


class Scanner:
    """Looks at the lines of blocks, one block after the other, for one thread at a time.

    Raises MemoryError.
    """

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library, self._handle = loaded, loaded.eee_new_scanner()
        if not self._handle:
            raise MemoryError
        # Daemon threads may still use it when the process ends.
        weakref.finalize(self, loaded.eee_free_scanner, self._handle).atexit = False
        self._most_rows = MOST_ROWS
        self._rows = (c_uint64 * (len(COLUMNS) * MOST_ROWS))()
        self._kinds = ctypes.create_string_buffer(KIND.size * MOST_KINDS)
        self._unlisted = (c_uint64 * (2 * MOST_LIKENESSES))()
        self._records = _map_room(c_char * (RECORD_BYTES * MOST_RECORDS))
        self._links = _map_room(c_uint64 * (LINK_WORDS * MOST_RECORDS))
        self._samples = _map_room(c_char * (ROW_BYTES * MOST_RECORDS))
        self._texts = _map_room(c_char * TEXT_BYTES)
        self._setting: ScannerConfig | None = None
        self._data = b""
        self._scan = ScanState(
            rows=ctypes.addressof(self._rows),
            kinds=ctypes.addressof(self._kinds),
            unlisted=ctypes.addressof(self._unlisted),
            most_records=MOST_RECORDS,
            records=ctypes.addressof(self._records),
            links=ctypes.addressof(self._links),
            samples=ctypes.addressof(self._samples),
            texts=ctypes.addressof(self._texts),
            most_bytes=TEXT_BYTES,
        )
        self._words = memoryview(self._rows).cast("B").cast("Q")

    def start(
        self,
        setting: ScannerConfig,
        data: bytes,
        base: int,
        offsets: bytes | None,
        longest: int,
        *,
        keeps: bool = False,
    ) -> bool:
        """Begin with a block; lines above `longest` bytes are not taken.

        The first byte has the offset `base`, unless `offsets` tells those of all lines. `keeps`
        says that the setting is that of the block before. Return whether its scopes, signatures and
        likenesses are still known: not if there is little room for more.
        """
        # What the scanner points to lives as long.
        self._setting, self._data = setting, data
        is_known: int = self._library.eee_start_block(self._handle, *setting.pointers, keeps)
        scan = self._scan
        scan.bytes, scan.size, scan.longest, scan.base = data, len(data), longest, base
        scan.offsets, scan.offset_count = offsets, len(offsets or b"") // 8
        return bool(is_known)

    def stop(self) -> None:
        """Let go of the block."""
        self._data = b""
        self._scan.bytes = self._scan.offsets = None

    def go_to(self, at: int, line: int, most_rows: int) -> None:
        """Drop the results so far, and continue with a line, given by its start and its number.

        At most `most_rows` lines are listed.
        """
        scan = self._scan
        scan.at, scan.line, scan.most_rows = at, line, min(most_rows, self._most_rows)
        scan.row_count = scan.kind_count = scan.record_count = scan.byte_count = 0

    def scan(self) -> StopReason:
        """Look at more lines."""
        return StopReason(self._library.eee_scan_lines(self._handle, byref(self._scan)))

    @property
    def at(self) -> int:
        """Where the next line starts."""
        at: int = self._scan.at
        return at

    @property
    def line(self) -> int:
        """The number of the next line."""
        line: int = self._scan.line
        return line

    def words(self) -> memoryview[int]:
        """Return the listed lines since `go_to`: COLUMNS for each, one line behind the other."""
        return self._words[: len(COLUMNS) * self._scan.row_count]

    def kinds(self) -> list[RowKind]:
        """Return the kinds of the rows taken since `go_to`."""
        size = KIND.size * self._scan.kind_count
        return [*map(RowKind._make, KIND.iter_unpack(ctypes.string_at(self._kinds, size)))]

    def records(self) -> bytes:
        """Return the row records of the taken rows."""
        return ctypes.string_at(self._records, RECORD_BYTES * self._scan.record_count)

    def links(self) -> list[int]:
        """Return LINK_WORDS for each taken row, if rows are linked."""
        return self._links[: LINK_WORDS * self._scan.record_count]

    def samples(self) -> bytes:
        """Return the sample rows of the taken rows, if they are wanted."""
        return ctypes.string_at(self._samples, ROW_BYTES * self._scan.record_count)

    def texts(self) -> bytes:
        """Return the texts of the taken rows, if they are kept."""
        return ctypes.string_at(self._texts, self._scan.byte_count)

    def new_ids(self) -> list[bytes | None]:
        """Return the ids that made it pause, as they are written; None for those not there."""
        pairs = zip(self._scan.ids[::2], self._scan.ids[1::2], strict=True)
        return [self._data[start:stop] if stop else None for start, stop in pairs]

    def add_scope(
        self,
        *,
        usual: bool,
        listed: bool = False,
        evaluation: int = 0,
        name: int = 0,
        result: int = 0,
        doubts: int = 0,
        place: int = 0,
    ) -> None:
        """Give the scope of the new ids the next number, from 0 on; see `eee_scanner.h`."""
        scope = ScopeEntry(usual, listed, evaluation, name, result, doubts, place)
        self._library.eee_add_scope(self._handle, byref(scope))

    def learn_fold(self, letter: str, first: int, last: int, text: bytes) -> None:
        """Learn how a letter beyond ASCII is folded; see `FoldedLetter`."""
        fold = bytes((first, last)) + text
        self._library.eee_learn_fold(self._handle, ord(letter), fold, len(fold))

    def ignore_shapes(self, signature: int) -> None:
        """Let the shape of further rows with a signature be 0."""
        self._library.eee_ignore_shapes(self._handle, signature)

    def settle(self, likeness: int, slot: int) -> None:
        """List no more rows of a likeness but count them in a slot; with NO_SLOT, list them."""
        self._library.eee_settle_likeness(self._handle, likeness, slot)

    def take_unlisted(self, slots: int) -> list[tuple[int, int, int]]:
        """Return the slots in which rows were counted, with their number and the first line.

        They are counted anew from then on. Only the first `slots` count.
        """
        words = self._unlisted[: 2 * slots]
        ctypes.memset(self._unlisted, 0, 16 * slots)
        counted = enumerate(zip(words[::2], words[1::2], strict=True))
        return [(slot, count, first) for slot, (count, first) in counted if count]

    def signature(self, number: int) -> bytes:
        """Return how rows of a signature deviate from the schema; equal rows have equal bytes."""
        size = c_uint64()
        start = self._library.eee_signature_at(self._handle, number, byref(size))
        return ctypes.string_at(start, size.value)


def find_values(
    loaded: ctypes.CDLL, data: bytes, starts: Sequence[int], paths: Sequence[bytes]
) -> list[bytes]:
    """Return values of rows that a scanner took as they are written, "" for those not there.

    Each has the start of its row and its path from `json_path`.
    """
    places = array("Q", chain.from_iterable(zip(starts, map(len, paths), strict=True)))
    address = places.buffer_info()[0]
    loaded.find_values(data, len(data), b"".join(paths), address, len(starts))
    return [data[start:stop] for start, stop in zip(places[::2], places[1::2], strict=True)]


_BEFORE_NAME: Final = b"\xff"


def json_path(pointer: str) -> bytes:
    """Return a JSON Pointer (RFC 6901) as `find_values` takes it."""
    names = (name.encode(errors="surrogatepass") for name in split_pointer(pointer))
    return b"".join(_BEFORE_NAME + name for name in names)


def _map_room(kind: type[Room]) -> Room:
    """Map memory for this process alone: pages that nothing needs take none."""
    return kind.from_buffer(mmap(-1, ctypes.sizeof(kind), access=ACCESS_COPY))
