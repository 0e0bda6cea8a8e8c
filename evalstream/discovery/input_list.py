"""Read inputs from a list, in a file or on standard input, with one path after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, repeat
from typing import BinaryIO, Final

from evalstream.discovery.unrecognised import Leftovers, Unrecognised
from evalstream.io.names import printable
from evalstream.model.errors import UsageError, describe_error
from evalstream.model.run import STDIN
from evalstream.parsing.json import UTF8_MARK


class NameList:
    """A list of names; counts those that are left out of the check.

    `path` is the file of the list, or `-`. With `missing_ok` names that are gone are left out.
    """

    def __init__(self, path: str, *, missing_ok: bool = False) -> None:
        self.path, self.missing_ok = path, missing_ok
        self.left = Leftovers()

    def rest(self) -> Unrecognised | None:
        """Return the names that were left out, or None."""
        return self.left.of(self.path, is_list=True)


class ListedName(str):
    """A name of a list, of which it knows the list."""

    source: NameList

    @classmethod
    def of(cls, name: str, source: NameList) -> ListedName:
        """Return a name that knows its list."""
        listed = cls(name)
        listed.source = source
        return listed


LONGEST_NAME: Final = 1 << 20
"""Longest name in bytes; operating systems allow at most 4,096."""

_CHUNK: Final = 1 << 16
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def inputs_from(path: str, *, missing_ok: bool = False) -> Iterator[ListedName]:
    """Iterate over the inputs that a list names; `-` is a list on standard input.

    With `missing_ok` the check leaves out names that are gone. Files that are not evaluation files
    (`README.md`) are left out in any case, as lists from version control name them, too. The report
    counts both.

    A list has one path or URL per line, or NUL-separated names as `find -print0` writes them. Blank
    lines are skipped and a carriage return at the end of a line is removed. No other character is
    special: names may begin with `#`, and `-` in a list is the name of a file. Names that are not
    valid UTF-8 keep their bytes; paths are relative to the current folder. Memory does not grow
    with the list.

    Raises UsageError if the list cannot be read, names nothing, or is not a list of names.
    """
    shown = "the list on standard input" if path == STDIN else f"the list {printable(path)}"
    try:
        file = _standard_input() if path == STDIN else open(path, "rb", buffering=0)  # noqa: SIM115 - closed when it ends
    except (OSError, ValueError) as error:
        raise _unreadable(shown, error) from error
    source = NameList(printable(path), missing_ok=missing_ok)
    return _inputs(file, shown, source, closes=path != STDIN)


def _inputs(file: BinaryIO, shown: str, source: NameList, *, closes: bool) -> Iterator[ListedName]:
    named = False
    # The end is read once: a terminal would wait for a second one.
    pieces = chain(iter(partial(_read, file, shown), b""), repeat(b""))
    try:
        for name in _names(lambda: next(pieces), shown):
            if name.strip():
                named = True
                text = os.fsdecode(name)
                path = text if text != STDIN else os.path.join(os.curdir, text)
                yield ListedName.of(path, source)
    finally:
        if closes:
            file.close()
    if not named:
        raise UsageError(f"{shown} names nothing to check")


def _names(read: Callable[[], bytes], shown: str) -> Iterator[bytes]:
    head = _head(read)
    if head.startswith(_UTF16_MARKS):
        raise UsageError(f"{shown} is UTF-16; expected UTF-8 with one name per line")
    end = b"\0" if b"\0" in head else b"\n"
    rest = head if end == b"\0" else head.removeprefix(UTF8_MARK)
    while True:
        *names, rest = rest.split(end)
        yield from names if end == b"\0" else (name.removesuffix(b"\r") for name in names)
        if len(rest) > LONGEST_NAME:
            raise UsageError(f"{shown} is not a list of names: one has over {LONGEST_NAME:,} bytes")
        piece = read()
        if not piece:
            yield rest if end == b"\0" else rest.removesuffix(b"\r")
            return
        rest += piece


def _head(read: Callable[[], bytes]) -> bytes:
    """Read until the separator is certain: pipes deliver names in small pieces."""
    head = b""
    while b"\0" not in head and len(head) < _CHUNK and (piece := read()):
        head += piece
    return head


def _read(file: BinaryIO, shown: str) -> bytes:
    try:
        return file.read(_CHUNK) or b""
    except (OSError, ValueError) as error:
        raise _unreadable(shown, error) from error


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("it is closed")
    # A buffer would wait until it is full or a terminal ends twice.
    unbuffered: BinaryIO = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    return unbuffered


def _unreadable(shown: str, error: Exception) -> UsageError:
    return UsageError(f"{shown} cannot be read: {describe_error(error)}")
