"""The `Rule` type, and the facts about a file that the rules of all formats use."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.model.rule_text import RuleText, Section, Status
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.tally import Tally


class FileFacts(DataClass, frozen=True):
    """The facts about a file of rows or records after all of them were read.

    `changed` says how the file changed while it was read. `layout` is `jsonl` for rows on lines,
    `json` for rows in one JSON array, and another word for a file whose rows were not read.
    """

    file: str
    tally: Tally
    changed: str | None = None
    layout: str = "jsonl"

    def at(self, line: int) -> str:
        """Return the position of a row, such as `on line 3`, by its line number."""
        return place_in(self.layout)(line)


Where = Callable[[int], str]
"""Returns the position of a row for messages, from the number under which it was counted."""


def place_in(layout: str) -> Where:
    """Return the function that names positions: by line, in an array by row number."""
    return _in_row if layout == "json" else _on_line


def _on_line(number: int) -> str:
    return f"on line {number:,}"


def _in_row(number: int) -> str:
    return f"in row {number:,}"


RowCheck = Callable[[Mapping[str, Any]], Iterable[Violation]]
"""Returns the violations of one row, or the empty tuple."""


class Repair(NamedTuple):
    """What `evalstream fix` does about the findings of a rule.

    `title` says what it writes. `limit` says which findings it mends, and is empty where it mends
    all of them; violations that a limited repair mends are marked `is_fixable`, or are those of the
    `severity`. A repair that is not safe replaces what a source says, and is made only with
    `--unsafe`.
    """

    title: str
    is_safe: bool = True
    limit: str = ""
    severity: Severity | None = None


FOUND: Final = "What it finds"
WHY: Final = "Why it matters"
FIX: Final = "How to fix"
BAD: Final = "Bad"
GOOD: Final = "Good"

_SENTENCE_END = LazyPattern(r"(?<=\.)\s+")

_HEADING = LazyPattern(rf"^ *({FOUND}|{WHY}|{FIX}|{BAD}|{GOOD}):(?=\s)", re.MULTILINE)


@cache
def _sections(documentation: str) -> Mapping[str, str]:
    """Return the text under each heading of a rule's documentation, in order.

    Prose loses its indentation; the lines of an example keep theirs relative to each other.
    """
    from textwrap import dedent

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
    """A rule: its code, which never changes, its name, its severity and its documentation.

    At most one of `row`, `run`, `aggregate` and `record` is given, but a rule about rows may have
    `run` or `aggregate` as well. The parser, the schema or the driver report the rules that have
    none of them.

    Attributes:
        code: The code, such as ES401.
        name: The name, such as sample-hash-mismatch.
        severity: The severity of its findings, unless a profile or the finding has another.
        summary: A phrase that says what it finds.
        documentation: Text under the headings What it finds, Why it matters, How to fix, Bad and
            Good. The last two show fragments of documents, each below a line that names the
            document; tests compare them with the files of the rule's cases.
        row: Binds a context and returns a stateless check of one row, or None if there is nothing
            to check.
        run: Checks the merged facts, once per run.
        aggregate: Checks the aggregate alone.
        record: Checks what a format without rows passes to its rules, at most once per document or
            record.
        repair: The repair of what it finds, None without one.
        optional: Whether it holds only if it is selected or a profile adds it.
        about_aggregate: Whether its findings are about the aggregate, and not about the rows.
        about_paths: Whether a `run` rule also checks runs whose rows could not be read, or that
            have none.
        by_ids: Whether a `row` rule reads only the ids that rows share: it runs once for all rows
            that have the same ids.
        reads: The members of a row that a `row` rule reads, as JSON Pointers, with `*` for each
            element of an array: in a row without any of them the rule finds nothing. If it is
            empty, the rule may find something in every row.
        in_scanner: Whether the scanner knows the rule: it runs only over rows about which the
            scanner has a doubt. Otherwise it runs over the rows that have a member of `reads`.
        since: The version of evalstream that had it first.
        former_names: Names that it had before, which still work.
        needs: The option without which it finds nothing, empty if there is none.
        expects_data: Whether its findings expect values of the data, which are hidden with those
            found.
        status: Whether it is stable, in preview or retired. A rule in preview holds only with
            `preview` or if it is selected by its code or name, reports infos, and never fails a
            run. A retired rule still has its code and never holds.

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
    repair: Repair | None = None
    optional: bool = False
    about_aggregate: bool = False
    about_paths: bool = False
    by_ids: bool = False
    reads: tuple[str, ...] = ()
    in_scanner: bool = False
    since: str = "0.1.0"
    former_names: tuple[str, ...] = ()
    needs: str = ""
    expects_data: bool = False
    status: Status = Status.STABLE

    def violation(self, message: str, **details: Any) -> Violation:
        """Return a violation of this rule."""
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
        sections = tuple(
            Section(heading, text, heading in {BAD, GOOD})
            for heading, text in self.sections().items()
        )
        severity = self.severity.label
        return RuleText(
            self.name, self.summary, sentence, self.explained(), severity, sections, self.status
        )

    def explained(self) -> str:
        """Return the rule's documentation as `evalstream rules CODE` prints it."""
        from inspect import cleandoc

        status = _STATUS_SAID[self.status]
        head = f"{self.code} {self.name}: {self.severity.label}{status}, since {self.since}"
        repair = f"\n\n{self.repair_text()}" if self.repair else ""
        return f"{head}\n{self.summary}{repair}\n\n{cleandoc(self.documentation)}"

    @property
    def fixable(self) -> bool:
        """Whether `evalstream fix` mends it safely, at least in part."""
        return self.repair is not None and self.repair.is_safe

    def repair_text(self) -> str:
        """Say what `evalstream fix` does about its findings; empty where it does nothing."""
        if self.repair is None:
            return ""
        option = "" if self.repair.is_safe else " --unsafe"
        limit = f" ({self.repair.limit})" if self.repair.limit else ""
        return f"evalstream fix{option}: {self.repair.title}{limit}"


_STATUS_SAID: Final = {
    Status.STABLE: "",
    Status.PREVIEW: ", in preview (reported as an info, never fails a run)",
    Status.RETIRED: ", retired (never applied)",
}
