"""Tests of all reporters on one small fixture: what they print, to the byte."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.io.output import Output
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Figures, Report, ResultSummary, RunSummary, Totals, Verified
from evalstream.model.rule_text import RuleText
from evalstream.reporters.github import GithubReporter
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.text import TextReporter

Render = Callable[..., str]
EMPTY: dict[str, Any] = dict.fromkeys(Finding._fields)
ROWS = "zwölf/run.jsonl"
AGGREGATE = "zwölf/aggregate.json"


def finding(code: str, name: str, severity: Severity, message: str, **details: Any) -> Finding:
    """Make a finding; what is not told is absent."""
    given = {"file": ROWS, **details}
    return Finding(
        **EMPTY | given | {"code": code, "name": name, "severity": severity, "message": message}
    )


SYNTAX = finding(
    "ES103",
    "invalid-json",
    Severity.ERROR,
    "expecting value at column 9 (byte 9)",
    line=2,
    offset=940,
    found=Excerpt('{"é": 1,x}', 8),
)
TYPE = finding(
    "ES202",
    "wrong-type",
    Severity.ERROR,
    "string where boolean or number is expected",
    line=3,
    offset=1000,
    pointer="/evaluation/score",
    keyword="type",
    expected={"type": ["boolean", "number"]},
    found="0.5",
    sample_id="arith-003",
)
ABSENT = finding("ES406", "hash-absent", Severity.WARNING, "some rows lack sample_hash", count=1234)
CHECKSUM = finding(
    "ES501",
    "checksum-mismatch",
    Severity.ERROR,
    "50% gone: 1, 2",
    file=AGGREGATE,
    pointer="/detailed_evaluation_results/checksum",
    expected="00ff",
    found="11ee",
)
NOTICE = finding(
    "ES508", "weak-algorithm", Severity.INFO, "md5 finds accidents", file=AGGREGATE, found="md5"
)
FINDINGS = [SYNTAX, TYPE, ABSENT, CHECKSUM, NOTICE]
RULES = {
    "ES202": RuleText("wrong-type", "a value of another type", "Write “6” as a number.", "…"),
    "ES103": RuleText("invalid-json", "a line that is not valid JSON", "", "…"),
}
"""The texts of two rules; the second does not say how to fix what it finds."""


def failed_run() -> RunSummary:
    """Return the run that the findings are about; three more of ES202 are not shown."""
    return RunSummary(
        file=ROWS,
        aggregate=AGGREGATE,
        format="eee",
        version="0.2.0",
        rows=2345,
        verdict="failed",
        algorithm="sha256",
        declared="00ff",
        actual="11ee",
        recipe="concat",
        counts={"ES508": 1, "ES406": 1234, "ES202": 4, "ES103": 1, "ES501": 1},
        seconds=1.23456,
        bytes=9876,
        severities={Severity.ERROR: 6, Severity.WARNING: 1234, Severity.INFO: 1},
        results=[
            ResultSummary(
                "größe",
                "acc",
                10,
                Figures(0.75, 0.43, None, 5),
                Figures(0.8125, 0.4, 0.1, 5),
                claims=3,
                claims_recomputed=2,
            ),
            ResultSummary("größe", None, 0, Figures(None, None, None, None), None),
        ],
        verified=Verified(False, True, 1111, 2345, 3, 2),
        ignored=("ES7", "ES801"),
    )


def empty_run() -> RunSummary:
    """Return a run in which there was nothing to check."""
    return RunSummary(
        file="nichts", aggregate=None, format="eee", incomplete_reason="nothing to check: no rows"
    )


@pytest.fixture
def render(tmp_path: Path) -> Render:
    """Return what a reporter prints of findings and runs."""

    def rendered(reporter: type[Any], findings: list[Finding], *runs: RunSummary) -> str:
        path = tmp_path / "report"
        with Output(str(path)) as output:
            writer = reporter(output)
            for one in findings:
                writer.finding(one)
            totals = Totals()
            for run in runs:
                totals.add(run)
            writer.finish(Report(list(runs), findings, len(findings), 1, totals, RULES))
        return path.read_bytes().decode()

    return rendered


TEXT = """\
ES103 invalid-json: 1
  zwölf/run.jsonl:2: error: expecting value at column 9 (byte 9)
      {"é": 1,x}
              ^

ES202 wrong-type: 4
  zwölf/run.jsonl:3 /evaluation/score: error: string where boolean or number is expected \
[sample arith-003]
      expected boolean or number, found "0.5"
  … and 3 more (--max-findings 0 shows all)
  fix: Write “6” as a number.

ES406 hash-absent: 1,234
  zwölf/run.jsonl: warning: some rows lack sample_hash (1,234 rows)

ES501 checksum-mismatch: 1
  zwölf/aggregate.json /detailed_evaluation_results/checksum: error: 50% gone: 1, 2
      expected "00ff", found "11ee"

ES508 weak-algorithm: 1
  zwölf/aggregate.json: info: md5 finds accidents
      found "md5"

zwölf/run.jsonl with zwölf/aggregate.json: FAILED (without ES7,ES801): 2,345 rows, \
6 errors, 1,234 warnings, 1 info; checksum not ok, row count ok, \
sample_hash ok in 1,111 of 2,345 rows (concat), 2 of 3 claims recomputed
  acc: claims 0.75, recomputed 0.8125 from 10 rows of 5 samples
  größe: claims no score, not recomputed from 0 rows
nichts: incomplete: 0 rows, no findings; nothing to check: no rows

2 runs: 1 FAILED, 1 incomplete, 2,345 rows, 6 errors, 1,234 warnings, 1 info
"""

GITHUB = """\
::error file=zwölf/run.jsonl,line=2,title=ES103 invalid-json::\
expecting value at column 9 (byte 9)%0Afound "{\\"é\\": 1,x}"
::error file=zwölf/run.jsonl,line=3,title=ES202 wrong-type::\
/evaluation/score: string where boolean or number is expected\
%0Aexpected {"type":["boolean","number"]}, found "0.5"%0Afix: Write “6” as a number.
::error file=zwölf/aggregate.json,title=ES501 checksum-mismatch::\
/detailed_evaluation_results/checksum: 50%25 gone: 1, 2%0Aexpected "00ff", found "11ee"
::warning file=zwölf/run.jsonl,title=ES406 hash-absent::some rows lack sample_hash (1,234 rows)
::notice file=zwölf/aggregate.json,title=ES508 weak-algorithm::md5 finds accidents%0Afound "md5"
evalstream: zwölf/run.jsonl with zwölf/aggregate.json: FAILED (without ES7,ES801): \
2,345 rows, 6 errors, 1,234 warnings, 1 info; checksum not ok, row count ok, \
sample_hash ok in 1,111 of 2,345 rows (concat), 2 of 3 claims recomputed
evalstream: nichts: incomplete: 0 rows, no findings; nothing to check: no rows
evalstream: 2 runs: 1 FAILED, 1 incomplete, 2,345 rows, 6 errors, 1,234 warnings, 1 info
"""

LINES = [
    (
        '{"code":"ES103","name":"invalid-json","severity":"error","file":"zwölf/run.jsonl","line":2,'
        '"offset":940,"message":"expecting value at column 9 (byte 9)",'
        '"found":{"excerpt":"{\\"é\\": 1,x}","caret":8},"excerpt":true}'
    ),
    (
        '{"code":"ES202","name":"wrong-type","severity":"error","file":"zwölf/run.jsonl","line":3,'
        '"offset":1000,"pointer":"/evaluation/score","keyword":"type",'
        '"message":"string where boolean or number is expected",'
        '"expected":{"type":["boolean","number"]},'
        '"found":"0.5","sample_id":"arith-003"}'
    ),
    (
        '{"code":"ES406","name":"hash-absent","severity":"warning","file":"zwölf/run.jsonl",'
        '"message":"some rows lack sample_hash","count":1234}'
    ),
    (
        '{"code":"ES501","name":"checksum-mismatch","severity":"error","file":"zwölf/aggregate.json",'
        '"pointer":"/detailed_evaluation_results/checksum","message":"50% gone: 1, 2",'
        '"expected":"00ff","found":"11ee"}'
    ),
    (
        '{"code":"ES508","name":"weak-algorithm","severity":"info","file":"zwölf/aggregate.json",'
        '"message":"md5 finds accidents","found":"md5"}'
    ),
]

TOOL = f'"schema":1,"tool":{{"name":"evalstream","version":"{evalstream.__version__}"}}'

RUNS = (
    '"runs":[{"file":"zwölf/run.jsonl","aggregate":"zwölf/aggregate.json","format":"eee",'
    '"version":"0.2.0","rows":2345,"verdict":"failed",'
    '"verified":{"checksum":false,"row_count":true,'
    '"sample_hashes":{"verified":1111,"of":2345},"claims":{"recomputed":2,"of":3}},'
    '"ignored":["ES7","ES801"],'
    '"checksum":{"algorithm":"sha256","declared":"00ff","actual":"11ee"},"recipe":"concat",'
    '"results":[{"evaluation_name":"größe","evaluation_result_id":"acc","rows":10,'
    '"claimed":{"score":0.75,"standard_deviation":0.43,"standard_error":null,"num_samples":5},'
    '"recomputed":{"score":0.8125,"standard_deviation":0.4,"standard_error":0.1,"num_samples":5},'
    '"claims":{"recomputed":2,"of":3}},'
    '{"evaluation_name":"größe","evaluation_result_id":null,"rows":0,'
    '"claimed":{"score":null,"standard_deviation":null,"standard_error":null,"num_samples":null},'
    '"recomputed":null,"claims":{"recomputed":0,"of":0}}],'
    '"counts":{"ES103":1,"ES202":4,"ES406":1234,"ES501":1,"ES508":1},'
    '"severities":{"error":6,"warning":1234,"info":1},"seconds":1.235,'
    '"bytes":9876},'
    '{"file":"nichts","aggregate":null,"format":"eee","version":null,"rows":0,'
    '"verdict":"incomplete","checksum":{"algorithm":null,"declared":null,"actual":null},'
    '"recipe":null,"results":[],"counts":{},"severities":{},"seconds":0.0,"bytes":0,'
    '"incomplete_reason":"nothing to check: no rows"}]'
)

TOTALS = (
    '"shown":5,"total":1241,"totals":{"runs":2,"passed":0,"failed":1,"incomplete":1,"rows":2345,'
    '"bytes":9876,"counts":{"ES103":1,"ES202":4,"ES406":1234,"ES501":1,"ES508":1},'
    '"severities":{"error":6,"warning":1234,"info":1},"unchecked":1},"exit_code":1'
)

TEXTS = (
    '"rules":{"ES103":{"name":"invalid-json","summary":"a line that is not valid JSON","fix":""},'
    '"ES202":{"name":"wrong-type","summary":"a value of another type",'
    '"fix":"Write “6” as a number."}}'
)

JSON = f'{{{TOOL},{TEXTS},{RUNS},"findings":[{",".join(LINES)}],{TOTALS}}}\n'
RUN_LINES = [
    json.dumps({"run": run, "number": number}, ensure_ascii=False, separators=(",", ":"))
    for number, run in enumerate(json.loads(f"{{{RUNS}}}")["runs"], 1)
]
SUMMARY = f'{{"summary":{{{TOOL},{TOTALS}}}}}'
JSON_LINES = "\n".join([*LINES, *RUN_LINES, SUMMARY, ""])


@pytest.mark.parametrize(
    ("reporter", "expected"),
    [
        (TextReporter, TEXT),
        (GithubReporter, GITHUB),
        (JsonReporter, JSON),
        (JsonLinesReporter, JSON_LINES),
    ],
)
def test_the_fixture_looks_as_promised(render: Render, reporter: type[Any], expected: str) -> None:
    assert render(reporter, FINDINGS, failed_run(), empty_run()) == expected


def test_a_sound_run_is_one_line_of_text(render: Render) -> None:
    sound = RunSummary("run.jsonl", "aggregate.json", "eee", rows=1, verdict="passed")
    sound.algorithm, sound.declared, sound.actual = "md5", "ab", "ab"
    expected = "run.jsonl with aggregate.json: passed: 1 row, no findings; checksum ok (md5)\n"
    assert render(TextReporter, [], sound) == expected
    assert render(GithubReporter, [], sound) == f"evalstream: {expected}"


@pytest.mark.parametrize("reporter", [TextReporter, GithubReporter])
def test_nothing_at_all_prints_nothing(render: Render, reporter: type[Any]) -> None:
    assert render(reporter, []) == ""


def test_nothing_at_all_is_a_whole_document(render: Render) -> None:
    document = json.loads(render(JsonReporter, []))
    keys = ["schema", "tool", "rules", "runs", "findings", "shown", "total", "totals", "exit_code"]
    assert list(document) == keys
    assert document["runs"] == document["findings"] == []
    assert list(json.loads(render(JsonLinesReporter, []))["summary"]) == [
        "schema",
        "tool",
        "shown",
        "total",
        "totals",
        "exit_code",
    ]


@pytest.mark.parametrize("position", range(len('{"é": 1,x}')))
def test_the_caret_stands_under_its_letter(render: Render, position: int) -> None:
    text = '{"é": 1,x}'
    lines = render(TextReporter, [SYNTAX._replace(found=Excerpt(text, position))]).splitlines()
    excerpt, caret = lines[2:4]
    assert caret.strip() == "^"
    assert excerpt[caret.index("^")] == text[position]


HOSTILE = "a\nb\rc\x00d\x1b[31me\u2028f\x85g\u202eh::error file=x::y%0A"


@pytest.mark.parametrize("field", ["file", "message", "pointer", "found", "expected", "sample_id"])
@pytest.mark.parametrize(
    "reporter", [TextReporter, GithubReporter, JsonReporter, JsonLinesReporter]
)
def test_data_never_breaks_a_line(render: Render, reporter: type[Any], field: str) -> None:
    plain, hostile = (
        render(reporter, [Finding(**TYPE._asdict() | {field: text})], failed_run())
        for text in ("plain", HOSTILE)
    )
    assert hostile.count("\n") == plain.count("\n")
    assert "\r" not in hostile
    if reporter is not GithubReporter:
        assert "\x1b" not in hostile


@pytest.mark.parametrize("reporter", [TextReporter, GithubReporter])
def test_names_of_runs_never_break_a_line(render: Render, reporter: type[Any]) -> None:
    run = RunSummary(file=HOSTILE, aggregate=None, format="eee", incomplete_reason=HOSTILE)
    assert render(reporter, [], run).count("\n") == 1


def test_github_properties_escape_what_separates_them(render: Render) -> None:
    hostile = TYPE._replace(
        file="a,b:c%d\ne", pointer=None, message="f:,%\r", expected=None, found=None
    )
    seen = render(GithubReporter, [hostile])
    assert seen.startswith("::error file=a%2Cb%3Ac%25d\\ne,line=3,title=")
    assert "::f:,%25\\r%0Afix: " in seen


def test_json_survives_what_utf8_cannot_hold(render: Render) -> None:
    seen = render(JsonLinesReporter, [TYPE._replace(found="\ud800")])
    assert json.loads(seen.splitlines()[0])["found"] == "\ud800"


def test_the_findings_of_one_code_stand_together(render: Render) -> None:
    seen = render(TextReporter, [TYPE, SYNTAX, TYPE._replace(line=9)], failed_run())
    heads = [line for line in seen.splitlines() if line.startswith("ES")]
    assert heads == ["ES103 invalid-json: 1", "ES202 wrong-type: 4"]
    assert "… and 2 more" in seen


@pytest.mark.parametrize("most", [0, 1, 3, 8, 9])
def test_what_is_shown_is_capped_and_what_is_counted_never(tmp_path: Path, most: int) -> None:
    example = EXAMPLES / "run.jsonl"
    rows = tmp_path / "run.jsonl"
    rows.write_bytes(example.read_bytes().replace(b'"is_correct": ', b'"is_right": '))
    report = evalstream.check(rows, max_findings=most, select=("ES201",))
    shown = list(report)
    assert len(shown) == report.shown == (min(most, 8) or 8)
    assert report.total == 8
    assert report.counts == {"ES201": 8}
    assert [one.line for one in shown] == list(range(1, len(shown) + 1))
