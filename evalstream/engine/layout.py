"""Recognise from its first bytes how a file holds its rows, or what else it is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import fast
from evalstream.parsing.lazy_regex import LazyPattern

JSONL: Final = "jsonl"
JSON_ARRAY: Final = "json"
AGGREGATE: Final = "aggregate"
WIDE: Final = "wide"
FOREIGN: Final = "foreign"

_WIDE: Final = {
    "UTF-32": LazyPattern(
        rb"\xff\xfe\0\0|\0\0\xfe\xff|\{\0\0\0[ -~\r\n]\0\0\0|\0\0\0\{\0\0\0[ -~\r\n]"
    ),
    "UTF-16": LazyPattern(rb"\xff\xfe|\xfe\xff|\{\0[ -~\r\n]\0|\0\{\0[ -~\r\n]"),
}
"""A byte order mark, or an opening brace and the next character in UTF-16 or UTF-32."""

_OPENING: Final = LazyPattern(rb"\s*\[\s*")
_FIRST_ROW: Final = LazyPattern(rb"\s*\[\s*\{")

_BETWEEN_ROWS: Final = b"}\n{"
"""Bytes that no JSON document has: `{` never follows `}`, and a string contains no newline."""


class Layout(NamedTuple):
    """The layout of a rows file: `kind` is one of this module's constants, `detail` says more."""

    kind: str
    detail: str = ""


_ROW_MEMBERS: Final = (b'"evaluation_id"', b'"schema_version"')
"""Members that rows have, and logs of harnesses do not."""

_NEAR: Final = 1 << 14
"""In most files the first row begins within so many bytes."""


def detect_layout(
    head: bytes,
    size: int,
    path: str | None = None,
    *,
    any_rows: bool = False,
    of_aggregates: Collection[str] = (),
) -> Layout:
    """Recognise the layout of an unpacked file of `size` bytes by its first bytes.

    Every file that is not certainly something else counts as rows, so that its lines are checked.
    `path` is the path of the file, None for a stream; the advice for a harness's log contains it.
    With `any_rows` such a log counts as rows. Only aggregates have the members `of_aggregates`.
    """
    if not any_rows and not any(member in head[:_NEAR] for member in _ROW_MEMBERS):
        # Nearly all files have such members.
        from evalstream.engine.harness_logs import detect_log
        from evalstream.io.beginning import PEEK_BYTES, Beginning

        log = detect_log(Beginning("", head[:PEEK_BYTES]))
        if log is not None:
            return Layout(FOREIGN, log.describe(path))
    # Either has such a byte among the first two.
    if b"\0" in head[:2] or not head[:1].isascii():
        for name, beginning in _WIDE.items():
            if beginning.match(head):
                return Layout(WIDE, name)
    start = head[:4096].lstrip(b" \t\r\n\xef\xbb\xbf")
    if start.startswith(b"["):
        return Layout(JSON_ARRAY) if _is_array(head, size) else Layout(JSONL)
    if start.startswith(b"{") and size <= len(head) and _BETWEEN_ROWS not in head:
        document = _parse_head(head)
        if isinstance(document, dict) and any(member in document for member in of_aggregates):
            return Layout(AGGREGATE)
    return Layout(JSONL)


def _is_array(head: bytes, size: int) -> bool:
    """Distinguish an array of rows from lines of which the first holds a list.

    A broken array is an array, too, so that the report says where it breaks.
    """
    if size <= len(head) and isinstance(document := _parse_head(head), list):
        return any(isinstance(item, dict) for item in document)
    lines = head.lstrip(b" \t\r\n\xef\xbb\xbf").split(b"\n", 2)
    first = lines[0]
    if _OPENING.fullmatch(first):
        return True
    begins = _FIRST_ROW.match(first) is not None
    if begins and len(lines) == 1 and size > len(head):
        # A line that goes on after the head is not worth parsing.
        return True
    return (
        begins
        and _parse_head(first) is None
        and not (len(lines) > 1 and isinstance(_parse_head(lines[1]), dict))
    )


def _parse_head(text: bytes) -> object:
    try:
        return fast(text)
    except ValueError:
        return None
