"""The concise report: golden files on the shared reports, and what editors read of it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from each import each
from report_fixture import FINDINGS, LONG_ROWS, TYPE, Case, cases, failed_run, render, sound_run

from evalstream.model.data_class import replace
from evalstream.model.finding import Severity
from evalstream.model.run_summary import RunSummary
from evalstream.reporters.base import PLAIN, Reporter, Style
from evalstream.reporters.concise import PREFIX, ConciseReporter
from evalstream.reporters.github import GithubReporter
from evalstream.reporters.text import TextReporter

GOLDEN = Path(__file__).parent / "golden"
EVERYTHING = Style(min_severity=Severity.INFO)
STYLES = {
    "file": PLAIN,
    "colour": Style(width=80, colour=True, min_severity=Severity.INFO, statistics=True),
    "quiet": Style(quiet=True, statistics=True),
}
SGR = re.compile(r"\x1b\[[\d;]*m")

QUICKFIX = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): (?P<message>.*)")
"""What vim's error format `%f:%l: %m` reads."""

Compare = Callable[[Path, str], None]


@each("style", STYLES)
@pytest.mark.parametrize("name", [name for name in cases() if name != "many"])
def test_the_report_looks_as_promised(name: str, style: str, compare: Compare) -> None:
    seen = render(ConciseReporter, cases()[name], STYLES[style])
    compare(GOLDEN / f"concise-{name}-{style}.txt", seen.replace("\x1b", "␛"))


def test_editors_read_file_and_line() -> None:
    first, second, *_ = render(ConciseReporter, cases()["failed"]).splitlines()
    for line, number in ((first, "2"), (second, "3")):
        read = QUICKFIX.fullmatch(line)
        assert read is not None
        assert (read["file"], read["line"]) == ("zwölf/run.jsonl", number)
    assert second.endswith(": ES202 string where boolean or number is expected (/evaluation/score)")


def test_lines_are_findings_or_begin_with_the_name_of_the_program() -> None:
    for name, case in cases().items():
        for line in render(ConciseReporter, case, EVERYTHING).splitlines():
            assert line.startswith(PREFIX) != bool(re.match(r"[^ ]+: [A-Z]{2,3}\d{3} ", line)), name


@pytest.mark.parametrize("width", [None, 20])
def test_each_finding_is_one_line_with_its_whole_path(width: int | None) -> None:
    seen = render(ConciseReporter, cases()["many"], Style(width=width)).splitlines()
    assert sum(line.startswith(f"{LONG_ROWS}:") for line in seen) == 10_000
    assert len(seen) == 10_001


def test_what_is_not_listed_is_counted() -> None:
    seen = render(ConciseReporter, Case(FINDINGS, [failed_run()])).splitlines()
    assert seen[-2:] == [
        "evalstream: 3 more findings not listed (--max-findings 0 lists all)",
        "evalstream: 1 info not listed (-v lists it)",
    ]


@each("style", STYLES.values())
@pytest.mark.parametrize("name", [name for name in cases() if name != "nothing"])
def test_reports_are_recognised(name: str, style: Style) -> None:
    assert ConciseReporter.wrote(render(ConciseReporter, cases()[name], style).encode())


@each("head", [b"", b"evalstream: error\n", b'{"a": "b.py:3: ES103 text"}\n', b"- a: ES1\n"])
def test_other_files_are_not_recognised(head: bytes) -> None:
    assert not ConciseReporter.wrote(head)


def test_data_does_not_break_out_of_its_line() -> None:
    text = "a\nb.jsonl:3: ES103 forged\x1b[31m"
    hostile = TYPE._replace(file=text, message=text, pointer=text)
    run = RunSummary(text, text, "eee", incomplete_reason=text)
    seen = render(ConciseReporter, Case([hostile], [run]), Style(colour=True))
    assert len(seen.splitlines()) == 2
    assert "\x1b" not in SGR.sub("", seen)


@each("reporter", [TextReporter, ConciseReporter, GithubReporter])
def test_runs_that_are_counted_name_the_rules_that_were_left_out(reporter: type[Reporter]) -> None:
    limited = replace(sound_run(), ignored=("ES5",))
    seen = render(reporter, Case([], [failed_run(), *[limited] * 30]))
    assert "passed (without ES5): 30 runs (-v lists them)\n" in seen
    seen = render(reporter, Case([], [sound_run(), *[limited] * 30]))
    assert "passed (some rules left out): 31 runs (-v lists them)\n" in seen


@pytest.mark.parametrize("reporter", [ConciseReporter, GithubReporter])
def test_of_many_runs_those_that_passed_are_counted(reporter: type[Reporter]) -> None:
    case = Case(FINDINGS, [*[sound_run()] * 2_000, *[failed_run()] * 37])
    lines = render(reporter, case).splitlines()
    about_runs = [line for line in lines if line.startswith("evalstream: ")]
    assert len(about_runs) < 50
    assert sum("FAILED" in line and "2,345 rows" in line for line in about_runs) == 37
    assert "evalstream: passed: 2,000 runs (-v lists them)" in about_runs
    assert any("2,037 runs: 37 FAILED" in line for line in about_runs)
    whole = render(reporter, case, EVERYTHING).splitlines()
    assert sum("passed" in line and "2,037 runs" not in line for line in whole) == 2_000
    few = render(reporter, Case([], [sound_run()] * 20)).splitlines()
    assert sum("passed" in line and "20 runs" not in line for line in few) == 20
