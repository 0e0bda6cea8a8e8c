"""Limits of lines and documents: sizes, numbers of values, and the findings kept per code."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import MORE, Severity, Violation
from evalstream.model.signals import STOPPING
from evalstream.parsing.json import STRING
from evalstream.parsing.lazy_regex import LazyPattern

MOST_JSON_BYTES: Final = 256 * MEBIBYTE
"""Most bytes of a JSON document, which is read into memory."""

MOST_JSON_VALUES: Final = 500_000
"""Most values in a JSON document, containers included and names not.

A value takes a multiple of its text in memory, and may have several findings. Strings in lists have
their own limit.
"""

MOST_JSON_TEXTS: Final = 2_000_000
"""Most strings in lists of a JSON document: an aggregate may list all samples of each result."""

LONGEST_LINE: Final = 256 * MEBIBYTE
"""The largest limit of lines: one of 64 MiB takes 0.6 GiB of memory, 1.2 GiB if not ASCII."""

MOST_YAML_BYTES: Final = 8 * MEBIBYTE
MOST_YAML_NODES: Final = 200_000
"""Most nodes of a YAML document, with aliases expanded: these take about a second."""

MOST_OF_A_KIND: Final = 10_000
"""Most findings of one code per document that are kept; the others are counted."""

CHUNK_BYTES: Final = 16 * MEBIBYTE
SIGNAL_INTERVAL: Final = 10_000
"""Number of findings between two checks for a signal."""

_STRING: Final = LazyPattern(f"{STRING}?".encode(), re.DOTALL)
_SOME: Final = LazyPattern(rb'(?:[^"]*+%b?){1,4096}+' % STRING.encode(), re.DOTALL)
"""Some strings, and what is before each."""

_LISTED: Final = LazyPattern(rb'(?<=[,\[])[ \t\r\n]*+"[ \t\r\n]*+(?=[,\]])')
"""A string in a list, after each string was replaced by a single quote."""

_EMPTY: Final = LazyPattern(rb"\[[ \t\r\n]*+\]|\{[ \t\r\n]*+\}")


class TooLarge(CannotCheck):
    """A document exceeds a limit."""


def refuse_long_lines(most: int) -> None:
    """Raise UsageError for a limit of lines that takes more memory than most machines have."""
    if most > LONGEST_LINE:
        raise UsageError(
            f"--max-line-bytes must be at most {LONGEST_LINE:,} (256 MiB): a line takes up to "
            "twenty times its size in memory; split longer rows, or leave their texts out"
        )


def too_many_bytes(most: int) -> TooLarge:
    """Return the error for a document of too many bytes."""
    return TooLarge(f"it is larger than {most // MEBIBYTE:,} MiB, the limit for documents")


def refuse_many_values(text: bytes | bytearray) -> None:
    """Raise TooLarge for JSON text with too many values."""
    fewest = min(MOST_JSON_VALUES, MOST_JSON_TEXTS)
    # Every value but the first follows a comma or an opening bracket.
    if len(text) < fewest or _separators(text) < fewest:
        return
    without_strings = _without_strings(text)
    texts = sum(1 for _ in _LISTED.finditer(without_strings))
    values = 1 + _separators(without_strings) - _EMPTY.subn(b"", without_strings)[1] - texts
    for number, most, what in (
        (values, MOST_JSON_VALUES, "values"),
        (texts, MOST_JSON_TEXTS, "texts in lists"),
    ):
        if number > most:
            raise TooLarge(f"it contains more than {most:,} {what}, the limit for documents")


def _without_strings(text: bytes | bytearray) -> bytes:
    """Replace each string by a quote, some at a time: the pieces between them need much memory."""
    parts, start = [], 0
    while (some := _SOME.match(text, start)) is not None:
        parts.append(_STRING.sub(b'"', some[0]))
        start = some.end()
    return b"".join([*parts, text[start:]])


def read_bounded(reader: ByteStream, most: int) -> bytes:
    """Read a stream to its end. Raises OSError, Stopped, and TooLarge above `most` bytes."""
    kept = bytearray()
    while data := reader.read():
        STOPPING.check()
        kept += data
        if len(kept) > most:
            raise too_many_bytes(most)
    return bytes(kept)


def read_regular(descriptor: int, status: os.stat_result, most: int) -> bytes:
    """Read an open regular file to its end, which may be after its size. Raises as above."""
    if status.st_size > most:
        raise too_many_bytes(most)
    pieces, left = [], most + 1
    size = min(status.st_size + 1, CHUNK_BYTES)
    while data := os.read(descriptor, min(left, size)):
        if len(data) == CHUNK_BYTES:
            STOPPING.check()
        pieces.append(data)
        left -= len(data)
        if not left:
            raise too_many_bytes(most)
    return b"".join(pieces)


def is_device(status: os.stat_result) -> bool:
    """Tell whether a file is a device, which may be endless."""
    return stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)


class FindingLimiter:
    """Counts findings by document, code and severity, and limits how many are kept.

    Signals are checked at intervals, as there may be very many findings.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._counts: dict[tuple[str | None, str, Severity | None], int] = {}

    def takes(self, error: Violation, file: str | None = None) -> bool:
        """Count a finding, and tell whether to keep it. Raises Stopped."""
        self._seen += 1
        if self._seen % SIGNAL_INTERVAL == 0:
            STOPPING.check()
        key = file, error.code, error.severity
        kept = self._counts.get(key, 0)
        if kept < MOST_OF_A_KIND:
            self._counts[key] = kept + 1
            return True
        self._counts[key] = kept + (1 if error.count is None else error.count)
        return False

    def rest(self) -> Iterator[tuple[str | None, Violation]]:
        """Iterate over documents and the violations that replace those not kept."""
        for (file, code, severity), count in self._counts.items():
            more = count - MOST_OF_A_KIND
            if more > 0:
                yield file, Violation(code, MORE, severity=severity, count=more)


def limit_findings(errors: Iterable[Violation]) -> Iterator[Violation]:
    """Yield the first findings of each kind, and one for all others of it. Raises Stopped."""
    kept = FindingLimiter()
    for error in errors:
        if kept.takes(error):
            yield error
    yield from (error for _, error in kept.rest())


def _separators(text: bytes | bytearray) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")
