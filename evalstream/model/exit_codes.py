"""The exit codes of the program, and which of them the outcome of a check has.

| code | meaning |
|---|---|
| 0 | everything was checked, and no finding fails the check |
| 1 | a finding fails the check |
| 2 | wrong usage |
| 3 | something could not be checked |
| 128 + n | signal n stopped the program: 129 SIGHUP, 130 SIGINT, 143 SIGTERM, 141 a closed pipe |

What was not checked comes before what was found: a check with failing runs that did not reach
others has code 3. Damaged data, such as a compressed file that breaks off, is found: code 1.

An unconfirmed run is checked, and nothing of it fails: it has code 0. With `--strict` it has code
1, whatever rules are left out: 0 then means that every claim was confirmed.

With `--exit-zero` findings do not fail the program: 0 takes the place of 1. With `--exit-codes eee`
the codes are those of the validator of Every Eval Ever: 0 clean, 1 errors, 2 warnings only. It has
no code for what could not be checked, which is 1 there, as is wrong usage: 2 may pass a gate.
"""

from enum import IntEnum
from signal import SIGPIPE
from typing import Final

from evalstream.model.finding import Severity
from evalstream.model.report import Totals
from evalstream.model.signals import STOPPING

OWN: Final = "evalstream"
EEE: Final = "eee"
SCHEMES: Final = (OWN, EEE)
"""The meanings that exit codes can have, as `--exit-codes` takes them."""


class ExitCode(IntEnum):
    """The exit codes of the program when no signal stops it."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    UNCHECKED = 3


class EeeExitCode(IntEnum):
    """The exit codes with `--exit-codes eee`."""

    CLEAN = 0
    ERRORS = 1
    WARNINGS = 2


def of_signal(number: int) -> int:
    """Return the exit code of a program that a signal stopped, as shells count."""
    return 128 + number


def is_of_signal(code: int) -> bool:
    """Tell whether an exit code is that of a program that a signal stopped."""
    return code > of_signal(0)


PIPE_CLOSED: Final = of_signal(SIGPIPE)
"""The reader of the output is gone."""


def exit_code(totals: Totals, *, is_strict: bool = False) -> int:
    """Return the exit code of a check; never 0 where nothing was checked.

    Runs that could not be checked come before failed ones, and a signal before both.
    """
    if STOPPING.raised is not None:
        return of_signal(STOPPING.raised)
    return check_exit_code(totals, is_strict=is_strict)


def check_exit_code(totals: Totals, *, is_strict: bool = False) -> ExitCode:
    """Return the exit code of a check that no signal stopped."""
    if _lacks(totals):
        return ExitCode.UNCHECKED
    refused = ("failed", "unconfirmed") if is_strict else ("failed",)
    return ExitCode.FAILED if any(map(totals.verdicts.get, refused)) else ExitCode.PASSED


def shown_exit_code(code: int, totals: Totals, scheme: str = OWN, *, zero: bool = False) -> int:
    """Return the exit code of a report in a scheme; with `zero` findings do not fail it.

    A signal, and what could not be checked, fail the program in any case.
    """
    if is_of_signal(code):
        return code
    if scheme == EEE:
        has_warnings = totals.severities.get(Severity.WARNING)
        passed = EeeExitCode.WARNINGS if has_warnings else EeeExitCode.CLEAN
        return passed if code == ExitCode.PASSED else EeeExitCode.ERRORS
    if zero:
        return ExitCode.UNCHECKED if totals.damaged or _lacks(totals) else ExitCode.PASSED
    return code


def error_exit_code(code: ExitCode, scheme: str) -> int:
    """Return the exit code of a program that ends without a report."""
    return code if scheme == OWN else EeeExitCode.ERRORS


def _lacks(totals: Totals) -> bool:
    """Tell whether something was not checked, or nothing was."""
    is_incomplete = totals.unchecked or totals.unreached or totals.verdicts.get("incomplete")
    return bool(is_incomplete or not totals.runs)
