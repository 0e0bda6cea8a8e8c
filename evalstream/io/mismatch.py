"""Why a checksum is not that of some bytes: a look at their end, and a second look at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

from evalstream.io.digest import RunningDigest
from evalstream.io.readers import StoppableReader
from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.signals import Stopped

LINE_ENDS_BYTES: Final = 64 * MEBIBYTE
"""Most bytes that are read again to find out only whether their line ends were changed."""

DIAGNOSED_LINE_BYTES: Final = 16 * MEBIBYTE
"""Longer lines are looked at in parts."""


def explain_end(digest: RunningDigest, declared: str, algorithm: str) -> str | None:
    """Say whether the declared digest is that of the bytes with or without a final newline."""
    if digest.without_newline().get(algorithm) == declared:
        return "a final newline was added"
    if digest.with_more(b"\n").get(algorithm) == declared:
        return "its final newline is missing"
    return None


def explain_mismatch(
    reopen: Callable[[], ByteStream],
    size: int,
    digest: RunningDigest,
    declared: str,
    algorithm: str,
    *,
    grew: bool,
) -> str | None:
    """Explain why the digest of `size` bytes is not the declared one.

    They are read again if they are few, or `grew`: if they may have more rows than were sealed.
    Returns None if there is no explanation, if the bytes cannot be read again, or if they are not
    those of the digest.
    """
    reason = explain_end(digest, declared, algorithm)
    if reason is not None or (size > LINE_ENDS_BYTES and not grew):
        return reason
    actual, reader = digest.result()[algorithm], None
    try:
        reader = StoppableReader(reopen())
        return _explain(_whole_lines(reader, size), declared, algorithm, actual, grew=grew)
    except (OSError, CannotCheck, Stopped):
        return None
    finally:
        if reader is not None:
            reader.close()


def _whole_lines(reader: ByteStream, size: int) -> Iterator[bytes]:
    """Iterate over whole lines of the first `size` bytes, many at once; very long ones in parts."""
    rest = b""
    while size > 0 and (data := reader.read()[:size]):
        size -= len(data)
        lines, newline, rest = (rest + data).rpartition(b"\n")
        yield lines + newline
        if len(rest) >= DIAGNOSED_LINE_BYTES:
            yield rest
            rest = b""
    yield rest


def _explain(
    parts: Iterator[bytes], declared: str, algorithm: str, actual: str, *, grew: bool
) -> str | None:
    """Compare a declared digest with those of probable earlier states of the bytes."""
    plain, unix, dos = (hashlib.new(algorithm, usedforsecurity=False) for _ in range(3))
    lines, reason = 0, None
    for part in parts:
        start = 0
        while grew and reason is None and (stop := part.find(b"\n", start) + 1):
            plain.update(part[start:stop])
            start, lines = stop, lines + 1
            if plain.hexdigest() == declared:
                reason = f"its first {lines:,} lines match, so rows were appended"
        plain.update(part[start:])
        text = part.replace(b"\r\n", b"\n")
        unix.update(text)
        dos.update(text.replace(b"\n", b"\r\n"))
    if plain.hexdigest() != actual:
        return None
    if unix.hexdigest() == declared:
        return "its line ends were changed from LF to CR LF"
    if dos.hexdigest() == declared:
        return "its line ends were changed from CR LF to LF"
    return reason
