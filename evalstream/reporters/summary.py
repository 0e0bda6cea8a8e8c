"""The parts of a report that several reporters write alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from evalstream._version import __version__
from evalstream.model.finding import MORE, Finding, Severity
from evalstream.model.report import VERDICTS, Report, RunSummary
from evalstream.model.run import MAIN_FORMAT
from evalstream.model.text import counted
from evalstream.parsing.json import dumps

SCHEMA: Final = 1
"""The version of the JSON report's own layout."""

TOOL: Final = MappingProxyType({"name": "evalstream", "version": __version__})
"""The program that wrote a report, as reports name it."""

RESULTS_SHOWN: Final = 20
"""How many results of a run are listed for people."""


def outcome(report: Report) -> Iterator[bytes]:
    """Iterate over pieces of the JSON object that says all but the findings; it is left open."""
    texts = {code: text.as_dict() for code, text in sorted(report.rules.items())}
    yield b'{"schema":%d,"tool":%b,"rules":%b,"runs":[' % (SCHEMA, dumps(dict(TOOL)), dumps(texts))
    for number, run in enumerate(report.runs):
        yield (b"," if number else b"") + dumps(run.as_dict())
    yield b"]"


def closing(report: Report) -> bytes:
    """Return the end of the JSON object: how many findings are shown, of how many, and totals."""
    totals = dumps(report.totals.as_dict())
    return b',"shown":%d,"total":%d,"totals":%b,"exit_code":%d}' % (
        report.shown,
        report.total,
        totals,
        report.exit_code,
    )


def total_lines(report: Report) -> Iterator[str]:
    """Say in a line what all runs amount to, where there is more than one."""
    totals = report.totals
    if totals.unreached:
        yield f"{counted(totals.unreached, 'run')} not looked at: the verdict is partial"
    if totals.excluded:
        yield f"{counted(totals.excluded, 'name')} left out by --exclude"
    if totals.runs < 2:
        return
    verdicts = [
        f"{totals.verdicts[verdict]:,} {verdict.upper() if verdict == 'failed' else verdict}"
        for verdict in VERDICTS
        if totals.verdicts.get(verdict)
    ]
    said = [*verdicts, counted(totals.rows, "row"), *severities(totals.severities)]
    if totals.unchanged:
        said.append(f"{totals.unchanged:,} unchanged since they were checked")
    yield f"{counted(totals.runs, 'run')}: {', '.join(said)}"


COVERED: Final[Mapping[str | None, str]] = {
    None: "",
    "stored": " of the stored bytes",
    "unpacked": " of the unpacked bytes",
    "rows": " of the rows without the noise",
    "benchmark": " of the benchmark",
}


def run_line(run: RunSummary) -> str:
    """Say in one line what became of a run."""
    name = run.file or run.aggregate or ""
    if run.file and run.aggregate:
        name = f"{run.file} with {run.aggregate}"
    if run.inputs:
        name = f"{name} and {run.inputs}" if name else run.inputs
    if run.format != MAIN_FORMAT:
        name = f"{name} ({' '.join(filter(None, [run.format, run.version]))})"
    verdict = run.verdict.upper() if run.verdict == "failed" else run.verdict
    limits = rule_limits(run)
    parts = [counted(run.rows, run.noun)] if run.file else []
    if run.format == MAIN_FORMAT and run.aggregate and not run.file and not run.incomplete_reason:
        parts = ["an aggregate without rows"]
    parts += severities(run.severities)
    line = f"{name}: {verdict}{f' ({limits})' if limits else ''}: {', '.join(parts)}"
    verified = _verified(run)
    if verified:
        line = f"{line}; {', '.join(verified)}"
    if run.unchanged:
        line = f"{line}, unchanged since {run.unchanged}"
    if run.sealed:
        line = f"{line}, sealed by {run.sealed}"
    if run.remark and run.verdict == "incomplete" and not run.incomplete_reason:
        line = f"{line}; {run.remark}"
    return f"{line}; {run.incomplete_reason}" if run.incomplete_reason else line


def rule_limits(run: RunSummary) -> str:
    """Say which rules were left out of a check."""
    only = f"only {','.join(run.selected)}" if run.selected else ""
    without = f"without {','.join(run.ignored)}" if run.ignored else ""
    return ", ".join(filter(None, [only, without]))


def _verified(run: RunSummary) -> list[str]:
    """Say what was verified of a run, and what was not."""
    verified, parts = run.verified, [_checksum(run)]
    if verified is None or not run.rows:
        return list(filter(None, parts))
    if verified.row_count is not None:
        parts.append("row count ok" if verified.row_count else "row count not ok")
    if verified.hashes:
        recipe = f" ({run.recipe})" if run.recipe else ""
        of = f"{verified.hashes:,} of {counted(verified.rows, 'row')}"
        parts.append(f"sample_hash ok in {of}{recipe}")
    else:
        parts.append("no sample_hash verified")
    if verified.claims:
        of = f"{verified.claims_recomputed:,} of {counted(verified.claims, 'claim')}"
        parts.append(f"{of} recomputed")
    return list(filter(None, parts))


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


def severities(counts: Mapping[Severity, int]) -> list[str]:
    """Say how many findings there are of each severity."""
    parts = [
        counted(counts[severity], severity.label)
        for severity in sorted(Severity, reverse=True)
        if counts.get(severity) and severity is not Severity.INFO
    ]
    notices = counts.get(Severity.INFO)
    if notices:
        parts.append(counted(notices, "info"))
    return parts or ["no findings"]


def _checksum(run: RunSummary) -> str | None:
    """Say whether the checksum is that of the rows; None where no rows were read."""
    verified = run.verified
    is_right = run.actual is not None and run.declared == run.actual
    if verified is not None and run.rows:
        if run.declared is None:
            return "no checksum to verify"
        if verified.checksum is None:
            return "checksum not verified"
        is_right = verified.checksum
        if not is_right:
            return "checksum not ok"
    return f"checksum ok ({run.algorithm}{COVERED[run.covers]})" if is_right else None


def occurrences(finding: Finding) -> str:
    """Return in brackets how many rows, or findings, a finding stands for; "" for itself alone."""
    noun = "finding" if finding.message == MORE else "row"
    return f" ({counted(finding.count, noun)})" if finding.count else ""
