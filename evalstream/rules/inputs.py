"""ES0, ES94: rules about inputs, streams and attestations, which the driver reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.rules.base import FileFacts, declare_rule


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
    for _, count, line in facts.tally.noise.entries():
        message = f"lines that are not rows were skipped (first {facts.at(line)})"
        yield ES006.violation(message, count=count)


ES001: Final = declare_rule("ES001")
ES002: Final = declare_rule("ES002")
ES003: Final = declare_rule("ES003")
ES004: Final = declare_rule(
    "ES004", run=_changed_while_read, about_paths=True, needed_fact="changed"
)
ES005: Final = declare_rule("ES005")
ES006: Final = declare_rule("ES006", run=_noise_skipped, needed_fact="tally.noise")
ES007: Final = declare_rule("ES007")
ES008: Final = declare_rule("ES008")
ES009: Final = declare_rule("ES009")
ES010: Final = declare_rule("ES010")
ES011: Final = declare_rule("ES011")
ES012: Final = declare_rule("ES012")

ES940: Final = declare_rule("ES940")
ES941: Final = declare_rule("ES941")
ES942: Final = declare_rule("ES942")
ES943: Final = declare_rule("ES943")
ES944: Final = declare_rule("ES944")
ES945: Final = declare_rule("ES945")

RULES: Final = (
    *(ES001, ES002, ES003, ES004, ES005, ES006, ES007, ES008, ES009, ES010, ES011, ES012),
    *(ES940, ES941, ES942, ES943, ES944, ES945),
)
