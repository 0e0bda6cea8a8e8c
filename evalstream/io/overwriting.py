"""Which files a call writes, and the refusal to write over one that it reads."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from typing import Final

from evalstream.io.names import printable
from evalstream.io.remote import is_remote
from evalstream.io.temporary import temporary_names
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN

STDOUT: Final = "/dev/stdout"
STDERR: Final = "/dev/stderr"
"""Stand for what standard output and error lead to, which may be a file that is read as well."""


def journaled(ledger: str | None) -> list[str]:
    """Return the files that are written with a ledger: itself, and the journal of SQLite."""
    return [] if ledger is None else [ledger, f"{os.path.realpath(ledger)}-journal"]


class Outputs:
    """The files that a call writes, to be compared with those that it reads as they are found.

    A file is known by device and inode, whatever leads to it, and one that is not there yet by the
    path that links lead to. Its temporary file is written as well, also one that an earlier call
    left. Devices and pipes are not written over. Raises UsageError where two outputs are one file.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[object, str] = {}
        named = list(paths)
        for path in named:
            self._enter_temporary(path)
        for path in named:
            identity = _identity(os.path.join(os.curdir, path) if path == STDIN else path)
            if identity in self._paths:
                other = _shown(self._paths[identity])
                raise UsageError(f"{_shown(path)} would be written over {other}, another output")
            if identity is not None:
                self._paths[identity] = path

    def _enter_temporary(self, path: str) -> None:
        """Take the names that the temporary file of an output may have."""
        if is_remote(path) or path in (STDOUT, STDERR) or "\0" in path or is_device(path):
            return
        for name in temporary_names(os.path.realpath(path)):
            self._paths.setdefault(_identity(name), path)

    def __bool__(self) -> bool:
        """Tell whether anything is written."""
        return bool(self._paths)

    def same_as(self, path: str) -> str | None:
        """Return the output that is the file of a path, None where there is none."""
        identity = _identity(path)
        return None if identity is None else self._paths.get(identity)

    def refuse(self, path: str) -> None:
        """Raise UsageError where a file that is read is an output."""
        output = self.same_as(path)
        if output is not None:
            raise UsageError(
                f"{_shown(output)} would be written over {_shown(path)}, which is read in the same "
                "call; name another output"
            )


def refuse_overwriting(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Raise UsageError where an output is an input, or another output."""
    written = Outputs(outputs)
    for path in inputs:
        written.refuse(path)


def is_same_file(one: str, other: str) -> bool:
    """Tell whether two paths lead to one file, there or not."""
    return one == other or (_identity(one) is not None and _identity(one) == _identity(other))


def is_device(path: str) -> bool:
    """Tell whether a path leads to something that is there and no regular file, such as a pipe."""
    return os.path.exists(path) and not os.path.isfile(path)


def _identity(path: str) -> object:
    """Return what tells a file from others, None for what is no file on this machine's disks."""
    if is_remote(path):
        return None
    try:
        status = os.stat(path) if path != STDIN else os.fstat(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return None if path == STDIN or "\0" in path else os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _shown(path: str) -> str:
    names = {STDIN: "standard input", STDOUT: "standard output", STDERR: "standard error"}
    return names.get(path) or printable(path)
