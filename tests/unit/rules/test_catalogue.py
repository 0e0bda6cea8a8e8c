"""The status of rules: what `--select`, `--ignore` and `--preview` switch on, and what may fail."""

import json
import shutil
from pathlib import Path

import pytest
from depth import some
from each import each
from edits import apply_case
from paths import EXAMPLES
from preview import with_status

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.io.output import Output
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError
from evalstream.model.exit_codes import EEE, ExitCode, shown_exit_code
from evalstream.model.finding import Severity, Status, Violation
from evalstream.model.options import Options
from evalstream.reporters import reporter_type
from evalstream.reporters.base import Style
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import Catalogue


def rule(code: str, name: str, status: Status, *, optional: bool = False) -> Rule:
    """Make a rule that may fail a run once it is stable."""
    return Rule(
        code,
        name,
        Severity.ERROR,
        "something is wrong",
        optional=optional,
        status=status,
        former_names=(f"former-{name}",),
    )


SMALL = Catalogue(
    {
        "TS": lambda: (
            rule("TS101", "stable-rule", Status.STABLE),
            rule("TS102", "optional-rule", Status.STABLE, optional=True),
            rule("TS103", "new-rule", Status.PREVIEW),
            rule("TS104", "new-optional-rule", Status.PREVIEW, optional=True),
            rule("TS201", "another-new-rule", Status.PREVIEW),
            rule("TS301", "retired-rule", Status.RETIRED),
        )
    }
)


def test_a_code_that_is_declared_twice_is_an_error() -> None:
    one, other = (rule("TS101", name, Status.STABLE) for name in ("one-rule", "other-rule"))
    between = rule("TS100", "third-rule", Status.STABLE)
    with pytest.raises(ValueError, match="declared twice: TS101"):
        len(Catalogue({"TS": lambda: (one, between, other)}))
    assert list(Catalogue({"TS": lambda: (one, between)})) == ["TS100", "TS101"]


def check(options: Options) -> None:
    """Check what the options select and ignore, as a call does."""
    SMALL.expand_codes(options.ignore)
    SMALL.check_selected(replace(options, select=SMALL.expand_codes(options.select)))


@each(
    ("select", "preview", "codes"),
    [
        ([], False, ["TS101"]),
        ([], True, ["TS101", "TS103", "TS201"]),
        (["TS1"], False, ["TS101", "TS102"]),
        (["TS1"], True, ["TS101", "TS102", "TS103", "TS104"]),
        (["TS103"], False, ["TS103"]),
        (["ts104"], False, ["TS104"]),
        (["new-rule"], False, ["TS103"]),
        (["former-new-rule"], False, ["TS103"]),
        (["TS101", "TS301"], True, ["TS101"]),
        (["TS"], True, ["TS101", "TS102", "TS103", "TS104", "TS201"]),
    ],
)
def test_rules_in_preview_hold_if_they_are_asked_for(
    select: list[str], preview: bool, codes: list[str]
) -> None:
    options = Options(select=tuple(select), preview=preview)
    check(options)
    assert sorted(SMALL.selection(options).enabled) == codes


@each(
    ("select", "said"),
    [
        (["TS2"], "names rules in preview only; add preview, or select them by their codes: TS2"),
        (["TS101", "TS2"], "names rules in preview only"),
        (["TS301"], "names retired rules only"),
        (["former-retired-rule"], "names retired rules only"),
        (["TS9"], "no rule has the code"),
    ],
)
def test_a_selection_that_switches_nothing_on_is_refused(select: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check(Options(select=tuple(select)))


def test_rules_of_any_status_can_be_ignored_and_found() -> None:
    options = Options(ignore=("TS301", "TS2", "new-rule"), preview=True)
    check(options)
    assert sorted(SMALL.selection(options).enabled) == ["TS101"]
    assert [one.code for one in SMALL.find("former-retired-rule")] == ["TS301"]


@each("own", [None, *Severity])
def test_a_rule_in_preview_gives_infos_that_never_fail(own: Severity | None) -> None:
    selection = SMALL.selection(Options(preview=True))
    severity = selection.severity(Violation("TS103", "wrong", severity=own))
    assert severity is Severity.INFO
    for threshold in Severity:
        assert not selection.fails("TS103", severity, threshold)
        assert selection.fails("TS101", Severity.ERROR, threshold)


def test_the_texts_of_a_rule_say_its_status() -> None:
    texts = {status: CATALOGUE[CODE]._replace(status=status).text() for status in Status}
    assert "status" not in texts[Status.STABLE].as_dict()
    assert texts[Status.PREVIEW].as_dict()["status"] == "preview"
    assert texts[Status.RETIRED].as_dict()["status"] == "retired"
    assert "in preview (reported as an info, never fails a run)" in texts[Status.PREVIEW].help
    assert "retired (never applied)" in texts[Status.RETIRED].help


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Write rows that only ES307 finds fault with, in one of two."""
    lines = (EXAMPLES / "run.jsonl").read_bytes().splitlines()
    row = json.loads(lines[0])
    row["evaluation"] = {"score": 1.0, "is_correct": False}
    path = tmp_path / "run.jsonl"
    path.write_bytes(json.dumps(row).encode() + b"\n" + lines[1] + b"\n")
    return path


CODE = "ES307"


def test_a_rule_in_preview_is_off_unless_it_is_asked_for(rows: Path) -> None:
    assert CODE in evalstream.check(rows).counts
    with with_status(CODE, Status.PREVIEW):
        assert CODE not in evalstream.check(rows).counts
        assert CODE in evalstream.check(rows, preview=True).counts
        assert CODE in evalstream.check(rows, select=(CODE,)).counts
        assert CODE not in evalstream.check(rows, select=("ES3",)).counts


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("strict", [True, False])
@each("fail_on", Severity)
@pytest.mark.parametrize("profile", ["default", "datastore"])
def test_no_option_lets_a_rule_in_preview_fail_a_run(
    rows: Path, profile: str, fail_on: Severity, strict: bool, jobs: int
) -> None:
    with with_status(CODE, Status.PREVIEW, severity=Severity.ERROR):
        report = evalstream.check(
            rows, select=(CODE,), profile=profile, fail_on=fail_on, strict=strict, jobs=jobs
        )
        assert report.counts == {CODE: 1}
        assert {one.severity for one in report} == {Severity.INFO}
        # Rows alone are unconfirmed, which --strict refuses whatever rules there are.
        assert report.totals.verdicts == {"unconfirmed": 1}
        assert report.exit_code == (ExitCode.FAILED if strict else ExitCode.PASSED)
        assert shown_exit_code(report.exit_code, report.totals, EEE) == report.exit_code
        assert report.rules[CODE].status is Status.PREVIEW


def test_a_row_that_only_a_rule_in_preview_finds_is_accepted(rows: Path) -> None:
    accepted, rejected = rows.parent / "accepted.jsonl", rows.parent / "rejected.jsonl"
    with with_status(CODE, Status.PREVIEW):
        evalstream.check(
            rows,
            select=(CODE,),
            fail_on=Severity.INFO,
            accepted=str(accepted),
            rejected=str(rejected),
        )
    assert accepted.read_bytes() == rows.read_bytes()
    assert rejected.read_bytes() == b""


@each("code", some(list(CATALOGUE), 24))
def test_a_rule_finds_the_same_in_preview_and_fails_no_run(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stable", "preview"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "stable")
    stable = apply_case(code, "bad", Path()).check()
    monkeypatch.chdir(tmp_path / "preview")
    with with_status(code, Status.PREVIEW):
        report = apply_case(code, "bad", Path()).check(preview=True)
    # The repair of ES102 is limited by severity, so that its infos have no mark of it.
    as_info = {"severity": Severity.INFO, **({"fix": None} if code == "ES102" else {})}
    expected = [one._replace(**as_info) for one in stable if one.code == code]
    assert [one for one in report if one.code == code] == expected
    assert all(code not in run.failing for run in report.runs)
    assert report.counts == stable.counts


def test_rows_are_sealed_in_spite_of_a_rule_in_preview(rows: Path) -> None:
    def sealed() -> evalstream.Report:
        aggregate = rows.parent / "new.json"
        return evalstream.seal(rows, aggregate, create=True, select=(CODE,), fail_on=Severity.INFO)

    assert not sealed().runs[0].sealed
    with with_status(CODE, Status.PREVIEW):
        report = sealed()
    assert report.runs[0].sealed
    assert report.counts == {CODE: 1}


def test_findings_between_runs_never_fail_in_preview(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copy(EXAMPLES / "run.jsonl", tmp_path / f"{name}.jsonl")
    select = ("ES904",)
    assert evalstream.check(tmp_path, select=select, fail_on=Severity.INFO).exit_code == 1
    with with_status("ES904", Status.PREVIEW):
        report = evalstream.check(tmp_path, select=select, fail_on=Severity.INFO)
    assert report.counts["ES904"] > 0
    assert report.exit_code == ExitCode.PASSED


def test_reports_say_that_a_rule_is_in_preview(rows: Path) -> None:
    with with_status(CODE, Status.PREVIEW):
        texts = {}
        for name in ("text", "json"):
            output = rows.parent / name
            with Output(str(output)) as written:
                reporter = reporter_type(name)(written, Style(min_severity=Severity.INFO))
                evalstream.check(rows, preview=True, reporter=reporter)
            texts[name] = output.read_text(encoding="utf-8")
    assert f"{CODE} correct-contradicts-score (preview): 1" in texts["text"]
    assert json.loads(texts["json"])["rules"][CODE]["status"] == "preview"
    assert reporter_type("text").wrote(texts["text"].encode())
