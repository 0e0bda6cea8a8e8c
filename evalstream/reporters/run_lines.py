"""Text summary of each run: its verdict, the checks that were made or not, and its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from evalstream.model.claim import JudgedClaim, State
from evalstream.model.data_class import NamedTuple
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps
from evalstream.reporters import overview, summary
from evalstream.reporters.lines import LineWriter, Span, clauses, columns, show_path

WORST_FIRST: Final = (State.REFUTED, State.OPEN, State.ROUNDED, State.CONFIRMED)
"""The states in the order in which reports list claims."""

LINES_SHOWN: Final = 20
"""How many lines about claims a run has in reports for people."""

LABELS_SHOWN: Final = 3
"""How many claims are named in a line about several."""

_NO_AVERAGES: Final = frozenset({"max", "median", "min", "mode"})
"""Kinds of a score that are easily taken for an average."""

VALUE: Final = 80
"""How many characters of a claimed value are shown."""


def sort_claims(claims: Iterable[JudgedClaim]) -> list[JudgedClaim]:
    """Return claims by state, refuted ones first, and of each state scores first."""
    return sorted(claims, key=lambda one: (WORST_FIRST.index(one.state), not one.is_score))


def claim_lines(run: RunSummary, *, refuted_only: bool) -> Iterator[str]:
    """Iterate over lines about a run's scores and its refuted and open claims, refuted ones first.

    Claims that say the same share a line.
    """
    groups: dict[object, list[JudgedClaim]] = {}
    for claim in sort_claims(run.claims):
        is_listed = claim.is_score or not claim.state.holds
        if claim.state is State.REFUTED or (is_listed and not refuted_only):
            is_open = claim.state is State.OPEN
            what = claim.reason if is_open else describe_claim(claim)
            groups.setdefault((claim.state, what), []).append(claim)
    lines = [_join(claims) for claims in groups.values()]
    yield from lines[:LINES_SHOWN]
    if more := sum(map(len, list(groups.values())[LINES_SHOWN:])):
        yield f"… and {count_noun(more, 'more claim')} (--format json lists all)"


def describe_claim(claim: JudgedClaim) -> str:
    """Return a claim's value, the recomputed one, and its state in words."""
    claimed, recomputed = format_value(claim.claimed), format_value(claim.recomputed)
    if claim.recomputed is None:
        return f"claims {claimed}: {describe_state(claim)}"
    if claimed == recomputed and claim.state is State.REFUTED:
        # All digits are needed to see a difference.
        claimed, recomputed = (f"{one!s:.{VALUE}}" for one in (claim.claimed, claim.recomputed))
    # What follows from other figures, such as that of a group, follows from no row.
    rows = f" from {count_noun(claim.rows, 'row')}" if claim.rows else ""
    if claim.is_score and claim.kind in _NO_AVERAGES:
        recomputed = f"{recomputed} as {claim.kind}"
    return f"claims {claimed}, recomputed {recomputed}{rows}: {describe_state(claim)}"


def describe_state(claim: JudgedClaim) -> str:
    """Return the state of a claim, with its reason if it has one."""
    return f"{claim.state.value}{f' ({claim.reason})' if claim.reason else ''}"


def format_value(value: Any) -> str:
    """Return a claimed or recomputed value; numbers have six significant digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "no number" if value is None else dumps(value).decode(errors="replace")
    return text if len(text) <= VALUE else f"{text[: VALUE - 1]}…"


def _join(claims: list[JudgedClaim]) -> str:
    first = claims[0]
    if len(claims) == 1:
        return f"{first.label}: {describe_claim(first)}"
    text = describe_state(first) if first.state is State.OPEN else describe_claim(first)
    labels = ", ".join(claim.label for claim in claims[:LABELS_SHOWN])
    more = len(claims) - LABELS_SHOWN
    return f"{len(claims):,} claims: {text}: {labels}{f' and {more:,} more' if more > 0 else ''}"


ROLES: Final = {True: "", False: "bad", None: "partial"}
"""The roles of what was verified, contradicted, and left open."""


class Part(NamedTuple):
    """A part of the line of a run, and what separates it from the part before it."""

    before: str
    spans: list[Span]


def run_spans(run: RunSummary) -> list[Span]:
    """Return the line of a run: its verdict first, its documents whole."""
    documents = _documents(run, lambda path: Span(show_path(path), "file"))
    return [*_verdict(run), *_joined_parts([*documents, *_outcome(run)])]


def run_line(run: RunSummary) -> str:
    """Describe the outcome of a run in one line, its documents first."""
    documents = "".join(span.text for span in _joined_parts(_documents(run, Span)))
    return f"{documents[1:]}: {outcome_line(run)}"


def outcome_line(run: RunSummary) -> str:
    """Return the line of a run from its verdict on."""
    *verdict, _ = _verdict(run)
    return "".join(span.text for span in (*verdict, *_joined_parts(_outcome(run))))


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
        if last and report.totals.runs:
            lines.blank()
        for line in filter(None, (sums, *notes, last)):
            lines.write(*clauses(line))

    def _write_listed(self) -> None:
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
                    Span(self._overview.heading(verdict), verdict),
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
        documents = self._documents(run, lambda path: Span(lines.relative(path), "file"))
        whole = [*verdict, *_joined_parts([*documents, *_outcome(run)])]
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


def _joined_parts(parts: list[Part]) -> list[Span]:
    return [span for part in parts for span in (Span(part.before), *part.spans)]


def _verdict(run: RunSummary) -> list[Span]:
    left_out = summary.rule_limits(run)
    verdict = Span(summary.format_verdict(run.verdict), run.verdict)
    return [verdict, *([Span(f" ({left_out})", "partial")] if left_out else []), Span(":")]


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
    parts = [Part(": ", clauses(summary.amounts(run)))]
    checked: list[Span] = []
    for text, is_ok in summary.list_verified(run):
        checked += [Span(", ")] if checked else []
        checked.append(Span(text, ROLES[is_ok], one=True))
    if checked:
        parts.append(Part("; ", checked))
    parts[-1].spans.append(Span(summary.history(run)))
    return [*parts, *(Part("; ", [Span(text, "partial")]) for text in summary.remarks(run))]
