"""What became of each run, for people: the verdict, what was verified, and what was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from evalstream.model.claim import count_states, describe_states
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity
from evalstream.model.report import Report, RunSummary, Totals
from evalstream.model.run import MAIN_FORMAT
from evalstream.model.text import counted
from evalstream.reporters.claims import claim_lines
from evalstream.reporters.lines import LineWriter, Span, clauses, named
from evalstream.reporters.summary import (
    KINDS,
    amounts,
    format_of,
    format_verdict,
    has_right_checksum,
    history,
    remarks,
    rule_limits,
    severities,
    sort_runs,
    total_lines,
    vanished_lines,
    verified,
)

FEW: Final = 20
"""How many runs have all their results listed, and how many passed ones a terminal lists."""

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


def write_runs(lines: LineWriter, report: Report) -> None:
    """Write a line for each run, those that passed first, and the totals.

    What needs attention is next to the totals.
    """
    style, totals, sums = lines.style, report.totals, Sums()
    is_few = len(report.runs) <= FEW
    lists_all = is_few or style.width is None or style.min_severity is Severity.INFO
    lists_passed = lists_all or totals.verdicts.get("passed", 0) <= FEW
    if not lists_passed:
        _write_passed(lines, (run for run in report.runs if run.verdict == "passed"), sums)
    for _, run in sort_runs(report, reversed(KINDS if lists_passed else KINDS[:-1])):
        sums.add(run)
        _write_run(lines, run, is_one_of_few=is_few)
    said = list(total_lines(report))
    if said:
        lines.blank()
    for line in said:
        lines.write(*clauses(line))
    if totals.runs > 1:
        _write_sums(lines, sums)
    for line in vanished_lines(report):
        lines.write(Span(line))


def _write_passed(lines: LineWriter, runs: Iterable[RunSummary], sums: Sums) -> None:
    """Write one line for many runs that passed, and add them to the sums of all runs."""
    totals, of_passed = Totals(), Sums()
    for run in runs:
        totals.add(run)
        of_passed.add(run)
        sums.add(run)
    lines.write(
        Span("passed", "passed"),
        Span(f": {counted(totals.runs, 'run')} (-v lists them): "),
        *clauses(
            ", ".join(
                [counted(totals.rows, "row"), *severities(totals.severities, known=totals.known)]
            )
        ),
    )
    _write_sums(lines, of_passed)


def _write_run(lines: LineWriter, run: RunSummary, *, is_one_of_few: bool) -> None:
    """Write a run on one line, or where it does not fit, each of its parts on a line."""
    whole = run_spans(run)
    if lines.fits(whole):
        lines.write(*whole)
    else:
        verdict = _verdict(run)
        taken = sum(len(span.text) for span in verdict) + 1
        first, *others = _documents(run, lambda path: lines.path(path, taken))
        lines.write(*verdict, Span(" "), *first.spans)
        for part in (*others, *_outcome(run)):
            lines.write(*part.spans, indent=2)
    for line in claim_lines(run, refuted_only=not is_one_of_few):
        lines.write(Span(line), indent=2)
    if run.change is not None:
        lines.blank()
        lines.raw(run.change or "nothing would change\n")


def _verdict(run: RunSummary) -> list[Span]:
    """Return the verdict, and which rules were left out."""
    left_out = rule_limits(run)
    verdict = Span(format_verdict(run.verdict), run.verdict)
    return [verdict, *([Span(f" ({left_out})", "partial")] if left_out else []), Span(":")]


def _whole(path: str) -> Span:
    return Span(named(path), "file")


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
    parts[-1].spans.append(Span(format_of(run)))
    return parts


def _outcome(run: RunSummary) -> list[Part]:
    """Return what a run amounts to, what was verified of it, and what was not."""
    parts = [Part(": ", clauses(amounts(run)))]
    checked: list[Span] = []
    for text, is_ok in verified(run):
        checked += [Span(", ")] if checked else []
        checked.append(Span(text, ROLES[is_ok], one=True))
    if checked:
        parts.append(Part("; ", checked))
    parts[-1].spans.append(Span(history(run)))
    return [*parts, *(Part("; ", [Span(text, "partial")]) for text in remarks(run))]


class Sums:
    """What was verified of several runs."""

    def __init__(self) -> None:
        self.runs = self.checksums = self.counts = 0
        self.hashes = self.hashable = 0
        self.claims: Counter[str] = Counter()

    def add(self, run: RunSummary) -> None:
        """Add one run."""
        # Documents without rows, and logs of harnesses, have no place for a checksum.
        has_place = run.format == MAIN_FORMAT or run.declared is not None
        self.runs += has_place and not run.is_note
        self.checksums += has_right_checksum(run)
        self.claims.update(count_states(run.claims))
        if run.verified is not None:
            self.hashable += run.verified.rows
            self.counts += run.verified.row_count is True
            self.hashes += run.verified.hashes

    def said(self) -> list[str]:
        """Say what was verified, and of how much."""
        said: list[str] = []
        if self.runs:
            of_runs = f"of {counted(self.runs, 'run')}"
            said.append(f"checksum ok in {self.checksums:,} {of_runs}")
            said.append(f"row count ok in {self.counts:,} {of_runs}")
        if self.runs and self.hashable:
            said.append(f"sample_hash ok in {self.hashes:,} of {counted(self.hashable, 'row')}")
        if claims := describe_states(self.claims):
            said.append(f"claims: {claims}")
        return said


def _write_sums(lines: LineWriter, sums: Sums) -> None:
    """Write what was verified of several runs."""
    said = sums.said()
    if said:
        lines.write(*clauses(", ".join(said)), indent=2)
