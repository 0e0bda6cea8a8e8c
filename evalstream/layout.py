"""Tell from its first bytes whether a file holds one row per line, and if not, what it is."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from evalstream.parsing import fast
from evalstream.runs import AGGREGATE_KEYS

JSONL: Final = "jsonl"
JSON_ARRAY: Final = "json"
AGGREGATE: Final = "aggregate"
COMPRESSED: Final = "compressed"
WIDE: Final = "wide"

_MAGIC: Final = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
_WIDE: Final = {
    "UTF-32": re.compile(
        rb"\xff\xfe\0\0|\0\0\xfe\xff|\{\0\0\0[ -~\r\n]\0\0\0|\0\0\0\{\0\0\0[ -~\r\n]"
    ),
    "UTF-16": re.compile(rb"\xff\xfe|\xfe\xff|\{\0[ -~\r\n]\0|\0\{\0[ -~\r\n]"),
}
"""A byte order mark, or an opening brace and the next character in wide characters."""


class Layout(NamedTuple):
    """What a rows file is: `kind` is one of this module's words, `detail` says more."""

    kind: str
    detail: str = ""


def layout_of(head: bytes, size: int) -> Layout:
    """Recognise the layout of a file of `size` bytes by its first bytes.

    Whatever is not surely something else counts as rows, so that its lines are looked at.
    """
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return Layout(COMPRESSED, name)
    for name, beginning in _WIDE.items():
        if beginning.match(head):
            return Layout(WIDE, name)
    start = head[:4096].lstrip(b" \t\r\n\xef\xbb\xbf")
    if start.startswith(b"["):
        return Layout(JSON_ARRAY) if _is_array(head, size) else Layout(JSONL)
    if start.startswith(b"{") and size <= len(head):
        document = _parsed(head)
        if isinstance(document, dict) and not AGGREGATE_KEYS.isdisjoint(document):
            return Layout(AGGREGATE)
    return Layout(JSONL)


def _is_array(head: bytes, size: int) -> bool:
    if size <= len(head):
        document = _parsed(head)
        return (
            isinstance(document, list)
            and bool(document)
            and all(isinstance(item, dict) for item in document)
        )
    first = head.lstrip().partition(b"\n")[0].strip()
    return (first == b"[" or first.startswith(b"[{")) and _parsed(first) is None


def _parsed(text: bytes) -> object:
    try:
        return fast(text)
    except ValueError:
        return None
