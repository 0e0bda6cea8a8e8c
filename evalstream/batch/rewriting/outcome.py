"""What became of one run that was to be fixed or migrated."""

from __future__ import annotations

from enum import Enum
from typing import Final

from evalstream.model.changes import ChangeTally, Need
from evalstream.model.data_class import DataClass, field
from evalstream.model.exit_codes import ExitCode
from evalstream.model.report import RunSummary

LONGEST_REASON: Final = 4_000
"""Number of characters of a reason."""


class ChangeStatus(str, Enum):
    """What became of a run.

    WRITTEN is what was written and passed its check, or would be in a dry run. PARTLY was written
    as far as there are repairs, and still fails. UNCHANGED needs no change. PRESENT was written by
    an earlier call. REFUSED was not written. UNREAD could not be read to its end.
    """

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    PRESENT = "present"
    REFUSED = "refused"
    PARTLY = "partly"
    UNREAD = "unread"


class Outcome(DataClass):
    """The outcome of one run that was to be fixed or migrated.

    Attributes:
        rows: The rows file as it was named.
        aggregate: The aggregate as it was named.
        status: What became of the run.
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
        self.status = ChangeStatus.REFUSED
        self.reasons = (*self.reasons, _shorten(reason))

    def leave_unread(self, reason: str) -> None:
        """Note that the run could not be read or checked to its end, and why."""
        self.status = ChangeStatus.UNREAD
        self.reasons = (*self.reasons, _shorten(reason))

    @property
    def exit_code(self) -> ExitCode:
        """FAILED for what was refused, UNCHECKED for what was not read, or PASSED."""
        if self.status is ChangeStatus.UNREAD:
            return ExitCode.UNCHECKED
        fails = self.status in {ChangeStatus.REFUSED, ChangeStatus.PARTLY}
        return ExitCode.FAILED if fails else ExitCode.PASSED


def _shorten(reason: str) -> str:
    """Cut a reason that repeats a long name of the source."""
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
