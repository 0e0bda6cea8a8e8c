"""The report of a check: the totals of its runs, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, overload

from evalstream.model.claim import STATES, count_states
from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.finding import Finding, KnownFinding, Severity
from evalstream.model.rule_text import RuleText
from evalstream.model.run_summary import (
    VERDICTS,
    RunSummary,
    add_counts,
    count_by_label,
    encode_known,
)


class RunSequence(Sequence[RunSummary]):
    """Runs that are read when they are asked for: one by `read_run`, all of them by iteration."""

    def read_run(self, index: int) -> RunSummary:
        """Return the run at an index from 0 to below the length."""
        raise NotImplementedError

    def __deepcopy__(self, _: object) -> list[RunSummary]:
        return list(self)

    @overload
    def __getitem__(self, index: int) -> RunSummary: ...
    @overload
    def __getitem__(self, index: slice) -> list[RunSummary]: ...
    def __getitem__(self, index: int | slice) -> RunSummary | list[RunSummary]:
        """Return a run by its index, or several by a slice."""
        if not isinstance(index, slice):
            return self.read_run(range(len(self))[index])
        wanted = range(len(self))[index]
        ahead = wanted if wanted.step > 0 else wanted[::-1]
        # In one pass, which may be over a file.
        found = list(islice(self, ahead.start, ahead.stop, ahead.step)) if wanted else []
        return found if ahead is wanted else found[::-1]


def encode_runs(runs: Sequence[RunSummary]) -> Iterator[dict[str, Any]]:
    """Iterate over runs as the output contract writes them."""
    encoded: Callable[[], Iterator[dict[str, Any]]] | None = getattr(runs, "encoded", None)
    return (run.as_dict() for run in runs) if encoded is None else encoded()


class GoneRuns(NamedTuple):
    """Runs that a ledger remembers and whose files are gone: their number, and the first names."""

    runs: int = 0
    names: tuple[str, ...] = ()


class Totals(DataClass):
    """The totals of a check over all runs.

    Attributes:
        runs: The number of runs.
        rows: The number of rows.
        bytes: Size of the rows that were checked, unpacked, in bytes.
        unchanged: The number of runs that a ledger answered.
        unreached: The number of runs that the check did not reach before it was stopped or its
            executor was lost.
        lost: Why the executor was lost, None if it was not.
        unchecked: The number of runs that were not checked in full.
        damaged: The number of runs that fail by data that cannot be read in full.
        excluded: The number of names that searches left out.
        missing: The number of names of lists that are gone.
        other_files: The number of files of lists that are not evaluation files.
        verdicts: The number of runs by verdict.
        counts: Exact number of occurrences by code.
        severities: Exact number of occurrences by severity.
        known: The number of occurrences that a baseline knows, by code; the other counts are
            without it.
        known_severities: The number of occurrences that a baseline knows, by severity.
        vanished: The number of occurrences that only the baseline has.
        fixable: The number of occurrences that `evalstream fix` mends.
        fixable_unsafely: The number of those that it mends with `--unsafe` alone.
        unfixable: The number of occurrences with a repair that it refuses to make.
        claims: The number of claims by state.
        refuted_runs: The number of failed runs with a refuted claim.
        gone: The runs of the ledger that are gone.

    """

    runs: int = 0
    rows: int = 0
    bytes: int = 0
    unchanged: int = 0
    unreached: int = 0
    lost: str | None = None
    unchecked: int = 0
    damaged: int = 0
    excluded: int = 0
    missing: int = 0
    other_files: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    severities: dict[Severity, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    known_severities: dict[Severity, int] = field(default_factory=dict)
    vanished: int = 0
    fixable: int = 0
    fixable_unsafely: int = 0
    unfixable: int = 0
    claims: dict[str, int] = field(default_factory=dict)
    refuted_runs: int = 0
    gone: GoneRuns = GoneRuns()

    def add(self, run: RunSummary) -> None:
        """Add one run, or a note."""
        self.excluded += run.excluded
        self.missing += run.missing
        self.other_files += run.other_files
        self.runs += not run.is_note
        self.rows += run.rows
        self.bytes += run.bytes
        self.unchanged += run.unchanged is not None
        self.unchecked += run.is_unchecked
        self.damaged += run.incomplete_reason is not None and not run.is_unchecked
        if not run.is_note:
            self.verdicts[run.verdict] = self.verdicts.get(run.verdict, 0) + 1
        add_counts(self.counts, run.counts)
        add_counts(self.severities, run.severities)
        add_counts(self.known, run.known)
        add_counts(self.known_severities, run.known_severities)
        self.fixable += sum(run.fixable.values())
        self.fixable_unsafely += sum(run.fixable_unsafely.values())
        self.unfixable += run.unfixable
        add_counts(self.claims, count_states(run.claims))
        self.refuted_runs += run.is_refuted

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as the output contract writes them."""
        return {
            "runs": self.runs,
            **{verdict: self.verdicts.get(verdict, 0) for verdict in VERDICTS},
            "refuted_runs": self.refuted_runs,
            "claims": {state.value: self.claims.get(state.value, 0) for state in STATES},
            "rows": self.rows,
            "bytes": self.bytes,
            "counts": dict(sorted(self.counts.items())),
            "severities": count_by_label(self.severities),
            **encode_known(self.known, self.known_severities),
            **{name: value for name in RARE_TOTALS if (value := getattr(self, name))},
            **({"gone": self.gone._asdict()} if self.gone.runs else {}),
        }


RARE_TOTALS: Final = (
    *("fixable", "fixable_unsafely", "unfixable", "vanished", "unchanged", "unreached", "lost"),
    *("unchecked", "damaged", "excluded", "missing", "other_files"),
)
"""The totals that the output contract leaves out where there are none, in its order."""


class Report(DataClass):
    """The data of a check; `evalstream.Report` says what its fields are."""

    runs: Sequence[RunSummary]
    findings: Iterable[Finding]
    shown: int
    exit_code: int
    totals: Totals
    rules: Mapping[str, RuleText] = field(default_factory=dict)
    vanished: Iterable[KnownFinding] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Finding]:
        """Iterate over the shown findings in their order."""
        return iter(self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """Exact number of occurrences by code, over all runs."""
        return dict(sorted(self.totals.counts.items()))

    @property
    def total(self) -> int:
        """Exact number of occurrences of all codes, over all runs."""
        return sum(self.totals.counts.values())

    @property
    def passed(self) -> bool:
        """Whether every run has the verdict `passed`."""
        totals = self.totals
        return totals.verdicts.get("passed", 0) == totals.runs > 0 and not totals.unreached
