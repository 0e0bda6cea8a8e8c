"""What a rule is, and the facts about a file that the rules of all formats look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import dedent
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from evalstream.model.finding import Severity, Violation
from evalstream.model.rule_text import RuleText
from evalstream.stats.tally import Tally


@dataclass(frozen=True)
class FileFacts:
    """What is known of a file of rows or records once all of them were looked at.

    `changed` says how the file changed while it was read. `layout` is `jsonl` where the rows were
    looked at, `json` where they were in one JSON array, and another word for what was not looked
    at.
    """

    file: str
    tally: Tally
    changed: str | None = None
    layout: str = "jsonl"

    def at(self, line: int) -> str:
        """Say where a row is that is known by the number of its line."""
        return place_in(self.layout)(line)


Where = Callable[[int], str]
"""Says where a row stands, for people, by the number under which it was counted."""


def place_in(layout: str) -> Where:
    """Return what says where rows stand: on lines, but in an array by their number."""
    return _in_row if layout == "json" else _on_line


def _on_line(number: int) -> str:
    return f"on line {number:,}"


def _in_row(number: int) -> str:
    return f"in row {number:,}"


RowCheck = Callable[[Mapping[str, Any]], Iterable[Violation]]
"""Returns the violations of one row; the empty tuple where there are none."""


FOUND: Final = "What it finds"
WHY: Final = "Why it matters"
FIX: Final = "How to fix"
BAD: Final = "Bad"
GOOD: Final = "Good"

_SENTENCE_END = re.compile(r"(?<=\.)\s+")

_HEADING = re.compile(rf"^ *({FOUND}|{WHY}|{FIX}|{BAD}|{GOOD}):(?=\s)", re.MULTILINE)


@cache
def _sections(documentation: str) -> Mapping[str, str]:
    """Return the text under each heading of a rule's documentation, in its order.

    Prose has no indentation; the lines of an example keep theirs relative to each other.
    """
    _, *parts = _HEADING.split(documentation)
    return MappingProxyType(
        {
            heading: dedent(text.strip("\n")).strip()
            if heading in {BAD, GOOD}
            else "\n".join(line.strip() for line in text.strip().splitlines())
            for heading, text in zip(parts[::2], parts[1::2], strict=True)
        }
    )


class Rule(NamedTuple):
    """A rule: its code, which never changes, its name, how bad it is, and its documentation.

    `documentation` has the headings What it finds, Why it matters, How to fix, Bad and Good.
    The last two show fragments of documents, each below a line that says where it is; tests
    compare them with the files of the rule's cases. At most one of `row`, `run`,
    `aggregate` and `record` is given: `row` binds a context and returns a stateless check of one
    row (or None where there is nothing to check), `run` looks at the merged facts once per run,
    `aggregate` at the aggregate by itself; `record` looks at what another system hands to its
    rules, at most once per document or record. Rules with none of them are found by the parser,
    the schema or the driver, which name them. An `optional` rule holds only where it is
    selected or a profile adds it. A `run` rule that is `about_paths` looks also at runs whose
    rows could not be looked at, or that have none. A `row` rule that is `by_ids` looks only at the
    ids that rows share: it runs once for all rows that have the same ones.

    `reads` names the members of a row that a `row` rule looks at, as JSON Pointers, `*` for each
    element of an array: in a row that holds none of them the rule finds nothing. Without any the
    rule may find something in each row. `in_scanner` says that the scanner tests the rule: it
    accepts no row in which the rule finds anything but a notice, which it flags. Where the scanner
    does not, the rule runs over the accepted rows that hold a member of `reads`.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    documentation: str
    row: Callable[[Any], RowCheck | None] | None = None
    run: Callable[[Any], Iterable[Violation]] | None = None
    aggregate: Callable[[Any], Iterable[Violation]] | None = None
    record: Callable[[Any], Iterable[Violation]] | None = None
    fixable: bool = False
    optional: bool = False
    about_aggregate: bool = False
    about_paths: bool = False
    by_ids: bool = False
    reads: tuple[str, ...] = ()
    in_scanner: bool = False
    since: str = "0.1.0"
    former_names: tuple[str, ...] = ()

    def violation(self, message: str, **details: Any) -> Violation:
        """Say that this rule is broken."""
        return Violation(self.code, message, **details)

    def sections(self) -> Mapping[str, str]:
        """Return the text under each heading of the documentation."""
        return _sections(self.documentation)

    @property
    def found(self) -> str:
        """What the rule finds."""
        return self.sections()[FOUND]

    @property
    def why(self) -> str:
        """Why the defect matters."""
        return self.sections()[WHY]

    @property
    def fix(self) -> str:
        """How to fix the defect; empty where the documentation does not say it."""
        return self.sections().get(FIX, "")

    @property
    def bad(self) -> str:
        """An example with the defect."""
        return self.sections()[BAD]

    @property
    def good(self) -> str:
        """The same example without the defect."""
        return self.sections()[GOOD]

    def text(self) -> RuleText:
        """Return what reports say about the rule; of the remedy they say the first sentence."""
        remedy = " ".join(self.fix.split())
        sentence = _SENTENCE_END.split(remedy, maxsplit=1)[0]
        return RuleText(self.name, self.summary, sentence, self.explained())

    def explained(self) -> str:
        """Return the rule's documentation as a person reads it."""
        from inspect import cleandoc

        repair = " (a safe repair exists)" if self.fixable else ""
        head = f"{self.code} {self.name}: {self.severity.label}{repair}, since {self.since}"
        return f"{head}\n{self.summary}\n\n{cleandoc(self.documentation)}"
