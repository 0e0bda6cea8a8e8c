"""The parts of a report that several reporters write alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream._version import __version__
from evalstream.model import Report, RunSummary, Severity

SCHEMA: Final = 1
"""The version of the JSON report's own layout."""

RESULTS_SHOWN: Final = 20
"""How many results of a run are listed for people."""


def outcome(report: Report) -> dict[str, Any]:
    """Return everything that the JSON report says besides the findings."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "evalstream", "version": __version__},
        "runs": [run.as_dict() for run in report.runs],
        "shown": report.shown,
        "total": report.total,
    }


COVERED: Final[Mapping[str | None, str]] = {
    None: "",
    "stored": " of the stored bytes",
    "unpacked": " of the unpacked bytes",
    "rows": " of the rows without the noise",
}


def run_line(run: RunSummary) -> str:
    """Say in one line what became of a run."""
    name = run.file or run.aggregate or ""
    if run.file and run.aggregate:
        name = f"{run.file} with {run.aggregate}"
    verdict = run.verdict.upper() if run.verdict == "failed" else run.verdict
    parts = [counted(run.rows, "row")] if run.file else []
    parts += [*_findings(run), *_checksum(run)]
    if run.recipe:
        parts.append(f"sample_hash follows {run.recipe}")
    line = f"{name}: {verdict}: {', '.join(parts)}"
    if run.sealed:
        line = f"{line}, sealed by {run.sealed}"
    return f"{line}; {run.trouble}" if run.trouble else line


def result_lines(run: RunSummary) -> Iterator[str]:
    """Say of each result what it claims and what its rows amount to."""
    for result in run.results[:RESULTS_SHOWN]:
        name = result.id if result.id is not None else result.name
        said = f"claims {_number(result.claimed.score)}"
        recomputed = result.recomputed
        if recomputed is None:
            said += ", not recomputed"
        else:
            said += f", recomputed {_number(recomputed.score)}"
        said += f" from {counted(result.rows, 'row')}"
        if recomputed is not None and recomputed.samples not in (None, result.rows):
            said += f" of {counted(recomputed.samples or 0, 'sample')}"
        yield f"  {name}: {said}"
    more = len(run.results) - RESULTS_SHOWN
    if more > 0:
        yield f"  … and {counted(more, 'more result')} (--format json lists all)"


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.6g}"


def _findings(run: RunSummary) -> list[str]:
    parts = [
        counted(run.severities[severity], severity.label)
        for severity in sorted(Severity, reverse=True)
        if run.severities.get(severity) and severity is not Severity.INFO
    ]
    remarks = run.severities.get(Severity.INFO)
    if remarks:
        parts.append(counted(remarks, "remark"))
    return parts or ["no findings"]


def _checksum(run: RunSummary) -> list[str]:
    if run.rows and run.declared is None:
        return ["no checksum to verify"]
    sound = run.actual is not None and run.declared == run.actual
    return [f"{run.algorithm}{COVERED[run.covers]} as declared"] if sound else []


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"
