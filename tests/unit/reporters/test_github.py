"""Tests of GitHub's annotations: what comes first, the names of files, the job summary."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import markdown
import pytest
from depth import examples
from each import each
from hostile import findings as hostile_findings
from hostile import names, texts
from hypothesis import HealthCheck, example, given, settings
from report_fixture import (
    ABSENT,
    CHECKSUM,
    FINDINGS,
    NOTICE,
    SYNTAX,
    TYPE,
    UNSEALED,
    Case,
    cases,
    claim,
    empty_run,
    failed_run,
    render,
    several_formats,
    sound_run,
)

from evalstream.model.claim import State
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.reporters import github
from evalstream.reporters.describe import visible
from evalstream.reporters.github import MOST_BYTES, GithubReporter, escape_markup

COMMAND = re.compile(
    r"::(error|warning|notice) file=([^,]*)(?:,line=(\d+))?(?:,col=\d+)?,title=([^:]*)::(.*)"
)


def unescaped(text: str) -> str:
    """Return what GitHub reads of a value."""
    for code, letter in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, letter)
    return text


def annotations(case: Case) -> list[tuple[str, ...]]:
    """Return level, file, line, title and message of the annotations; other lines are harmless."""
    found = []
    for line in render(GithubReporter, case).split("\n")[:-1]:
        match = COMMAND.fullmatch(line)
        if match is None:
            assert line.startswith("evalstream: ")
            assert "##[" not in line
        else:
            found.append(tuple(unescaped(part or "") for part in match.groups()))
    return found


@pytest.fixture
def summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the file of the job summary."""
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


class Cells(HTMLParser):
    """Collects the texts of table cells, and which elements there are."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.elements: set[str] = set()
        self._is_cell = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self._is_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._is_cell = self._is_cell and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self._is_cell:
            self.rows[-1][-1] += data


def cells(path: Path) -> Cells:
    """Return the tables of a job summary."""
    parser = Cells()
    # GitHub reads Markdown inside of elements; this library has to be told.
    text = path.read_text().replace("<details>", "<details markdown='1'>")
    parser.feed(markdown.markdown(text, extensions=["tables", "md_in_html"]))
    return parser


def test_the_first_finding_of_each_rule_comes_first() -> None:
    many = [TYPE._replace(line=number) for number in range(1, 13)]
    shown = annotations(Case([*many, SYNTAX, ABSENT, NOTICE], [failed_run()]))
    assert [one[3][:5] for one in shown[:5]] == ["ES202", "ES103", "ES406", "ES508", "ES202"]
    assert len(shown) == 15


def test_the_log_says_how_many_annotations_github_shows() -> None:
    many = [TYPE._replace(line=number) for number in range(1, 12)]
    last = render(GithubReporter, Case([*many, ABSENT], [failed_run()])).splitlines()[-1]
    assert last == (
        "evalstream: GitHub shows at most 10 annotations of a level and step; "
        "the log has 11 errors, 1 warning"
    )
    few = render(GithubReporter, Case(many[:10], [failed_run()]))
    assert "at most" not in few


def test_an_annotation_has_place_values_and_remedy() -> None:
    (shown,) = annotations(Case([TYPE], [failed_run()]))
    assert shown == (
        "error",
        "zwölf/run.jsonl",
        "3",
        "ES202 wrong-type",
        (
            "/evaluation/score: string where boolean or number is expected\n"
            'expected {"type":["boolean","number"]}, found "0.5"\n'
            "fix: Write “6” as a number."
        ),
    )


def test_files_are_relative_to_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    given_names = ["a.jsonl", f"{tmp_path}/b.jsonl", "/elsewhere/c.jsonl", "s3://d/e", "-"]
    some = [TYPE._replace(file=name) for name in given_names]
    files = [one[1] for one in annotations(Case(some, [failed_run()]))]
    assert files == ["data/a.jsonl", "b.jsonl", "/elsewhere/c.jsonl", "s3://d/e", "<stdin>"]


PAIR: Final = "zwölf/run.jsonl with zwölf/aggregate.json"


def test_the_summary_tells_verdicts_rules_and_first_findings(summary: Path) -> None:
    render(GithubReporter, Case(FINDINGS, [failed_run(), empty_run()]))
    assert summary.read_text().startswith(
        "## evalstream: 1 of 2 runs NOT CHECKED IN FULL; FAILED (some rules left out)\n"
    )
    assert cells(summary).rows == [
        ["run", "verdict"],
        [
            PAIR,
            (
                "FAILED (without ES7,ES801): 2,345 rows, 6 errors, 1,234 warnings, 1 info; "
                "checksum not ok, row count ok, sample_hash ok in 1,111 of 2,345 rows (concat), "
                "claims: 1 confirmed, 1 refuted, 2 open"
            ),
        ],
        ["nichts", "incomplete: 0 rows, no findings; nothing to check: no rows"],
        ["file", "claim", "claimed", "recomputed", "state"],
        ["zwölf/aggregate.json", "größe", "0.75", "0.8125", "refuted"],
        ["zwölf/aggregate.json", "recall", "0.3", "", "open (no row belongs to the result)"],
        ["zwölf/aggregate.json", "precision", "0.5", "", "open (no row belongs to the result)"],
        ["rule", "findings", "what it finds", "how to fix"],
        ["ES103 invalid-json", "1", "a line that is not valid JSON", ""],
        ["ES202 wrong-type", "4", "a value of another type", "Write “6” as a number."],
        ["ES406", "1,234", "", ""],
        ["ES501", "1", "", ""],
        ["ES508", "1", "", ""],
        ["rule", "where", "what"],
        [
            "error ES103",
            "zwölf/run.jsonl:2",
            'expecting value at column 9 (byte 9); found "{\\"é\\": 1,x}"',
        ],
        [
            "error ES202",
            "zwölf/run.jsonl:3 /evaluation/score",
            (
                "string where boolean or number is expected; "
                'expected {"type":["boolean","number"]}, found "0.5"'
            ),
        ],
        [
            "error ES501",
            "zwölf/aggregate.json:12:17 /detailed_evaluation_results/checksum",
            '50% gone: 1, 2; expected "00ff", found "11ee"',
        ],
        ["warning ES406", "zwölf/run.jsonl", "some rows lack sample_hash (1,234 rows)"],
        ["info ES508", "zwölf/aggregate.json", 'md5 finds accidents; found "md5"'],
    ]
    assert "First of 1,241 findings" in summary.read_text()
    assert "\nClaims: 1 confirmed, 1 refuted, 2 open\n" in summary.read_text()


def test_unconfirmed_runs_are_listed_after_what_failed(summary: Path) -> None:
    render(GithubReporter, cases()["verdicts"])
    rows = cells(summary).rows
    assert [row[0] for row in rows[1:6]] == [
        "refuted.jsonl with refuted.json",
        "broken.jsonl",
        "nichts",
        "open.jsonl with open.json",
        "sound.jsonl with sound.json",
    ]
    assert rows[4][1].startswith("unconfirmed: 8 rows, 1 warning; claims: 1 confirmed, 17 open")
    assert [row[4] for row in rows[7:9]] == ["refuted", "refuted"]
    assert rows[7][1:] == ["accuracy", "0.05", "0.75", "refuted"]
    assert "5 runs: 2 FAILED (1 with refuted claims)" in summary.read_text()


def test_claims_beyond_the_limit_are_counted(
    summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most, told in ((1, 18), (18, 1), (19, None)):
        summary.unlink(missing_ok=True)
        monkeypatch.setattr(github, "MOST_CLAIMS", most)
        render(GithubReporter, cases()["verdicts"])
        found = re.findall(r"… and (\d+) more refuted or open claim", summary.read_text())
        assert found == ([] if told is None else [f"{told}"])


def stopped() -> Case:
    """Return a check that did not reach all runs."""

    class Stopped(Case):
        def report(self) -> Report:
            report = super().report()
            report.totals.unreached = 1
            return report

    return Stopped([], [sound_run()])


@each(
    ("case", "verdict"),
    [
        (Case([], [sound_run()]), "passed"),
        (Case(FINDINGS, [failed_run()]), "FAILED (without ES7,ES801)"),
        (Case([UNSEALED], several_formats()[:2]), "unconfirmed"),
        (
            Case([], [sound_run(), empty_run()]),
            "1 of 2 runs NOT CHECKED IN FULL; not everything was checked",
        ),
        (Case([], []), "nothing was checked"),
        (stopped(), "1 of 2 runs NOT CHECKED; not everything was checked"),
    ],
)
def test_the_summary_begins_with_the_verdict(case: Case, verdict: str, summary: Path) -> None:
    render(GithubReporter, case)
    assert summary.read_text().splitlines()[0] == f"## evalstream: {verdict}"


def test_a_summary_is_added_to_what_is_there(summary: Path) -> None:
    summary.write_text("# Tests\n")
    render(GithubReporter, cases()["passed"])
    render(GithubReporter, cases()["passed"])
    assert summary.read_text().startswith("# Tests\n## evalstream: passed\n")
    assert summary.read_text().count("## evalstream") == 2


def test_runs_that_did_not_pass_come_first(summary: Path) -> None:
    render(GithubReporter, Case(FINDINGS, [sound_run(), failed_run()]))
    assert cells(summary).rows[1][0].startswith("zwölf/run.jsonl")


def test_of_many_runs_those_that_failed_are_listed_with_a_reason(summary: Path) -> None:
    runs = [sound_run(f"s/data/{n:04}_samples.jsonl", f"s/data/{n:04}.json") for n in range(500)]
    found = []
    for number in range(37):
        one = runs[number * 13]
        one.verdict, one.failing = "failed", {"ES501": 1}
        found.append(CHECKSUM._replace(file=one.aggregate, message=f"seal {number}"))
        one.count("ES501", Severity.ERROR, 1)
    render(GithubReporter, Case(found, runs))
    rows = [row for row in cells(summary).rows if "FAILED" in row]
    assert [row[2] for row in rows] == [f"ES501 seal {number}" for number in range(37)]
    assert rows[2][0] == "0026{.json,_samples.jsonl}"
    text = summary.read_text()
    assert "All paths are below <code>s/data/</code>" in text
    assert "Not listed&#58; 463 passed" in text or "Not listed: 463 passed" in text


def test_a_summary_stays_below_the_limit(summary: Path) -> None:
    worst = "|" * 5_000
    some = [TYPE._replace(file=worst, message=worst, line=line) for line in range(1, 100)]
    runs = [RunSummary(worst, worst, "eee", incomplete_reason=worst) for _ in range(200)]
    for run in runs:
        run.claims = [claim(worst, worst, worst, State.REFUTED, worst)]
    render(GithubReporter, Case(some, runs))
    assert 200_000 < summary.stat().st_size < MOST_BYTES


def test_a_full_summary_is_left_as_it_is(summary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary.write_bytes(b"x" * (MOST_BYTES - 10))
    assert "passed" in render(GithubReporter, cases()["passed"])
    assert summary.stat().st_size == MOST_BYTES - 10
    assert capsys.readouterr().err == (
        "evalstream: the job summary of this step has no room for it\n"
    )


@each("name", ["missing/summary.md", "", ".", "a\0b"])
def test_a_summary_that_cannot_be_written_is_a_warning(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reporter = GithubReporter

    class Placed(reporter):  # type: ignore[misc, valid-type]
        """The environment cannot hold all of these names."""

        def finish(self, report: Report) -> None:
            self._summary = f"{tmp_path}/{name}" if name else None
            super().finish(report)

    text = render(Placed, cases()["passed"])
    assert text == render(reporter, cases()["passed"])
    warned = capsys.readouterr().err
    assert warned.startswith("evalstream: cannot write the job summary /") is bool(name)
    assert warned.count("\n") == bool(name)


def test_a_file_name_is_not_a_command_of_the_older_form() -> None:
    run = RunSummary("##[stop-commands]x%.jsonl", None, "eee", verdict="passed", rows=1)
    (line,) = render(GithubReporter, Case([], [run])).splitlines()
    assert line == "evalstream: \\x23#[stop-commands]x%.jsonl: passed: 1 row, no findings"


def test_the_environment_is_read_where_the_reporter_is_made(
    summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str | bytes] = []

    class Sink:
        def write(self, data: str | bytes) -> None:
            written.append(data)

    reporter = GithubReporter(Sink())
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary) + "-other")
    reporter.finish(cases()["passed"].report())
    assert summary.exists()


@settings(max_examples=examples(100), deadline=None)
@given(hostile_findings(), names)
def test_hostile_texts_stay_in_their_annotation(one: Finding, name: str) -> None:
    run = RunSummary(one.file, name, "eee", incomplete_reason=one.message)
    ((level, file, line, title, message),) = annotations(Case([one], [run]))
    assert level == {1: "notice", 2: "warning", 3: "error"}[one.severity]
    assert line == str(one.line or "")
    assert title == "ES202 wrong-type"
    # What begins a line, and not a message within one, could be a command.
    either = visible(one.message), visible(f"x{one.message}")[1:]
    assert any(shown in message.split("\n")[0] for shown in either)
    assert message.count("\n") == (one.expected is not None or one.found is not None) + 1
    assert file == visible(file)


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(hostile_findings(), names)
def test_hostile_texts_stay_in_their_cell(summary: Path, one: Finding, name: str) -> None:
    summary.unlink(missing_ok=True)
    run = RunSummary(name, None, "eee", incomplete_reason=one.message)
    run.count(one.code, Severity.INFO, 1)
    render(GithubReporter, Case([one], [run]))
    seen = cells(summary)
    assert [len(row) for row in seen.rows] == [2, 2, 4, 4, 3, 3]
    assert seen.rows[1][0].split() == visible(name).split()
    assert " ".join(visible(one.message).split()) in " ".join(seen.rows[-1][2].split())
    allowed = {"h2", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary", "p"}
    assert seen.elements <= allowed


@example("12. a")
@given(texts)
def test_an_escaped_text_shows_as_it_is(text: str) -> None:
    seen = Cells()
    seen.feed(f"<td>{escape_markup(text)}</td>".replace("<td>", "<tr><td>"))
    assert seen.rows == [[visible(text)]]
