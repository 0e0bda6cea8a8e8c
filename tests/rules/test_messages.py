"""No message says a word twice in a row."""

import json
import re
from collections.abc import Iterator

from each import each
from paths import FINDINGS, TRANSCRIPTS

from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import FIX, FOUND, WHY
from evalstream.parsing.line_recovery import split_line
from evalstream.parsing.strict_json import parse_exactly

DOUBLED = re.compile(r"(?<![\w./\"'-])([a-z]+) \1(?![\w./\"'-])")

NO_JSON = (
    '{"a', '{"a": "b', '{"a": "b\\', '{"a": "\\x"}', '{"a": "\\u12"}', '{"a": "\t"}', '{"a": "\n"}',
    "{", "[", '{"a"', '{"a":', '{"a": 1', '{"a": 1,', "{a", "[1", "[1,", "[1 2]", '{"a" 1}', "tru",
    "nul", "-", "1.", "1e", "x", "{}}", '{"a": 1}{', "", "'a'", '{"a": 1, }', '{"a": 01}',
)  # fmt: skip


def messages() -> Iterator[str]:
    """Iterate over the messages of all cases, and the texts of all rules."""
    for case in sorted(FINDINGS.iterdir()):
        yield from (one["message"] for one in json.loads(case.read_bytes())["findings"])
    for rule in CATALOGUE.values():
        yield from (rule.summary, *(rule.sections()[one] for one in (FOUND, WHY, FIX)))
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        lines = path.read_text().splitlines()
        yield from (line for line in lines if not line.startswith("$"))


def test_no_message_of_a_case_has_a_doubled_word() -> None:
    found = list(messages())
    assert len(found) > 500
    assert [text for text in found if DOUBLED.search(text)] == []


@each("text", NO_JSON)
def test_no_message_about_json_has_a_doubled_word_or_an_open_end(text: str) -> None:
    issues = [issue.message for issue in parse_exactly(text.encode(), 200).issues]
    pieces = [piece.reason or "" for piece in split_line(text.encode(), None)]
    assert issues
    assert [one for one in issues + pieces if DOUBLED.search(one) or one.endswith(" at")] == []
