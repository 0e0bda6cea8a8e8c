"""What became of each run, for people: the verdict, what was verified, and what was not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.report import Report, RunSummary
from evalstream.model.text import count_noun
from evalstream.reporters import overview, summary
from evalstream.reporters.claims import claim_lines
from evalstream.reporters.lines import LineWriter, Span, clauses, columns, show_path

ROLES: Final = {True: "", False: "bad", None: "partial"}
"""The roles of what was verified, contradicted, and left open."""


class Part(NamedTuple):
    """A part of the line of a run, and what separates it from the part before it."""

    before: str
    spans: list[Span]


def run_spans(run: RunSummary) -> list[Span]:
    """Return the line of a run: its verdict first, its documents whole."""
    spans = _verdict(run)
    for part in (*_documents(run, _whole), *_outcome(run)):
        spans += [Span(part.before), *part.spans]
    return spans


class RunLines:
    """Writes the runs of a report, the worst last, and then their totals.

    Of more than a few runs those that need attention have a line each, with the reason, unless
    everything is listed; the others are counted.
    """

    def __init__(self, lines: LineWriter, report: Report, firsts: overview.FirstFindings) -> None:
        self._lines, self._report, self._firsts = lines, report, firsts
        self.is_short = report.totals.runs > overview.FEW and not lines.style.lists_all
        self._overview = overview.Overview(
            report, firsts, overview.MOST_LISTED if self.is_short else {}
        )
        if report.totals.runs > overview.FEW:
            lines.folder = self._overview.folder

    def write(self) -> None:
        """Write the runs, notes about all of them, and last the verdict over all."""
        report, lines = self._report, self._lines
        if self.is_short:
            self._write_listed()
        else:
            is_few = report.totals.runs <= overview.FEW
            for _, run in summary.sort_runs(report, reversed(summary.KINDS)):
                self._write_run(run, is_one_of_few=is_few)
        for line in summary.vanished_lines(report):
            lines.write(Span(line))
        *notes, last = [*summary.total_lines(report)] or [""]
        sums = self._overview.sums.describe() if report.totals.runs > 1 else ""
        if last:
            lines.blank()
        for line in filter(None, (sums, *notes, last)):
            lines.write(*clauses(line))

    def _write_listed(self) -> None:
        """Write how many runs have each verdict, the best first, and the first that need it."""
        verdicts, lines = self._report.totals.verdicts, self._lines
        reasons = self._firsts.reasons(self._overview.iterate_listed(), self._report)
        for verdict in reversed(summary.WORST_FIRST):
            if not (count := verdicts.get(verdict)):
                continue
            listed, more = self._overview.of(verdict), self._overview.beyond(verdict)
            for one in listed:
                self._write_short(one, reasons[one.number])
            if more:
                counts = f"… and {more:,} more" if listed else count_noun(count, "run")
                lines.write(
                    Span(summary.format_verdict(verdict), verdict),
                    Span(f": {counts} (-v lists them)"),
                )

    def _write_short(self, one: overview.ListedRun, reason: str) -> None:
        """Write a run on one line, on a terminal cut to its width: its findings and the reason."""
        run, lines = one.run, self._lines
        verdict, width = _verdict(run), lines.style.width
        after = "; ".join(filter(None, [overview.describe_severities(run), reason]))
        whole = overview.join_names(overview.run_paths(run)) or " with ".join(
            overview.run_paths(run)
        )
        if width is None:
            lines.write(*verdict, Span(" "), lines.path(whole), Span(f": {after}"))
            return
        room = width - columns(verdict) - 3
        path = lines.path(whole, width - max(room - len(after), room // 2))
        room -= columns([path])
        text = after if len(after) <= room else f"{after[: max(room - 1, 0)]}…"
        lines.write(*verdict, Span(" "), path, Span(f": {text}"))

    def _write_run(self, run: RunSummary, *, is_one_of_few: bool) -> None:
        """Write a run on one line, or where it does not fit, each of its parts on a line."""
        lines = self._lines
        verdict = _verdict(run)
        taken = columns(verdict) + 1
        whole = [*verdict, *_joined_parts([*self._documents(run, self._path), *_outcome(run)])]
        if lines.fits(whole):
            lines.write(*whole)
        else:
            first, *others = self._documents(run, lambda path: lines.path(path, taken))
            lines.write(*verdict, Span(" "), *first.spans)
            for part in (*others, *_outcome(run)):
                lines.write(*part.spans, indent=2)
        for line in claim_lines(run, refuted_only=not is_one_of_few):
            lines.write(Span(line), indent=2)
        if run.change is not None:
            lines.blank()
            lines.raw(run.change or "nothing would change\n")

    def _documents(self, run: RunSummary, shown: Callable[[str], Span]) -> list[Part]:
        """Return the documents of a run; among several runs a pair is named once."""
        joined = (
            overview.join_names(overview.run_paths(run)) if self._report.totals.runs > 1 else None
        )
        if joined is None:
            return _documents(run, shown)
        return [Part(" ", [shown(joined), Span(summary.describe_format(run))])]

    def _path(self, path: str) -> Span:
        return Span(self._lines.relative(path), "file")


def _joined_parts(parts: list[Part]) -> list[Span]:
    return [span for part in parts for span in (Span(part.before), *part.spans)]


def _verdict(run: RunSummary) -> list[Span]:
    """Return the verdict, and which rules were left out."""
    left_out = summary.rule_limits(run)
    verdict = Span(summary.format_verdict(run.verdict), run.verdict)
    return [verdict, *([Span(f" ({left_out})", "partial")] if left_out else []), Span(":")]


def _whole(path: str) -> Span:
    return Span(show_path(path), "file")


def _documents(run: RunSummary, shown: Callable[[str], Span]) -> list[Part]:
    """Return the documents of a run, and its format unless that is the main one."""
    paths = [path for path in (run.file, run.aggregate) if path]
    parts = [
        Part(" ", [*([Span("with ")] if number else []), shown(path)])
        for number, path in enumerate(paths)
    ]
    if run.inputs:
        parts.append(Part(" ", [*([Span("and ")] if paths else []), shown(run.inputs)]))
    parts = parts or [Part(" ", [Span("")])]
    parts[-1].spans.append(Span(summary.describe_format(run)))
    return parts


def _outcome(run: RunSummary) -> list[Part]:
    """Return a run's totals, and which checks were made."""
    parts = [Part(": ", clauses(summary.amounts(run)))]
    checked: list[Span] = []
    for text, is_ok in summary.list_verified(run):
        checked += [Span(", ")] if checked else []
        checked.append(Span(text, ROLES[is_ok], one=True))
    if checked:
        parts.append(Part("; ", checked))
    parts[-1].spans.append(Span(summary.history(run)))
    return [*parts, *(Part("; ", [Span(text, "partial")]) for text in summary.remarks(run))]
