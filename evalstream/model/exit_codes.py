"""The exit codes of the program, and which of them the outcome of a check has.

| code | meaning |
|---|---|
| 0 | everything was checked, and no finding fails the check |
| 1 | a finding fails the check |
| 2 | wrong usage |
| 3 | something could not be checked |
| 128 + n | signal n stopped the program: 130 SIGINT, 143 SIGTERM, 141 a closed pipe |
"""

from enum import IntEnum
from signal import SIGPIPE
from typing import Final

from evalstream.model.report import Totals
from evalstream.model.signals import STOPPING


class ExitCode(IntEnum):
    """What the program says to the shell when no signal stops it."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    UNCHECKED = 3


def of_signal(number: int) -> int:
    """Return the exit code of a program that a signal stopped, as shells count."""
    return 128 + number


def is_of_signal(code: int) -> bool:
    """Tell whether an exit code is that of a program that a signal stopped."""
    return code > of_signal(0)


PIPE_CLOSED: Final = of_signal(SIGPIPE)
"""The reader of the output is gone."""


def exit_code(totals: Totals) -> int:
    """Return the exit code of a check; never 0 where nothing was checked.

    Failed runs come before runs that could not be checked, and a signal before both.
    """
    if STOPPING.raised is not None:
        return of_signal(STOPPING.raised)
    return code_of(totals)


def code_of(totals: Totals) -> ExitCode:
    """Return the exit code of a check that no signal stopped."""
    if totals.verdicts.get("failed"):
        return ExitCode.FAILED
    if totals.unchecked or totals.unreached or not totals.runs:
        return ExitCode.UNCHECKED
    return ExitCode.PASSED
