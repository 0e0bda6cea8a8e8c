"""The compiled library: its structures and functions, and whether it was built from its sources."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import sys
from ctypes import (
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
)
from enum import IntEnum
from functools import lru_cache, partial
from importlib import import_module
from typing import Final

from evalstream.model.row_record import RECORD_BYTES
from evalstream.model.sample_record import ROW_BYTES
from evalstream.parsing.native.schema_tables import NODE_BYTES
from evalstream.parsing.native.sources import sources_digest

_SUFFIXES: Final = {"darwin": ".dylib", "win32": ".dll"}
LIBRARY: Final = os.path.join(
    os.path.dirname(__file__), f"libscanner{_SUFFIXES.get(sys.platform, '.so')}"
)

DIGEST: Final = "libscanner.digest"
"""The file next to the library that holds the digest of its sources, for a wheel without them."""

LINK_WORDS: Final = 4

IDENTITIES: Final = ("", "input", "sample_hash", "sample_id")
"""The identities of samples, in the order of the scanner; the first is none."""

_IDS: Final = 5
_INTERACTIONS: Final = 3
_NAMES_AT_OPENSSL: Final = {"sha256": "SHA256", "md5": "MD5"}


class StopReason(IntEnum):
    """Why no more lines were looked at."""

    NO_MORE_LINES = 0
    NO_MORE_ROOM = 1
    NEW_SCOPE = 2


class Flag:
    """Bit flags of a line; `eee_row.h` explains each."""

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
    LOGGED: Final = 33554432
    UNLOGGED: Final = 67108864
    PROMPTED: Final = 262144
    UNPROMPTED: Final = 524288
    SOURCED: Final = 1048576
    UNSOURCED: Final = 2097152
    REFERRED: Final = 4194304
    RIVAL: Final = 8388608
    ALIASED: Final = 16777216
    UNSHOWN: Final = 134217728


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
    *("start", "stop", "line", "flags", "scope", "doubts", "signature", "shape", "likeness"),
    *("score", "output", "output_end", "turns", "turns_end", "sample", "hash", "input"),
    *("reference", "choices", "covered", "mark", "linked", "options", "prompt", "end"),
    *("digest", "digest_1", "digest_2", "digest_3"),
)
"""The columns of a listed line, in words of 64 bits; `eee_scanner.h` describes them."""

KIND: Final = struct.Struct("=QQQdQQ")


class RowConstraints(Structure):
    """Demands on rows beyond the shape of their values; see `eee_row.h`."""

    _fields_ = (
        ("lowest", c_double),
        ("highest", c_double),
        ("right_up_to", c_double),
        ("right_from", c_double),
        ("wrong_from", c_double),
        ("wrong_up_to", c_double),
        ("most_tokens", c_double),
        ("most_turns", c_double),
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
        ("reads_chosen", c_int32),
        ("compares", c_int32),
        ("identity", c_int32),
        ("counts_turns", c_int32),
        ("looks_for_references", c_int32),
        ("checks", c_uint32),
        ("transcript", c_char * 16),
    )


class Hasher(Structure):
    """A hash function; see `digest.h`."""

    _fields_ = (("start", c_void_p), ("update", c_void_p), ("end", c_void_p), ("size", c_uint64))


class TablePointers(Structure):
    """The tables of a schema; see `shape.h`."""

    _fields_ = tuple((name, c_char_p) for name in ("nodes", "members", "labels", "letters"))


class ScopeEntry(Structure):
    """Rows of one evaluation and result, and what is known of them; see `eee_scanner.h`."""

    _fields_ = (
        ("usual", c_uint64),
        ("listed", c_uint64),
        ("evaluation", c_uint64),
        ("name", c_uint64),
        ("result", c_uint64),
        ("doubts", c_uint64),
        ("place", c_int64),
    )


class ScanState(Structure):
    """Where a scanner is in its block, and the room for what it finds; see `eee_scanner.h`."""

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
    loaded.eee_tell_sizes(sizes)
    return loaded if tuple(sizes) == _SIZES else None


_SHORT: Final = (
    *("eee_signature_at", "eee_start_block", "eee_add_scope", "eee_ignore_shapes"),
    *("eee_settle_likeness", "index_bytes", "read_digests_from"),
)
"""Functions that take less time than other threads take to let go of the interpreter again."""

_SIZES: Final = (
    NODE_BYTES,
    *map(ctypes.sizeof, (RowConstraints, Hasher, ScopeEntry, ScanState)),
    8 * len(COLUMNS),
    RECORD_BYTES,
    ROW_BYTES,
    KIND.size,
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
    for name, types in _FUNCTIONS.items():
        function, (returned, taken) = getattr(loaded, name), types.split(":")
        function.restype = _TYPES.get(returned)
        function.argtypes = [_TYPES[one] for one in taken]


_TYPES: Final = {"P": c_void_p, "s": c_char_p, "Q": c_uint64, "q": c_int64, "i": c_int}

_FUNCTIONS: Final = {
    "add_records": "q:PsQQQP",
    "add_to_outline": "i:PsQ",
    "add_values": ":PPQPPQQ",
    "are_plain_lines": "i:sQ",
    "count_newlines": "Q:sQ",
    "cover_records": "q:sQQQQQPQ",
    "eee_add_scope": ":PP",
    "eee_check_codes": "s:",
    "eee_free_scanner": ":P",
    "eee_ignore_shapes": ":PQ",
    "eee_learn_fold": ":PQsQ",
    "eee_new_scanner": "P:",
    "eee_recipe_names": "s:",
    "eee_scan_lines": "i:PP",
    "eee_settle_likeness": ":PQQ",
    "eee_signature_at": "P:PQP",
    "eee_slot_paths": "s:",
    "eee_start_block": "i:PPPPi",
    "eee_tell_sizes": ":P",
    "expect_records": ":PQ",
    "find_values": ":sQsPQ",
    "free_index": ":P",
    "free_outline": ":P",
    "free_rewriter": ":P",
    "index_bytes": "Q:PQ",
    "lm_scan_size": "Q:",
    "new_index": "P:Q",
    "new_outline": "P:",
    "new_rewriter": "P:P",
    "outline_text": "P:PP",
    "read_digests_from": ":Pi",
    "rewrite_lines": "i:PsQP",
    "scan_entries": "Q:PP",
    "scan_items": "Q:PP",
    "scan_lm_rows": "Q:PP",
    "sources_digest": "s:",
    "split_records": ":sQQQQPP",
    "tell_rewriter_sizes": ":P",
}
"""The letter in `_TYPES` of what each function returns, and those of what it takes."""


@lru_cache(maxsize=2)
def hasher(algorithm: str) -> Hasher:
    """Return the function of OpenSSL that Python's hashlib is made of.

    Where no file has it, as in a Python that is linked statically, and in FIPS mode, where OpenSSL
    wants to be asked in other ways, the function calls hashlib, which takes a third longer in all.
    """
    name = _NAMES_AT_OPENSSL[algorithm]
    make = partial(hashlib.new, algorithm, usedforsecurity=False)
    size = make().digest_size
    try:
        module = import_module("_hashlib")
        if not module.get_fips_mode():
            openssl = ctypes.CDLL(str(module.__file__))
            steps = [getattr(openssl, f"{name}_{step}") for step in ("Init", "Update", "Final")]
            return Hasher(*(ctypes.cast(step, c_void_p) for step in steps), size)
    except (ImportError, OSError, AttributeError):
        pass

    def write_digest(digest: int, data: int, length: int) -> int:
        ctypes.memmove(digest, make(ctypes.string_at(data, length)).digest(), size)
        return 1

    called = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_uint64)(write_digest)
    found = Hasher(None, ctypes.cast(called, c_void_p), None, size)
    found.called = called  # lives as long
    return found


def slots() -> tuple[str, ...]:
    """Return the paths of what the scanner looks at in a row, in its order."""
    return _list_arguments("eee_slot_paths")


def recipes() -> tuple[str, ...]:
    """Return the names of the recipes that the scanner knows, the first of which is none."""
    return _list_arguments("eee_recipe_names")


def checks() -> tuple[str, ...]:
    """Return the codes of the rules that the scanner tests, in the order of their bits."""
    return _list_arguments("eee_check_codes")


@lru_cache
def _list_arguments(function: str) -> tuple[str, ...]:
    loaded = library()
    text: bytes = b"" if loaded is None else getattr(loaded, function)()
    return tuple(text.decode().split("\n")[:-1])
