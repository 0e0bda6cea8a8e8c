"""SARIF 2.1.0, for code scanning: one `result` for each finding, with the texts of its rule.

`partialFingerprints` come from the code, the file, the JSON Pointer and the sample id, not from the
line, so that an alert keeps its identity when rows are added above it; equal findings are numbered.
GitHub's upload action keeps them, and warns that it would compute others from the lines.
The report stays below the limits of GitHub (25,000 results, 10 MB compressed): errors are kept
before warnings, and warnings before infos. `toolExecutionNotifications` have the line of each run,
with what was verified, and say how many findings were left out. File names are relative to
`GITHUB_WORKSPACE`, or else to the working directory; other files have `file:` URIs.
A region is a line, in a document from the column of the value on, in characters. Its snippet is the
text that the parser refused, or the value as JSON if that is a short text, an integer or a boolean.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from evalstream._version import REPOSITORY_URL, __version__
from evalstream.model.finding import Excerpt, Finding, FindingList, RuleText, Severity
from evalstream.model.report import Report
from evalstream.model.run_summary import NOT_CHECKED, RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.json import canonical, dumps, dumps_visible
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters import summary
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.describe import Places, cut_text, describe_values, visible
from evalstream.reporters.run_lines import run_line

MOST_RESULTS: Final = 25_000
MOST_COMPRESSED: Final = 9_000_000
"""GitHub rejects reports above 25,000 results, or 10 MB compressed; the end needs some room."""

MOST_RUNS: Final = 100
"""How many runs have a notification."""

DESCRIPTION: Final = 1024
"""How many characters of a description GitHub shows."""

IN_MEMORY: Final = 1_000
"""How many findings of each severity are kept in memory."""

ROOT: Final = "%SRCROOT%"

PAGES: Final = f"{REPOSITORY_URL}/blob/v{__version__}"
"""Where the pages of rules are, below their path in the repository."""

LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

_LEVELS_OF_LABELS: Final = {severity.label: level for severity, level in LEVELS.items()}

_HEAD: Final = (
    b'{"$schema":"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/'
    b'sarif-schema-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":{"name":"evalstream"'
)

_CUT: Final = re.compile(r"… \([\d,]+ characters\)\Z")
"""The end of a text that findings show in part."""

_LINK: Final = re.compile(r"\](?=\()")
"""Where a link would begin its target; viewers show links in messages."""


class SarifReporter(Recognized):
    """Keeps the findings that fit by severity, and writes at the end."""

    beginning = LazyPattern(re.escape(_HEAD))

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output = output
        self._kept = {severity: FindingList(IN_MEMORY) for severity in LEVELS}
        self._counts = dict.fromkeys(LEVELS, 0)
        self._places = Places()
        # Fast compression is never better than that of the upload, so this is an upper bound.
        self._compression = zlib.compressobj(1)
        self._compressed = 0

    def finding(self, finding: Finding) -> None:
        """Keep one finding, or only count it where as many of its severity are kept as fit."""
        self._counts[finding.severity] += 1
        if self._counts[finding.severity] <= MOST_RESULTS:
            self._kept[finding.severity].append(finding)

    def finish(self, report: Report) -> None:
        """Write the document."""
        numbers = {code: number for number, code in enumerate(sorted(report.rules))}
        rules = ((dumps_visible(_rule(code, report.rules[code]))) for code in numbers)
        version = b',"version":%b,"informationUri":%b,"rules":['
        self._write(_HEAD + version % (dumps_visible(__version__), dumps_visible(REPOSITORY_URL)))
        self._write_lines(rules)
        base = {ROOT: {"description": {"text": "The root of the checked files."}}}
        columns = b'"columnKind":"unicodeCodePoints","originalUriBaseIds":%b,"results":['
        self._write(b"]}}," + columns % dumps_visible(base))
        listed = self._write_results(numbers)
        notifications = [*self._left_out(report, listed), *self._about_runs(report)]
        totals = report.totals
        invocation = {
            "executionSuccessful": bool(totals.runs) and not (totals.unchecked or totals.unreached),
            "toolExecutionNotifications": notifications,
        }
        self._write(b'],"invocations":[%b],' % dumps_visible(invocation))
        self._write(b'"properties":{"totals":%b}}]}\n' % dumps_visible(report.totals.as_dict()))

    def _write(self, data: bytes) -> None:
        self._compressed += len(self._compression.compress(data))
        self._output.write(data)

    def _write_lines(self, items: Iterator[bytes]) -> None:
        for number, item in enumerate(items):
            self._write((b",\n" if number else b"\n") + item)

    def _write_results(self, numbers: Mapping[str, int]) -> dict[Severity, list[int]]:
        """Write results up to the limits; count by severity the findings, and what they cover."""
        listed = {severity: [0, 0] for severity in LEVELS}
        ordinals: dict[bytes, int] = {}

        def results() -> Iterator[bytes]:
            for finding in islice(chain(*self._kept.values()), MOST_RESULTS):
                if self._compressed > MOST_COMPRESSED:
                    return
                listed[finding.severity][0] += 1
                listed[finding.severity][1] += finding.occurrences
                yield dumps_visible(self._result(finding, numbers, ordinals))

        self._write_lines(results())
        return listed

    def _result(
        self, finding: Finding, numbers: Mapping[str, int], ordinals: dict[bytes, int]
    ) -> dict[str, Any]:
        location = self._location(finding.file, _region(finding))
        if finding.pointer:
            location["logicalLocations"] = [{"fullyQualifiedName": finding.pointer}]
        number = numbers.get(finding.code)
        identity = self._identity(finding)
        ordinals[identity] = ordinal = ordinals.get(identity, 0) + 1
        count = {"occurrenceCount": finding.count} if finding.count else {}
        # GitHub reads the fingerprint of this name alone.
        fingerprint = {"primaryLocationLineHash": f"{identity.hex()}:{ordinal}"}
        return {
            "ruleId": finding.code,
            **({} if number is None else {"ruleIndex": number}),
            "level": LEVELS[finding.severity],
            "message": {"text": _message(finding)},
            "locations": [location],
            **count,
            "partialFingerprints": fingerprint,
            **_properties(finding),
        }

    def _location(self, file: str, region: Mapping[str, Any] | None = None) -> dict[str, Any]:
        uri = self._places.uri(file)
        artifact = {"uri": uri.reference}
        if uri.is_below_root:
            artifact["uriBaseId"] = ROOT
        return {"physicalLocation": {"artifactLocation": artifact, **(region or {})}}

    def _identity(self, finding: Finding) -> bytes:
        """Return a digest of what makes a finding the same one when lines move."""
        file = self._places.uri(finding.file).reference
        parts = [finding.code, file, finding.pointer, finding.sample_id]
        return hashlib.sha256(canonical(parts)).digest()[:16]

    def _left_out(
        self, report: Report, listed: Mapping[Severity, list[int]]
    ) -> Iterator[dict[str, Any]]:
        left = {one: self._counts[one] - listed[one][0] for one in LEVELS}
        if sum(left.values()):
            limit = f"at most {MOST_RESULTS:,} results and 10 MB compressed"
            text = f"left out, as GitHub accepts {limit}: {', '.join(summary.severities(left))}"
            yield _notification(text, "warning")
        shown = sum(covered for _, covered in listed.values())
        if not sum(left.values()) and shown < report.total:
            yield _notification(summary.unlisted_line(report.total - shown), "note")

    def _about_runs(self, report: Report) -> Iterator[dict[str, Any]]:
        unchecked = summary.unchecked_line(report.totals)
        for line in summary.total_lines(report):
            yield _notification(line, "error" if line == unchecked else "note")
        open_ones = (run for run in report.runs if _level(run) != "note")
        others = (run for run in report.runs if _level(run) == "note")
        for run in islice(chain(open_ones, others), MOST_RUNS):
            file = run.file or run.aggregate or run.inputs
            locations = [self._location(file)] if file else []
            level = "error" if summary.fails_by_verdict(run, report) else _level(run)
            yield {**_notification(run_line(run), level), "locations": locations}
        if report.totals.runs > MOST_RUNS:
            more = count_noun(report.totals.runs - MOST_RUNS, "more run")
            yield _notification(f"{more} without a line here", "note")


def _level(run: RunSummary) -> str:
    """Return the level of a run's line: whether it was checked in full, and a score confirmed."""
    if run.incomplete_reason or NOT_CHECKED & run.counts.keys():
        return "error"
    return "warning" if run.verdict in {"incomplete", "unconfirmed"} else "note"


def _region(finding: Finding) -> dict[str, Any]:
    if finding.line is None:
        return {}
    region: dict[str, Any] = {"startLine": finding.line, "endLine": finding.line}
    if finding.column is not None:
        region["startColumn"] = finding.column
    snippet = _snippet(finding)
    if snippet:
        region["snippet"] = {"text": snippet}
    return {"region": region}


def _snippet(finding: Finding) -> str:
    found = finding.found
    if isinstance(found, Excerpt):
        return visible(found.excerpt)
    is_cut = isinstance(found, str) and _CUT.search(found) is not None
    if finding.column is None or is_cut or not isinstance(found, bool | int | str):
        return ""
    return visible(dumps(found).decode(errors="replace"))


def _rule(code: str, text: RuleText) -> dict[str, Any]:
    level = _LEVELS_OF_LABELS.get(text.severity)
    found = text.sections[0].text if text.sections else text.summary
    markdown = {"markdown": "\n\n".join(_markdown(text))} if text.sections else {}
    return {
        "id": code,
        "name": text.name,
        "shortDescription": {"text": cut_text(text.summary, DESCRIPTION)},
        "fullDescription": {"text": cut_text(" ".join(found.split()), DESCRIPTION)},
        **({"helpUri": f"{PAGES}/{text.page}"} if text.page else {}),
        "help": {"text": text.help or text.summary, **markdown},
        **({"defaultConfiguration": {"level": level}} if level else {}),
    }


def _markdown(text: RuleText) -> Iterator[str]:
    for heading, body, is_example in text.sections:
        yield f"**{heading}**"
        yield f"```text\n{body}\n```" if is_example else body


def _message(finding: Finding) -> str:
    where = f" at {finding.pointer}" if finding.pointer else ""
    values = describe_values(finding)
    more = f". {values[0].upper()}{values[1:]}" if values else ""
    text = visible(f"{finding.message}{where}{summary.occurrences(finding)}{more}")
    return _LINK.sub("] ", text)


def _properties(finding: Finding) -> dict[str, Any]:
    """Return what SARIF has no place for; an offset counts unpacked bytes, so a region cannot."""
    shown = finding.as_dict()
    keys = ("keyword", "offset", "sample_id", "expected", "found")
    names = {"sample_id": "sampleId"}
    properties = {names.get(key, key): shown[key] for key in keys if key in shown}
    return {"properties": properties} if properties else {}


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"message": {"text": _LINK.sub("] ", visible(cut_text(text, 2_000)))}, "level": level}
