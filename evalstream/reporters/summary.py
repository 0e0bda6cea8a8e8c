"""The parts of a report that several reporters write alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from evalstream._version import __version__
from evalstream.model.claim import State, count_states, describe_states
from evalstream.model.exit_codes import ExitCode
from evalstream.model.finding import MORE, SAFE, Finding, Severity
from evalstream.model.report import Report, Totals
from evalstream.model.run import MAIN_FORMAT
from evalstream.model.run_summary import UNPROVED, Checked, RunSummary, Verified
from evalstream.model.text import count_noun

SCHEMA: Final = 2
"""The version of the JSON report's own layout."""

TOOL: Final = MappingProxyType({"name": "evalstream", "version": __version__})
"""The program that wrote a report, as reports name it."""

WORST_FIRST: Final = ("failed", "incomplete", "unconfirmed", "passed")
"""The verdicts in the order of reports that begin with what needs attention."""

KINDS: Final = (("failed", True), *((verdict, False) for verdict in WORST_FIRST))
"""Kinds of runs, the worst first: their verdict, and whether they fail by a refuted claim."""

NOT_CHECKED: Final = "not checked"
"""The verdict over all runs where there is no run."""

VANISHED_SHOWN: Final = 20
"""How many findings that vanished are listed for people."""


def list_figures(report: Report) -> dict[str, Any]:
    """Return the last members of a report in JSON: how many findings are shown, and totals."""
    return {
        "shown": report.shown,
        "total": report.total,
        "totals": report.totals.as_dict(),
        **({"options": dict(report.options)} if report.options else {}),
        "exit_code": report.exit_code,
    }


def overall_verdict(report: Report) -> str:
    """Return the verdict over all runs: the worst one of a run, or that nothing was checked."""
    totals = report.totals
    if totals.verdicts.get("failed") or report.exit_code == ExitCode.FAILED:
        return "failed"
    if not totals.runs:
        return NOT_CHECKED
    if totals.unchecked or totals.unreached or report.exit_code:
        return "incomplete"
    return next(verdict for verdict in WORST_FIRST if totals.verdicts.get(verdict))


def fails_by_verdict(run: RunSummary, report: Report) -> bool:
    """Tell whether a run fails the check by its verdict alone, as `--strict` demands."""
    return run.verdict == "unconfirmed" and report.options.get("strict") is True


def sort_runs(
    report: Report, kinds: Iterable[tuple[str, bool]] = KINDS
) -> Iterator[tuple[int, RunSummary]]:
    """Iterate over the runs kind by kind, each with its number from 1."""
    totals = report.totals
    for verdict, is_refuted in kinds:
        refuted = totals.refuted_runs if verdict == "failed" else 0
        count = refuted if is_refuted else totals.verdicts.get(verdict, 0) - refuted
        of_kind = (
            (number, run)
            for number, run in enumerate(report.runs, 1)
            if run.verdict == verdict and run.is_refuted == is_refuted
        )
        # Runs are read from disk, and no further than to the last of their kind.
        yield from islice(of_kind, count)


def total_lines(report: Report) -> Iterator[str]:
    """List what was not checked, and last the totals if there are several runs."""
    totals = report.totals
    if unchecked := unchecked_line(totals):
        yield unchecked
    if totals.excluded:
        yield f"{count_noun(totals.excluded, 'name')} left out by --exclude"
    if totals.missing:
        are = "is" if totals.missing == 1 else "are"
        yield f"{count_noun(totals.missing, 'name')} of the list {are} gone: not checked"
    if totals.other_files:
        what = count_noun(
            totals.other_files,
            "file of the list is not an evaluation file",
            "files of the list are not evaluation files",
        )
        yield f"{what}: not checked"
    yield from fixable_lines(totals)
    if totals.runs >= 2:
        said = [
            *describe_verdicts(totals),
            count_noun(totals.rows, "row"),
            *severities(totals.severities, known=totals.known),
        ]
        if totals.unchanged:
            said.append(f"{totals.unchanged:,} unchanged since they were checked")
        yield f"{count_noun(totals.runs, 'run')}: {', '.join(said)}"
    elif not totals.runs and not totals.unreached:
        yield "nothing was checked"


def unlisted_line(count: int) -> str:
    """Say how many findings a report has beyond those that it lists."""
    advice = "--max-findings 0 and --min-severity info list all"
    return f"{count_noun(count, 'finding')} counted and not listed ({advice})"


def fixable_lines(totals: Totals) -> Iterator[str]:
    """Say how many findings `evalstream fix` mends, safely or not, and how many it refuses to."""
    counts = {"evalstream fix": totals.fixable, "evalstream fix --unsafe": totals.fixable_unsafely}
    said = [f"{count:,} fixable with {command}" for command, count in counts.items() if count]
    if said:
        yield ", ".join(said)
    if totals.unfixable:
        yield (
            f"{totals.unfixable:,} with a repair in runs that evalstream fix refuses as long as "
            "their rows are damaged or their seal is wrong"
        )


def unchecked_line(totals: Totals) -> str | None:
    """Say how many of several runs were not checked, and how many not in full; None if all were."""
    named, said = totals.runs + totals.unreached, []
    of = f"of {count_noun(named, 'run')}"
    if totals.unreached:
        reason = "" if totals.lost is None else f": {totals.lost}"
        said.append(f"{totals.unreached:,} {of} NOT CHECKED{reason}")
    if totals.unchecked and named > 1:
        said.append(f"{totals.unchecked:,} {of} NOT CHECKED IN FULL")
    return "; ".join(said) or None


def describe_verdicts(totals: Totals) -> list[str]:
    """Return the number of runs by verdict, the worst first, and of failed ones why."""
    texts = [
        f"{totals.verdicts[verdict]:,} {format_verdict(verdict)}"
        for verdict in WORST_FIRST
        if totals.verdicts.get(verdict)
    ]
    if totals.refuted_runs:
        texts[0] += f" ({totals.refuted_runs:,} with refuted claims)"
    return texts


COVERED: Final[Mapping[str | None, str]] = {
    None: "",
    "stored": " of the stored bytes",
    "unpacked": " of the unpacked bytes",
    "rows": " of the rows without the noise",
    "unended": " of the rows without the last line end",
    "benchmark": " of the benchmark",
}


def format_verdict(verdict: str) -> str:
    """Return a verdict as people read it; the one that fails is in capitals."""
    return verdict.upper() if verdict == "failed" else verdict


def describe_format(run: RunSummary) -> str:
    """Return in brackets the name and version of a format other than the main one."""
    if run.format == MAIN_FORMAT:
        return ""
    return f" ({' '.join(filter(None, [run.format, run.version]))})"


def amounts(run: RunSummary) -> str:
    """Say how many rows and findings a run has."""
    parts = [count_noun(run.rows, run.noun)] if run.file else []
    if run.format == MAIN_FORMAT and run.aggregate and not run.file and not run.incomplete_reason:
        parts = ["an aggregate without rows"]
    return ", ".join(parts + severities(run.severities, known=run.known))


def history(run: RunSummary) -> str:
    """Say when an unchanged run was checked, and what sealed its rows."""
    said = f", unchanged since {run.unchanged}" if run.unchanged else ""
    return f"{said}, sealed by {run.sealed}" if run.sealed else said


def remarks(run: RunSummary) -> list[str]:
    """Say why a run was not checked in full, or why its verdict stays open."""
    if run.incomplete_reason:
        return [run.incomplete_reason]
    return [run.remark] if run.remark and run.verdict in {"unconfirmed", "incomplete"} else []


def rule_limits(run: RunSummary) -> str:
    """Say which rules were left out of a check, and which schema replaced the declared one."""
    only = f"only {','.join(run.selected)}" if run.selected else ""
    without = f"without {','.join(run.ignored)}" if run.ignored else ""
    schema = "" if run.schema is None else f"against version {run.schema}, not the declared one"
    if run.schema == "given":
        schema = "rows against a given schema, not the declared one"
    return ", ".join(filter(None, [only, without, schema]))


def join_limits(limits: Iterable[str]) -> str:
    """Say which rules were left out of the checks of several runs."""
    first, *others = {*limits} or {""}
    return "some rules left out" if others else first


def list_verified(run: RunSummary) -> list[Checked]:
    """Describe which checks of a run were made."""
    parts = [*_seal_parts(run), *run.checked]
    if claims := describe_states(count_states(run.claims)):
        states = {claim.state for claim in run.claims}
        is_ok = False if State.REFUTED in states else None if State.OPEN in states else True
        parts.append(Checked(f"claims: {claims}", is_ok))
    return parts


def _seal_parts(run: RunSummary) -> list[Checked]:
    said, parts = run.verified, list(_checksum(run))
    if said is None or not run.rows:
        return parts
    if said.row_count is not None:
        parts.append(
            Checked("row count ok" if said.row_count else "row count not ok", said.row_count)
        )
    return [*parts, describe_hashes(said, run.recipe)]


def describe_hashes(said: Verified, recipe: str | None) -> Checked:
    """Say how many sample hashes were verified; it is only ok if they are those of all rows."""
    if not said.hashes:
        return Checked("no sample_hash verified", None)
    by = f" ({recipe})" if recipe else ""
    text = f"sample_hash ok in {said.hashes:,} of {count_noun(said.rows, 'row')}{by}"
    return Checked(text, True if said.hashes == said.rows else None)


def severities(
    counts: Mapping[Severity, int], *, known: Mapping[str, int] = MappingProxyType({})
) -> list[str]:
    """Say how many findings there are of each severity, and how many a baseline knows."""
    parts = [
        count_noun(counts[severity], severity.label)
        for severity in sorted(Severity, reverse=True)
        if counts.get(severity)
    ]
    if not known:
        return parts or ["no findings"]
    left_out = f"{count_noun(sum(known.values()), 'known finding')} in baseline"
    return [*(parts or ["no new findings"]), left_out]


def gone_lines(totals: Totals) -> Iterator[str]:
    """Say which runs of the ledger are gone."""
    count, names = totals.gone
    if not count:
        return
    verb = "is" if count == 1 else "are"
    yield f"{count_noun(count, 'run')} that the ledger remembers {verb} gone:"
    for name in names:
        yield f"  {name}"
    if count > len(names):
        yield f"  … and {count - len(names):,} more"


def vanished_lines(report: Report) -> Iterator[str]:
    """Say which runs of the ledger are gone, and findings of the baseline were not found."""
    yield from gone_lines(report.totals)
    if not report.totals.vanished:
        return
    verb = "was" if report.totals.vanished == 1 else "were"
    number = count_noun(report.totals.vanished, "known finding")
    yield f"{number} in baseline {verb} not found (--write-baseline writes a new one):"
    more = 0
    for place, known in enumerate(report.vanished):
        if place >= VANISHED_SHOWN:
            more += known.count
            continue
        pointer = f" {known.pointer}" if known.pointer else ""
        sample = f" [sample {known.sample_id}]" if known.sample_id is not None else ""
        times = f" ({known.count:,} times)" if known.count > 1 else ""
        yield f"  {known.code} {known.file}{pointer}{sample}{times}"
    if more:
        yield f"  … and {more:,} more (--format json lists all)"


def _checksum(run: RunSummary) -> Iterator[Checked]:
    is_right = run.actual is not None and run.declared == run.actual
    if run.verified is not None and run.rows:
        if run.declared is None:
            yield Checked("no checksum to verify", None)
            return
        if run.verified.checksum is None:
            yield Checked("checksum not verified", None)
            return
        is_right = run.verified.checksum
        if not is_right:
            yield Checked("checksum not ok", False)
    if is_right:
        yield Checked(f"checksum ok ({run.algorithm}{COVERED[run.covers]})", True)


def has_right_checksum(run: RunSummary) -> bool:
    """Tell whether the checksum of a run was verified and is right."""
    return any(part.is_ok for part in _checksum(run))


def fix_mark(fix: str | None) -> str:
    """Return the mark of findings that `evalstream fix` mends; "" for others."""
    return "" if fix is None else " [fix]" if fix == SAFE else " [fix --unsafe]"


def describe_doubt(*, has_refuted: bool, is_strict: bool, runs: int = 1) -> str:
    """Say why a verdict is unconfirmed."""
    if has_refuted:
        return "a claim is refuted"
    if is_strict:
        return UNPROVED
    return "no score was confirmed" if runs == 1 else "a run has no confirmed score"


def occurrences(finding: Finding) -> str:
    """Return in brackets how many rows, or findings, a finding stands for.

    Returns "" for a finding that stands for itself alone, or whose message begins with the number.
    """
    count = finding.count
    if not count or finding.message.startswith(f"{count:,} "):
        return ""
    return f" ({count_noun(count, 'finding' if finding.message == MORE else 'row')})"
