"""The contents of a stored report: each part fits the JSON Schema, and all parts agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Final, NoReturn

from evalstream.batch.results import ResultStore
from evalstream.batch.serialize import LEFT_OUT, decode_known, decode_run, decode_totals
from evalstream.batch.stored_shapes import (
    decode_stored_finding,
    describe_contradiction,
    describe_misfit,
)
from evalstream.formats.registry import CATALOGUE
from evalstream.model.errors import CannotCheck
from evalstream.model.exit_codes import check_exit_code, is_of_signal, of_signal
from evalstream.model.finding import Finding, KnownFinding, Severity, SpilledList
from evalstream.model.report import VERDICTS, Report, Totals
from evalstream.model.rule_text import RuleText
from evalstream.model.signals import STOPPING
from evalstream.reporters.summary import SCHEMA, TOOL

_OF_A_NOTE: Final = {"note", *LEFT_OUT}
"""The members of a run that ledgers and parts alone have."""

AGAIN: Final = "write it again with evalstream check --format jsonl or json"
"""What to do about a report that cannot be read."""


class StoredContents:
    """Takes the parts of a report one by one; findings are passed on to `show`.

    Every method raises CannotCheck for a part that is damaged, with its line where it is given.
    """

    def __init__(self, name: str, show: Callable[[Finding], None]) -> None:
        self._name, self._show = name, show
        self._runs = ResultStore(count(), show)
        self._sums = Totals()
        self._listed: dict[str | Severity, int] = {}
        self._vanished = SpilledList(KnownFinding)
        self._shown = self._number_vanished = 0

    def refuse(self, line: int | None, reason: str, advice: str = AGAIN) -> NoReturn:
        """Raise CannotCheck for a damaged report, with what to do."""
        place = self._name if line is None else f"{self._name}, line {line:,}"
        raise CannotCheck(f"{place}: not a complete report of evalstream: {reason}; {advice}")

    def fit(self, value: Any, part: str, line: int | None) -> None:
        """Refuse a value that does not fit a part of the schema."""
        misfit = describe_misfit(value, part)
        if misfit is not None:
            self.refuse(line, misfit)

    def refuse_foreign(self, summary: Any, line: int | None) -> None:
        """Refuse what another program, or another version of this one, wrote."""
        tool = summary.get("tool") if isinstance(summary, dict) else None
        if not isinstance(tool, dict) or tool.get("name") != TOOL["name"]:
            self.refuse(line, "it does not name evalstream as its tool")
        if summary.get("schema") != SCHEMA:
            number = json.dumps(summary.get("schema"))
            self.refuse(line, f"its schema is {number}, and this version reads {SCHEMA}")

    def add_finding(self, value: Any, line: int) -> None:
        """Pass on a finding."""
        try:
            finding = decode_stored_finding(value)
        except ValueError as error:
            self.refuse(line, str(error))
        self._shown += 1
        for key in (finding.code, finding.severity):
            self._listed[key] = self._listed.get(key, 0) + finding.occurrences
        self._show(finding)

    def add_run_line(self, value: Any, line: int) -> None:
        """Take a run, which comes with its number."""
        self.fit(value, "run_line", line)
        if value["number"] != self._sums.runs + 1:
            self.refuse(line, f"expected run {self._sums.runs + 1:,}, found {value['number']:,}")
        self.add_run(value["run"], line)

    def add_run(self, value: Any, line: int | None = None) -> None:
        """Take a run that fits the schema."""
        try:
            summary = decode_run({key: value[key] for key in value.keys() - _OF_A_NOTE})
        except (KeyError, TypeError, ValueError) as error:
            self.refuse(line, f"a run is not valid: {error}")
        contradiction = describe_contradiction(value, summary)
        if contradiction is not None:
            named = summary.file or summary.aggregate or summary.inputs
            self.refuse(line, f"the run of {json.dumps(named)}: {contradiction}")
        self._runs.add(self._sums.runs, summary, ())
        self._sums.add(summary)

    def add_vanished(self, value: Any) -> None:
        """Take a finding of the baseline that fits the schema."""
        known = decode_known(value)
        self._number_vanished += known.count
        self._vanished.append(known)

    def report(
        self, summary: Any, line: int | None, rules: Mapping[str, RuleText] | None = None
    ) -> Report:
        """Return the report without its findings; its summary fits the schema.

        Without texts of rules those of the installed version are taken.
        """
        totals = decode_totals(summary["totals"])
        unlisted = summary.get("unlisted_runs", 0)
        for what, said, seen in self._compare_counts(summary, totals, unlisted):
            if said != seen:
                self.refuse(line, f"the totals are of {said:,} {what}, and there are {seen:,}")
        for what, said, seen in self._summed(totals):
            if said < seen or (said > seen and not unlisted):
                self.refuse(line, f"the totals are of {said:,} {what}, and there are {seen:,}")
        most: dict[Any, int] = {**totals.counts, **totals.severities}
        sums: dict[Any, int] = {**self._sums.counts, **self._sums.severities}
        for kind in (*sums, *self._listed):
            if max(sums.get(kind, 0), self._listed.get(kind, 0)) > most.get(kind, 0):
                name = kind.label if isinstance(kind, Severity) else kind
                self.refuse(line, f"the totals have fewer findings of {name} than the report")
        ended: int = summary["exit_code"]
        if not is_of_signal(ended) and ended != check_exit_code(totals):
            self.refuse(line, f"the exit code {ended} does not follow from the totals")
        if STOPPING.raised is not None:
            ended = of_signal(STOPPING.raised)
        found = (code for code in sorted(totals.counts) if code in CATALOGUE)
        texts = {code: CATALOGUE[code].text() for code in found} if rules is None else rules
        return Report(
            self._runs.runs(),
            (),
            self._shown,
            ended,
            totals,
            texts,
            vanished=self._vanished,
            options=summary.get("options", {}),
        )

    def _compare_counts(
        self, summary: Any, totals: Totals, unlisted: int
    ) -> Iterator[tuple[str, int, int]]:
        """Iterate over numbers that must agree: what they count, as said and as seen."""
        total = sum(totals.counts.values())
        yield "listed findings", summary["shown"], self._shown
        yield "findings", summary["total"], total
        yield "findings by severity", sum(totals.severities.values()), total
        yield "vanished findings", totals.vanished, self._number_vanished
        yield "runs", totals.runs, self._sums.runs + unlisted

    def _summed(self, totals: Totals) -> Iterator[tuple[str, int, int]]:
        """Iterate over sums over runs: of all runs, as said, and of those that are listed."""
        sums = self._sums
        yield "rows", totals.rows, sums.rows
        yield "bytes", totals.bytes, sums.bytes
        yield "unchanged runs", totals.unchanged, sums.unchanged
        yield "runs that were not checked in full", totals.unchecked, sums.unchecked
        for verdict in VERDICTS:
            said, seen = totals.verdicts.get(verdict, 0), sums.verdicts.get(verdict, 0)
            yield f"{verdict} runs", said, seen
        for state, said in totals.claims.items():
            yield f"{state} claims", said, sums.claims.get(state, 0)
        yield "failed runs with refuted claims", totals.refuted_runs, sums.refuted_runs
