"""The report that Python users get, which shows itself in a notebook, and the sink before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NoReturn

from evalstream.formats.registry import CATALOGUE
from evalstream.model.exit_codes import exit_code
from evalstream.model.finding import Finding, FindingList, KnownFinding
from evalstream.model.options import Options
from evalstream.model.report import Report as Outcome
from evalstream.model.report import Totals
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun, on_one_line
from evalstream.reporters.base import Reporter
from evalstream.settings.options import reported_options

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from evalstream.api.tables import Record, ReportTable

MOST_LINES: Final = 10
"""How many runs or comparisons a short text lists."""

FRAME: Final = (
    '<iframe sandbox="allow-scripts" srcdoc="{}" title="{}" style="width:100%;height:32em;'
    'border:1px solid #8888;resize:vertical"></iframe>'
)
"""A report as a page of its own, so that its styles leave the notebook alone."""

NO_TRUTH: Final = (
    "a report is neither true nor false: use report.passed, report.exit_code or len(report)"
)


class Text:
    """Gathers what a reporter writes."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def write(self, data: str | bytes, /) -> None:
        """Write text, or bytes of UTF-8."""
        self._parts.append(data if isinstance(data, str) else data.decode())

    def text(self) -> str:
        """Return all that was written."""
        return "".join(self._parts)


class Report(Outcome):
    """The outcome of a check: iterate over its findings, read its totals.

    `len` counts the findings shown, at most `max_findings` per code and file of a run; `counts`,
    `total` and `totals` are always exact. `bool` raises TypeError: ask `passed` or `exit_code`.
    As the last expression of a notebook's cell it shows its verdicts and findings as a page.

    Attributes:
        runs: One summary for each run, in the order of the inputs.
        findings: The findings shown, in the order of files and lines.
        shown: The number of findings shown.
        exit_code: The exit code of the same check on the command line, from 0 to 3.
        totals: Exact totals over all runs.
        rules: The texts of the rules that were found, by code.
        vanished: Findings that a baseline knows and that the check did not find.
        options: The options that affect what is found and differ from their default, by name.

    """

    def __len__(self) -> int:
        return self.shown

    def __bool__(self) -> NoReturn:
        raise TypeError(NO_TRUTH)

    def __repr__(self) -> str:
        from evalstream.reporters.run_lines import run_line
        from evalstream.reporters.summary import sort_runs, total_lines

        runs = islice(sort_runs(self), MOST_LINES)
        lines = [run_line(run) for _, run in runs]
        if self.totals.runs > MOST_LINES:
            lines.append(f"… and {count_noun(self.totals.runs - MOST_LINES, 'more run')}")
        lines += total_lines(self)
        return "\n".join(map(on_one_line, lines))

    def _repr_html_(self) -> str:
        from html import escape

        from evalstream.reporters.html import HtmlReporter

        page = Text()
        reporter = HtmlReporter(page)
        for finding in self:
            reporter.finding(finding)
        reporter.finish(self)
        return FRAME.format(escape(page.text()), "report of evalstream")

    def to_dicts(self, table: ReportTable = "findings") -> list[Record]:
        """Return the findings as plain values; with `table` the `runs` or `claims` instead.

        Severities and states are words. `expected` and `found`, or `claimed` and `recomputed`, have
        their JSON text beside them, in columns with the ending `_json`.
        """
        from evalstream.api.tables import iterate_records

        return list(iterate_records(self, table))

    def to_pandas(self, table: ReportTable = "findings") -> pd.DataFrame:
        """Return `to_dicts` as a DataFrame of pandas. Raises MissingExtra without pandas."""
        from evalstream.api.tables import COLUMNS, iterate_records, pandas_frame

        return pandas_frame(iterate_records(self, table), COLUMNS[table])

    def to_polars(self, table: ReportTable = "findings") -> pl.DataFrame:
        """Return `to_dicts` as a DataFrame of polars. Raises MissingExtra without polars.

        A column has one type there: sample ids are texts, and values stand as JSON text alone.
        """
        from evalstream.api.tables import COLUMNS, iterate_records, polars_frame

        return polars_frame(iterate_records(self, table), COLUMNS[table])


class FindingSink:
    """Where the findings of one call go: to its reporter, or into a list."""

    def __init__(self, reporter: Reporter | None) -> None:
        if reporter is not None and (isinstance(reporter, type) or not hasattr(reporter, "finish")):
            from evalstream.api.arguments import describe_type

            kind = "a class" if isinstance(reporter, type) else describe_type(reporter)
            raise TypeError(f"reporter is {kind}; it takes an object such as JsonReporter(file)")
        self.reporter = reporter
        self.kept = FindingList()
        self._shown = 0

    def show(self, finding: Finding) -> None:
        """Take one finding that is shown."""
        self._shown += 1
        if self.reporter is not None:
            self.reporter.finding(finding)
        else:
            self.kept.append(finding)

    def report(
        self,
        options: Options,
        runs: Sequence[RunSummary],
        totals: Totals,
        vanished: Iterable[KnownFinding] = (),
    ) -> Report:
        """Return the report, and let the reporter write it."""
        found = (code for code in sorted(totals.counts) if code in CATALOGUE)
        texts = {code: CATALOGUE[code].text() for code in found}
        return self.finish(
            Outcome(
                runs,
                self.kept,
                self._shown,
                exit_code(totals, is_strict=options.strict),
                totals,
                texts,
                vanished=vanished,
                options=reported_options(options),
            )
        )

    def finish(self, report: Outcome) -> Report:
        """Let the reporter write the report."""
        if self.reporter is not None:
            self.reporter.finish(report)
        return Report(**vars(report))
