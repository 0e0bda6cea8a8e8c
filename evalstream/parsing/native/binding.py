"""The compiled scanner, through ctypes, as is the outline beside it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import sys
import weakref
from array import array
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
    pointer,
)
from enum import IntEnum
from functools import lru_cache
from importlib import import_module
from itertools import accumulate, pairwise
from mmap import ACCESS_COPY, mmap
from typing import Any, Final, TypeVar

from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import RECORD_BYTES
from evalstream.model.sample_record import ROW_BYTES
from evalstream.parsing.native.schema_tables import NODE_BYTES, Tables
from evalstream.parsing.native.sources import sources_digest

_SUFFIXES: Final = {"darwin": ".dylib", "win32": ".dll"}
LIBRARY: Final = os.path.join(
    os.path.dirname(__file__), f"libscanner{_SUFFIXES.get(sys.platform, '.so')}"
)

DIGEST: Final = "libscanner.digest"
"""The file next to the library that holds the digest of its sources, for a wheel without them."""

MOST_ROWS: Final = 512
"""How many lines are listed in one go."""

MOST_RECORDS: Final = 4096
"""How many rows are taken in one go."""

MOST_KINDS: Final = 1024
"""How many kinds of rows are counted in one go."""

MOST_COVERS: Final = 64
"""How many pairs of result and repeat mark are summed up in one go."""

TEXT_BYTES: Final = 4194304
"""How much room there is for what they say; rows that say more are left to others."""

LINK_WORDS: Final = 4

IDENTITIES: Final = ("", "input", "sample_hash", "sample_id")
"""What identifies samples, in the order of the scanner; the first is nothing."""

_IDS: Final = 5
_INTERACTIONS: Final = 3
_NAMES_AT_OPENSSL: Final = {"sha256": "SHA256", "md5": "MD5"}


class StopReason(IntEnum):
    """Why no more lines were looked at."""

    NO_MORE_LINES = 0
    NO_MORE_ROOM = 1
    NEW_SCOPE = 2


class Flag:
    """Bit flags of a line; `row.h` explains each."""

    TAKEN: Final = 1
    UNANSWERED: Final = 2
    FOREIGN: Final = 4
    CARRIAGE_RETURN: Final = 8
    NUMBERED: Final = 16
    SEVERAL: Final = 32
    IS_CORRECT: Final = 64
    FAILED: Final = 128
    WATCHED: Final = 256
    UNSCORED: Final = 512
    UNJUDGED: Final = 1024
    UNHASHED: Final = 2048
    UNCHECKED: Final = 4096
    UNCOVERED: Final = 8192
    NOT_CHOSEN: Final = 16384
    WRONG_HASH: Final = 32768
    LIKE_LOG: Final = 65536
    UNLIKE_LOG: Final = 131072
    PROMPTED: Final = 262144
    UNPROMPTED: Final = 524288
    SOURCED: Final = 1048576
    UNSOURCED: Final = 2097152
    REFERRED: Final = 4194304
    RIVAL: Final = 8388608


DOUBTFUL_HASH: Final = 1 << 30
"""The doubt about sample_hash, beside the bits of the rules in `checks`."""

DOUBTFUL_WATCHED: Final = 1 << 32
"""The doubt about the rules that the scanner does not test."""

CERTAIN_HASH: Final = 1 << 33
"""Not a doubt: no recipe gives the hash."""

NO_LIKENESS: Final = (1 << 64) - 1
"""The likeness of a row that is sound, or one of too many."""

MOST_LIKENESSES: Final = 4096
NO_SLOT: Final = NO_LIKENESS
"""The slot of a likeness whose rows are listed."""


COLUMNS: Final = (
    "start",
    "stop",
    "line",
    "flags",
    "scope",
    "doubts",
    "signature",
    "shape",
    "likeness",
    "score",
    "output",
    "output_end",
    "turns",
    "turns_end",
    "sample",
    "hash",
    "input",
    "choices",
    "covered",
    "mark",
    "raw",
    "reference",
    "options",
    "prompt",
    "end",
)
"""The columns of a listed line, in words of 64 bits; `scanner.h` describes them."""

_KIND: Final = struct.Struct("=QQQQQQ")


class RowConstraints(Structure):
    """What is demanded of rows beyond the shape of their values; see `row.h`."""

    _fields_ = (
        ("lowest", c_double),
        ("highest", c_double),
        ("right_up_to", c_double),
        ("right_from", c_double),
        ("wrong_from", c_double),
        ("wrong_up_to", c_double),
        ("wanted", c_uint64 * _INTERACTIONS),
        ("unwanted", c_uint64 * _INTERACTIONS),
        ("seed", c_uint64),
        ("recipe", c_int32),
        ("tried", c_int32),
        ("hash_digits", c_int32),
        ("times_generation", c_int32),
        ("lists_all", c_int32),
        ("links", c_int32),
        ("deviating", c_int32),
        ("judges_binary", c_int32),
        ("compares", c_int32),
        ("identity", c_int32),
        ("counts_turns", c_int32),
        ("checks", c_uint32),
        ("transcript", c_char * 16),
    )


class Hasher(Structure):
    """A hash function of OpenSSL; see `digest.h`."""

    _fields_ = (("start", c_void_p), ("update", c_void_p), ("end", c_void_p), ("size", c_uint64))


class _Tables(Structure):
    _fields_ = tuple((name, c_char_p) for name in ("nodes", "members", "labels", "letters"))


class _Scope(Structure):
    _fields_ = (
        ("usual", c_uint64),
        ("listed", c_uint64),
        ("evaluation", c_uint64),
        ("name", c_uint64),
        ("result", c_uint64),
        ("doubts", c_uint64),
        ("place", c_int64),
    )


class _Scan(Structure):
    _fields_ = (
        ("bytes", c_char_p),
        ("size", c_uint64),
        ("longest", c_uint64),
        ("base", c_uint64),
        ("offsets", c_char_p),
        ("offset_count", c_uint64),
        ("at", c_uint64),
        ("line", c_uint64),
        ("rows", c_void_p),
        ("most_rows", c_uint64),
        ("row_count", c_uint64),
        ("kinds", c_void_p),
        ("kind_count", c_uint64),
        ("unlisted", c_void_p),
        ("records", c_void_p),
        ("most_records", c_uint64),
        ("links", c_void_p),
        ("samples", c_void_p),
        ("record_count", c_uint64),
        ("texts", c_void_p),
        ("most_bytes", c_uint64),
        ("byte_count", c_uint64),
        ("ids", c_uint64 * (2 * _IDS)),
    )


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """Return the compiled scanner, None where evalstream was installed without.

    A library that was compiled from other sources than those of this version is not used.
    """
    if sys.byteorder != "little":
        return None
    try:
        loaded, held = ctypes.CDLL(LIBRARY), ctypes.PyDLL(LIBRARY)
        for name in _SHORT:
            setattr(loaded, name, getattr(held, name))
        _declare(loaded)
    except (OSError, AttributeError):
        return None
    if loaded.sources_digest().decode() != _expected_digest():
        return None
    sizes = (c_uint64 * len(_SIZES))()
    loaded.tell_sizes(sizes)
    return loaded if tuple(sizes) == _SIZES else None


_SHORT: Final = (
    "signature_at",
    "start_block",
    "add_scope",
    "ignore_shapes",
    "settle_likeness",
    "index_bytes",
    "read_digests_from",
)
"""Functions that take less time than other threads take to let go of the interpreter again."""

_SIZES: Final = (
    NODE_BYTES,
    *map(ctypes.sizeof, (RowConstraints, Hasher, _Scope, _Scan)),
    8 * len(COLUMNS),
    RECORD_BYTES,
    ROW_BYTES,
    _KIND.size,
)
"""The sizes of what both sides must lay out alike."""


def _expected_digest() -> str | None:
    """Return the digest of the sources: in a wheel, which has none, the build wrote it down."""
    folder = os.path.dirname(LIBRARY)
    try:
        if (compiled := sources_digest(folder)) is not None:
            return compiled
        with open(os.path.join(folder, DIGEST), encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return None


def _declare(loaded: ctypes.CDLL) -> None:
    """Declare the functions. Raises AttributeError where one is missing."""
    loaded.tell_sizes.argtypes = (POINTER(c_uint64),)
    loaded.tell_sizes.restype = None
    for name in ("slot_paths", "recipe_names", "check_codes", "sources_digest"):
        getattr(loaded, name).restype = c_char_p
    loaded.signature_at.restype = c_void_p
    loaded.signature_at.argtypes = c_void_p, c_uint64, POINTER(c_uint64)
    loaded.new_scanner.restype = c_void_p
    loaded.new_scanner.argtypes = ()
    loaded.free_scanner.argtypes = (c_void_p,)
    loaded.learn_fold.restype = None
    loaded.learn_fold.argtypes = c_void_p, c_uint64, c_char_p, c_uint64
    pointers = POINTER(_Tables), POINTER(RowConstraints), POINTER(Hasher)
    loaded.start_block.argtypes = c_void_p, *pointers, c_int
    loaded.add_scope.argtypes = c_void_p, POINTER(_Scope)
    loaded.ignore_shapes.restype = None
    loaded.ignore_shapes.argtypes = c_void_p, c_uint64
    loaded.settle_likeness.restype = None
    loaded.settle_likeness.argtypes = c_void_p, c_uint64, c_uint64
    loaded.scan_lines.argtypes = c_void_p, POINTER(_Scan)
    loaded.new_index.restype = c_void_p
    loaded.new_index.argtypes = (c_uint64,)
    loaded.free_index.argtypes = (c_void_p,)
    loaded.expect_records.restype = None
    loaded.expect_records.argtypes = c_void_p, c_uint64
    loaded.read_digests_from.restype = None
    loaded.read_digests_from.argtypes = c_void_p, c_int
    loaded.add_records.restype = c_int64
    numbers = c_uint64, c_uint64, c_uint64
    loaded.add_records.argtypes = c_void_p, c_char_p, *numbers, c_void_p
    loaded.index_bytes.restype = c_uint64
    loaded.index_bytes.argtypes = c_void_p, c_uint64
    loaded.cover_records.restype = c_int64
    loaded.cover_records.argtypes = c_char_p, *(c_uint64,) * 5, c_void_p, c_uint64
    loaded.split_records.restype = None
    loaded.split_records.argtypes = c_char_p, *numbers, c_uint64, c_void_p, c_void_p


@lru_cache(maxsize=2)
def hasher(algorithm: str) -> Hasher | None:
    """Return the hash function that Python's hashlib is made of, None where it hides it.

    In FIPS mode OpenSSL wants to be asked in other ways.
    """
    name = _NAMES_AT_OPENSSL[algorithm]
    try:
        module = import_module("_hashlib")
        if module.get_fips_mode():
            return None
        openssl = ctypes.CDLL(str(module.__file__))
        steps = [getattr(openssl, f"{name}_{step}") for step in ("Init", "Update", "Final")]
    except (ImportError, OSError, AttributeError):
        return None
    size = hashlib.new(algorithm, usedforsecurity=False).digest_size
    return Hasher(*(ctypes.cast(step, c_void_p) for step in steps), size)


def slots() -> tuple[str, ...]:
    """Return the paths of what the scanner looks at in a row, in its order."""
    return _list_arguments("slot_paths")


def recipes() -> tuple[str, ...]:
    """Return the names of the recipes that the scanner knows, the first of which is none."""
    return _list_arguments("recipe_names")


def checks() -> tuple[str, ...]:
    """Return the codes of the rules that the scanner tests, in the order of their bits."""
    return _list_arguments("check_codes")


@lru_cache
def _list_arguments(function: str) -> tuple[str, ...]:
    loaded = library()
    text: bytes = b"" if loaded is None else getattr(loaded, function)()
    return tuple(text.decode().split("\n")[:-1])


class RowKind(NamedTuple):
    """Taken rows of one scope that agree in flags, score, and whether their hash is in doubt.

    `score` holds the bits of a double; `first` is the line of the first row.
    """

    scope: int
    flags: int
    doubtful: int
    score: int
    rows: int
    first: int


class ScannerConfig:
    """What rows are checked against."""

    def __init__(self, tables: Tables, demands: RowConstraints, hasher: Hasher) -> None:
        self.demands = demands
        # They keep alive what they point to.
        self.pointers = tuple(map(pointer, (_Tables(*tables[:4]), demands, hasher)))


Room = TypeVar("Room", bound=ctypes.Array[Any])


class Scanner:
    """Looks at the lines of blocks, one block after the other, for one thread at a time.

    Raises MemoryError.
    """

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library, self._handle = loaded, loaded.new_scanner()
        if not self._handle:
            raise MemoryError
        # Daemon threads may still use it when the process ends.
        weakref.finalize(self, loaded.free_scanner, self._handle).atexit = False
        self._most_rows = MOST_ROWS
        self._rows = (c_uint64 * (len(COLUMNS) * MOST_ROWS))()
        self._kinds = ctypes.create_string_buffer(_KIND.size * MOST_KINDS)
        self._unlisted = (c_uint64 * (2 * MOST_LIKENESSES))()
        self._records = _map_room(c_char * (RECORD_BYTES * MOST_RECORDS))
        self._links = _map_room(c_uint64 * (LINK_WORDS * MOST_RECORDS))
        self._samples = _map_room(c_char * (ROW_BYTES * MOST_RECORDS))
        self._texts = _map_room(c_char * TEXT_BYTES)
        self._setting: ScannerConfig | None = None
        self._data = b""
        self._scan = _Scan(
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
        is_known: int = self._library.start_block(self._handle, *setting.pointers, keeps)
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
        return StopReason(self._library.scan_lines(self._handle, byref(self._scan)))

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
        size = _KIND.size * self._scan.kind_count
        return [*map(RowKind._make, _KIND.iter_unpack(ctypes.string_at(self._kinds, size)))]

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
        ids = list(self._scan.ids)
        pairs = zip(ids[::2], ids[1::2], strict=True)
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
        """Give the scope of the new ids the next number, from 0 on; see `scanner.h`."""
        scope = _Scope(usual, listed, evaluation, name, result, doubts, place)
        self._library.add_scope(self._handle, byref(scope))

    def learn_fold(self, letter: str, first: int, last: int, text: bytes) -> None:
        """Learn how a letter beyond ASCII is folded; see `FoldedLetter`."""
        fold = bytes((first, last)) + text
        self._library.learn_fold(self._handle, ord(letter), fold, len(fold))

    def ignore_shapes(self, signature: int) -> None:
        """Let the shape of further rows with a signature be 0."""
        self._library.ignore_shapes(self._handle, signature)

    def settle(self, likeness: int, slot: int) -> None:
        """List no more rows of a likeness but count them in a slot; with NO_SLOT, list them."""
        self._library.settle_likeness(self._handle, likeness, slot)

    def take_unlisted(self, slots: int) -> list[tuple[int, int, int]]:
        """Return the slots in which rows were counted, with their number and the first line.

        They are counted anew from then on. Only the first `slots` are looked at.
        """
        words = self._unlisted[: 2 * slots]
        ctypes.memset(self._unlisted, 0, 16 * slots)
        counted = enumerate(zip(words[::2], words[1::2], strict=True))
        return [(slot, count, first) for slot, (count, first) in counted if count]

    def signature(self, number: int) -> bytes:
        """Return how rows of a signature deviate from the schema; equal rows have equal bytes."""
        size = c_uint64()
        start = self._library.signature_at(self._handle, number, byref(size))
        return ctypes.string_at(start, size.value)


def _map_room(kind: type[Room]) -> Room:
    """Map memory for this process alone: pages that nothing needs take none."""
    return kind.from_buffer(mmap(-1, ctypes.sizeof(kind), access=ACCESS_COPY))


_UNREADABLE: Final = -2

UNREADABLE_RECORD: Final = "a row record in a temporary file cannot be read"


class Index:
    """Finds for each digest of 16 bytes the first row that has it. Raises MemoryError."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        seed = int.from_bytes(os.urandom(8))
        self._library, self._handle = loaded, loaded.new_index(seed)
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, loaded.free_index, self._handle).atexit = False
        # It points into them.
        self._added: list[bytes] | None = []

    def expect(self, rows: int) -> None:
        """Make room for so many rows, so that it does not grow step by step."""
        self._library.expect_records(self._handle, rows)

    def read_from(self, file: int) -> None:
        """Read the digests from a file from now on, and release the records.

        The file, by its descriptor, holds all records in their order, also those to be added.
        """
        self._library.read_digests_from(self._handle, file)
        self._added = None

    def add(self, records: bytes, place: int) -> list[int] | None:
        """Take the digests that stand at `place` in records; return the first row of each.

        Rows count from 0 over all that were taken. None says that each is the first. Raises
        OSError if the file cannot be read.
        """
        if self._added is not None:
            self._added.append(records)
        count = len(records) // RECORD_BYTES
        firsts = array("Q", bytes(8 * count))
        address, _ = firsts.buffer_info()
        fresh = self._library.add_records(
            self._handle, records, count, RECORD_BYTES, place, address
        )
        if fresh == _UNREADABLE:
            raise OSError(UNREADABLE_RECORD)
        if fresh < 0:
            raise MemoryError
        return None if fresh == count else firsts.tolist()

    def size(self, more: int) -> int:
        """Return how many bytes of memory it takes, at most, while `more` digests are added."""
        size: int = self._library.index_bytes(self._handle, more)
        return size


class Cover(NamedTuple):
    """Rows of one result with one repeat mark; `digest` sums the first words of their samples."""

    place: int
    mark: int
    rows: int
    digest: int


_COVER: Final = struct.Struct("=qQQQ")


def cover(
    loaded: ctypes.CDLL, records: bytes, sample: int, mark: int, place: int
) -> list[Cover] | None:
    """Sum up records, in which words stand at some places; None if they have too many marks."""
    covers, count = ctypes.create_string_buffer(_COVER.size * MOST_COVERS), len(records)
    found = loaded.cover_records(
        records, count // RECORD_BYTES, RECORD_BYTES, sample, mark, place, covers, MOST_COVERS
    )
    if found < 0:
        return None
    return [*map(Cover._make, _COVER.iter_unpack(covers.raw[: found * _COVER.size]))]


def split(loaded: ctypes.CDLL, records: bytes, place: int, parts: int) -> list[bytes]:
    """Return records by what their byte at `place` leaves when it is divided by `parts`."""
    count = len(records) // RECORD_BYTES
    sorted_ = ctypes.create_string_buffer(max(1, len(records)))
    counts = (c_uint64 * parts)()
    loaded.split_records(records, count, RECORD_BYTES, place, parts, sorted_, counts)
    ends = list(accumulate(counts, initial=0))
    data = memoryview(sorted_)
    return [
        data[start * RECORD_BYTES : end * RECORD_BYTES].tobytes() for start, end in pairwise(ends)
    ]
