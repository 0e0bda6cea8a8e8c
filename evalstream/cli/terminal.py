"""Standard streams of a command: input from a terminal, readers that leave, width and colour."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Final, TextIO

from evalstream.io.overwriting import STDERR, STDOUT
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.run import STDIN
from evalstream.reporters import REPORT_OPTIONS, TEXT, ReportOptions
from evalstream.reporters.base import Style


def announce_terminal(what: str, *names: str | None) -> None:
    """Say on stderr that standard input is read, if it is named and is a terminal."""
    if STDIN in names and sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(f"evalstream: reading {what} from the terminal until Ctrl-D\n")
        sys.stderr.flush()


class PipeClosed(BaseException):
    """The reader of the output is gone."""


@contextlib.contextmanager
def guard_output() -> Iterator[None]:
    """End the program quietly where the reader of its output is gone."""
    try:
        yield
    except BrokenPipeError as error:
        raise PipeClosed from error


def write_text(text: str) -> None:
    """Write a text to standard output."""
    with guard_output():
        sys.stdout.write(text)
        sys.stdout.flush()


FOR_PEOPLE: Final = (TEXT, "concise")
"""The formats that list infos only if asked to."""

DUMB: Final = "dumb"
"""The terminal that shows text alone, as TERM names it."""


def choose_style(options: ReportOptions, standard: str) -> Style:
    """Return the style of a report for a file or stream. Raises UsageError for contradictions."""
    stream = sys.stderr if standard == STDERR else sys.stdout
    is_shown = options.output is None and stream is not None and stream.isatty()
    shared = REPORT_OPTIONS.keys() & Style.__data_fields__.keys()
    return Style(
        **{
            **{name: getattr(options, name) for name in shared},
            "width": _columns(stream) if is_shown else None,
            "colour": _is_coloured(options.color, is_shown=is_shown),
            "min_severity": _lowest(options),
        }
    )


def comparison_style(color: str, output: str | None) -> Style:
    """Return the style of a report that goes to a file or to standard output."""
    return choose_style(ReportOptions(color=color, output=output), STDOUT)


def _columns(stream: TextIO) -> int | None:
    """Return the width of a terminal in columns, None where it does not say it."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


def _is_coloured(wanted: str, *, is_shown: bool) -> bool:
    """Tell whether a report has colours. https://no-color.org says what NO_COLOR means."""
    if wanted != "auto":
        return wanted == "always"
    return is_shown and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != DUMB


def _lowest(options: ReportOptions) -> Severity:
    """Return the lowest severity that is listed. Raises UsageError where two options disagree."""
    if options.verbose and options.quiet:
        raise UsageError("--verbose and --quiet cannot be combined")
    if options.verbose and options.min_severity not in (None, Severity.INFO):
        raise UsageError("--verbose and --min-severity cannot be combined")
    if options.verbose:
        return Severity.INFO
    if options.min_severity is not None:
        return options.min_severity
    return Severity.WARNING if (options.form or TEXT) in FOR_PEOPLE else Severity.INFO
