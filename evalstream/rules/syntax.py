"""ES1: rules about bytes and JSON, which the exact parser reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Excerpt, PlacedViolation, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.text import count_noun, with_article
from evalstream.parsing.json import UTF8_MARK, Parsed, SyntaxIssue, type_name
from evalstream.parsing.json_values import parse_document
from evalstream.parsing.limits import refuse_many_values
from evalstream.rules.base import FileFacts, Repair, RepairAction, Rule, declare_rule


def breaks_off(issue: SyntaxIssue) -> bool:
    """Tell whether an issue of a last line without a newline says that the line was cut off."""
    return issue.at_end and issue.name != "spliced-record"


def newline_missing() -> Violation:
    """Return the violation of a last line that holds a whole row."""
    return ES111.violation("the last row has no newline")


ES104: Final = declare_rule("ES104")
ES111: Final = declare_rule("ES111", repair=Repair(RepairAction.END_LAST_LINE, "adds the newline"))

HALF_WRITTEN: Final = frozenset({ES104.code, "ES105", "ES106"})
"""The rules that a writer or a file system breaks which stops half-way: rows before are whole."""


def describe_line(rule: Rule, issue: SyntaxIssue, base: int | None) -> str:
    """Say what is wrong with a line, and at which byte of the file a half-written one ends.

    `base` is the offset of the line within the file, None if that is not known. What can be said
    only with the rows before, `with_rows_before` adds at the end.
    """
    message = f"the last line breaks off: {issue.message}" if rule is ES104 else issue.message
    if rule.code in HALF_WRITTEN and base is not None and issue.offset is not None:
        message = f"{message}, byte {base + issue.offset:,} of the file"
    return message


def with_rows_before(violation: Violation, rows: int) -> Violation:
    """Add to a half-written line how many whole rows are before it, which can be saved."""
    return violation._replace(
        message=f"{violation.message}; {count_noun(rows, 'whole row')} before"
    )


BEGINS_WITH_MARK: Final = "the file begins with a UTF-8 byte order mark"


class ObjectReading(NamedTuple):
    """An object read by the exact parser, or None, and its violations with their places.

    `replaced` holds the pointers of values that replace numbers which JSON does not allow, so that
    other rules do not report them. `accepted` says that the object passed the check that
    `read_document` was given.
    """

    value: dict[str, Any] | None
    violations: list[PlacedViolation]
    replaced: frozenset[str | None] = frozenset()
    accepted: bool = False

    def filter_violations(self, violations: Iterable[Violation]) -> Iterator[Violation]:
        """Leave out the violations of replaced values."""
        return (violation for violation in violations if violation.pointer not in self.replaced)


def read_object(
    text: bytes, max_depth: int, *, torn: bool, noun: str, offset: int | None = None
) -> ObjectReading:
    """Read a text that must be one object, such as a row that the fast parser refused.

    `offset` is the position of the text within its file in bytes, or None if it is the whole file.
    """
    from evalstream.parsing.strict_json import parse_exactly

    return _read_object(parse_exactly(text, max_depth), torn=torn, noun=noun, offset=offset)


def _read_object(parsed: Parsed, *, torn: bool, noun: str, offset: int | None) -> ObjectReading:
    explained = explain(parsed.issues, torn=torn, base=offset)
    violations = [
        PlacedViolation(violation, issue.line, issue.column)
        for violation, issue in zip(explained, parsed.issues, strict=True)
    ]
    replaced = frozenset(issue.pointer for issue in parsed.issues if issue.replaced)
    if not parsed.readable or (replaced and not isinstance(parsed.value, dict)):
        return ObjectReading(None, violations)
    if not isinstance(parsed.value, dict):
        message = f"{noun} must be an object, not {with_article(type_name(parsed.value))}"
        violations.append(PlacedViolation(ES109.violation(message, found=parsed.value)))
        return ObjectReading(None, violations)
    return ObjectReading(parsed.value, violations, replaced, parsed.accepted)


def explain(
    issues: Iterable[SyntaxIssue], *, torn: bool, base: int | None = None
) -> Iterator[Violation]:
    """Turn the issues of the parser into violations.

    `torn` says that the text is the last line and its newline is missing; `base` is the offset of
    the text within its file.
    """
    for issue in issues:
        rule = ES104 if torn and breaks_off(issue) else _BY_NAME[issue.name]
        found: Excerpt | str | None = issue.found
        if issue.excerpt is not None:
            found = Excerpt(issue.excerpt, issue.caret)
        yield rule.violation(describe_line(rule, issue, base), issue.pointer, found=found)


def _carriage_return(facts: FileFacts) -> Iterator[Violation]:
    for _, count, line in facts.tally.carriage_returns.entries():
        message = f"lines end in CR LF (first {facts.at(line)}); LF alone is usual"
        yield ES112.violation(message, count=count)


ES101: Final = declare_rule("ES101")

ES102: Final = declare_rule(
    "ES102",
    repair=Repair(
        RepairAction.REMOVE_BYTE_ORDER_MARK,
        "removes the mark",
        limit="in UTF-8",
        severity=Severity.WARNING,
    ),
)

ES103: Final = declare_rule("ES103")
ES105: Final = declare_rule("ES105")
ES106: Final = declare_rule("ES106")
ES107: Final = declare_rule("ES107")
ES108: Final = declare_rule("ES108")
ES109: Final = declare_rule("ES109")

ES110: Final = declare_rule(
    "ES110", repair=Repair(RepairAction.REMOVE_BLANK_LINES, "removes the line")
)

ES112: Final = declare_rule(
    "ES112",
    run=_carriage_return,
    needed_fact="tally.carriage_returns",
    repair=Repair(RepairAction.END_LINES_IN_LF, "ends the lines in LF"),
)

ES113: Final = declare_rule("ES113")
ES114: Final = declare_rule("ES114")

RULES: Final = (
    *(ES101, ES102, ES103, ES104, ES105, ES106, ES107),
    *(ES108, ES109, ES110, ES111, ES112, ES113, ES114),
)
_BY_NAME: Final = {rule.name: rule for rule in RULES}


def read_document(
    text: bytes, options: Options, noun: str, accepts: Callable[[Any], bool] | None = None
) -> ObjectReading:
    """Read a document, which may begin with a byte order mark; `noun` names it in messages.

    `accepts` is a check that never accepts a value with an infinite number. Raises CannotCheck for
    a document with too many values.
    """
    refuse_many_values(text)
    reading = read_object_quickly(text.removeprefix(UTF8_MARK), options.max_depth, noun, accepts)
    if not text.startswith(UTF8_MARK):
        return reading
    mark = PlacedViolation(ES102.violation(BEGINS_WITH_MARK), 1)
    return reading._replace(violations=[mark, *reading.violations])


def read_object_quickly(
    text: bytes,
    max_depth: int,
    noun: str,
    accepts: Callable[[Any], bool] | None = None,
    *,
    torn: bool = False,
    offset: int | None = None,
) -> ObjectReading:
    """Read a text as `read_object` does, many times faster if it has no violation."""
    parsed = parse_document(text, max_depth, accepts)
    return _read_object(parsed, torn=torn, noun=noun, offset=offset)
