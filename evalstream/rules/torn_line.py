"""The last line of a file whose newline is missing: is it cut off or whole, and what is reported.

A last line without a newline breaks ES104 where its JSON ends too early, since the writer was cut
off, and ES111 where it holds a whole row. Any other syntax error of it has the rule of every line. A
document that ends too early, such as an array of rows, counts as a last line without a newline.
"""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import SyntaxIssue
from evalstream.rules.base import Repair, RepairAction, Rule


def breaks_off(issue: SyntaxIssue) -> bool:
    """Tell whether an issue of a last line without a newline says that the line was cut off."""
    return issue.at_end and issue.name != "spliced-record"


def describe_torn_line(issue: SyntaxIssue) -> str:
    """Say that the last line was cut off, and where."""
    return f"the last line breaks off: {issue.message}"


def newline_missing() -> Violation:
    """Return the violation of a last line that holds a whole row."""
    return ES111.violation("the last row has no newline")


def with_rows_before(violation: Violation, rows: int) -> Violation:
    """Add to a half-written line how many whole rows are before it, which can be saved."""
    return violation._replace(
        message=f"{violation.message}; {count_noun(rows, 'whole row')} before"
    )


ES104: Final = Rule(
    "ES104", "truncated-record", Severity.ERROR, "the last line has no newline and breaks off"
)

ES111: Final = Rule(
    "ES111",
    "no-final-newline",
    Severity.WARNING,
    "the last row is whole but has no newline",
    repair=Repair(RepairAction.END_LAST_LINE, "adds the newline"),
)

HALF_WRITTEN: Final = frozenset({ES104.code, "ES105", "ES106"})
"""The rules that a writer or a file system breaks which stops half-way: rows before are whole."""
