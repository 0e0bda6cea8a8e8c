"""What rules over a whole samples file read: its rows, its task, and the results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evalstream.formats.lm_eval.log_tally import LogTotals, Values
from evalstream.formats.lm_eval.views import Claim, Results


class TaskFacts(NamedTuple):
    """The rows of a file, and what the results say of their task.

    `task` is None where it is not known, `results` where there are none. `is_whole` says that all
    rows could be read.
    """

    totals: LogTotals
    task: str | None
    results: Results | None
    is_whole: bool

    @property
    def known(self) -> tuple[str, Results] | None:
        """The task and the results, None where either is missing."""
        if self.task is None or self.results is None or not self.is_whole:
            return None
        return self.task, self.results

    def values(self, claim: Claim) -> Values | None:
        """Return the values that a claim is about, None where no row has any."""
        rows = self.totals.filters.get(claim.filter)
        if rows is None and claim.filter == "none":
            rows = self.totals.filters.get("")  # releases before 0.4.3 wrote no filter
        return None if rows is None else rows.metrics.get(claim.metric)

    def claims(self) -> Iterator[Claim]:
        """Iterate over the figures that the results claim of the task."""
        if self.known is not None:
            task, results = self.known
            yield from results.claims(task)
