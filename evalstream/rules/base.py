"""The `Rule` type, how a page and a module declare a rule, and the facts about a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evalstream.model import finding
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class RuleCheck(TypedDict, total=False):
        """The fields of `Rule` about its check, which its module adds to its page."""

        row: Callable[[Any], RowCheck | None]
        run: Callable[[Any], Iterable[Violation]]
        aggregate: Callable[[Any], Iterable[Violation]]
        record: Callable[[Any], Iterable[Violation]]
        repair: Repair
        about_aggregate: bool
        about_paths: bool
        by_ids: bool
        reads: tuple[str, ...]
        in_scanner: bool
        needed_fact: str


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
        return position_namer(self.layout)(line)


Where = Callable[[int], str]
"""Returns the position of a row for messages, from the number under which it was counted."""


def position_namer(layout: str) -> Where:
    """Return the function that names positions: by line, in an array by row number."""
    return ("in row {:,}" if layout == "json" else "on line {:,}").format


RowCheck = Callable[[Mapping[str, Any]], Iterable[Violation]]
"""Returns the violations of one row, or the empty tuple."""


class RepairAction(Enum):
    """The action of a repair on lines, on values of rows and aggregates, or on a seal."""

    REMOVE_BYTE_ORDER_MARK = auto()
    REMOVE_BLANK_LINES = auto()
    END_LINES_IN_LF = auto()
    END_LAST_LINE = auto()
    DROP_NULL = auto()
    WRITE_TEXT = auto()
    WRITE_PLAIN_VERSION = auto()
    WRITE_PLAIN_SAMPLE_HASH = auto()
    WRITE_PLAIN_CHECKSUM = auto()
    WRITE_ROWS_PATH = auto()
    WRITE_EVALUATION_ID = auto()


class Repair(NamedTuple):
    """The repair of the findings of a rule by `evalstream fix`.

    `action` is carried out by the modules that rewrite lines, rows and aggregates, which know no
    codes. `title` says what it writes, and `limit` which findings it mends; it is empty where it
    mends all of them. Violations that a limited repair mends are marked `is_fixable`, or are those
    of the `severity`: a check counts violations of rows by severity alone. A repair that is not
    safe replaces what a source says, and is made only with `--unsafe`.
    """

    action: RepairAction
    title: str
    is_safe: bool = True
    limit: str = ""
    severity: Severity | None = None

    def mends(self, violation: Violation, severity: Severity) -> bool:
        """Tell whether it mends a violation of its rule, which has a severity."""
        return not self.limit or violation.is_fixable or severity is self.severity

    @property
    def needs_marks(self) -> bool:
        """Whether only marks tell the violations that it mends."""
        return bool(self.limit) and self.is_safe and self.severity is None


_SENTENCE_END = LazyPattern(r"(?<=\.)\s+")


class Rule(NamedTuple):
    """A rule: its code, which never changes, its name, its severity and its summary.

    Its page, a Markdown file with its code's name, declares it (`declare_rule`). All else
    that users read is there, too, and is read when it is asked for (`rules/pages.py`).

    At most one of `row`, `run`, `aggregate` and `record` is given, but a rule about rows may have
    `run` or `aggregate` as well. The parser, the schema or the driver report the rules that have
    none of them.

    Attributes:
        code: The code, such as ES401.
        name: The name, such as sample-hash-mismatch.
        severity: The severity of its findings, unless a profile or the finding has another.
        summary: A phrase that says what it finds.
        row: Binds a context and returns a stateless check of one row, or None if there is nothing
            to check.
        run: Checks the merged facts, once per run.
        aggregate: Checks the aggregate alone.
        record: Checks what a format without rows passes to its rules, at most once per document or
            record.
        repair: The repair of what it finds, None without one.
        optional: Whether it holds only if it is selected or a profile adds it.
        about_aggregate: Whether what `run` finds is about the aggregate, and not about the rows.
        about_paths: Whether a `run` rule also checks runs whose rows could not be read, or that
            have none.
        by_ids: Whether a `row` rule reads only the ids that rows share: it runs once for all rows
            that have the same ids.
        reads: The members of a row that a `row` rule reads, as JSON Pointers, with `*` for each
            element of an array: in a row without any of them the rule finds nothing. If it is
            empty, the rule may find something in every row.
        in_scanner: Whether the scanner knows the rule: it runs only over rows about which the
            scanner has a doubt. Otherwise it runs over the rows that have a member of `reads`.
        needed_fact: The member of the facts, such as `tally.noise`, without which a `run` rule finds
            nothing: it runs only where that is not empty. Without a name it runs in any case.
        since: The version of evalstream that had it first.
        former_names: Names that it had before, which still work.
        needs: The option without which it finds nothing, empty if there is none.
        in_store: Whether only the commands about the public store find it.
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
    needed_fact: str = ""
    since: str = "0.1.0"
    former_names: tuple[str, ...] = ()
    needs: str = ""
    in_store: bool = False
    expects_data: bool = False
    status: finding.Status = finding.Status.STABLE

    def violation(
        self, message: str, pointer: str | tuple[str | int, ...] | None = None, **details: Any
    ) -> Violation:
        """Return a violation at a JSON Pointer or a path; `details` are further fields."""
        place = json.pointer(pointer) if isinstance(pointer, tuple) else pointer
        return Violation(self.code, message, place, **details)

    def apply(self, seen: Any) -> Iterable[Violation]:
        """Return the violations in the subject of a format without rows."""
        return () if self.record is None else self.record(seen)

    def sections(self) -> Mapping[str, str]:
        """Return the text under each heading of the rule's page."""
        from evalstream.rules.pages import read_page

        return read_page(self.code)

    @property
    def fix(self) -> str:
        """How to fix the defect."""
        return self.sections()[finding.FIX]

    def text(self) -> finding.RuleText:
        """Return what reports say about the rule; of the remedy they say the first sentence."""
        from evalstream.rules.pages import repository_path

        remedy = " ".join(self.fix.split())
        sentence = _SENTENCE_END.split(remedy, maxsplit=1)[0]
        sections = tuple(
            finding.Section(heading, text, heading in finding.EXAMPLES)
            for heading, text in self.sections().items()
        )
        return finding.RuleText(
            self.name,
            self.summary,
            sentence,
            self.explain(),
            self.severity.label,
            sections,
            self.status,
            repository_path(self.code),
        )

    def explain(self) -> str:
        """Return the rule's page as `evalstream rules CODE` prints it."""
        status = _STATUS_SAID[self.status]
        head = f"{self.code} {self.name}: {self.severity.label}{status}, since {self.since}"
        repair = f"\n\n{self.repair_text()}" if self.repair else ""
        texts = self.sections().items()
        parts = (f"\n\n{heading}:{_indent_text(heading, text)}" for heading, text in texts)
        return f"{head}\n{self.summary}{repair}{''.join(parts)}"

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
    finding.Status.STABLE: "",
    finding.Status.PREVIEW: ", in preview (reported as an info, never fails a run)",
    finding.Status.RETIRED: ", retired (never applied)",
}


def _indent_text(heading: str, text: str) -> str:
    if heading not in finding.EXAMPLES:
        return f" {text}"
    return "".join(f"\n    {line}" if line else "\n" for line in text.splitlines())


def declare_rule(code: str, **check: Unpack[RuleCheck]) -> Rule:
    """Return the rule that a page declares, with its check.

    Raises FileNotFoundError without a page, KeyError, TypeError or ValueError where the page
    declares no rule, and ValueError for a repair of some of its rows that no severity tells apart.
    """
    declared = dict(_read_declaration(code))
    severity = Severity[declared.pop("severity").upper()]
    status = finding.Status(declared.pop("status", finding.Status.STABLE))
    rule = Rule(code, severity=severity, status=status, **declared, **check)
    about_run = rule.row is None and (rule.run or rule.aggregate)
    if rule.repair is not None and rule.repair.needs_marks and not about_run:
        raise ValueError(
            f"{code}: a safe repair of rows has no limit, or the severity of what it mends; a rule "
            "of its own can find the rest"
        )
    return rule


def _read_declaration(code: str) -> Mapping[str, Any]:
    """Return what the table of the build has of a code, or else the page."""
    found = _load_table().get(code)
    if found is not None:
        return found
    from evalstream.rules.front_matter import read_front_matter
    from evalstream.rules.pages import page_path

    with open(page_path(code), encoding="utf-8") as file:
        return read_front_matter(file.read())


@cache
def _load_table() -> Mapping[str, Mapping[str, Any]]:
    """Return the table of the build, empty in a checkout that was not installed."""
    try:
        built = import_module(f"{__package__}.declared_table")
    except ImportError:
        return {}
    table: Mapping[str, Mapping[str, Any]] = built.DECLARED
    return table
