"""The tests of a JUnit report: the verdict, what was verified, claims, and rules with findings."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Final

from evalstream.model.claim import State, count_states, describe_states
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Finding, RuleText, Severity
from evalstream.model.report import Report
from evalstream.model.run import MAIN_FORMAT
from evalstream.model.run_summary import NOT_CHECKED, UNPROVED, RunSummary
from evalstream.model.text import count_noun
from evalstream.reporters.describe import cut_text, describe_values, file_name, visible
from evalstream.reporters.run_lines import describe_claim, run_line, sort_claims
from evalstream.reporters.summary import (
    describe_doubt,
    describe_hashes,
    fails_by_verdict,
    occurrences,
)

MOST_FINDINGS: Final = 20
"""How many findings one test lists."""

MOST_CLAIMS: Final = 100
"""How many claims of a run have a test of their own."""

LINE: Final = 1_000
"""How many characters of a finding are shown."""

PASSED: Final = "passed"
SKIPPED: Final = "skipped"
FAILURE: Final = "failure"
ERROR: Final = "error"


class TestCase(NamedTuple):
    """One test: its outcome, a message where it did not pass, a type, and a text."""

    name: str
    outcome: str = PASSED
    message: str = ""
    kind: str = "evalstream"
    text: str = ""


def add_name(name: str, known: set[str]) -> str:
    """Add a name to those that are known, with a number if it is one of them, and return it."""
    numbered = (f"{name} ({number})" for number in count(2))
    name = next(one for one in chain([name], numbered) if one not in known)
    known.add(name)
    return name


def iterate_tests(
    run: RunSummary, findings: Iterable[Finding], report: Report
) -> Iterator[TestCase]:
    """Iterate over the tests of a run; the findings are about its files."""
    yield _verdict(run, FAILURE if fails_by_verdict(run, report) else SKIPPED)
    yield from _verified_tests(run)
    yield from _claim_tests(run)
    yield from rule_tests(findings, run.counts, run.failing, report)


def _verdict(run: RunSummary, unconfirmed: str) -> TestCase:
    """Return the test of the verdict; `unconfirmed` is the outcome of an unconfirmed one."""
    line = run_line(run)
    message = f"the verdict is {run.verdict}"
    if run.incomplete_reason or NOT_CHECKED & run.counts.keys():
        return TestCase("verdict", ERROR, f"{message}: not everything was checked", text=line)
    if run.verdict == "failed":
        return TestCase("verdict", FAILURE, message, text=line)
    if run.verdict == "passed":
        return TestCase("verdict", text=line)
    if run.verdict == "unconfirmed":
        doubt = describe_doubt(has_refuted=run.has_refuted_claims, is_strict=run.remark == UNPROVED)
        return TestCase("verdict", unconfirmed, f"{doubt}: {line}")
    return TestCase("verdict", SKIPPED, line)


def _verified_tests(run: RunSummary) -> Iterator[TestCase]:
    if run.verified is not None and run.rows:
        verified = run.verified
        reason = "no checksum to verify" if run.declared is None else "checksum not verified"
        yield _declared_test("checksum", verified.checksum, run, reason)
        yield _declared_test("row count", verified.row_count, run, "row count not verified")
        text, is_ok = describe_hashes(verified, run.recipe)
        yield (
            TestCase("sample hashes", text=text)
            if is_ok
            else TestCase("sample hashes", SKIPPED, text)
        )
    elif run.format == MAIN_FORMAT:
        reason = run.incomplete_reason or "no rows were checked"
        for name in ("checksum", "row count", "sample hashes"):
            yield TestCase(name, SKIPPED, reason)
    elif run.actual is not None and run.declared is not None:
        yield _declared_test("checksum", run.declared == run.actual, run, "")


def _declared_test(name: str, is_right: bool | None, run: RunSummary, reason: str) -> TestCase:
    if is_right:
        return TestCase(name)
    if is_right is None:
        return TestCase(name, SKIPPED, reason)
    if run.verdict == "failed":
        return TestCase(name, FAILURE, f"{name} not ok")
    return TestCase(name, SKIPPED, f"{name} not ok; it does not fail this check")


def _claim_tests(run: RunSummary) -> Iterator[TestCase]:
    claims, names = sort_claims(run.claims), set[str]()
    for claim in claims[:MOST_CLAIMS]:
        name = add_name(cut_text(visible(f"claim {claim.label}: {claim.pointer}"), LINE), names)
        yield _claim_test(name, visible(describe_claim(claim)), claim.state, run)
    if rest := claims[MOST_CLAIMS:]:
        text = f"not listed: {describe_states(count_states(rest))}"
        yield _claim_test(count_noun(len(rest), "more claim"), text, rest[0].state, run)
    if not claims and (run.verified is not None or run.format == MAIN_FORMAT):
        yield TestCase("claims", SKIPPED, run.incomplete_reason or "there are no claims")


def _claim_test(name: str, text: str, state: State, run: RunSummary) -> TestCase:
    if state.holds:
        return TestCase(name, text=text)
    if state is State.OPEN:
        return TestCase(name, SKIPPED, text)
    if run.verdict == "failed":
        return TestCase(name, FAILURE, text, "claim")
    return TestCase(name, SKIPPED, f"{text}; it does not fail this check")


def rule_tests(
    findings: Iterable[Finding],
    counts: Mapping[str, int] | None,
    failing: Collection[str],
    report: Report,
) -> Iterator[TestCase]:
    """Iterate over the tests of the rules that found something.

    `counts` are those of a run, by code, or None for findings that belong to no run. `failing`
    are the codes of findings that fail a run.
    """
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if counts is None or finding.code in counts:
            listed = groups.setdefault(finding.code, [])
            if len(listed) < MOST_FINDINGS:
                listed.append(finding)
    for code in sorted(groups if counts is None else counts):
        text = report.rules.get(code)
        count = None if counts is None else counts[code]
        test = _rule_test(code, groups.get(code, []), count, text)
        outcome = ERROR if code in NOT_CHECKED else FAILURE if code in failing else PASSED
        yield test._replace(outcome=outcome)


def _rule_test(
    code: str, listed: list[Finding], count: int | None, text: RuleText | None
) -> TestCase:
    lines, covered = [*map(_line, listed)], sum(one.occurrences for one in listed)
    name = next((one.name for one in (*listed, text) if one is not None), "")
    message = count_noun(covered if count is None else count, "finding")
    if count is None and len(lines) == MOST_FINDINGS:
        message = f"{message} or more"
    elif count is not None and covered < count:
        lines.append(f"… and {count - covered:,} more")
    if text and text.fix:
        lines.append(f"fix: {visible(text.fix)}")
    return TestCase(f"{code} {name}".rstrip(), PASSED, message, code, "\n".join(lines))


def _line(finding: Finding) -> str:
    place = f"{file_name(finding.file)}{finding.position}"
    pointer = f" {finding.pointer}" if finding.pointer else ""
    sample = f" [sample {finding.sample_id}]" if finding.sample_id is not None else ""
    values = describe_values(finding)
    text = f"{finding.message}{occurrences(finding)}{sample}{f'; {values}' if values else ''}"
    return cut_text(visible(f"{place}{pointer}: {finding.severity.label}: {text}"), LINE)


class FindingsByFile:
    """Keeps the first findings of each rule and severity about each file.

    `most` is how many of a rule and severity are kept for a file. Findings of one file come in a
    row, and once more where runs are compared; then as many are kept again.
    """

    def __init__(self, most: int) -> None:
        import sqlite3  # it takes 5 ms, also where a file is only to be recognised

        self._most = most
        self._file: str | None = None
        self._counts: dict[tuple[str, Severity], int] = {}
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._base.close)
        self._base.executescript(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            CREATE TABLE findings (number INTEGER PRIMARY KEY, file BLOB, finding BLOB);
            CREATE INDEX files ON findings (file);
            CREATE TABLE claimed (file BLOB PRIMARY KEY) WITHOUT ROWID;
            BEGIN;
            """
        )

    def add(self, finding: Finding) -> None:
        """Keep a finding, unless enough like it are kept."""
        if finding.file != self._file:
            self._file, self._counts = finding.file, {}
        kind = finding.code, finding.severity
        count = self._counts.get(kind, 0)
        if count < self._most:
            self._counts[kind] = count + 1
            row = (_key(finding.file), pickle.dumps(tuple(finding)))
            self._base.execute("INSERT INTO findings (file, finding) VALUES (?, ?)", row)

    def claim(self, file: str) -> None:
        """Note that a file belongs to a run, whether it has findings or not."""
        self._base.execute("INSERT OR IGNORE INTO claimed VALUES (?)", (_key(file),))

    def of(self, file: str) -> Iterator[Finding]:
        """Iterate over what is kept about a file, in order."""
        query = "SELECT finding FROM findings WHERE file = ? ORDER BY number"
        for (data,) in self._base.execute(query, (_key(file),)):
            yield Finding(*pickle.loads(data))  # noqa: S301 - our own temporary database

    def list_unclaimed(self) -> list[str]:
        """Return the files that belong to no run, in the order of their findings."""
        query = """SELECT file FROM findings WHERE file NOT IN (SELECT file FROM claimed)
            GROUP BY file ORDER BY min(number)"""
        found = self._base.execute(query)
        return [key.decode(errors="surrogatepass") for (key,) in found]


def _key(file: str) -> bytes:
    return file.encode(errors="surrogatepass")
