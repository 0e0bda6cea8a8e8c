"""An overview of many runs for people: which are listed and why they fail, names, and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from types import MappingProxyType
from typing import Final

from evalstream.model.claim import count_states, describe_states
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Finding, FindingList, Severity
from evalstream.model.report import Report
from evalstream.model.run import MAIN_FORMAT, STDIN
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.reporters import summary

FEW: Final = 20
"""Up to how many runs a report for people lists each of them, with all that was verified."""

MOST_LISTED: Final = MappingProxyType({"failed": 40, "incomplete": 10, "unconfirmed": 10})
"""How many runs of a verdict are listed where there are more than a few: together one screen."""

IN_MEMORY: Final = 1_000
"""How many first findings are kept in memory; others are on disk."""

SPECIAL: Final = frozenset("{},\\ ")
"""Characters that a name with braces cannot hold, so that a shell reads it as both names."""


class ListedRun(NamedTuple):
    """A run that is listed, with its number from 1."""

    number: int
    run: RunSummary


class Overview:
    """The overview of the runs of a report, from one pass, in memory that does not grow with them.

    `folder` is the one that all paths begin with, `sums` what was verified. Of each rule with
    findings, `affected` has the number of runs, and `first_with` the first of them.
    """

    def __init__(
        self, report: Report, firsts: FirstFindings, most: Mapping[str, int] = MOST_LISTED
    ) -> None:
        self.sums = Sums()
        self.affected: Counter[str] = Counter()
        self.first_with: dict[str, RunSummary] = {}
        self._totals = report.totals
        self._limits: dict[str, set[str]] = {}
        common = firsts.folder
        kept: dict[tuple[str, bool], list[ListedRun]] = {kind: [] for kind in summary.KINDS}
        for number, run in enumerate(report.runs, 1):
            self.sums.add(run)
            self._limits.setdefault(run.verdict, set()).add(summary.rule_limits(run))
            self.affected.update(run.counts.keys())
            for code in run.counts:
                self.first_with.setdefault(code, run)
            for path in run_paths(run):
                common.add(path)
            some = kept[run.verdict, run.is_refuted]
            if len(some) < most.get(run.verdict, 0):
                some.append(ListedRun(number, run))
        self.folder = common.prefix
        self._listed: dict[str, list[ListedRun]] = {}
        for (verdict, _), runs in kept.items():
            room = most.get(verdict, 0) - len(self._listed.setdefault(verdict, []))
            self._listed[verdict] += runs[:room]

    def iterate_listed(self) -> Iterator[ListedRun]:
        """Iterate over the runs to list, the worst first."""
        for verdict in summary.WORST_FIRST:
            yield from self._listed.get(verdict, ())

    def of(self, verdict: str) -> list[ListedRun]:
        """Return the runs to list that have a verdict."""
        return self._listed.get(verdict, [])

    def heading(self, verdict: str) -> str:
        """Return a verdict as people read it, and which rules were left out of such runs."""
        limits = summary.join_limits(self._limits[verdict])
        return summary.format_verdict(verdict) + (f" ({limits})" if limits else "")

    def beyond(self, verdict: str) -> int:
        """Return how many runs of a verdict are not listed."""
        return self._totals.verdicts.get(verdict, 0) - len(self.of(verdict))


def runs_in_log(report: Report, *, lists_all: bool) -> Iterator[RunSummary | str]:
    """Iterate over the runs that a log has a line for, and lines that count the others.

    Of more than a few runs these are the first ones of each verdict but `passed`.
    """
    if lists_all or report.totals.runs <= FEW:
        yield from report.runs
        return
    overview = Overview(report, FirstFindings())
    for verdict in reversed(summary.WORST_FIRST):
        listed, more = overview.of(verdict), overview.beyond(verdict)
        yield from (one.run for one in listed)
        if more:
            counts = f"… and {more:,} more" if listed else count_noun(more, "run")
            yield f"{overview.heading(verdict)}: {counts} (-v lists them)"


class Sums:
    """The sums of what the checks of several runs verified."""

    def __init__(self) -> None:
        self.runs = self.checksums = self.counts = 0
        self.hashes = self.hashable = 0
        self.claims: Counter[str] = Counter()

    def add(self, run: RunSummary) -> None:
        """Add one run."""
        # Documents without rows, logs of harnesses, and empty files have no place for a checksum.
        is_empty = not (run.aggregate or run.rows or run.is_unchecked)
        has_place = (run.format == MAIN_FORMAT and not is_empty) or run.declared is not None
        self.runs += has_place and not run.is_note
        self.checksums += summary.has_right_checksum(run)
        self.claims.update(count_states(run.claims))
        if run.verified is not None:
            self.hashable += run.verified.rows
            self.counts += run.verified.row_count is True
            self.hashes += run.verified.hashes

    def describe(self) -> str:
        """Say what was verified, and of how much; "" for nothing."""
        parts: list[str] = []
        if self.runs:
            of_runs = f"of {count_noun(self.runs, 'run')}"
            parts.append(f"checksum ok in {self.checksums:,} {of_runs}")
            parts.append(f"row count ok in {self.counts:,} {of_runs}")
        if self.runs and self.hashable:
            parts.append(f"sample_hash ok in {self.hashes:,} of {count_noun(self.hashable, 'row')}")
        if claims := describe_states(self.claims):
            parts.append(f"claims: {claims}")
        return ", ".join(parts)


class FirstFindings:
    """Keeps the first finding of each rule in each file, from which the reasons of runs are made.

    Findings of one file come in a row, and once more where runs are compared. `folder` is the one
    that all files begin with.
    """

    def __init__(self) -> None:
        self.folder = CommonFolder()
        self._kept = FindingList(IN_MEMORY)
        self._file: str | None = None
        self._codes: set[str] = set()

    def add(self, finding: Finding) -> None:
        """Keep a finding if it is the first of its rule in its file."""
        if finding.file != self._file:
            self._file, self._codes = finding.file, set()
            self.folder.add(finding.file)
        if finding.code not in self._codes:
            self._codes.add(finding.code)
            self._kept.append(finding)

    def reasons(self, listed: Iterable[ListedRun], report: Report) -> dict[int, str]:
        """Return by number why runs have their verdicts: of failed ones a finding, else a remark.

        The finding is the first one of the rule with the lowest code among those that fail a run.
        """
        runs = list(listed)
        owners = {path: one for one in runs for path in run_paths(one.run)}
        found: dict[int, Finding] = {}
        for finding in self._kept if owners else ():
            owner = _owner(finding.file, owners)
            if owner is None or not _fails(finding, owner.run):
                continue
            known = found.get(owner.number)
            if known is None or finding.code < known.code:
                found[owner.number] = finding
        return {one.number: _reason(one.run, found.get(one.number), report) for one in runs}


def _owner(path: str, owners: Mapping[str, ListedRun]) -> ListedRun | None:
    """Return the run of a file: where a run is a folder, it owns the files below it."""
    while path and path not in owners:
        path = path.rpartition("/")[0]
    return owners.get(path)


def _fails(finding: Finding, run: RunSummary) -> bool:
    if run.verdict != "failed":
        return False
    return finding.code in run.failing if run.failing else finding.severity is Severity.ERROR


def _reason(run: RunSummary, finding: Finding | None, report: Report) -> str:
    if finding is not None:
        # The line of a document would be taken for one of the rows.
        is_row = finding.line is not None and finding.column is None
        line = f"line {finding.line}: " if is_row else ""
        return f"{finding.code} {line}{finding.message}"
    if run.verdict != "failed":
        return "; ".join(summary.remarks(run))
    code = min(run.failing, default="")
    text = report.rules.get(code)
    return code if text is None else f"{code} {text.name}"


class CommonFolder:
    """The longest folder that all paths are in, or are; of one path alone it is that path."""

    def __init__(self) -> None:
        self._prefix: str | None = None

    def add(self, path: str) -> None:
        """Take one more path into account."""
        path = f"{path}/"
        if self._prefix is None:
            self._prefix = path
        while not path.startswith(self._prefix):
            self._prefix = self._prefix[: self._prefix.rfind("/", 0, -1) + 1]

    @property
    def prefix(self) -> str:
        """The folder with a slash at its end; "" where there is none but the root or a scheme."""
        prefix = self._prefix or ""
        return "" if prefix.rstrip("/").endswith(":") or not prefix.strip("/") else prefix


def relative(path: str, folder: str) -> str:
    """Return a path below a folder, `.` for the folder itself."""
    return "." if f"{path}/" == folder else path.removeprefix(folder)


def run_paths(run: RunSummary) -> list[str]:
    """Return the paths of the documents of a run."""
    return [path for path in (run.file, run.aggregate, run.inputs) if path]


def join_names(paths: list[str]) -> str | None:
    """Return two paths as one, such as `run{.json,_samples.jsonl}`; None where that says less."""
    if len(paths) != 2 or STDIN in paths or any(SPECIAL & set(path) for path in paths):
        return None
    shared = takewhile(lambda letters: letters[0] == letters[1], zip(*paths, strict=False))
    prefix = paths[0][: sum(1 for _ in shared)]
    first, second = (path[len(prefix) :] for path in paths)
    if not _is_word_end(prefix, first) or not _is_word_end(prefix, second):
        prefix = prefix[: prefix.rfind("/") + 1]
    endings = sorted(path[len(prefix) :] for path in paths)
    if not prefix or not all(endings) or any("/" in one for one in endings):
        return None
    return f"{prefix}{{{','.join(endings)}}}"


def _is_word_end(prefix: str, rest: str) -> bool:
    return not (prefix[-1:].isalnum() and rest[:1].isalnum())


def describe_severities(run: RunSummary) -> str:
    """Say how many errors and warnings a run has, or else how many infos."""
    grave = {one: times for one, times in run.severities.items() if one > Severity.INFO}
    return ", ".join(summary.severities(grave or run.severities, known=run.known))
