"""Standard streams that were closed before the program began."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, Final, NoReturn

from evalstream.model.errors import CannotWrite
from evalstream.model.text import on_own_lines

CLOSED: Final = "standard output is closed; write to a file with --output, or open it"


def protect_standard_streams() -> None:
    """Occupy the descriptors 0 to 2, and let no failure of stderr change an outcome.

    A file that is opened while one of them is free becomes a standard stream, and what the program
    prints would go into that file. What is printed on a closed stderr is lost; `sys.stdin` stays
    None where it was closed, and a closed `sys.stdout` raises CannotWrite at its first use.
    """
    # In ascending order, as the lowest free descriptor is the next one. Streams that are closed
    # cannot be read or written by workers either.
    _occupy(0, os.O_WRONLY)
    if not _occupy(1, os.O_RDONLY) or sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if not _occupy(2, os.O_WRONLY) or sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
    sys.stderr = _LenientOutput(sys.stderr)


def _occupy(number: int, flags: int) -> bool:
    """Tell whether a descriptor is open; open the null device in its place if it is not."""
    try:
        os.fstat(number)
    except OSError:
        os.set_inheritable(os.open(os.devnull, flags), True)
        return False
    return True


class _ClosedOutput(io.TextIOBase):
    """Standard output that was closed when the program began."""

    @property
    def buffer(self) -> NoReturn:
        """Raise CannotWrite: there is nothing to write to."""
        raise CannotWrite(CLOSED)

    def write(self, _text: str, /) -> NoReturn:
        """Raise CannotWrite."""
        raise CannotWrite(CLOSED)

    def fileno(self) -> NoReturn:
        """Raise CannotWrite."""
        raise CannotWrite(CLOSED)


class _LenientOutput:
    """A stream for messages: harmless to terminals and logs of CI, and never failing."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """Return another attribute of the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, unless that fails; what does not print becomes a dot."""
        with suppress(OSError, ValueError):
            self._stream.write(on_own_lines(text))
        return len(text)

    def flush(self) -> None:
        """Write the buffered texts, unless that fails."""
        with suppress(OSError, ValueError):
            self._stream.flush()
