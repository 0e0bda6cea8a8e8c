"""What the output of tests says of single tests, in the words of pytest and of Django's runner."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import Final, NamedTuple

OUTPUT: Final = "test_output.txt"
_MARK: Final = b">>>>> "
_START: Final = b">>>>> Start Test Output"
_END: Final = b">>>>> End Test Output"
_MOST_BYTES: Final = 1 << 16
"""Most bytes of a line; the rest of a longer one says nothing."""


class _Words(NamedTuple):
    """How lines about a test begin with pytest, before its name, and end with Django, after it."""

    first: tuple[bytes, ...]
    last: tuple[bytes, ...]


_FAILED: Final = _Words((b"FAILED", b"ERROR"), (b" ... FAIL", b" ... ERROR"))
_PASSED: Final = _Words((b"PASSED", b"XFAIL", b"SKIPPED"), (b" ... ok", b" ... OK", b" ...  OK"))


def find_failed(path: str, names: Collection[str]) -> list[str]:
    """Return those of some tests that a file of output only calls failed. Raises OSError.

    Output of other runners has no such lines, and a test that both passed and failed is left out.
    """
    named = {name.encode(errors="replace"): name for name in names}
    failed = {key for key in _iterate_names(path, _FAILED) if key in named}
    if failed:
        failed.difference_update(_iterate_names(path, _PASSED))
    return [name for key, name in named.items() if key in failed]


def _iterate_names(path: str, words: _Words) -> Iterator[bytes]:
    """Iterate over the tests of which lines between the marks of the harness say some words."""
    is_output, is_begun = False, False
    with open(path, "rb") as file:
        for piece in iter(partial(file.readline, _MOST_BYTES), b""):
            is_rest, is_begun = is_begun, piece[-1:] != b"\n"
            if _MARK in piece and (_START in piece or _END in piece):
                is_output = _START in piece
            elif not is_output or is_rest:
                continue
            elif piece.startswith(words.first):
                first, *others = piece.split(None, 2)
                yield from others[:1] if first in words.first else ()
            elif b" ... " in piece and (line := piece.strip()).endswith(words.last):
                yield line.rpartition(b" ... ")[0]
