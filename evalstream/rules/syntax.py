"""ES1: rules about bytes and JSON, which the exact parser reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Excerpt, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.text import with_article
from evalstream.parsing.json import UTF8_MARK, Parsed, SyntaxIssue, type_name
from evalstream.parsing.json_document import parse_document
from evalstream.parsing.limits import refuse_many_values
from evalstream.rules import torn_line
from evalstream.rules.base import FileFacts, Repair, Rule
from evalstream.rules.torn_line import ES104, ES111, HALF_WRITTEN

BEGINS_WITH_MARK: Final = "the file begins with a UTF-8 byte order mark"


class ObjectReading(NamedTuple):
    """An object read by the exact parser, or None, and its violations with their lines.

    `replaced` holds the pointers of values that replace numbers which JSON does not allow, so that
    other rules do not report them. `accepted` says that the object passed the check that
    `read_document` was given.
    """

    value: dict[str, Any] | None
    violations: list[tuple[Violation, int | None]]
    replaced: frozenset[str | None] = frozenset()
    accepted: bool = False

    def concerned(self, violations: Iterable[Violation]) -> Iterator[Violation]:
        """Leave out the violations of replaced values."""
        return (violation for violation in violations if violation.pointer not in self.replaced)


def read_object(
    text: bytes, max_depth: int, *, torn: bool, noun: str, offset: int | None = None
) -> ObjectReading:
    """Read a text that must be one object, such as a row, and return its violations.

    `offset` is the position of the text within its file in bytes, or None if it is the whole file.
    """
    from evalstream.parsing.strict_json import parse_exactly

    return _object_of(parse_exactly(text, max_depth), torn=torn, noun=noun, offset=offset)


def _object_of(parsed: Parsed, *, torn: bool, noun: str, offset: int | None) -> ObjectReading:
    lines = [issue.line for issue in parsed.issues]
    violations = list(zip(explain(parsed.issues, torn=torn, base=offset), lines, strict=True))
    replaced = frozenset(issue.pointer for issue in parsed.issues if issue.replaced)
    if not parsed.readable or (replaced and not isinstance(parsed.value, dict)):
        return ObjectReading(None, violations)
    if not isinstance(parsed.value, dict):
        message = f"{noun} must be an object, not {with_article(type_name(parsed.value))}"
        violations.append((ES109.violation(message, found=parsed.value), None))
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
        rule = ES104 if torn and torn_line.breaks_off(issue) else _BY_NAME[issue.name]
        message = torn_line.message_of(issue) if rule is ES104 else issue.message
        if rule.code in HALF_WRITTEN and base is not None and issue.offset is not None:
            message = f"{message}, byte {base + issue.offset:,} of the file"
        found: Excerpt | str | None = issue.found
        if issue.excerpt is not None:
            found = Excerpt(issue.excerpt, issue.caret)
        yield rule.violation(message, pointer=issue.pointer, found=found)


def _carriage_return(facts: FileFacts) -> Iterator[Violation]:
    for _, count, line in facts.tally.carriage_returns:
        message = f"lines end in CR LF (first {facts.at(line)}); LF alone is usual"
        yield ES112.violation(message, count=count)


ES101: Final = Rule(
    "ES101",
    "invalid-utf8",
    Severity.ERROR,
    "bytes that are not valid UTF-8",
    """
    What it finds: the first byte of a line that is not UTF-8, with its offset.

    Why it matters: JSON is UTF-8; a reader that guesses another encoding reads other text.

    How to fix: Write the file again in UTF-8 from its source, or convert it with `iconv` from its
    real encoding. `evalstream salvage` saves the other rows.

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
    "a byte order mark at the start; a file in UTF-16 or UTF-32 is an error",
    """
    What it finds: the bytes EF BB BF before the first row (a warning: the row is read without
    them), or a file in UTF-16 or UTF-32 (an error: its rows cannot be read).

    Why it matters: most JSON readers reject the mark, and the checksum covers it.

    How to fix: Write the file in UTF-8 without a byte order mark (in Python: encoding="utf-8"),
    then run `evalstream seal`. `evalstream salvage` writes a copy without the mark.

    Bad:
        line 1, as bytes:
          \\xef\\xbb\\xbf{"schema_version": "0.2.0", …}

    Good:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}
    """,
    repair=Repair("removes the mark", limit="in UTF-8", severity=Severity.WARNING),
)

ES103: Final = Rule(
    "ES103",
    "invalid-json",
    Severity.ERROR,
    "a line that is not valid JSON",
    """
    What it finds: a syntax error, with column, byte offset and an excerpt.

    Why it matters: no reader can read the row.

    How to fix: Run the writer again for this row, with a JSON library instead of text formatting.
    If the source is lost, `evalstream salvage` saves the other rows.

    Bad:
        line 2, as bytes:
          {'single': 'quotes'}

    Good:
        line 2, as bytes:
          {"schema_version": "0.2.0", …}
    """,
)

ES105: Final = Rule(
    "ES105",
    "spliced-record",
    Severity.ERROR,
    "several values on one line, or a cut-off row followed by a whole one",
    """
    What it finds: a line on which a second object begins before a newline, with the byte at which
    it begins.

    Why it matters: several writers shared the file, or one was resumed after a crash.

    How to fix: Run the evaluation again with one writer per file. If that is not possible,
    `evalstream salvage ROWS --to FILE` saves the whole rows; recompute the aggregate from them and
    run `evalstream seal`.

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

    Why it matters: they usually fill a hole that a network file system leaves after a crash; the
    bytes that were there are lost.

    How to fix: Copy the file again from its source; the lost bytes cannot be recovered from this
    file. If the writer put control characters into strings, write them as escapes, with a JSON
    library. `evalstream salvage` saves the whole rows.

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
    "a key occurs twice in one object, at any depth",
    """
    What it finds: an object in which a key occurs more than once, with its pointer.

    Why it matters: some readers take the first value and some the last, so two readers can see two
    different scores in one row.

    How to fix: Correct the writer so that it writes each key once, and write the row again. Take
    the value from the source log; do not choose between the two by hand.

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

    Why it matters: JSON has no such numbers, and a mean that includes one of them is worthless.

    How to fix: Find out why the value is not finite, correct the computation, and write the rows
    again. In Python, `json.dumps(..., allow_nan=False)` stops at the first such value. Leave an
    optional field without a value out.

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
    "a row that is valid JSON but not a JSON object",
    """
    What it finds: a line that holds an array, a string, a number, true, false or null.

    Why it matters: the line is not a row; another program or a log message probably wrote it into
    the file.

    How to fix: Write only rows into the file, one JSON object per line, then run `evalstream
    seal`. For log lines in a stream use `--skip-noise`.

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
    "a line that is empty or holds only white space",
    """
    What it finds: a line without a row. It does not count as a row.

    Why it matters: readers that count newlines count one row too many.

    How to fix: Remove the blank lines in the writer, or copy the rows without them: `evalstream
    salvage ROWS --to FILE`. Then run `evalstream seal`, since the bytes have changed.

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
    repair=Repair("removes the line"),
)

ES112: Final = Rule(
    "ES112",
    "carriage-return",
    Severity.WARNING,
    "lines end in CR LF instead of LF",
    """
    What it finds: lines that end in CR LF, with their number. The checksum is still computed over
    the stored bytes.

    Why it matters: a transfer in text mode probably changed the file, and with it its checksum.

    How to fix: Transfer the file again in binary mode, or write it with LF line ends. If the
    aggregate was sealed over CR LF, run `evalstream seal` after the change.

    Bad:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}\\r\\n

    Good:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}\\n
    """,
    run=_carriage_return,
    repair=Repair("ends the lines in LF"),
)

ES113: Final = Rule(
    "ES113",
    "too-deep-or-too-big",
    Severity.ERROR,
    "nesting deeper than --max-depth, or an integer of more than 4,300 digits",
    """
    What it finds: values nested deeper than `--max-depth` (default: 200), and integers of more
    digits than CPython converts to a number.

    Why it matters: such rows make other readers crash or hang.

    How to fix: Correct the writer: such a value is usually an object put into itself, or a number
    that is really text. If the nesting is intended, raise `--max-depth`.

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
    "an escape of half a surrogate pair",
    """
    What it finds: a lone escape from \\ud800 to \\udfff in a string or key, with its pointer.

    Why it matters: UTF-8 cannot represent it, so the string cannot be encoded, hashed or stored.

    How to fix: Correct the writer so that it keeps surrogate pairs whole, and write the row again
    from the source. Text that was cut between the two halves of a character is the usual cause.

    Bad:
        row 2:
          {"metadata": {"subject": "arithmetic", "note": "\\ud800"}}

    Good:
        row 2:
          {"metadata": {"subject": "arithmetic", "note": "\\ud83d\\ude00"}}
    """,
)

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


def read_document(
    text: bytes, options: Options, noun: str, accepts: Callable[[Any], bool] | None = None
) -> ObjectReading:
    """Read a document, which may begin with a byte order mark; `noun` names it in messages.

    `accepts` is a check that never accepts a value with an infinite number. Raises CannotCheck for
    a document with too many values.
    """
    refuse_many_values(text)
    reading = read_whole(text.removeprefix(UTF8_MARK), options.max_depth, noun, accepts)
    if not text.startswith(UTF8_MARK):
        return reading
    mark = ES102.violation(BEGINS_WITH_MARK), 1
    return reading._replace(violations=[mark, *reading.violations])


def read_whole(
    text: bytes, max_depth: int, noun: str, accepts: Callable[[Any], bool] | None = None
) -> ObjectReading:
    """Read a document as `read_object` does, many times faster if it has no violation."""
    parsed = parse_document(text, max_depth, accepts)
    return _object_of(parsed, torn=False, noun=noun, offset=None)
