"""Why a checksum is not that of some bytes: a second look at them, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from evalstream.io.digest import RunningDigest
from evalstream.io.readers import StoppableReader
from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.signals import Stopped

DIAGNOSED_LINE_BYTES: Final = 16 * MEBIBYTE
"""Longer lines are looked at in parts."""


def explain_mismatch(
    reopen: Callable[[], ByteStream], size: int, declared: str, algorithm: str, actual: str
) -> str | None:
    """Read `size` bytes again to explain why their digest `actual` is not the declared one.

    Returns None if there is no explanation, if the bytes cannot be read again, or if they are not
    those whose digest is `actual`.
    """
    reader = None
    try:
        reader = StoppableReader(reopen())
        return _explain(_lines(reader, size), size, declared, algorithm, actual)
    except (OSError, CannotCheck, Stopped):
        return None
    finally:
        if reader is not None:
            reader.close()


def _lines(reader: ByteStream, size: int) -> Iterator[bytes]:
    """Iterate over the lines of the first `size` bytes, very long ones in parts."""
    rest = b""
    while size > 0 and (data := reader.read()[:size]):
        size -= len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line + b"\n"
        if len(rest) >= DIAGNOSED_LINE_BYTES:
            yield rest
            rest = b""
    if rest:
        yield rest


def _explain(
    lines: Iterator[bytes], size: int, declared: str, algorithm: str, actual: str
) -> str | None:
    """Compare a declared digest with digests of probable earlier states of the bytes."""
    plain, unix, dos = (RunningDigest([algorithm]) for _ in range(3))

    def matches(digest: RunningDigest, chunk: bytes = b"") -> bool:
        return digest.with_more(chunk)[algorithm] == declared

    left, count, line, reason = size, 0, b"", None
    for line in lines:
        left -= len(line)
        ended = line.endswith(b"\n")
        count += ended
        if left == 0 and ended and matches(plain, line[:-1]):
            reason = "a final newline was added"
        plain.update(line)
        if reason is not None:
            continue
        text = line[:-1].removesuffix(b"\r") if ended else line
        unix.update(text + b"\n" if ended else text)
        dos.update(text + b"\r\n" if ended else text)
        if left > 0 and ended and matches(plain):
            reason = f"its first {count:,} lines match, so rows were appended"
    if plain.result()[algorithm] != actual:
        return None
    if reason is None and matches(unix):
        reason = "its line ends were changed from LF to CR LF"
    elif reason is None and matches(dos):
        reason = "its line ends were changed from CR LF to LF"
    elif reason is None and not line.endswith(b"\n") and matches(plain, b"\n"):
        reason = "its final newline is missing"
    return reason
