"""Read a report in jsonl or json in one pass: each part fits the schema, and all parts agree."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any, Final, NoReturn

from evalstream.batch import serialize
from evalstream.batch.parts import is_part
from evalstream.batch.results import ResultStore
from evalstream.batch.serialize import LEFT_OUT, decode_known, decode_run, decode_totals
from evalstream.formats.registry import CATALOGUE
from evalstream.io.inputs import StandardInput
from evalstream.io.names import printable
from evalstream.io.readers import DescriptorReader, split_lines
from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.exit_codes import check_exit_code, is_of_signal, of_signal
from evalstream.model.finding import KnownFinding, RuleText, Severity, Show, SpilledList, Status
from evalstream.model.report import Report, Totals
from evalstream.model.run import STDIN
from evalstream.model.run_summary import VERDICTS
from evalstream.model.signals import STOPPING
from evalstream.parsing.json import fast
from evalstream.parsing.object_splitter import ObjectSplitter
from evalstream.parsing.strict_json import describe_json_error
from evalstream.reporters.summary import SCHEMA, TOOL

_OF_A_NOTE: Final = {"note", *LEFT_OUT}
"""The members of a run that ledgers and parts alone have."""

AGAIN: Final = "write it again with evalstream check --format jsonl or json"
"""The remedy for a report that cannot be read."""


class StoredContents:
    """Takes the parts of a report one by one; findings are passed on to `show`.

    Every method raises CannotCheck for a part that is damaged, with its line where it is given.
    """

    def __init__(self, name: str, show: Show) -> None:
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
        misfit = serialize.describe_misfit(value, part)
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
            finding = serialize.decode_stored_finding(value)
        except ValueError as error:
            self.refuse(line, str(error))
        self._shown += 1
        for key in (finding.code, finding.severity):
            self._listed[key] = self._listed.get(key, 0) + finding.occurrences
        self._show(finding)

    def add_run(self, value: Any, line: int | None = None, number: int | None = None) -> None:
        """Take a run that fits the schema, in a report in lines with its number."""
        expected = self._sums.runs + 1
        if number not in (None, expected):
            self.refuse(line, f"expected run {expected:,}, found {number:,}")
        try:
            summary = decode_run({key: value[key] for key in value.keys() - _OF_A_NOTE})
        except (KeyError, TypeError, ValueError) as error:
            self.refuse(line, f"a run is not valid: {error}")
        contradiction = serialize.describe_contradiction(value, summary)
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
        is_strict = summary.get("options", {}).get("strict") is True
        if not is_of_signal(ended) and ended != check_exit_code(totals, is_strict=is_strict):
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


LONGEST: Final = 256 * MEBIBYTE
"""The longest line that is read, and the most bytes of a JSON report beside its findings."""

HEAD_BYTES: Final = 256
"""How many bytes show the layout of a report."""

KINDS: Final = ("code", "run", "vanished", "summary", "part", "links")
"""The keys that show what a line holds."""

OF_A_PART: Final = ("part", "links")

_LINES: Final = re.compile(rb'\s*\{\s*"(?:code|run|number|vanished|summary|links|part)"\s*:')
"""The beginning of a report in lines; a JSON report begins with another key."""


def are_parts(paths: list[str]) -> bool:
    """Tell whether files are parts of a batch. Raises UsageError, and OSError."""
    if not paths:
        raise UsageError("no report given")
    if len(paths) > 1 and STDIN in paths:
        raise UsageError("standard input cannot be one of several files")
    return len(paths) > 1 or (os.path.isfile(paths[0]) and is_part(paths[0]))


def read_stored(path: str, show: Show) -> Report:
    """Read a report from a file, or from standard input for `-`, and pass on its findings.

    The report is returned without its findings. Raises CannotCheck that names the line where it is
    truncated, damaged, or not such a report; OSError.
    """
    contents = StoredContents("standard input" if path == STDIN else printable(path), show)
    reader = (
        StandardInput().reader()
        if path == STDIN
        else DescriptorReader(os.open(path, os.O_RDONLY), owned=True)
    )
    try:
        pieces = _pieces(reader)
        head = b""
        while len(head.lstrip()) < HEAD_BYTES and (piece := next(pieces, b"")):
            head += piece
        if not head.strip():
            contents.refuse(None, "it is empty")
        read = _read_lines if _LINES.match(head) else _read_document
        return read(contents, chain([head], pieces))
    finally:
        reader.close()


def _pieces(reader: ByteStream) -> Iterator[bytes]:
    while piece := reader.read():
        STOPPING.check()
        yield piece


def _read_lines(contents: StoredContents, pieces: Iterable[bytes]) -> Report:
    number, summary, latest = 0, None, KINDS[0]
    for number, text in enumerate(split_lines(pieces, LONGEST), 1):
        value = _parse_part(contents, text, number)
        kind = next((one for one in KINDS if isinstance(value, dict) and one in value), None)
        if kind is None:
            contents.refuse(number, "it is not a finding, a run or a summary")
        if kind in OF_A_PART or (kind == "run" and "findings" in value):
            contents.refuse(number, "it belongs to a part of a batch", "give all parts as files")
        if summary is not None:
            contents.refuse(number, "it follows the summary")
        if KINDS.index(kind) < KINDS.index(latest):
            contents.refuse(number, f"a line with {kind!r} follows one with {latest!r}")
        latest = kind
        if kind == "code":
            contents.add_finding(value, number)
        elif kind == "run":
            contents.fit(value, "run_line", number)
            contents.add_run(value["run"], number, value["number"])
        elif kind == "vanished":
            contents.fit(value, "vanished_line", number)
            contents.add_vanished(value["vanished"])
        else:
            contents.refuse_foreign(value["summary"], number)
            contents.fit(value, "last_line", number)
            summary = value["summary"]
    if summary is None:
        contents.refuse(number, "it ends here without a summary")
    return contents.report(summary, number)


def _read_document(contents: StoredContents, pieces: Iterable[bytes]) -> Report:
    """Read a report that is one JSON document; all but its findings is held in memory."""
    splitter = ObjectSplitter("findings", LONGEST)
    for elements in chain(map(splitter.feed, pieces), (splitter.end() for _ in range(1))):
        for element in elements:
            if element.whole:
                value = _parse_part(contents, element.text, element.line)
                contents.add_finding(value, element.line)
    if splitter.issue is not None:
        contents.refuse(splitter.issue.line, splitter.issue.message)
    envelope = splitter.envelope()
    if not envelope.is_whole:
        contents.refuse(None, f"it has over {LONGEST // MEBIBYTE} MiB beside its findings")
    value = _parse_part(contents, envelope.text, None)
    contents.refuse_foreign(value, None)
    contents.fit(value, serialize.WHOLE, None)
    for run in value["runs"]:
        contents.add_run(run)
    for known in value.get("vanished", ()):
        contents.add_vanished(known)
    rules = {code: _rule_text(code, text) for code, text in value["rules"].items()}
    return contents.report(value, None, rules)


def _rule_text(code: str, encoded: Mapping[str, str]) -> RuleText:
    """Return the texts of a rule; its whole documentation is not in the report."""
    status = Status(encoded.get("status", Status.STABLE))
    text = RuleText(encoded["name"], encoded["summary"], encoded["fix"], "", status=status)
    installed = CATALOGUE[code].text() if code in CATALOGUE else text
    return installed if installed.as_dict() == text.as_dict() else text


def _parse_part(contents: StoredContents, text: bytes, line: int | None) -> Any:
    if len(text) > LONGEST:
        contents.refuse(line, f"it is longer than {LONGEST // MEBIBYTE} MiB")
    try:
        return fast(text)
    except ValueError:
        pass
    try:
        # A lone surrogate is valid here.
        return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        # Within a line of the report the number of the line is known.
        within = "" if line is not None else f"line {error.lineno:,}, "
        place = f"{within}column {error.colno:,}"
        contents.refuse(line, f"it is not valid JSON: {describe_json_error(error)} at {place}")
    except (ValueError, RecursionError) as error:
        contents.refuse(line, f"it is not valid JSON: {error}")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises ValueError for a repeated one."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a member twice")
    return members


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"unexpected {constant}")
