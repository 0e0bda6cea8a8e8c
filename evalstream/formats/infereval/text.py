"""The text of an evaluation of infereval: what stands round its items, and one item, exactly."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from evalstream.model.finding import Violation
from evalstream.parsing.json import UTF8_MARK
from evalstream.parsing.object_splitter import Envelope
from evalstream.parsing.strict_json import Parsed, SyntaxIssue, parse_exactly
from evalstream.rules import syntax
from evalstream.rules.syntax import BEGINS_WITH_MARK, ES102, read_object

_PLACE: Final = re.compile(r"at column \d+ \(byte \d+\)|at byte \d+(?: of the line)?")


class Text(NamedTuple):
    """What was read: a value if it is readable, and what is wrong with it, with lines if known.

    `replaced` are the pointers of values that stand for others which are no numbers.
    """

    value: Any
    readable: bool
    faults: list[tuple[Violation, int | None]]
    replaced: frozenset[str | None] = frozenset()


def read_envelope(envelope: Envelope, max_depth: int) -> Text:
    """Read what stands round the items; offsets and lines are those in the whole document."""
    text, before = envelope.text, 0
    faults: list[tuple[Violation, int | None]] = []
    if text.startswith(UTF8_MARK):
        before = len(UTF8_MARK)
        text = text[before:]
        faults.append((ES102.fault(BEGINS_WITH_MARK), 1))
    parsed = parse_exactly(text, max_depth)
    placed = [_within(envelope, trouble, before) for trouble in parsed.troubles]
    faults += _explained(placed)
    if parsed.readable and not isinstance(parsed.value, dict):
        faults += read_object(text, max_depth, torn=True, noun="an evaluation").faults
        return Text(None, readable=False, faults=faults)
    return Text(parsed.value, parsed.readable, faults, _replaced(parsed))


def read_item(text: bytes, offset: int, line: int, max_depth: int) -> Text:
    """Read an item, whose first byte stands at an offset and on a line of the document."""
    parsed = parse_exactly(text, max_depth)
    placed = [
        _moved(trouble, (trouble.offset or 0) + offset, (trouble.line or 1) + line - 1)
        for trouble in parsed.troubles
    ]
    return Text(parsed.value, parsed.readable, _explained(placed), _replaced(parsed))


def _within(envelope: Envelope, trouble: SyntaxIssue, before: int) -> SyntaxIssue:
    """Place a trouble in the document that has a place round the items."""
    if trouble.offset is None:
        return trouble
    place = trouble.offset + before
    lines = envelope.lines if envelope.is_behind(place) else 0
    line = None if trouble.line is None else trouble.line + lines
    return _moved(trouble, envelope.offset(place), line)


def _replaced(parsed: Parsed) -> frozenset[str | None]:
    return frozenset(trouble.pointer for trouble in parsed.troubles if trouble.replaced)


def _moved(trouble: SyntaxIssue, offset: int, line: int | None) -> SyntaxIssue:
    """Place a trouble in the document, where it is one with a place in the text."""
    if trouble.offset is None:
        return trouble._replace(line=line)
    message = _PLACE.sub(f"at byte {offset:,} of the file", trouble.message)
    return trouble._replace(message=message, offset=offset, line=line)


def _explained(troubles: list[SyntaxIssue]) -> list[tuple[Violation, int | None]]:
    lines = [trouble.line for trouble in troubles]
    return list(zip(syntax.explain(troubles, torn=True), lines, strict=True))
