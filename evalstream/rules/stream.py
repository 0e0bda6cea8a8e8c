"""ES0: inputs and streams; the driver finds these before and around the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from evalstream.model import Fault, Options, Severity
from evalstream.rule import Rule, RunFacts


def _changed_while_read(facts: RunFacts) -> Iterator[Fault]:
    if facts.changed:
        yield ES004.fault(f"the file changed while it was read: {facts.changed}")


ROW_MARK: Final = b'"schema_version"'
"""What a line holds that has a row in it, however torn it is or whatever stands before it."""


def noise_check(options: Options) -> Callable[[bytes], bool]:
    """Return what tells whether a line that is no sound row is only noise between rows.

    Without a pattern that is a line which does not begin as an object and has no row in it.
    """
    if not options.skip_noise:
        return lambda _: False
    if options.noise is not None:
        pattern = re.compile(options.noise.encode())
        return lambda line: pattern.search(line) is not None
    return lambda line: not line.lstrip().startswith(b"{") and ROW_MARK not in line


def _noise_skipped(facts: RunFacts) -> Iterator[Fault]:
    for _, count, line in facts.tally.noise:
        message = f"lines between the rows that hold none were skipped (first {facts.at(line)})"
        yield ES006.fault(message, count=count)


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

ES002: Final = Rule(
    "ES002",
    "broken-compression",
    Severity.ERROR,
    "a compressed file is damaged, cut off, or followed by other bytes",
    """
    What it finds: a gzip, zstandard, bzip2 or xz file (told by its first bytes) that cannot be
    unpacked to its end, with the number of rows before the break, or one whose library is not
    installed. The rows before the break are checked.

    Why it matters: the rows behind the break are lost, and nobody knows how many they are.

    Bad:
        file gzip cut

    Good:
        file gzip
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
    What it finds: a folder without rows or aggregates, a name with an unknown ending, an
    aggregate in the place of rows. The exit code is 3 when nothing else went wrong.

    Why it matters: a check that looked at nothing must not look like one that passed.

    Bad:
        file name notes.txt

    Good:
        file unchanged
    """,
)

ES006: Final = Rule(
    "ES006",
    "noise-skipped",
    Severity.INFO,
    "lines between the rows were skipped under --skip-noise",
    """
    What it finds: with `--skip-noise`, the lines that are no JSON objects and hold no row, with
    their number; with `--noise`, those that the regular expression is found in. They are no
    rows, and the checksum may be that of the file with or without them.

    Why it matters: what was not looked at is told, even where that was wished.

    Bad:
        option --skip-noise
        file begins "INFO 14:03 next batch\\n"

    Good:
        option --skip-noise
    """,
    run=_noise_skipped,
)

RULES: Final = (ES001, ES002, ES003, ES004, ES005, ES006)
