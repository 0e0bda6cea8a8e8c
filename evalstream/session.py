"""One call: its runs are checked, alone or as a batch, and it is said how all came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from evalstream.batch.single import check_any
from evalstream.io.progress import Progress
from evalstream.model.errors import UsageError
from evalstream.model.finding import Finding
from evalstream.model.finding_list import FindingList
from evalstream.model.options import Options
from evalstream.model.report import Report, RunSummary, Totals
from evalstream.model.run import NoInput, Run
from evalstream.model.signals import STOPPING
from evalstream.reporters.base import Reporter

if TYPE_CHECKING:
    from evalstream.batch.parts import Part
    from evalstream.batch.shards import Shard


class Call:
    """One call of the check: how it was asked for, and where its findings go."""

    def __init__(self, options: Options, reporter: Reporter | None) -> None:
        self._options, self._reporter = options, reporter
        self._kept = FindingList()
        self._shown = 0

    def check(
        self,
        found: Iterator[Run | NoInput],
        *,
        ledger: str | None = None,
        overwrite: bool = False,
        shard: Shard | None = None,
        progress: bool = False,
    ) -> Report:
        """Check runs, and return what was found. Raises UsageError where no part can be written.

        With `overwrite` the ledger may replace another file.
        """
        first = list(islice(found, 2))
        if len(first) == 1 and ledger is None and shard is None:
            return self._alone(first[0], progress=progress)
        from evalstream.batch.batch import check_many

        part = None
        if shard is not None:
            from evalstream.batch.parts import PartReporter

            if not isinstance(self._reporter, PartReporter):
                raise UsageError("what a shard checks is written by a PartReporter")
            part = shard, self._reporter
        runs = chain(first, found)
        return self._reported(
            *check_many(
                runs,
                self._options,
                self._show,
                ledger=ledger,
                overwrite=overwrite,
                shard=part,
                progress=progress,
            )
        )

    def merge(self, parts: Sequence[Part]) -> Report:
        """Return the report that the parts make up. Raises CannotCheck where they do not."""
        from evalstream.batch.batch import merge_many

        return self._reported(*merge_many(parts, self._options, self._show))

    def _alone(self, found: Run | NoInput, *, progress: bool) -> Report:
        """Check one run; its findings are shown as they come."""
        totals = Totals()
        with Progress(shown=progress) as bar:
            if isinstance(found, NoInput):
                from evalstream.batch.packing import check_planned
                from evalstream.batch.plan import PlannedRun

                _, summary, findings = check_planned(self._options, PlannedRun(0, found, 0), bar)
                for finding in findings:
                    self._show(finding)
            else:
                summary = check_any(found, self._options, self._show, bar)
        totals.add(summary)
        return self._reported([] if summary.is_note else [summary], totals)

    def _reported(self, runs: Sequence[RunSummary], totals: Totals) -> Report:
        report = Report(runs, self._kept, self._shown, _exit_code(totals), totals)
        if self._reporter is not None:
            self._reporter.finish(report)
        return report

    def _show(self, finding: Finding) -> None:
        self._shown += 1
        if self._reporter is not None:
            self._reporter.finding(finding)
        else:
            self._kept.append(finding)


def _exit_code(totals: Totals) -> int:
    """0 sound, 1 findings that fail, 3 something was not checked; never 0 for nothing.

    Stopped by a signal: 128 and its number, as shells count.
    """
    if STOPPING.raised is not None:
        return 128 + STOPPING.raised
    if totals.verdicts.get("failed"):
        return 1
    return 3 if totals.unchecked or totals.unreached or not totals.runs else 0
