"""A stored report makes every other report, and a damaged one is refused."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import SECONDS, command, environment, run_command
from depth import deep, examples, is_deep
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import EXAMPLES, REPOSITORY
from report_fixture import every_verdict

import evalstream
from evalstream import Report
from evalstream.batch.serialize import decode_finding, decode_run, encode_run
from evalstream.io.output import Output
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.parsing.json import dumps, read_back
from evalstream.reporters import REPORTERS, reporter_type
from evalstream.reporters import json as json_report
from evalstream.reporters.base import Style
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.lines import ListingFrom

STORED = ("jsonl", "json")
"""The formats that can be read."""

TORN = (EXAMPLES / "run.jsonl").read_bytes()[:-40]
TIMES = re.compile(rb'"seconds":[0-9.e-]+|time="[0-9.]+"|[0-9.]+ (?:s|seconds)\b')


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the template."""
    return shutil.copytree(template, tmp_path / "folder")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with good, bad, torn and unknown files, all examples, and odd values."""
    tmp_path = tmp_path_factory.mktemp("template")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    (tmp_path / "torn.jsonl").write_bytes(TORN)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "other.json").write_text('{"a": 1}')
    rows = (EXAMPLES / "run.jsonl").read_bytes().splitlines()
    odd = json.loads(rows[0])
    odd["evaluation"]["score"] = {"excerpt": "a row's own", "caret": 1}
    infinite = rows[1].replace(b'"score":', b'"score":1e999,"was":')
    surrogate = {**json.loads(rows[2]), "sample_id": "a", "interaction_type": "\ud800"}
    lines = [json.dumps(odd).encode(), infinite, json.dumps(surrogate).encode(), b"{x", b""]
    (tmp_path / "odd\nname.jsonl").write_bytes(b"\n".join(lines))
    known = tmp_path / "known.jsonl"
    evalstream.check(tmp_path / "examples", write_baseline=str(known))
    _, first, *others = known.read_text().splitlines(keepends=True)
    gone = first.replace('"count":1', '"count":7').replace("ES501", "ES504")
    known.write_text("".join([*known.read_text().splitlines(keepends=True)[:1], gone, *others]))
    return tmp_path


def run(folder: Path, *arguments: str, data: bytes = b"") -> tuple[int, bytes, str]:
    """Run the program, and return its exit code and what it wrote."""
    ran = run_command(
        command(*arguments),
        cwd=folder,
        env=environment(),
        input=data,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr.decode()


def timeless(report: bytes) -> bytes:
    """Return a report without the times, which differ."""
    return TIMES.sub(b"", report)


CASES: dict[str, tuple[Sequence[str], dict[str, Any]]] = {
    "examples": (["examples"], {}),
    "a pair": (["examples/run.jsonl"], {"aggregate": "examples/aggregate.json"}),
    "a tampered pair": (["examples/tampered"], {"show_values": False, "max_findings": 1}),
    "an aggregate alone": (["examples/aggregate.json"], {}),
    "rows that cannot be read": (["torn.jsonl"], {"select": ["ES1"]}),
    "an empty file": (["empty.jsonl"], {}),
    "a missing file": (["missing.jsonl"], {}),
    "notes and excluded names": (["."], {"exclude": ["odd*"], "strict": True}),
    "odd values": (["odd\nname.jsonl"], {}),
    "other formats": (["examples/infereval", "examples/harpia", "examples/evalguard"], {}),
    "known and vanished findings": (["examples"], {"baseline": "known.jsonl"}),
    "infereval alone": (["examples/infereval/evaluation.json"], {}),
}


def rendered(call: Callable[..., Report], name: str, place: Path) -> tuple[int, bytes]:
    """Return the exit code of a call, and its report in a format."""
    style = Style(statistics=True)
    with Output(str(place)) as output:
        reporter = ListingFrom(style.min_severity, reporter_type(name)(output, style))
        code = call(reporter=reporter if name == "text" else reporter_type(name)(output)).exit_code
    return code, timeless(place.read_bytes())


@each(
    ("number", "stored"),
    # Each case is stored in one of the formats, in turn.
    [
        (number, stored) if (number + place) % 2 else deep(number, stored)
        for number in range(len(CASES))
        for place, stored in enumerate(STORED)
    ],
)
def test_a_stored_report_gives_the_bytes_of_every_report(
    number: int, stored: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    inputs, options = list(CASES.values())[number]
    check = partial(evalstream.check, inputs, **options)
    place, source = folder.parent / "report", folder.parent / "stored"
    rendered(check, stored, source)
    read = partial(evalstream.read_report, source)
    # Each report in some cases, read from either format.
    start = number + 2 * STORED.index(stored)
    for name in REPORTERS if is_deep() else list(REPORTERS)[start % 6 :: 6]:
        assert rendered(read, name, place) == rendered(check, name, place), name


@pytest.mark.parametrize("stored", STORED)
def test_the_command_takes_the_options_of_reports(stored: str, folder: Path) -> None:
    code, written, _ = run(folder, "check", ".", "--format", stored)
    (folder.parent / "stored").write_bytes(written)
    options = [[], ["-f", "github"], ["--color", "always", "-v"], ["--min-severity", "error"]]
    # The other form of a stored report is read to the same values.
    for more in options if is_deep() else options[1:3] if stored == STORED[0] else options[:1]:
        expected = run(folder, "check", ".", *more)
        seen = run(folder, "report", "-", *more, data=written)
        assert (seen[0], timeless(seen[1])) == (code, timeless(expected[1]))
        assert (expected[0], seen[2]) == (code, "")
    by_name = run(folder, "report", str(folder.parent / "stored"), "--format", stored)
    assert by_name == (code, written, "")


def test_a_report_of_unchanged_runs_says_so(folder: Path) -> None:
    # The state of a file that is new cannot be relied on.
    check = ["check", str(EXAMPLES), "--ledger", str(folder.parent / "ledger"), "--format"]
    run(folder, *check, "text")
    _, expected, _ = run(folder, *check, "text")
    _, written, _ = run(folder, *check, "jsonl")
    assert b"unchanged since" in expected
    assert timeless(run(folder, "report", "-", data=written)[1]) == timeless(expected)


def test_a_report_of_a_seal_has_its_diff(folder: Path) -> None:
    sealed = json.loads((folder / "examples" / "aggregate.json").read_text())
    sealed["detailed_evaluation_results"].pop("checksum", None)
    (folder / "examples" / "open.json").write_text(json.dumps(sealed))
    files = ["examples/run.jsonl", "--aggregate", "examples/open.json"]
    seal = ["seal", *files, "--dry-run", "--format"]
    _, expected, _ = run(folder, *seal, "text")
    code, written, _ = run(folder, *seal, "jsonl")
    assert b"+++" in expected
    assert run(folder, "report", "-", data=written)[:2] == (code, expected)


def test_the_parts_of_a_batch_are_merged(folder: Path) -> None:
    parts = [f"part{number}.jsonl" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        run(folder, "check", "examples", "--shard", f"{number}/2", "-o", part)
    expected = run(folder, "merge", *parts)
    assert run(folder, "report", *parts) == expected
    assert expected[1]
    code, _, said = run(folder, "report", parts[0])
    assert code == 3
    assert "missing shards of 2: 2" in said
    code, _, said = run(folder, "report", "-", data=(folder / parts[0]).read_bytes())
    assert code == 3
    assert "give all parts as files" in said
    assert run(folder, "report", "-", parts[0])[0] == 2


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return a stored report with several runs and findings, by format."""
    reports = {}
    for name in STORED:
        folder = tmp_path_factory.mktemp("written")
        (folder / "torn.jsonl").write_bytes(TORN)
        shutil.copytree(EXAMPLES / "tampered", folder / "tampered")
        code, reports[name], _ = run(folder, "check", ".", "--format", name)
        assert code == 1
    return reports


def edited(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[bytes], bytes]:
    """Return an edit of the lines of a report."""

    def edit(report: bytes) -> bytes:
        lines = [json.loads(line) for line in report.splitlines()]
        change(lines)
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    return edit


def first_claims(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the claims of the first run that has some."""
    claims = [line["run"]["claims"]["list"] for line in lines if "run" in line]
    return next(filter(None, claims))


def pass_refuted(lines: list[dict[str, Any]]) -> None:
    """Let the run with refuted claims pass without a finding."""
    runs = [line["run"] for line in lines if "run" in line]
    run = next(run for run in runs if run["claims"]["refuted"])
    run |= {"verdict": "passed", "failing": {}, "counts": {}, "severities": {}, "fixable": {}}


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no summary": (edited(lambda lines: lines.pop() and None), "ends here without a summary"),
    "cut": (lambda report: report[:-20], "not valid JSON"),
    "a finding is missing": (edited(lambda lines: lines.pop(0) and None), "listed findings"),
    "a run is missing": (edited(lambda lines: lines.pop(-2) and None), "runs"),
    "the first run is missing": (edited(lambda lines: lines.pop(-3) and None), "expected run 1"),
    "another verdict": (
        edited(lambda lines: lines[-2]["run"].update(verdict="passed")),
        "/verdict: expected failed, as findings fail the run",
    ),
    "a pass with refuted claims": (edited(pass_refuted), "as a claim of it is refuted"),
    "another exit code": (
        edited(lambda lines: lines[-1]["summary"].update(exit_code=0)),
        "the exit code 0 does not follow",
    ),
    "another schema": (edited(lambda lines: lines[-1]["summary"].update(schema=1)), "schema is 1"),
    "another number of claims": (
        edited(lambda lines: lines[-1]["summary"]["totals"]["claims"].update(refuted=0)),
        "0 refuted claims",
    ),
    "another state of a claim": (
        edited(lambda lines: first_claims(lines)[0].update(state="recomputed")),
        "/run/claims/list/0/state",
    ),
    "another tool": (
        edited(lambda lines: lines[-1]["summary"]["tool"].update(name="ruff")),
        "does not name evalstream",
    ),
    "not JSON": (lambda report: b"x" + report, "it is not valid JSON"),
    "a line is not JSON": (
        lambda report: report.replace(b"\n{", b"\n{]", 1),
        "at column 2; write it again with evalstream check",
    ),
    "a blank line": (lambda report: report + b"\n", "not valid JSON"),
    "a repeated summary": (
        lambda report: report + report.splitlines()[-1] + b"\n",
        "it follows the summary",
    ),
    "two reports": (lambda report: report + report, "it follows the summary"),
    "a finding after a run": (
        edited(lambda lines: lines.insert(-1, lines[0])),
        "a line with 'code' follows one with 'run'",
    ),
    "another object": (lambda report: b'{"code":1}\n' + report, "expected the member 'name'"),
    "rows": (lambda _: (EXAMPLES / "run.jsonl").read_bytes(), "line"),
    "an aggregate": (lambda _: (EXAMPLES / "aggregate.json").read_bytes(), "its tool"),
    "sarif": (lambda _: b'{"version":"2.1.0","runs":[]}', "its tool"),
    "a list": (lambda _: b"[]", "its tool"),
    "empty": (lambda _: b"", "it is empty"),
    "blank": (lambda _: b"\n\n", "it is empty"),
}


@each("name", DAMAGES)
def test_a_damaged_report_is_refused(name: str, written: dict[str, bytes], tmp_path: Path) -> None:
    damage, message = DAMAGES[name]
    path = tmp_path / "report.jsonl"
    path.write_bytes(damage(written["jsonl"]))
    with pytest.raises(evalstream.CannotCheck, match=re.escape(message)) as caught:
        evalstream.read_report(path)
    assert str(caught.value).startswith(str(path))


def test_the_command_refuses_a_damaged_report(written: dict[str, bytes], tmp_path: Path) -> None:
    damage, message = DAMAGES["another verdict"]
    (tmp_path / "report.jsonl").write_bytes(damage(written["jsonl"]))
    code, shown, said = run(tmp_path, "report", "report.jsonl", "--output", "out.txt")
    assert (code, shown) == (3, b"")
    assert message in said
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("stored", STORED)
@given(place=st.floats(0, 1, exclude_max=True), data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_cut_report_never_passes(
    stored: str,
    place: float,
    data: st.DataObject,
    written: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    report = written[stored]
    # Without its last line feed a report is whole.
    cut = report[: int(place * (len(report) - 1))]
    if data.draw(st.booleans()):
        cut = cut.rstrip()
    path = tmp_path_factory.getbasetemp() / "cut"
    path.write_bytes(cut)
    with pytest.raises(evalstream.CannotCheck):
        evalstream.read_report(path)


@pytest.mark.parametrize("stored", STORED)
def test_an_indented_and_sorted_report_is_read(
    stored: str, written: dict[str, bytes], tmp_path: Path
) -> None:
    lines = [written["json"]] if stored == "json" else written["jsonl"].splitlines()
    indent = 2 if stored == "json" else None
    texts = [json.dumps(json.loads(line), sort_keys=True, indent=indent) for line in lines]
    path = tmp_path / "report"
    path.write_text("\r\n".join(texts))
    assert [one.file for one in evalstream.read_report(path).runs] == [
        json.loads(line)["run"]["file"] for line in written["jsonl"].splitlines()[-3:-1]
    ]


def test_a_report_is_read_from_python(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    with Output(str(path)) as output:
        reporter = evalstream.JsonLinesReporter(output)
        expected = evalstream.check(EXAMPLES / "tampered", reporter=reporter)
    report = evalstream.read_report(path)
    assert report.exit_code == expected.exit_code == 1
    assert report.counts == expected.counts
    assert dict(report.rules) == dict(expected.rules)
    assert len(list(report)) == report.shown == expected.shown
    assert not report.passed
    with pytest.raises(evalstream.UsageError, match="no report given"):
        evalstream.read_report([])


def test_a_report_of_many_runs_lists_those_that_did_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored(name: str, **options: Any) -> dict[str, Any]:
        with Output(str(tmp_path / name)) as output:
            evalstream.check(EXAMPLES, reporter=JsonReporter(output), **options)
        return dict(json.loads((tmp_path / name).read_text()))

    whole = stored("whole.json")
    monkeypatch.setattr(json_report, "MOST_RUNS", 2)
    monkeypatch.setattr(json_report, "MOST_FINDINGS", 8)
    some = stored("some.json")
    assert "passed" not in {run["verdict"] for run in some["runs"]}
    assert some["unlisted_runs"] == len(whole["runs"]) - 2
    assert some["totals"] == whole["totals"]
    errors = [one for one in whole["findings"] if one["severity"] == "error"]
    assert [one for one in some["findings"] if one["severity"] == "error"] == errors[:8]
    assert some["shown"] == len(some["findings"]) == 8 < whole["shown"]
    assert "unlisted_runs" not in stored("all.json", max_findings=0)

    read = evalstream.read_report(tmp_path / "some.json")
    assert (read.totals.runs, len(read.runs)) == (len(whole["runs"]), 2)
    with Output(str(tmp_path / "some.jsonl")) as output:
        evalstream.read_report(
            tmp_path / "some.json", reporter=evalstream.JsonLinesReporter(output)
        )
    again = evalstream.read_report(tmp_path / "some.jsonl")
    assert again.totals == read.totals
    for wrong in (1, some["unlisted_runs"] + 1):
        text = json.dumps({**some, "unlisted_runs": wrong})
        (tmp_path / "wrong.json").write_text(text)
        with pytest.raises(evalstream.CannotCheck, match="runs, and there are"):
            evalstream.read_report(tmp_path / "wrong.json")


def test_the_report_is_not_written_over_its_source(tmp_path: Path) -> None:
    (tmp_path / "report.jsonl").write_bytes(run(REPOSITORY, "check", "examples", "-f", "jsonl")[1])
    code, _, said = run(tmp_path, "report", "report.jsonl", "-o", "report.jsonl")
    assert code == 2
    assert "would overwrite the input" in said


TEXTS = st.text(st.characters(codec=None), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
LIKE_EXCERPTS = st.builds(lambda text, at: {"excerpt": text, "caret": at}, TEXTS, st.integers())
EXCERPTS = st.builds(Excerpt, TEXTS, st.integers(0, 9))


@given(
    severity=st.sampled_from(Severity),
    line=st.none() | st.integers(1),
    pointer=st.none() | TEXTS,
    message=TEXTS,
    expected=VALUES,
    found=VALUES | LIKE_EXCERPTS | EXCERPTS,
    sample=st.none() | TEXTS | st.integers(),
    times=st.none() | st.integers(1),
)
def test_findings_survive_a_report(
    severity: Severity,
    line: int | None,
    pointer: str | None,
    message: str,
    expected: Any,
    found: Any,
    sample: str | int | None,
    times: int | None,
) -> None:
    finding = Finding(
        *("ES101", "name", severity, "file", line, None, None, pointer, None, message),
        *(expected, found, sample, times),
    )
    written = dumps(finding.as_dict())
    read = decode_finding(json.loads(written, parse_constant=pytest.fail))
    assert read == decode_finding(read_back(written))
    # JSON has no infinity, and every reporter writes null for it.
    assert dumps(read.as_dict()) == written
    assert isinstance(read.found, Excerpt) == isinstance(found, Excerpt)
    assert (read.found is None, read.expected is None) == (found is None, expected is None)


def test_runs_survive_a_ledger_and_a_part() -> None:
    for summary in (*evalstream.check(EXAMPLES).runs, *every_verdict()):
        read = decode_run(read_back(dumps(encode_run(summary))))
        read.seconds = summary.seconds
        assert read == summary
