"""JUnit XML, for GitLab, Jenkins and others: one test suite for each run.

A suite has a test for the verdict, one for each thing that can be verified (checksum, row count,
sample hashes), one for each claim, and one for each rule that found something. What was verified is
a passed test. What was not verified is `skipped` with the reason, and what could not be checked is
an `error`. A claim that was confirmed or rounded is a passed test, a refuted one a `failure`, and
an open one `skipped` with its reason; claims beyond the first 100 share one test. A rule is a
`failure` if a finding of it fails the check, else its findings are in `system-out`. Each test lists
at most 20 findings and says how many more there are. A class is the path of a run below the folder
that all share, with dots between folders, by which viewers group tests. A report has at most 1,000
suites and about 20 MB (GitLab reads 30), those of failed and unchecked runs first; one more suite
has a test for each verdict of the other runs, with their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from evalstream.model.finding import Finding
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.describe import file_name, run_name, visible
from evalstream.reporters.junit_tests import (
    ERROR,
    FAILURE,
    MOST_FINDINGS,
    PASSED,
    SKIPPED,
    FindingsByFile,
    TestCase,
    add_name,
    iterate_tests,
    rule_tests,
)
from evalstream.reporters.overview import run_paths
from evalstream.reporters.summary import WORST_FIRST, sort_runs, total_lines

MOST_SUITES: Final = 1_000
MOST_BYTES: Final = 20_000_000
"""No further run gets a suite of its own above one of these."""

_ENDINGS: Final = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9]{0,5}){1,2}\Z")
"""The endings of a file name, of which a compressed file has two."""


class JunitReporter(Recognized):
    """Keeps the findings on disk by file, and writes at the end."""

    beginning = LazyPattern(
        rb'<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="evalstream">'
    )

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output = output
        self._findings = FindingsByFile(MOST_FINDINGS)
        self._folder, self._classes = 0, set[str]()
        self._suites = self._bytes = 0
        self._has_failed = False

    def finding(self, finding: Finding) -> None:
        """Keep one finding, if it can be listed."""
        self._findings.add(finding)

    def finish(self, report: Report) -> None:
        """Write a suite for each run, and one for findings about other files."""
        self._output.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="evalstream">\n'
        )
        failing: set[str] = set()
        for run in report.runs:
            failing.update(run.failing)
            for file in run_paths(run):
                self._findings.claim(file)
        self._folder = len(_common_folder(map(_main_file, report.runs)))
        others, unlisted = self._findings.list_unclaimed(), dict.fromkeys(WORST_FIRST, 0)
        for run in _in_order(report):
            if self._is_full:
                unlisted[run.verdict] += 1
                continue
            tests = list(iterate_tests(run, self._run_findings(run, others), report))
            names = run_name(run), self._class_name(_main_file(run))
            self._write_suite(*names, tests, _properties(run), run.seconds)
        for number, file in enumerate(others):
            if self._is_full:
                text = f"findings about {count_noun(len(others) - number, 'more file')} not listed"
                self._write_suite(
                    "other files", "other files", [TestCase("findings", SKIPPED, text)]
                )
                break
            tests = list(rule_tests(self._findings.of(file), None, failing, report))
            self._write_suite(file_name(file), self._class_name(file), tests)
        if sum(unlisted.values()):
            self._write_suite("other runs", "other runs", _unlisted_tests(unlisted))
        lines = list(total_lines(report))
        if report.totals.unreached or not report.totals.runs:
            message = lines[0 if report.totals.unreached else -1]
            self._write_suite("evalstream", "evalstream", [TestCase("verdict", ERROR, message)])
        if report.exit_code and not self._has_failed:
            message = "a run did not pass or was left out"
            self._write_suite("evalstream", "evalstream", [TestCase("outcome", FAILURE, message)])
        self._output.write("</testsuites>\n")

    @property
    def _is_full(self) -> bool:
        return self._suites >= MOST_SUITES or self._bytes > MOST_BYTES

    def _class_name(self, file: str) -> str:
        """Return a class of its own: GitLab ignores a test with the names of another one."""
        path = _ENDINGS.sub("", file_name(file)[self._folder :])
        name = path.replace(".", "_").replace("/", ".") or file_name(file)
        return add_name(name, self._classes)

    def _run_findings(self, run: RunSummary, others: list[str]) -> list[Finding]:
        """Return the findings about the files of a run.

        Where the run is a folder, as in evalguard, they are about files below it, which are taken
        out of the `others`, files of no run.
        """
        found = [finding for file in run_paths(run) for finding in self._findings.of(file)]
        if run.file is None or run.counts.keys() <= {finding.code for finding in found}:
            return found
        for file in others.copy():
            below = list(self._findings.of(file)) if _is_below(file, run.file) else []
            if below and run.counts.keys() >= {finding.code for finding in below}:
                others.remove(file)
                found += below
        return found

    def _write_suite(
        self,
        name: str,
        class_name: str,
        tests: Sequence[TestCase],
        properties: Sequence[tuple[str, str]] = (),
        seconds: float = 0.0,
    ) -> None:
        outcomes = [test.outcome for test in tests]
        self._has_failed |= FAILURE in outcomes or ERROR in outcomes
        attributes = {
            "name": name,
            "tests": str(len(tests)),
            "failures": str(outcomes.count(FAILURE)),
            "errors": str(outcomes.count(ERROR)),
            "skipped": str(outcomes.count(SKIPPED)),
            "time": f"{seconds:.3f}",
        }
        self._output.write(f"  <testsuite{_attributes(attributes)}>\n")
        if properties:
            self._output.write("    <properties>\n")
            for key, value in properties:
                pair = _attributes({"name": key, "value": value})
                self._output.write(f"      <property{pair}/>\n")
            self._output.write("    </properties>\n")
        for test in tests:
            text = _test(class_name, test)
            self._bytes += len(text)
            self._output.write(text)
        self._output.write("  </testsuite>\n")
        self._suites += 1


def _is_below(file: str, folder: str) -> bool:
    if folder == ".":
        return not file.startswith(("/", "../"))
    return file.startswith(folder.rstrip("/") + "/")


def _main_file(run: RunSummary) -> str:
    return next(iter(run_paths(run)), "")


def _common_folder(files: Iterable[str]) -> str:
    """Return the beginning of the paths up to the last slash that all have in common."""
    shared: str | None = None
    for file in files:
        folder = file_name(file)[: file_name(file).rfind("/") + 1]
        shared = folder if shared is None else shared
        while not folder.startswith(shared):
            shared = shared[: shared.rfind("/", 0, -1) + 1]
    return shared or ""


def _in_order(report: Report) -> Iterable[RunSummary]:
    """Return the runs; those that did not pass come first if not all get a suite."""
    if report.totals.runs <= MOST_SUITES:
        return report.runs
    return (run for _, run in sort_runs(report))


def _unlisted_tests(unlisted: dict[str, int]) -> list[TestCase]:
    outcomes = {"failed": FAILURE, "incomplete": ERROR, "unconfirmed": SKIPPED, "passed": PASSED}
    return [
        TestCase(
            f"verdict {verdict}", outcomes[verdict], f"{count_noun(number, 'more run')}, not listed"
        )
        for verdict, number in unlisted.items()
        if number
    ]


def _test(class_name: str, test: TestCase) -> str:
    """Return a test as XML. GitLab groups tests by their class name."""
    head = f"    <testcase{_attributes({'name': test.name, 'classname': class_name})}"
    if test.outcome == PASSED:
        text = _text("\n".join(filter(None, [test.message, test.text])))
        inner = f"<system-out>{text}</system-out>" if text else ""
    elif test.outcome == SKIPPED:
        inner = f"<skipped>{_text(test.message)}</skipped>"
    else:
        attributes = _attributes({"message": test.message, "type": test.kind})
        text = _text(test.text or test.message)
        inner = f"<{test.outcome}{attributes}>{text}</{test.outcome}>"
    return f"{head}>\n      {inner}\n    </testcase>\n" if inner else f"{head}/>\n"


def _properties(run: RunSummary) -> list[tuple[str, str]]:
    named = {
        "format": run.format,
        "version": run.version,
        "verdict": run.verdict,
        "rows": str(run.rows),
        "recipe": run.recipe,
        "algorithm": run.algorithm,
        "checksum": run.actual,
        "selected": ",".join(run.selected),
        "ignored": ",".join(run.ignored),
        "schema": run.schema,
    }
    return [(key, value) for key, value in named.items() if value]


def _attributes(values: dict[str, str]) -> str:
    return "".join(f' {key}="{escape(visible(value))}"' for key, value in values.items())


def _text(text: str) -> str:
    """Return lines as XML; what does not print is escaped, as XML cannot hold all of it."""
    return escape("\n".join(map(visible, text.split("\n"))), quote=False)
