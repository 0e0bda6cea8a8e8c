"""How large a document may be, and how many findings are held of it: the same wherever it lies."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import MORE, Severity, Violation
from evalstream.model.signals import STOPPING

MOST_JSON_BYTES: Final = 256 * MEBIBYTE
"""How many bytes a document in JSON may have: it is read into memory, wherever it comes from."""

MOST_JSON_VALUES: Final = 500_000
"""How many values a document in JSON may hold, containers among them and names not: each takes
memory many times its text, and may break a few rules. Texts in lists have a bound of their own."""

MOST_JSON_TEXTS: Final = 2_000_000
"""How many texts a document in JSON may list: an aggregate may list all samples of each result."""

MOST_YAML_BYTES: Final = 8 * MEBIBYTE
MOST_YAML_NODES: Final = 200_000
"""How many nodes a document in YAML may have, aliases unfolded: so many take about a second."""

MOST_OF_A_KIND: Final = 10_000
"""How many findings of one code are held of a document; the others are counted."""

CHUNK_BYTES: Final = 16 * MEBIBYTE
MANY: Final = 10_000
"""After how many findings a signal is heard, each time."""

_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_LISTED: Final = re.compile(rb'(?<=[,\[])[ \t\r\n]*+"[ \t\r\n]*+(?=[,\]])')
"""A text in a list, where each text is a quote alone."""

_EMPTY: Final = re.compile(rb"\[[ \t\r\n]*+\]|\{[ \t\r\n]*+\}")


class TooLarge(CannotCheck):
    """A document is larger than what is read into memory."""


def too_many_bytes(most: int) -> TooLarge:
    """Say how many bytes a document may have."""
    return TooLarge(f"it has more than {most // MEBIBYTE:,} MiB, the most that a document may have")


def refuse_many_values(text: bytes | bytearray) -> None:
    """Raise TooLarge for a text in JSON of more values than a document may hold."""
    # Every value but the first stands behind a comma or an opening bracket.
    if _behind(text) < min(MOST_JSON_VALUES, MOST_JSON_TEXTS):
        return
    bare = _STRING.sub(b'"', text)
    texts = sum(1 for _ in _LISTED.finditer(bare))
    values = 1 + _behind(bare) - _EMPTY.subn(b"", bare)[1] - texts
    for number, most, what in (
        (values, MOST_JSON_VALUES, "values"),
        (texts, MOST_JSON_TEXTS, "texts in lists"),
    ):
        if number > most:
            raise TooLarge(f"it holds more than {most:,} {what}, the most that a document may")


def read_bounded(reader: ByteStream, most: int) -> bytes:
    """Read to the end, piece by piece. Raises OSError, Stopped, and TooLarge past `most` bytes."""
    held = bytearray()
    while data := reader.read():
        STOPPING.check()
        held += data
        if len(held) > most:
            raise too_many_bytes(most)
    return bytes(held)


def read_regular(descriptor: int, status: os.stat_result, most: int) -> bytes:
    """Read an open regular file to its end, which may lie behind its size. Raises as above."""
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
    """Tell whether a file is a device, which may have no end."""
    return stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)


class Held:
    """Counts findings by document, code and severity, and says which of them are held.

    Where they are very many a signal is heard between them; else it waits for the report.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._counts: dict[tuple[str | None, str, Severity | None], int] = {}

    def takes(self, fault: Violation, file: str | None = None) -> bool:
        """Count a finding, and tell whether it is one of the first of its kind. Raises Stopped."""
        self._seen += 1
        if self._seen % MANY == 0:
            STOPPING.check()
        key = file, fault.code, fault.severity
        held = self._counts.get(key, 0)
        if held < MOST_OF_A_KIND:
            self._counts[key] = held + 1
            return True
        self._counts[key] = held + (1 if fault.count is None else fault.count)
        return False

    def rest(self) -> Iterator[tuple[str | None, Violation]]:
        """Give what stands for all that were not held, with its document."""
        for (file, code, severity), count in self._counts.items():
            more = count - MOST_OF_A_KIND
            if more > 0:
                yield file, Violation(code, MORE, severity=severity, count=more)


def held_of(faults: Iterable[Violation]) -> Iterator[Violation]:
    """Give the first findings of each kind, and one for all others of it. Raises Stopped."""
    held = Held()
    for fault in faults:
        if held.takes(fault):
            yield fault
    yield from (fault for _, fault in held.rest())


def _behind(text: bytes | bytearray) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")
