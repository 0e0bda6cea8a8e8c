"""The files that a call writes: none is an input, and none replaces a foreign file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from typing import Final

from evalstream.io.names import is_remote, printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError, describe_error
from evalstream.model.run import STDIN, HeldInput

STDOUT: Final = "/dev/stdout"
STDERR: Final = "/dev/stderr"
"""The targets of standard output and error, which may be files that are inputs as well."""


HEAD_BYTES: Final = 1 << 16
"""How many bytes at the beginning of a file are enough to recognise it."""


class OutputKind(NamedTuple):
    """The kind of an output: it replaces only empty files, and files of its own kind.

    `wrote` recognises a file of the kind by its first bytes, and `noun` names the kind in
    messages, such as "a report of evalstream".
    """

    noun: str
    wrote: Callable[[bytes], bool]

    def refuse_foreign(self, path: str) -> None:
        """Raise UsageError if an output would replace a file of another kind."""
        if is_irregular(path):
            return
        try:
            with open(path, "rb") as file:
                head = file.read(HEAD_BYTES)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            reason = describe_error(error)
            raise UsageError(f"{printable(path)} cannot be written: {reason}") from error
        if head and not self.wrote(head):
            raise UsageError(
                f"{printable(path)} exists and is not {self.noun}; name another file, or replace "
                "it with --force"
            )


UNMARKED: Final = OutputKind("empty", lambda _head: False)
"""Copies of rows, and answers: nothing tells them from other files, so they replace none."""


def ledger_files(ledger: str | None) -> list[str]:
    """Return the files that a ledger writes: itself, and the journal of SQLite."""
    return [] if ledger is None else [ledger, f"{os.path.realpath(ledger)}-journal"]


class Outputs:
    """The files that a call writes, to be compared with its inputs as they are found.

    A file is identified by device and inode, and one that does not exist yet by its resolved path.
    Its temporary file counts as written as well, also one that an earlier call left. Devices and
    pipes are never overwritten. Raises UsageError where two outputs are the same file.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[object, str] = {}
        named = list(paths)
        for path in named:
            self._enter_temporary(path)
        for path in named:
            identity = _identity(os.path.join(os.curdir, path) if path == STDIN else path)
            if identity in self._paths:
                other = _show_path(self._paths[identity])
                raise UsageError(
                    f"output {_show_path(path)} would overwrite {other}, another output"
                )
            if identity is not None:
                self._paths[identity] = path

    def _enter_temporary(self, path: str) -> None:
        """Add the names that the temporary file of an output may have."""
        if is_remote(path) or path in (STDOUT, STDERR) or "\0" in path or is_irregular(path):
            return
        from evalstream.io.temporary import temporary_names

        own = _identity(path)
        for name in temporary_names(os.path.realpath(path)):
            identity = _identity(name)
            # A call that was killed while it put its output in place left both names of one file.
            if identity is not None and identity != own:
                self._paths.setdefault(identity, path)

    def __bool__(self) -> bool:
        """Tell whether any file is written."""
        return bool(self._paths)

    def are_apart(self, folders: Iterable[str]) -> bool:
        """Tell whether none of the files can be one in these folders, under another name either."""
        below = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
        return not any(
            os.path.realpath(path).startswith(below) or _has_other_names(path)
            for path in self._paths.values()
        )

    def output_at(self, path: str) -> str | None:
        """Return the output that is the same file as a path, or None."""
        identity = _identity(path)
        return None if identity is None else self._paths.get(identity)

    def refuse(self, path: str) -> None:
        """Raise UsageError where an input is also an output."""
        output = self.output_at(path)
        if output is not None:
            raise UsageError(
                f"output {_show_path(output)} would overwrite the input {_show_path(path)}; "
                "choose another output"
            )


def refuse_overwriting(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Raise UsageError where an output is an input, or another output."""
    written = Outputs(outputs)
    for path in inputs:
        written.refuse(path)


def is_same_file(one: str, other: str) -> bool:
    """Tell whether two paths lead to the same file, existing or not."""
    return one == other or (_identity(one) is not None and _identity(one) == _identity(other))


def is_irregular(path: str) -> bool:
    """Tell whether a path leads to an existing file that is not regular, such as a pipe."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(status.st_mode)


def is_standard_output(path: str) -> bool:
    """Tell whether a path leads to the pipe or device that is standard output."""
    try:
        output = os.fstat(sys.stdout.fileno())
        return is_irregular(path) and os.path.samestat(os.stat(path), output)
    except (OSError, ValueError, AttributeError):
        return False


def _identity(path: str) -> object:
    """Return the identity of a file, or None if it is not a file on a local disk."""
    if is_remote(path) or isinstance(path, HeldInput):
        return None
    try:
        status = os.stat(path) if path != STDIN else os.fstat(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return None if path == STDIN or "\0" in path else os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _has_other_names(path: str) -> bool:
    try:
        return os.stat(path).st_nlink > 1
    except OSError:
        return False


def _show_path(path: str) -> str:
    names = {STDIN: "standard input", STDOUT: "standard output", STDERR: "standard error"}
    return names.get(path) or printable(path)
