"""Peek into a file to recognise an aggregate, rows, or a document of another format."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Set
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Final

from evalstream.discovery import unrecognised
from evalstream.engine.layout import FOREIGN, LOG_MEMBERS
from evalstream.formats.base import Kind
from evalstream.formats.registry import FORMATS, MAIN, detect_kind, kind_late, main_format
from evalstream.io.beginning import (
    ARRAY,
    LINES,
    MOST_DOCUMENT_BYTES,
    NOTHING,
    PEEK_BYTES,
    Beginning,
    iterate_lines,
    outline_document,
    read_outlined_beginning,
)
from evalstream.io.names import is_packed_json_name, is_rows_name
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, internal_error
from evalstream.parsing.json import UTF8_MARK
from evalstream.parsing.limits import MOST_JSON_BYTES

AGGREGATE: Final = 1
OTHER: Final = 2
TOO_LARGE: Final = 3
ROWS: Final = 4
DOCUMENT: Final = 5
LOG: Final = 6
LIKE_AGGREGATE: Final = 7
BROKEN: Final = 8
STRANGE: Final = 9
ASIDE: Final = 10
FAULTY: Final = 11
UNREAD: Final = 12

AGGREGATES: Final = (AGGREGATE, BROKEN)
"""Checked as an aggregate."""

MAYBE_AGGREGATES: Final = (LIKE_AGGREGATE, OTHER)
"""Checked as an aggregate if rows beside it have its name and `_samples`."""

_MAIN: Final = main_format()
_VERSION: Final = "schema_version"
_HEAD_BYTES: Final = 4096
_BLANK: Final = b" \t\r\n\xef\xbb\xbf"


class AggregatePeek(NamedTuple):
    """The kind of a file, one of this module's constants.

    `declared` is the rows file that an aggregate declares. `detail` is, for a DOCUMENT, its format
    and kind (`harpia input`), for a LOG its harness, and otherwise the format that the members
    resemble, even weakly. A BROKEN file is checked as an aggregate, so that the check reports the
    error; one that is empty or has members of no known document, as `detail` says, is only counted
    in a folder where nothing shows that it belongs to an evaluation. STRANGE are lines of
    objects without any member of a row, or of other values. A file of kind ASIDE holds no data:
    `detail` is then the kind under which it is counted. A look at a FAULTY file met an internal
    error, whose message is `detail`; of an UNREAD one `detail` says why it cannot be read.
    """

    kind: int
    declared: str | None = None
    detail: str | None = None

    @property
    def format(self) -> str:
        """The name of the format of a DOCUMENT."""
        return (self.detail or "").partition(" ")[0]


def peek_safely(look: Callable[[], AggregatePeek | None]) -> AggregatePeek | None:
    """Look at one file; an internal error is its own, and does not end the search."""
    try:
        return look()
    except BaseException as error:  # noqa: BLE001 - whatever a library raises
        return AggregatePeek(FAULTY, detail=str(internal_error(error)))


def peek_aggregate(path: str) -> AggregatePeek | None:
    """Peek into a local JSON file; None if it does not exist.

    A file that cannot be read counts as an aggregate, so that its check reports the reason.
    """
    try:
        with open(path, "rb", buffering=0, opener=_open_nonblocking) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_size <= PEEK_BYTES:
                return peek_document(file.readall(), path)
            head = file.read(PEEK_BYTES) or b""
            large = _of_large(path, head, status.st_size)
            if large is not None or status.st_size > MOST_JSON_BYTES:
                return large or AggregatePeek(TOO_LARGE)
            return _peeked_in_pieces(path, head, file, status.st_size)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return None
    except OSError:
        return AggregatePeek(AGGREGATE) if os.path.isfile(path) else None


def _peeked_in_pieces(path: str, head: bytes, rest: io.FileIO, size: int) -> AggregatePeek:
    """Peek into a large JSON document, of which `head` was read, without keeping all of it.

    One that is not valid is kept, as numbers that are NaN may be all that is wrong with it.
    """
    found = outline_document(chain([head], iter(partial(rest.read, PEEK_BYTES), b"")))
    if found is None or (not found.is_valid and size <= MOST_DOCUMENT_BYTES):
        rest.seek(0)
        return peek_document(rest.readall(), path)
    whole = found.text if found.is_valid and found.size <= MOST_DOCUMENT_BYTES else None
    file = Beginning(path, head, lambda: whole)
    return _peek_text(file, found.text, lambda: found.is_valid)


def peek_document(text: bytes, name: str = "") -> AggregatePeek:
    """Peek into a JSON document."""
    whole = text if len(text) <= MOST_DOCUMENT_BYTES else None
    file = Beginning(name, text[:PEEK_BYTES], lambda: whole)
    return _peek_text(file, text, lambda: _is_valid(text))


def _peek_text(file: Beginning, text: bytes, is_valid: Callable[[], bool]) -> AggregatePeek:
    """Peek into a JSON document, given by its beginning and by its text or outline."""
    if not is_array(file.head):
        declared = _MAIN.declared_in_text(text)
        if declared is not None:
            return AggregatePeek(AGGREGATE, declared.path)
    return _looked_closely(file, text, is_valid)


def peek_data(path: str) -> AggregatePeek:
    """Peek at the beginning of a local file whose name is not that of a JSON document.

    If the file seems to hold no data, all of it is read, since rows may follow. What cannot be read
    may be rows: their check reports why it cannot.
    """
    file = read_outlined_beginning(path)
    look = peek_bytes(file)
    if not file.head and look.kind != DOCUMENT and _holds_bytes(path):
        return AggregatePeek(ROWS)
    if look.detail in _BESIDE:
        is_aside = False
        with suppress(OSError, CannotCheck):
            is_aside = unrecognised.are_all_aside(iterate_lines(path), look.detail)
        return look if is_aside else AggregatePeek(OTHER)
    return look


def _holds_bytes(path: str) -> bool:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def peek_bytes(file: Beginning) -> AggregatePeek:
    """Return the kind of a file that is not named as a JSON document, from its beginning."""
    kind = detect_kind(file)
    is_aggregate = kind and kind.format == MAIN and _MAIN.places[kind.document] == "aggregate"
    if is_packed_json_name(file.name) and (kind is None or is_aggregate):
        if file.seen == NOTHING:
            return AggregatePeek(ROWS)  # it may be anything, and its check says why it is not JSON
        is_like = not _MAIN.aggregate_members.isdisjoint(file.seen.keys)
        return AggregatePeek(LIKE_AGGREGATE if is_like else OTHER)
    if kind is not None:
        return _describe_kind(kind)
    keys = file.seen.keys
    aside = unrecognised.aside_by_members(keys)
    if aside in _DOCUMENTS_BESIDE:
        return AggregatePeek(ASIDE, detail=aside)
    is_claimed = any(one.claims_line(keys) for one in FORMATS.values())
    is_row = not _MAIN.row_members.isdisjoint(keys) and not is_claimed
    if not file.head and is_rows_name(file.name):
        return AggregatePeek(OTHER, detail=unrecognised.EMPTY)
    is_strange = not is_row
    if not keys:
        is_strange = b"{" not in file.head and _is_valid(file.head.partition(b"\n")[0])
    return AggregatePeek(STRANGE, detail=aside) if is_strange else AggregatePeek(OTHER)


def _describe_kind(kind: Kind) -> AggregatePeek:
    if kind.format == FOREIGN:
        return AggregatePeek(LOG, detail=kind.document)
    if kind.format == MAIN:
        return AggregatePeek(ROWS)
    return AggregatePeek(DOCUMENT, detail=f"{kind.format} {kind.document}")


def is_array(head: bytes) -> bool:
    """Tell by its first character whether a JSON file holds an array."""
    return head[:_HEAD_BYTES].lstrip(_BLANK).startswith(b"[")


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without blocking.

    Raises FileNotFoundError for a named pipe: its writer would take this process for its reader,
    and die of the close.
    """
    if stat.S_ISFIFO(os.stat(path).st_mode):
        raise FileNotFoundError(path)
    return os.open(path, flags | os.O_NONBLOCK)


def _of_large(path: str, head: bytes, size: int) -> AggregatePeek | None:
    """Return the kind of a document from its beginning, None if all of it must be read."""
    file = Beginning(path, head)
    kind = detect_kind(file) or (kind_late(file) if size > MOST_DOCUMENT_BYTES else None)
    if kind is None or (kind.format == MAIN and file.seen.kind not in (ARRAY, LINES)):
        return None
    return _describe_kind(kind)


def _looked_closely(file: Beginning, text: bytes, is_valid: Callable[[], bool]) -> AggregatePeek:
    """Distinguish documents of other formats from other and from broken JSON files."""
    document = file.document
    declared = _MAIN.read_declared_rows(document) if isinstance(document, dict) else None
    if declared is not None:
        return AggregatePeek(AGGREGATE, declared.path)
    kind = detect_kind(file) or kind_late(file)
    if kind is not None and (kind.format != MAIN or file.seen.kind in (ARRAY, LINES)):
        return _describe_kind(kind)
    text = text.removeprefix(UTF8_MARK)
    members = document if isinstance(document, dict) else unrecognised.read_members(text)
    keys = frozenset(members) or file.seen.keys
    are_lines = file.seen.kind == LINES and _are_strange(keys) and _is_line(file.head)
    if document is None and not are_lines and not is_valid():
        is_aggregate = not _MAIN.aggregate_signs.isdisjoint(file.seen.keys)
        detail = None if file.head else unrecognised.EMPTY
        if keys and _are_strange(keys) and LOG_MEMBERS.isdisjoint(keys):
            detail = unrecognised.BROKEN
        return AggregatePeek(AGGREGATE if is_aggregate else BROKEN, detail=detail)
    if kind is not None:
        return AggregatePeek(LIKE_AGGREGATE, detail=MAIN)
    aside = unrecognised.aside_by_members(keys)
    if aside in _DOCUMENTS_BESIDE:
        return AggregatePeek(ASIDE, detail=aside)
    if isinstance(document, dict) and not f"{document.get(_VERSION)}".startswith("0."):
        keys -= {_VERSION}  # documents of many kinds have one, and ours is below 1
    like = OTHER if _MAIN.aggregate_members.isdisjoint(keys) else LIKE_AGGREGATE
    resembled = next((name for name, one in FORMATS.items() if one.is_like(keys)), None)
    return AggregatePeek(like, detail=resembled)


def _is_line(head: bytes) -> bool:
    """Tell whether the first line is a whole object, unlike that of a document written twice."""
    return bool(unrecognised.read_members(head.removeprefix(UTF8_MARK).partition(b"\n")[0]))


def _are_strange(keys: Set[str]) -> bool:
    """Tell whether members are of an object that is neither a row, an aggregate nor a document."""
    known = _MAIN.row_members | _MAIN.aggregate_members
    is_like = any(one.claims_line(keys) or one.is_like(keys) for one in FORMATS.values())
    return known.isdisjoint(keys) and not is_like


def _is_valid(text: bytes) -> bool:
    """Tell whether a text is JSON, at any depth and with duplicate members."""
    import msgspec  # it loads inspect, and few searches meet such a file

    try:
        msgspec.json.decode(text.removeprefix(UTF8_MARK), type=msgspec.Raw)
        text.decode()
    except (msgspec.MsgspecError, ValueError, RecursionError):  # before 0.21 it has other errors
        return False
    return True


_DOCUMENTS_BESIDE: Final = (
    unrecognised.ATTESTATION,
    unrecognised.BASELINE,
    unrecognised.INDEX,
    unrecognised.REPORT,
)
_BESIDE: Final = (*_DOCUMENTS_BESIDE, unrecognised.EVENTS)
