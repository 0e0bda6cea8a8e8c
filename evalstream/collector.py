"""Puts the findings of a run in order, counts them all and passes on those to be shown."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from evalstream.catalog import RULES, severity_of
from evalstream.engine import BlockResult, Counts, Located, trimmed
from evalstream.findings import Findings
from evalstream.model import Fault, Finding
from evalstream.repeats import IdentityIndex
from evalstream.rule import Context
from evalstream.rules import coverage, identity
from evalstream.samples import Coverage, Kind, Remark
from evalstream.tally import Tally

SAYINGS: Final[Mapping[Kind, Callable[[Remark], Fault]]] = {**identity.REMARKS, **coverage.REMARKS}
"""What the rules say of a row that has to do with an earlier one."""


class Collector:
    """Collects one run: merges tallies, finds repeats, and hands findings on in order.

    Findings go to `show` as soon as no later one can come before them. Once the identities
    are on disk, repeats come late, and so the findings of other rules wait for them.
    """

    def __init__(self, context: Context, file: str, show: Callable[[Finding], None]) -> None:
        self.context = context
        self._profile = context.options.profile
        self.counts: Counts = {}
        self.tally = Tally()
        self._file, self._show = file, show
        self._index = IdentityIndex(context.options.memory_limit)
        self._shown: dict[str, int] = {}
        self._waiting: Findings | None = None

    def add(self, result: BlockResult) -> None:
        """Take the next block."""
        shift = self.tally.lines
        remarks = self._index.add(result.identities, shift)
        self.tally.merge(result.tally)
        for key, count in result.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        if self._index.spilled and self._waiting is None:
            self._waiting = Findings()
        rows = (self._finding(located, shift) for located in result.faults)
        for finding in heapq.merge(rows, self._remarked(remarks), key=Finding.order):
            self._pass_on(finding)

    @property
    def coverage(self) -> Coverage:
        """Which samples the rows cover; whole once `end_of_rows` was called."""
        return self._index.coverage

    def end_of_rows(self) -> None:
        """Hand on what was waiting for late repeats."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            late = (repeat for repeat in self._remarked(self._index.late()) if self._room(repeat))
            for finding in heapq.merge(waiting, late, key=Finding.order):
                self._show(finding)
        self._index.close()

    def note(self, fault: Fault, file: str | None = None, line: int | None = None) -> None:
        """Take a finding about the whole file, or about another file of the run."""
        if fault.code not in self.context.enabled:
            return
        fault = trimmed(fault, show_values=self.context.options.show_values)
        self._count(fault)
        self._pass_on(finding_of(fault, file or self._file, self._profile, line=line))

    def close(self) -> None:
        """Let go of temporary files."""
        self._index.close()

    def _remarked(self, remarks: Iterable[Remark]) -> Iterator[Finding]:
        for remark in remarks:
            fault = SAYINGS[remark.kind](remark)
            if fault.code in self.context.enabled:
                self._count(fault)
                place = {"line": remark.line, "offset": remark.offset}
                yield finding_of(fault, self._file, self._profile, **place)

    def _finding(self, located: Located, shift: int) -> Finding:
        line = located.line + shift
        return finding_of(
            located.fault,
            self._file,
            self._profile,
            line=line,
            offset=located.offset,
            sample_id=located.sample_id,
        )

    def _pass_on(self, finding: Finding) -> None:
        if self._room(finding):
            if self._waiting is None:
                self._show(finding)
            else:
                self._waiting.append(finding)

    def _room(self, finding: Finding) -> bool:
        """Tell whether one more finding of this code may be shown, and take its place."""
        most, shown = self.context.options.max_findings, self._shown.get(finding.code, 0)
        if most and shown >= most:
            return False
        self._shown[finding.code] = shown + 1
        return True

    def _count(self, fault: Fault) -> None:
        key = (fault.code, severity_of(fault, self._profile))
        self.counts[key] = self.counts.get(key, 0) + (1 if fault.count is None else fault.count)


def finding_of(
    fault: Fault,
    file: str,
    profile: str,
    *,
    line: int | None = None,
    offset: int | None = None,
    sample_id: str | int | None = None,
) -> Finding:
    """Stamp a fault with its rule's name, its severity under a profile, and its place."""
    # By position: by name it takes twice as long, and a file may have a finding in every row.
    return Finding(
        fault.code,
        RULES[fault.code].name,
        severity_of(fault, profile),
        file,
        line,
        offset,
        fault.pointer,
        fault.keyword,
        fault.message,
        fault.expected,
        fault.found,
        sample_id,
        fault.count,
    )
