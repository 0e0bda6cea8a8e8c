"""What the output of tests says of single tests, in the words of pytest and of Django's runner."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Final

OUTPUT: Final = "test_output.txt"
_START: Final = b">>>>> Start Test Output"
_END: Final = b">>>>> End Test Output"
_MOST_BYTES: Final = 1 << 16
"""Most bytes of a line; the rest of a longer one says nothing."""

_PYTEST: Final = re.compile(rb"(PASSED|FAILED|ERROR|XFAIL|SKIPPED)\s+(\S+)")
_DJANGO: Final = re.compile(rb"\s*(.+?) \.\.\. {1,2}(ok|OK|FAIL|ERROR)\s*")
_FAILED: Final = frozenset({b"FAILED", b"ERROR", b"FAIL"})


def find_failed(path: str, names: Collection[str]) -> list[str]:
    """Return those of some tests that a file of output only calls failed. Raises OSError.

    Output of other runners has no such lines, and a test that both passed and failed is left out.
    """
    said: dict[bytes, set[bool]] = {name.encode(errors="replace"): set() for name in names}
    with open(path, "rb") as file:
        for status, name in _iterate_statuses(iter(partial(file.readline, _MOST_BYTES), b"")):
            if name in said:
                said[name].add(status in _FAILED)
    return [name for name in names if said[name.encode(errors="replace")] == {True}]


def _iterate_statuses(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Iterate over the statuses and names of tests between the marks of the harness."""
    is_output, is_begun = False, False
    for piece in pieces:
        is_rest, is_begun = is_begun, not piece.endswith(b"\n")
        if _START in piece or _END in piece:
            is_output = _START in piece
        elif not is_output or is_rest:
            continue
        elif (found := _PYTEST.match(piece)) is not None:
            yield found[1], found[2]
        elif b" ... " in piece and (found := _DJANGO.fullmatch(piece)) is not None:
            yield found[2], found[1]
