"""What a rule is, and the facts that rules look at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from textwrap import dedent
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from evalstream.formats.eee import row_view
from evalstream.formats.eee.aggregate import Aggregate, Result
from evalstream.formats.eee.recompute import Recomputed, recomputed
from evalstream.model.finding import Severity, Violation
from evalstream.model.options import Options
from evalstream.stats.duplicates import Coverage
from evalstream.stats.tally import Tally


class RecordChecker(Protocol):
    """Judges the records of another system, one after the other and in their order.

    Two judges are never equal: each keeps what its records amount to. They are judged in the
    process that made it. `noun` is what a record is called, with its article.
    """

    @property
    def noun(self) -> str:
        """What a record is called, with its article."""

    def violations(self, record: Mapping[str, Any], *, certain: bool) -> Iterable[Violation]:
        """Say what is wrong with a record; its values may be others unless it is `certain`."""

    def sample(self, record: Mapping[str, Any]) -> Any:
        """Return what the record calls its sample, of whatever type."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What is known before the rows are looked at; equal contexts give equal results.

    `version` judges rows that declare none, `algorithm` is the one in force for sample_hash,
    `recipes` the ones that the file can follow, best first (empty: not settled), `enabled`
    the codes that are to be reported. What the aggregate demands is None without one;
    `results` are the aggregate's results, which rows are joined with, and `library` names the
    harness that wrote the run, as the aggregate does. A `record` judges records of another system,
    and stands for everything else that is known of them. With `links` it is gathered what ties
    rows to those of other runs.
    """

    options: Options
    enabled: frozenset[str] = frozenset()
    version: str = ""
    algorithm: str = "sha256"
    recipes: tuple[str, ...] = ()
    evaluation_id: str | None = None
    model_id: str | None = None
    evaluation_names: frozenset[str] | None = None
    results: tuple[Result, ...] = ()
    library: str | None = None
    record: RecordChecker | None = None
    links: bool = False

    def version_of(self, row: Mapping[str, Any]) -> str:
        """Return the version that judges a row: the one that was asked for, else the declared."""
        if self.options.schema_version != "auto":
            return self.options.schema_version
        declared = row.get("schema_version")
        if isinstance(declared, str):
            return row_view.nearest_version(declared, instance=True)
        return self.version


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run once all its rows were looked at.

    `path` is None for a stream, `aggregate_path` without a readable aggregate; `beside` are the
    rows files that lie beside the aggregate under its name, and `missing` says which rows it
    declares that are not there. `checksums` holds the digests of the stored bytes by
    algorithm; `diagnosis` says why a checksum differs, where that could be found out;
    `layout` is `jsonl` where the rows were looked at, `json` where they were in one JSON array,
    and another word for what was not looked at; `coverage` says which samples the rows score.
    `packed` names the compression of the file, None where there is none.
    """

    file: str
    context: CheckContext
    tally: Tally
    path: str | None = None
    aggregate: Aggregate | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    diagnose: Callable[[str], str | None] = lambda _: None
    changed: str | None = None
    layout: str = "jsonl"
    coverage: Coverage = field(default_factory=Coverage)
    aggregate_path: str | None = None
    beside: tuple[str, ...] = ()
    missing: str | None = None
    packed: str | None = None

    @cached_property
    def recomputed(self) -> list[Recomputed]:
        """Every result of the aggregate with what its rows amount to."""
        if self.aggregate is None:
            return []
        return recomputed(self.aggregate, self.tally.scores, self.coverage.covers)

    @cached_property
    def rowless(self) -> frozenset[int]:
        """The places of results with an id that no row has, in runs whose rows have such ids."""
        tally = self.tally
        if not tally.is_whole or tally.without_result.total() == tally.rows:
            return frozenset()
        return frozenset(
            result.place
            for result in self.context.results
            # Rows cannot be told apart by an id that several results carry.
            if result.id is not None
            and self.ids[result.id] == 1
            and result.place not in tally.scores
        )

    @cached_property
    def ids(self) -> Counter[str | None]:
        """How many results have each evaluation_result_id."""
        return Counter(result.id for result in self.context.results)

    @cached_property
    def names(self) -> Counter[str | None]:
        """How many results have each evaluation_name."""
        return Counter(result.name for result in self.context.results)

    def at(self, line: int) -> str:
        """Say where a row stands that is known by the number of its line."""
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

RowRule = Callable[[CheckContext], RowCheck | None]
RunRule = Callable[[RunFacts], Iterable[Violation]]
AggregateRule = Callable[[Aggregate], Iterable[Violation]]


FOUND: Final = "What it finds"
WHY: Final = "Why it matters"
FIX: Final = "How to fix"
BAD: Final = "Bad"
GOOD: Final = "Good"

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
    rows could not be looked at, or that have none.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    documentation: str
    row: RowRule | None = None
    run: RunRule | None = None
    aggregate: AggregateRule | None = None
    record: Callable[[Any], Iterable[Violation]] | None = None
    fixable: bool = False
    optional: bool = False
    about_aggregate: bool = False
    about_paths: bool = False
    by_ids: bool = False
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

    def explained(self) -> str:
        """Return the rule's documentation as a person reads it."""
        from inspect import cleandoc

        repair = " (a safe repair exists)" if self.fixable else ""
        head = f"{self.code} {self.name}: {self.severity.label}{repair}, since {self.since}"
        return f"{head}\n{self.summary}\n\n{cleandoc(self.documentation)}"
