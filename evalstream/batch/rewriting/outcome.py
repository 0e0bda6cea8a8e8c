"""The outcome of a run that was to be fixed or migrated, and the check of its new files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import chain, islice
from typing import Final

from evalstream.batch.single import check_any
from evalstream.io.names import printable
from evalstream.io.output import is_write_protected
from evalstream.io.progress import Progress
from evalstream.model.changes import ChangeTally, Need
from evalstream.model.data_class import DataClass, field
from evalstream.model.errors import CannotCheck, CannotWrite, internal_error
from evalstream.model.exit_codes import ExitCode
from evalstream.model.finding import Finding, FindingList, Severity
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.reporters.groups import Caps, join_findings

LONGEST_REASON: Final = 4_000
"""Number of characters of a reason."""


class ChangeStatus(str, Enum):
    """The status of a run after a change.

    WRITTEN is what was written and passed its check, or would be in a dry run. PARTLY was written
    as far as there are repairs, and still fails. UNCHANGED needs no change. PRESENT was written by
    an earlier call. REFUSED was not written. UNREAD could not be read to its end. UNWRITTEN has a
    place that takes no files.
    """

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    PRESENT = "present"
    REFUSED = "refused"
    PARTLY = "partly"
    UNREAD = "unread"
    UNWRITTEN = "unwritten"


class Outcome(DataClass):
    """The outcome of one run that was to be fixed or migrated.

    Attributes:
        rows: The rows file as it was named.
        aggregate: The aggregate as it was named.
        status: Whether the run was changed, and if not, why.
        target: The new aggregate, or the new rows of a run without an aggregate.
        row_count: The number of rows.
        row_changes: The numbers of changed rows, by change.
        document_changes: The numbers of changed aggregates, by change.
        reasons: Full sentences that say why the run was not written.
        needs: What the sources do not say and a migration needs.
        checked: The summary of the check of the result, None if nothing was written.
        is_unconfirmed: Whether the rows confirm no score.
        is_remembered: Whether a ledger says that nothing changed since the result passed its check.

    """

    rows: str | None
    aggregate: str | None
    status: ChangeStatus = ChangeStatus.WRITTEN
    target: str | None = None
    row_count: int = 0
    row_changes: ChangeTally = field(default_factory=ChangeTally)
    document_changes: ChangeTally = field(default_factory=ChangeTally)
    reasons: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    checked: RunSummary | None = None
    is_unconfirmed: bool = False
    is_remembered: bool = False

    def refuse(self, reason: str) -> None:
        """Note that the run is not written, or fails, and why."""
        self.end(ChangeStatus.REFUSED, reason)

    def leave_unread(self, reason: str) -> None:
        """Note that the run could not be read or checked to its end, and why."""
        self.end(ChangeStatus.UNREAD, reason)

    def end(self, status: ChangeStatus, reason: str) -> None:
        """Set the status, and add a reason, cut where it repeats a long name of the source."""
        is_long = len(reason) > LONGEST_REASON
        shown = f"{reason[: LONGEST_REASON - 1]}…" if is_long else reason
        self.status, self.reasons = status, (*self.reasons, shown)

    @property
    def exit_code(self) -> ExitCode:
        """FAILED if the run was refused, UNCHECKED if it was not read or written, or PASSED."""
        if self.status in {ChangeStatus.UNREAD, ChangeStatus.UNWRITTEN}:
            return ExitCode.UNCHECKED
        fails = self.status in {ChangeStatus.REFUSED, ChangeStatus.PARTLY}
        return ExitCode.FAILED if fails else ExitCode.PASSED


def new_outcome(run: Run) -> Outcome:
    """Return the outcome of a run of which nothing is known yet."""
    rows, aggregate = run.rows or run.inputs, run.aggregate
    return Outcome(
        None if rows is None else printable(rows),
        None if aggregate is None else printable(aggregate),
    )


def change_run(found: Run | NoInput, change: Callable[[Run, Outcome], None]) -> Outcome:
    """Fix or migrate one run, and return its outcome.

    Raises Stopped, and CannotWrite unless only the place of this run takes no files.
    `change` raises ValueError for a run that is refused, CannotCheck, OSError and Stopped.
    """
    if isinstance(found, NoInput):
        return Outcome(printable(found.path), None, ChangeStatus.UNREAD, reasons=(found.reason,))
    outcome = new_outcome(found)
    try:
        change(found, outcome)
    except ValueError as error:
        outcome.refuse(str(error))
    except (CannotCheck, OSError) as error:
        is_system = isinstance(error, OSError) and error.strerror
        outcome.leave_unread(f"{error.filename}: {error.strerror}" if is_system else str(error))  # type: ignore[union-attr]
    except CannotWrite as error:
        # A disk that is full takes no other run; one folder may be closed, or on a locked disk.
        if not (isinstance(error.__cause__, OSError) and is_write_protected(error.__cause__)):
            raise
        outcome.end(ChangeStatus.UNWRITTEN, str(error))
    except BaseException as error:  # noqa: BLE001 - whatever a library raises
        outcome.leave_unread(str(internal_error(error)))
    if outcome.status is ChangeStatus.UNREAD:
        # A check that a signal stops is incomplete: it does not raise Stopped itself.
        STOPPING.check_again()
    return outcome


MOST_REASONS: Final = 20
"""Number of reasons of an outcome."""

MOST_FINDINGS: Final = 1_000
"""Number of findings of a rule that a check of a result shows, which are joined to reasons."""


def check_result(
    run: Run, options: Options, staging: str | None, progress: Progress, outcome: Outcome
) -> None:
    """Check a run, and refuse its outcome if it fails.

    Paths in the reasons are relative to the `staging` folder, where the run has no lasting place.
    """
    summary, failing = check_with_reasons(run, options, staging, progress)
    outcome.checked = summary
    outcome.is_unconfirmed = summary.verdict == "unconfirmed"
    if summary.verdict == "failed":
        total = sum(summary.failing.values())
        outcome.refuse(f"the result does not pass its check: {count_noun(total, 'error')}")
        outcome.reasons += failing.of(summary.failing)
    elif summary.verdict == "incomplete":
        reason = summary.incomplete_reason or "the result was not checked completely"
        outcome.leave_unread(_local(reason, staging))


class Reasons:
    """The findings of a check as reasons; findings of a rule that say the same share one line."""

    def __init__(self, staging: str | None) -> None:
        self._staging = staging
        self._findings: dict[str, FindingList] = {}

    def add(self, finding: Finding) -> None:
        """Add a finding, if it is an error."""
        if finding.severity >= Severity.ERROR:
            self._findings.setdefault(finding.code, FindingList(MOST_FINDINGS)).append(finding)

    def of(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Return the reasons of rules, of which `counts` has the number of findings."""
        every = (
            line
            for code in self._findings
            if code in counts
            for line in self._of(code, counts[code])
        )
        return tuple(islice(every, MOST_REASONS))

    def _of(self, code: str, count: int) -> Iterator[str]:
        findings = self._findings[code]
        joined = join_findings(findings, Caps(files=None))
        for entry in chain.from_iterable(entries for entries, _ in joined):
            name, message = next(iter(findings)).name, _local(entry.message, self._staging)
            pointer = f" {entry.pointer}" if entry.pointer else ""
            for place in entry.places:
                where, many = place.where(), place.count()
                yield f"{code} {name}:{f' {where}' if where else ''}{pointer} {message}{many}"
        more = count - sum(one.occurrences for one in findings)
        if more > 0:
            yield f"{code}: … and {count_noun(more, 'more finding')}"


def check_with_reasons(
    run: Run, options: Options, staging: str | None, progress: Progress
) -> tuple[RunSummary, Reasons]:
    """Check a run; return its summary, and its findings as reasons."""
    reasons = Reasons(staging)
    return check_any(run, options, reasons.add, progress), reasons


def _local(text: str, staging: str | None) -> str:
    return text if staging is None else text.replace(f"{printable(staging)}/", "")
