"""Tests of all reporters on one small fixture: what they print, to the byte."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES
from report_fixture import FINDINGS, RULES, TYPE, empty_run, failed_run

import evalstream
from evalstream.io.output import Output
from evalstream.model.finding import Finding
from evalstream.model.report import Report, Totals
from evalstream.model.run_summary import RunSummary
from evalstream.reporters.concise import ConciseReporter
from evalstream.reporters.github import GithubReporter
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.text import TextReporter

Render = Callable[..., str]


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
            rules = {code: RULES[code] for code in ("ES103", "ES202")}
            writer.finish(Report(list(runs), findings, len(findings), 1, totals, rules))
        return path.read_bytes().decode()

    return rendered


GITHUB = """\
::error file=zwölf/run.jsonl,line=2,title=ES103 invalid-json::\
expecting value at column 9 (byte 9)%0Afound "{\\"é\\": 1,x}"
::error file=zwölf/run.jsonl,line=3,title=ES202 wrong-type::\
/evaluation/score: string where boolean or number is expected\
%0Aexpected {"type":["boolean","number"]}, found "0.5"%0Afix: Write “6” as a number.
::error file=zwölf/aggregate.json,line=12,col=17,title=ES501 checksum-mismatch::\
/detailed_evaluation_results/checksum: 50%25 gone: 1, 2%0Aexpected "00ff", found "11ee"
::warning file=zwölf/run.jsonl,title=ES406 hash-absent::some rows lack sample_hash (1,234 rows)
::notice file=zwölf/aggregate.json,title=ES508 weak-algorithm::md5 finds accidents%0Afound "md5"
evalstream: zwölf/run.jsonl with zwölf/aggregate.json: FAILED (without ES7,ES801): \
2,345 rows, 6 errors, 1,234 warnings, 1 info; checksum not ok, row count ok, \
sample_hash ok in 1,111 of 2,345 rows (concat), claims: 1 confirmed, 1 refuted, 2 open
evalstream: nichts: incomplete: 0 rows, no findings; nothing to check: no rows
evalstream: 1 of 2 runs NOT CHECKED IN FULL
evalstream: 2 runs: 1 FAILED (1 with refuted claims), 1 incomplete, 2,345 rows, 6 errors, \
1,234 warnings, 1 info
evalstream: 3 findings counted and not listed (--max-findings 0 and --min-severity info list all)
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
        '"line":12,"column":17,'
        '"pointer":"/detailed_evaluation_results/checksum","message":"50% gone: 1, 2",'
        '"expected":"00ff","found":"11ee"}'
    ),
    (
        '{"code":"ES508","name":"weak-algorithm","severity":"info","file":"zwölf/aggregate.json",'
        '"message":"md5 finds accidents","found":"md5"}'
    ),
]

TOOL = f'"schema":2,"tool":{{"name":"evalstream","version":"{evalstream.__version__}"}}'

RUNS = (
    '"runs":[{"file":"zwölf/run.jsonl","aggregate":"zwölf/aggregate.json","format":"eee",'
    '"version":"0.2.0","rows":2345,"verdict":"failed",'
    '"verified":{"checksum":false,"row_count":true,'
    '"sample_hashes":{"verified":1111,"of":2345}},'
    '"ignored":["ES7","ES801"],'
    '"checksum":{"algorithm":"sha256","declared":"00ff","actual":"11ee"},"recipe":"concat",'
    '"claims":{"confirmed":1,"rounded":0,"refuted":1,"open":2,"list":['
    '{"pointer":"/evaluation_results/0/score_details/score","label":"größe","kind":"mean",'
    '"claimed":0.75,"recomputed":0.8125,"state":"refuted","rows":10,"score":true},'
    '{"pointer":"/evaluation_results/0/count","label":"samples of größe","kind":"count",'
    '"claimed":5,"recomputed":5,"state":"confirmed","rows":10,"score":false},'
    '{"pointer":"/evaluation_results/1/score_details/score","label":"recall","kind":"mean",'
    '"claimed":0.3,"recomputed":null,"state":"open","reason":"no row belongs to the result",'
    '"rows":0,"score":true},'
    '{"pointer":"/evaluation_results/2/score_details/score","label":"precision","kind":"mean",'
    '"claimed":0.5,"recomputed":null,"state":"open","reason":"no row belongs to the result",'
    '"rows":0,"score":true}]},'
    '"counts":{"ES103":1,"ES202":4,"ES406":1234,"ES501":1,"ES508":1},'
    '"severities":{"error":6,"warning":1234,"info":1},"seconds":1.235,'
    '"bytes":9876},'
    '{"file":"nichts","aggregate":null,"format":"eee","version":null,"rows":0,'
    '"verdict":"incomplete","checksum":{"algorithm":null,"declared":null,"actual":null},'
    '"recipe":null,"claims":{"confirmed":0,"rounded":0,"refuted":0,"open":0,"list":[]},'
    '"counts":{},"severities":{},"seconds":0.0,"bytes":0,'
    '"incomplete_reason":"nothing to check: no rows"}]'
)

TOTALS = (
    '"shown":5,"total":1241,"totals":{"runs":2,"passed":0,"unconfirmed":0,"failed":1,"incomplete":1,'
    '"refuted_runs":1,"claims":{"confirmed":1,"rounded":0,"refuted":1,"open":2},"rows":2345,'
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


@each(
    ("reporter", "expected"),
    [(GithubReporter, GITHUB), (JsonReporter, JSON), (JsonLinesReporter, JSON_LINES)],
)
def test_the_fixture_looks_as_promised(render: Render, reporter: type[Any], expected: str) -> None:
    assert render(reporter, FINDINGS, failed_run(), empty_run()) == expected


def test_a_sound_run_is_one_line(render: Render) -> None:
    sound = RunSummary("run.jsonl", "aggregate.json", "eee", rows=1, verdict="passed")
    sound.algorithm, sound.declared, sound.actual = "md5", "ab", "ab"
    expected = "run.jsonl with aggregate.json: passed: 1 row, no findings; checksum ok (md5)\n"
    assert render(GithubReporter, [], sound) == f"evalstream: {expected}"


@pytest.mark.parametrize("reporter", [ConciseReporter, GithubReporter])
def test_a_report_without_a_run_says_so(render: Render, reporter: type[Any]) -> None:
    assert render(reporter, []) == "evalstream: nothing was checked\n"


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


HOSTILE = "a\nb\rc\x00d\x1b[31me\u2028f\x85g\u202eh::error file=x::y%0A"


@each("field", ["file", "message", "pointer", "found", "expected", "sample_id"])
@pytest.mark.parametrize(
    "reporter", [TextReporter, ConciseReporter, GithubReporter, JsonReporter, JsonLinesReporter]
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


@each("reporter", [TextReporter, ConciseReporter, GithubReporter])
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


@each("most", [0, 1, 3, 8, 9])
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
