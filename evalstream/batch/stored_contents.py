"""The contents of a stored report: each part fits the JSON Schema, and all parts agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Final, NoReturn

from evalstream.batch.results import ResultStore
from evalstream.batch.serialize import decode_finding, decode_known, decode_run, decode_totals
from evalstream.formats.registry import CATALOGUE
from evalstream.model.errors import CannotCheck
from evalstream.model.exit_codes import code_of, is_of_signal, of_signal
from evalstream.model.finding import Finding, KnownFinding, SpilledList
from evalstream.model.report import VERDICTS, Report, Totals
from evalstream.model.rule_text import RuleText
from evalstream.model.signals import STOPPING
from evalstream.parsing.json_schema import Validator, compile_schema
from evalstream.parsing.schema_files import builtin_schema
from evalstream.reporters.summary import SCHEMA, TOOL

WHOLE: Final = "report"
"""The name of the schema, and of the report as a whole in it."""

AGAIN: Final = "write it again with evalstream check --format jsonl or json"
"""What to do about a report that cannot be read."""


class StoredContents:
    """Takes the parts of a report one by one; findings are passed on to `show`.

    Every method raises CannotCheck for a part that is damaged, with its line where it is given.
    """

    def __init__(self, name: str, show: Callable[[Finding], None]) -> None:
        self._name, self._show = name, show
        self._validators: dict[str, Validator] = {}
        self._runs = ResultStore(count(), show)
        self._sums = Totals()
        self._listed: dict[str, int] = {}
        self._vanished = SpilledList(KnownFinding)
        self._shown = self._number_vanished = 0

    def refuse(self, line: int | None, reason: str, advice: str = AGAIN) -> NoReturn:
        """Raise CannotCheck for a damaged report, with what to do."""
        place = self._name if line is None else f"{self._name}, line {line:,}"
        raise CannotCheck(f"{place}: not a complete report of evalstream: {reason}; {advice}")

    def fit(self, value: Any, part: str, line: int | None) -> None:
        """Refuse a value that does not fit a part of the schema."""
        if part not in self._validators:
            schema = builtin_schema(WHOLE)
            if part != WHOLE:
                schema = {"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]}
            self._validators[part] = compile_schema(schema)
        validator = self._validators[part]
        if not validator.fits(value):
            paths = ("/".join(map(str, error.path)) for error in validator.errors(value))
            where = next(filter(None, paths), None)
            at = "" if where is None else f": /{where}"
            self.refuse(line, f"`evalstream schema show report` does not allow it{at}")

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
        self.fit(value, "finding", line)
        finding = decode_finding(value)
        self._shown += 1
        self._listed[finding.code] = self._listed.get(finding.code, 0) + finding.occurrences
        self._show(finding)

    def add_run_line(self, value: Any, line: int) -> None:
        """Take a run, which comes with its number."""
        self.fit(value, "run_line", line)
        if value["number"] != self._sums.runs + 1:
            self.refuse(line, f"expected run {self._sums.runs + 1:,}, found {value['number']:,}")
        self.add_run(value["run"])

    def add_run(self, value: Any) -> None:
        """Take a run that fits the schema."""
        summary = decode_run(value)
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
        for what, said, seen in self._compared(summary, totals):
            if said != seen:
                self.refuse(line, f"the totals are of {said:,} {what}, and there are {seen:,}")
        for code in (*self._sums.counts, *self._listed):
            seen = max(self._sums.counts.get(code, 0), self._listed.get(code, 0))
            if seen > totals.counts.get(code, 0):
                self.refuse(line, f"the totals have fewer findings of {code} than the report")
        ended: int = summary["exit_code"]
        if not is_of_signal(ended) and ended != code_of(totals):
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

    def _compared(self, summary: Any, totals: Totals) -> Iterator[tuple[str, int, int]]:
        """Iterate over numbers that must agree: what they count, as said and as seen."""
        sums, total = self._sums, sum(totals.counts.values())
        yield "listed findings", summary["shown"], self._shown
        yield "findings", summary["total"], total
        yield "findings by severity", sum(totals.severities.values()), total
        yield "vanished findings", totals.vanished, self._number_vanished
        yield "runs", totals.runs, sums.runs
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
