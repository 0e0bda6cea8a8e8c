"""ES1: bytes and JSON, from what the exact parser says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from evalstream.model.finding import Excerpt, Severity, Violation
from evalstream.model.options import Options
from evalstream.parsing.json import UTF8_MARK, type_name
from evalstream.parsing.limits import (
    refuse_many_values,
)
from evalstream.parsing.strict_json import SyntaxIssue, parse_exactly
from evalstream.rules.base import Rule, RunFacts

BEGINS_WITH_MARK: Final = "the file begins with a UTF-8 byte order mark"


class ObjectReading(NamedTuple):
    """An object read exactly: the object if there is one, and its violations with their lines.

    `replaced` are the pointers of values that stand for others which are no numbers, so that
    no other rule has anything to say of them.
    """

    value: dict[str, Any] | None
    violations: list[tuple[Violation, int | None]]
    replaced: frozenset[str | None] = frozenset()

    def concerned(self, violations: Iterable[Violation]) -> Iterator[Violation]:
        """Leave out the violations of replaced values."""
        return (violation for violation in violations if violation.pointer not in self.replaced)


def read_object(
    text: bytes, max_depth: int, *, torn: bool, noun: str, offset: int | None = None
) -> ObjectReading:
    """Read a text that must hold one object, such as a row, and say what is wrong with it.

    `offset` is that of the text within its file, in bytes, None where it is the whole file.
    """
    parsed = parse_exactly(text, max_depth)
    lines = [issue.line for issue in parsed.issues]
    violations = list(zip(explain(parsed.issues, torn=torn, base=offset), lines, strict=True))
    replaced = frozenset(issue.pointer for issue in parsed.issues if issue.replaced)
    if not parsed.readable or (replaced and not isinstance(parsed.value, dict)):
        return ObjectReading(None, violations)
    if not isinstance(parsed.value, dict):
        message = f"{noun} must be an object, this is {_with_article(type_name(parsed.value))}"
        violations.append((ES109.violation(message, found=parsed.value), None))
        return ObjectReading(None, violations)
    return ObjectReading(parsed.value, violations, replaced)


def explain(
    issues: Iterable[SyntaxIssue], *, torn: bool, base: int | None = None
) -> Iterator[Violation]:
    """Turn the parser's troubles into violations.

    `torn` says that the text is the last line and lacks its newline, so that a text that ends
    too early was cut off rather than miswritten; `base` is the text's offset within its file.
    """
    for issue in issues:
        rule = _BY_NAME[issue.name]
        message = issue.message
        if torn and issue.at_end and issue.name != "spliced-record":
            rule, message = ES104, f"the last line breaks off: {message}"
        if rule.code in TORN and base is not None and issue.offset is not None:
            message = f"{message}, byte {base + issue.offset:,} of the file"
        found: Excerpt | str | None = issue.found
        if issue.excerpt is not None:
            found = Excerpt(issue.excerpt, issue.caret)
        yield rule.violation(message, pointer=issue.pointer, found=found)


def _with_article(kind: str) -> str:
    return kind if kind == "null" else f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _carriage_return(facts: RunFacts) -> Iterator[Violation]:
    for _, count, line in facts.tally.carriage_returns:
        message = f"lines end in CR LF (first {facts.at(line)}); LF alone is usual"
        yield ES112.violation(message, count=count)


ES101: Final = Rule(
    "ES101",
    "invalid-utf8",
    Severity.ERROR,
    "bytes that are no UTF-8",
    """
    What it finds: the first byte of a line that is not UTF-8, with its offset.

    Why it matters: JSON is UTF-8; a reader that guesses another encoding sees other text.

    Bad:
        line 2, as bytes:
          {"raw": "caf\\xe9"}

    Good:
        line 2, as bytes:
          {… "metadata": {… "note": "caf\\xc3\\xa9"}}
    """,
)

ES102: Final = Rule(
    "ES102",
    "byte-order-mark",
    Severity.WARNING,
    "a byte order mark at the start; UTF-16 and UTF-32 are errors",
    """
    What it finds: the bytes EF BB BF before the first row (a warning: the row is read without
    them), or a file in UTF-16 or UTF-32 (an error: its rows cannot be read).

    Why it matters: most JSON readers refuse the mark, and the checksum covers it.

    Bad:
        line 1, as bytes:
          \\xef\\xbb\\xbf{"schema_version": "0.2.0", …}

    Good:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}
    """,
    fixable=True,
)

ES103: Final = Rule(
    "ES103",
    "invalid-json",
    Severity.ERROR,
    "a line that is no JSON",
    """
    What it finds: a syntax fault, with column, byte offset and an excerpt.

    Why it matters: the row is lost to every reader.

    Bad:
        line 2, as bytes:
          {'single': 'quotes'}

    Good:
        line 2, as bytes:
          {"schema_version": "0.2.0", …}
    """,
)

ES104: Final = Rule(
    "ES104",
    "truncated-record",
    Severity.ERROR,
    "the last line has no newline and breaks off",
    """
    What it finds: a last line without a newline that ends before its JSON does.

    Why it matters: the writer was cut off; rows that should follow are missing as well.

    Bad:
        line 9, the last, as bytes:
          {"schema_version": "0.2

    Good:
        line 8, the last, as bytes:
          {"schema_version": "0.2.0", …}\\n
    """,
)

ES105: Final = Rule(
    "ES105",
    "spliced-record",
    Severity.ERROR,
    "several values on one line, or a torn record followed by a whole one",
    """
    What it finds: a line on which an object begins again where none should, with the byte at
    which it does.

    Why it matters: several writers shared the file, or one was resumed after a crash.

    Bad:
        line 2, as bytes:
          {"schema_version": "0.2.0", …}{"schema_version": "0.2.0", …}

    Good:
        line 2, as bytes:
          {"schema_version": "0.2.0", …}
        line 3, as bytes:
          {"schema_version": "0.2.0", …}
    """,
)

ES106: Final = Rule(
    "ES106",
    "nul-bytes",
    Severity.ERROR,
    "runs of NUL or other raw control bytes",
    """
    What it finds: NUL bytes, or control bytes other than tab, in a line.

    Why it matters: they are the hole that a network file system leaves after a crash; what
    stood there is lost.

    Bad:
        line 2, as bytes:
          \\x00\\x00\\x00\\x00

    Good:
        line 2, as bytes:
          {"schema_version": "0.2.0", …}
    """,
)

ES107: Final = Rule(
    "ES107",
    "duplicate-key",
    Severity.ERROR,
    "a key twice in one object, at any depth",
    """
    What it finds: an object in which a key stands more than once, with its pointer.

    Why it matters: some readers take the first value and some the last, so two people can see
    two different scores in one row.

    Bad:
        line 2, as bytes:
          {"evaluation": {"score": 0, "score": 1}}

    Good:
        line 2, as bytes:
          {… "evaluation": {"score": 1.0, …}, …}
    """,
)

ES108: Final = Rule(
    "ES108",
    "non-finite-number",
    Severity.ERROR,
    "NaN, Infinity, or a number that overflows to it",
    """
    What it finds: the words NaN, Infinity and -Infinity, and numbers such as 1e999.

    Why it matters: JSON has no such numbers; a mean over one of them is worthless.

    Bad:
        line 2, as bytes:
          {… "evaluation": {"score": NaN, …}, …}

    Good:
        line 2, as bytes:
          {… "evaluation": {"score": 0, …}, …}
    """,
)

ES109: Final = Rule(
    "ES109",
    "not-an-object",
    Severity.ERROR,
    "a row that is valid JSON but no object",
    """
    What it finds: a line that holds a list, a text, a number, true, false or null.

    Why it matters: it is no row; a writer printed something else into the file.

    Bad:
        line 2, as bytes:
          [1, 2, 3]

    Good:
        line 2, as bytes:
          {"schema_version": "0.2.0", …}
    """,
)

ES110: Final = Rule(
    "ES110",
    "blank-line",
    Severity.WARNING,
    "an empty line, or one of white space",
    """
    What it finds: a line without a row. It is never counted as one.

    Why it matters: readers that count newlines count one row too many.

    Bad:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}\\n
        line 2, as bytes:
          \\n

    Good:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}\\n
        line 2, as bytes:
          {"schema_version": "0.2.0", …}\\n
    """,
    fixable=True,
)

ES111: Final = Rule(
    "ES111",
    "no-final-newline",
    Severity.WARNING,
    "the last row is whole but has no newline",
    """
    What it finds: a file whose last byte is no newline.

    Why it matters: a writer that appends to it splices two rows into one line.

    Bad:
        line 8, the last, as bytes:
          {"schema_version": "0.2.0", …}

    Good:
        line 8, the last, as bytes:
          {"schema_version": "0.2.0", …}\\n
    """,
    fixable=True,
)

ES112: Final = Rule(
    "ES112",
    "carriage-return",
    Severity.WARNING,
    "lines end in CR LF",
    """
    What it finds: lines that end in CR LF, with their number. The checksum is still taken
    over the stored bytes.

    Why it matters: a transfer in text mode changed the file, and with it its checksum.

    Bad:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}\\r\\n

    Good:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}\\n
    """,
    run=_carriage_return,
    fixable=True,
)

ES113: Final = Rule(
    "ES113",
    "too-deep-or-too-big",
    Severity.ERROR,
    "nesting beyond --max-depth, or an integer of over 4,300 digits",
    """
    What it finds: values nested deeper than `--max-depth` (200 unless told), and integers of
    more digits than CPython turns into a number.

    Why it matters: such rows crash or stall other readers.

    Bad:
        With --max-depth 2, this row is three levels deep:
        row 1:
          {"answer_attribution": [{"turn_idx": 0}]}

    Good:
        With --max-depth 20, the same row is not too deep:
        row 1:
          {"answer_attribution": [{"turn_idx": 0}]}
    """,
)

ES114: Final = Rule(
    "ES114",
    "unpaired-surrogate",
    Severity.WARNING,
    "half of a surrogate pair as an escape",
    """
    What it finds: a lone escape from \\ud800 to \\udfff in a text or key, with its pointer.

    Why it matters: no UTF-8 text can hold it, so it cannot be encoded, hashed or stored.

    Bad:
        row 2:
          {"metadata": {"subject": "arithmetic", "note": "\\ud800"}}

    Good:
        row 2:
          {"metadata": {"subject": "arithmetic", "note": "\\ud83d\\ude00"}}
    """,
)

TORN: Final = frozenset({ES104.code, ES105.code, ES106.code})
"""Violations of which the writer or the storage is guilty, after which one looks for what is
left."""

RULES: Final = (
    ES101,
    ES102,
    ES103,
    ES104,
    ES105,
    ES106,
    ES107,
    ES108,
    ES109,
    ES110,
    ES111,
    ES112,
    ES113,
    ES114,
)
_BY_NAME: Final = {rule.name: rule for rule in RULES}


def read_document(text: bytes, options: Options, noun: str) -> ObjectReading:
    """Read a document, which may begin with a byte order mark; `noun` says what it is.

    Raises CannotCheck for one of too many values.
    """
    refuse_many_values(text)
    reading = read_object(text.removeprefix(UTF8_MARK), options.max_depth, torn=False, noun=noun)
    if not text.startswith(UTF8_MARK):
        return reading
    mark = ES102.violation(BEGINS_WITH_MARK), 1
    return reading._replace(violations=[mark, *reading.violations])
