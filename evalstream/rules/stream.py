"""ES0: inputs and streams; the driver finds these before and around the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.model import Fault, Severity
from evalstream.rule import Rule, RunFacts


def _changed_while_read(facts: RunFacts) -> Iterator[Fault]:
    if facts.changed:
        yield ES004.fault(f"the file changed while it was read: {facts.changed}")


ES001: Final = Rule(
    "ES001",
    "unreadable-input",
    Severity.ERROR,
    "cannot open or read an input",
    """
    What it finds: a file that is missing, may not be read, or fails part-way; also an
    aggregate whose declared rows file is not there. Other inputs still run.

    Why it matters: what could not be read was not checked. The exit code is 3 when nothing
    else went wrong.

    Bad:
        file missing

    Good:
        file unchanged
    """,
)

ES003: Final = Rule(
    "ES003",
    "line-too-long",
    Severity.ERROR,
    "a line is longer than --max-line-bytes",
    """
    What it finds: a line of more than `--max-line-bytes` bytes (64 MiB unless told). It is
    skipped up to its newline; the next lines are checked.

    Why it matters: memory stays bounded, and such a line is usually a lost newline.

    Bad:
        option --max-line-bytes 300

    Good:
        option --max-line-bytes 100000
    """,
)

ES004: Final = Rule(
    "ES004",
    "changed-while-read",
    Severity.WARNING,
    "size, modification time or inode changed between opening and the end",
    """
    What it finds: a rows file that another process wrote to or replaced during the check.
    Only the bytes that were there at the start are checked.

    Why it matters: the verdict may be of a half-written file.

    Bad:
        file grows while read

    Good:
        file unchanged
    """,
    run=_changed_while_read,
)

ES005: Final = Rule(
    "ES005",
    "nothing-to-check",
    Severity.ERROR,
    "no data file matched, or the file is of no format that can be checked",
    """
    What it finds: a folder without rows or aggregates, a name with an unknown ending, a
    compressed file, rows in one JSON array. The exit code is 3 when nothing else went wrong.

    Why it matters: a check that looked at nothing must not look like one that passed.

    Bad:
        file name notes.txt

    Good:
        file unchanged
    """,
)

RULES: Final = (ES001, ES003, ES004, ES005)
