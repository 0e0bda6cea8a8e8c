"""Parse the text of an evaluation exactly: the part outside its items, and single items."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from evalstream.engine.positions import envelope_mover, move_behind
from evalstream.model.finding import PlacedViolation, Position
from evalstream.parsing.json import UTF8_MARK, Parsed, SyntaxIssue
from evalstream.parsing.json_document import parse_document
from evalstream.parsing.object_splitter import Envelope
from evalstream.parsing.strict_json import parse_exactly
from evalstream.rules import syntax
from evalstream.rules.syntax import BEGINS_WITH_MARK, ES102, read_object

_PLACE: Final = re.compile(r"at column \d+ \(byte \d+\)|at byte \d+(?: of the line)?")


class ParsedText(NamedTuple):
    """The parsed value, if it is readable, and its violations with their positions, if known.

    `replaced` holds the pointers of values that replace numbers which JSON does not allow.
    """

    value: Any
    readable: bool
    violations: list[PlacedViolation]
    replaced: frozenset[str | None] = frozenset()


def read_envelope(envelope: Envelope, max_depth: int) -> ParsedText:
    """Read the part outside the items; offsets and lines are those of the whole document."""
    text, before = envelope.text, 0
    violations: list[PlacedViolation] = []
    if text.startswith(UTF8_MARK):
        before = len(UTF8_MARK)
        text = text[before:]
        violations.append(PlacedViolation(ES102.violation(BEGINS_WITH_MARK), 1))
    parsed = parse_document(text, max_depth)
    placed = [_within(envelope, issue, before) for issue in parsed.issues]
    violations += _explain_issues(placed)
    if parsed.readable and not isinstance(parsed.value, dict):
        reading = read_object(text, max_depth, torn=True, noun="an evaluation")
        violations += reading.violations
        return ParsedText(None, readable=False, violations=violations)
    return ParsedText(parsed.value, parsed.readable, violations, _replaced_pointers(parsed))


def read_item(text: bytes, offset: int, start: Position, max_depth: int) -> ParsedText:
    """Read an item whose first byte is at an offset and a position of the document."""
    parsed = parse_exactly(text, max_depth)
    placed = [
        _move_issue(issue, (issue.offset or 0) + offset, partial(move_behind, start))
        for issue in parsed.issues
    ]
    return ParsedText(
        parsed.value, parsed.readable, _explain_issues(placed), _replaced_pointers(parsed)
    )


def _within(envelope: Envelope, issue: SyntaxIssue, before: int) -> SyntaxIssue:
    """Move an issue to its position in the document, where the items lie between."""
    if issue.offset is None:
        return issue
    place = issue.offset + before
    return _move_issue(issue, envelope.offset(place), envelope_mover(envelope))


def _replaced_pointers(parsed: Parsed) -> frozenset[str | None]:
    return frozenset(issue.pointer for issue in parsed.issues if issue.replaced)


def _move_issue(
    issue: SyntaxIssue, offset: int, move: Callable[[Position], Position]
) -> SyntaxIssue:
    """Move an issue to its position in the document, if it has one in the text."""
    line, column = move(Position(issue.line or 1, issue.column))
    if issue.offset is None:
        return issue._replace(line=line)
    message = _PLACE.sub(f"at byte {offset:,} of the file", issue.message)
    return issue._replace(message=message, offset=offset, line=line, column=column)


def _explain_issues(issues: list[SyntaxIssue]) -> list[PlacedViolation]:
    explained = zip(syntax.explain(issues, torn=True), issues, strict=True)
    return [PlacedViolation(one, issue.line, issue.column) for one, issue in explained]
