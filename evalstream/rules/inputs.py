"""ES0: rules about inputs and streams, which the driver reports before and around the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from evalstream.model.finding import Severity, Violation
from evalstream.model.options import Options
from evalstream.rules.base import FileFacts, Rule


def _changed_while_read(facts: FileFacts) -> Iterator[Violation]:
    if facts.changed:
        yield changed_while_read(facts.changed)


def changed_while_read(change: str) -> Violation:
    """Return the violation for a file of a run that changed while it was read."""
    return ES004.violation(f"the file changed while it was read: {change}")


ROW_MARK: Final = b'"schema_version"'
"""Present in a line that contains a row, also if the row is torn or has text before it."""


def noise_check(options: Options) -> Callable[[bytes], bool]:
    """Return a function that decides whether a line that is not a valid row is noise.

    With `--noise` a line is noise if the pattern matches in it. Otherwise it is noise if it does
    not begin as an object and does not contain a row.
    """
    if not options.skip_noise:
        return lambda _: False
    if options.noise is not None:
        from evalstream.parsing.linear_regex import linear_search

        is_found = linear_search(options.noise)
        return lambda line: is_found(line.decode(errors="replace"))
    return lambda line: not line.lstrip().startswith(b"{") and ROW_MARK not in line


def _noise_skipped(facts: FileFacts) -> Iterator[Violation]:
    for _, count, line in facts.tally.noise:
        message = f"lines that are not rows were skipped (first {facts.at(line)})"
        yield ES006.violation(message, count=count)


ES001: Final = Rule("ES001", "unreadable-input", Severity.ERROR, "cannot open or read an input")

ES002: Final = Rule(
    "ES002",
    "broken-compression",
    Severity.ERROR,
    "a compressed file is damaged, cut off, or followed by other bytes",
)

ES003: Final = Rule(
    "ES003", "line-too-long", Severity.ERROR, "a line is longer than --max-line-bytes"
)

ES004: Final = Rule(
    "ES004",
    "changed-while-read",
    Severity.ERROR,
    "a file changed during the check, or the checked bytes are not the bytes of the checksum",
    run=_changed_while_read,
    about_paths=True,
)

ES005: Final = Rule(
    "ES005",
    "nothing-to-check",
    Severity.ERROR,
    "no data file matched, or the file has no format that can be checked",
)

ES006: Final = Rule(
    "ES006",
    "noise-skipped",
    Severity.INFO,
    "lines between the rows were skipped under --skip-noise",
    run=_noise_skipped,
)

ES007: Final = Rule(
    "ES007",
    "unrecognised-file",
    Severity.WARNING,
    "a searched folder holds files that no format recognises",
)

ES008: Final = Rule(
    "ES008",
    "foreign-format",
    Severity.ERROR,
    "a log of an evaluation harness that is not converted yet",
)

ES009: Final = Rule(
    "ES009",
    "outside-the-input",
    Severity.ERROR,
    "a declared path leads out of the input that was given",
)

ES010: Final = Rule(
    "ES010",
    "internal-error",
    Severity.ERROR,
    "a bug of evalstream or of a library ended the check of this run",
)

ES011: Final = Rule(
    "ES011",
    "unexpected-samples",
    Severity.ERROR,
    "the run scores other samples than --expect-ids lists",
    needs="expect_ids",
)

ES012: Final = Rule(
    "ES012",
    "changed-samples",
    Severity.ERROR,
    "the samples or their answers are not those that --expect-digests lists",
    needs="expect_digests",
)

RULES: Final = (ES001, ES002, ES003, ES004, ES005, ES006, ES007, ES008, ES009, ES010, ES011, ES012)
