"""Command lines in folders: their exit codes, what they say, and what they leave."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from commands import Process, command, environment


class Case(NamedTuple):
    """A command line to be run in a folder, the parent of which takes what it says.

    The descriptors that are `closed` are so from the beginning.
    """

    folder: Path
    arguments: Sequence[str]
    stdin: str | None = None
    stdout: str | None = None
    closed: Sequence[int] = ()


def exit_codes(cases: Sequence[Case]) -> list[int]:
    """Run command lines one after the other, and return their exit codes."""
    return [_exit_code(case) for case in cases]


def _exit_code(case: Case) -> int:
    folder = case.folder
    with ExitStack() as files:
        process = Process(
            command(*case.arguments),
            cwd=folder,
            env=environment(),
            stdin=files.enter_context(open(folder / (case.stdin or os.devnull), "rb")),
            stdout=files.enter_context(open(folder / (case.stdout or "../out"), "ab")),
            stderr=files.enter_context(open(folder / "../errors", "ab")),
            closed=case.closed,
        )
    return process.wait()


def errors_of(case: Case) -> str:
    """Return what a command line said on standard error."""
    return (case.folder.parent / "errors").read_text()


def contents(folder: Path) -> dict[str, Any]:
    """Return what lies in a folder: names, and what files hold or links lead to."""
    return {
        str(path.relative_to(folder)): path.readlink() if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
