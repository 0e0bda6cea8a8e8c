"""A baseline compares findings as multisets, and hides nothing else."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from commands import command, environment, filtered, run_command
from depth import deep, examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import EXAMPLES

import evalstream
from evalstream.batch.baseline.baseline import Baseline
from evalstream.formats.registry import CATALOGUE
from evalstream.io.output import Output
from evalstream.model.claim import JudgedClaim, State
from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.report import Totals
from evalstream.model.run_summary import RunSummary
from evalstream.reporters.junit import JunitReporter

ROWS = (EXAMPLES / "run.jsonl").read_bytes().splitlines()
KEY = "00112233445566778899aabbccddeeff"
HEAD = (
    f'{{"baseline":2,"tool":{{"name":"evalstream","version":"0"}},"options":{{}},"key":"{KEY}"}}\n'
)


def spoilt(*numbers: int) -> bytes:
    """Return rows of which some have a wrong type, by index."""
    rows = [json.loads(row) for row in ROWS]
    for number in numbers:
        rows[number]["evaluation"]["score"] = "much"
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two runs of spoilt rows, which is the current one."""
    folder = tmp_path / "store"
    for name, data in (("a", spoilt(1, 3)), ("b", spoilt(5))):
        (folder / name).mkdir(parents=True)
        (folder / name / "run.jsonl").write_bytes(data)
    monkeypatch.chdir(folder)
    return folder


def entries(path: Path) -> list[dict[str, Any]]:
    """Return the findings of a baseline."""
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def check(*inputs: str, **options: Any) -> evalstream.Report:
    """Check inputs, by default the whole store; rows need no aggregate here."""
    if "select" not in options:
        options.setdefault("ignore", ["ES5", "ES805", "ES9"])
    return evalstream.check(inputs or ".", **options)


# Findings as multisets

KEYS = st.tuples(
    st.sampled_from(["ES201", "ES202", "ES402"]),
    st.sampled_from(["x.jsonl", "below/y.jsonl"]),
    st.sampled_from([None, "", "/a", "/a/0"]),
    st.sampled_from([None, 1, "1", "\ud800", "é"]),
    st.sampled_from([None, 1, "1", 0.7]),
    st.sampled_from(Severity),
)
SOME = st.lists(st.tuples(KEYS, st.integers(1, 3)), max_size=12)


def finding_of(key: tuple[Any, ...], times: int) -> Finding:
    code, file, pointer, sample, found, severity = key
    place = (code, "name", severity, file, 1, None, None, pointer, None, "message")
    return Finding(*place, None, found, sample, None if times == 1 else times)


def digest_of(code: str, found: Any, severity: Severity) -> str | None:
    """Return the digest of a value found, and of a severity that is not that of the rule."""
    there = {} if found is None else {"found": found}
    if severity != CATALOGUE[code].severity:
        there["severity"] = severity.label
    if not there:
        return None
    text = json.dumps(there, separators=(",", ":")).encode()
    return hashlib.blake2b(text, digest_size=16, key=bytes.fromhex(KEY)).hexdigest()


@settings(max_examples=examples(150), deadline=None)
@given(known=st.dictionaries(KEYS, st.integers(1, 4), max_size=8), found=SOME, strict=st.booleans())
def test_new_findings_are_those_found_without_those_known(
    known: dict[Any, int], found: list[Any], strict: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "known.jsonl"
    lines = [HEAD]
    allowed: Counter[Any] = Counter()
    for (code, file, pointer, sample, *values), times in known.items():
        one = {"code": code, "file": file, "pointer": pointer, "sample_id": sample, "count": times}
        one["values"] = digest_of(code, *values)
        lines.append(json.dumps({k: v for k, v in one.items() if v is not None}) + "\n")
        # The whole document has no pointer, or an empty one.
        key = code, file, pointer or "", json.dumps(sample), one["values"]
        allowed[key] = max(allowed[key], times)
    path.write_text("".join(lines))
    options = Options(baseline=str(path), strict=strict, max_findings=0)
    shown: list[Finding] = []
    baseline = Baseline(options, shown.append)
    summary = RunSummary(str(folder / "x.jsonl"), None, "eee")
    failing: Counter[str] = Counter()
    expected: Counter[Any] = Counter()
    fails = False
    for (code, file, pointer, sample, value, severity), times in found:
        place = code, str(folder / file), pointer, sample, value, severity
        baseline.add(finding_of(place, times))
        summary.count(code, severity, times)
        if severity >= options.threshold:
            failing[code] += times
        key = code, file, pointer or "", json.dumps(sample), digest_of(code, value, severity)
        new = max(0, times - allowed[key])
        allowed[key] -= times - new
        expected[key, severity] += new
        fails = fails or (new > 0 and severity >= options.threshold)
    summary.judge(failing, has_scores=False)
    baseline.end_run(summary)
    seen: Counter[Any] = Counter()
    for one in shown:
        file = str(Path(one.file).relative_to(folder))
        digest = digest_of(one.code, one.found, one.severity)
        key = one.code, file, one.pointer or "", json.dumps(one.sample_id), digest
        seen[key, one.severity] += one.occurrences
    assert seen == +expected
    assert summary.verdict == ("failed" if fails else "passed")
    by_code: Counter[str] = Counter()
    for (key, _), times in expected.items():
        by_code[key[0]] += times
    assert summary.counts == +by_code
    total = Counter(summary.counts) + Counter(summary.known)
    assert total == sum((Counter({key[0]: times}) for key, times in found), Counter())
    totals = Totals()
    vanished = list(baseline.finish(totals))
    left = {key: times for key, times in (+allowed).items() if key[1] == "x.jsonl"}
    row_rules = {key: times for key, times in left.items() if key[0] in ("ES201", "ES202")}
    keys = {
        (one.code, one.file, one.pointer or "", json.dumps(one.sample_id), one.values): one.count
        for one in vanished
    }
    assert {key: times for key, times in keys.items() if key[0] != "ES402"} == row_rules
    assert totals.vanished == sum(keys.values())
    baseline.close()


# Whole checks


def test_known_findings_do_not_fail_the_check(store: Path) -> None:
    before = check(write_baseline="known.jsonl")
    assert before.exit_code == 1
    assert [one["file"] for one in entries(store / "known.jsonl")] == [
        *["a/run.jsonl"] * 2,
        "b/run.jsonl",
    ]
    after = check(baseline="known.jsonl")
    assert after.exit_code == 0
    assert [run.verdict for run in after.runs] == ["unconfirmed", "unconfirmed"]
    assert after.totals.known == {"ES202": 3}
    # The baseline is a file beside the data.
    assert [one.code for one in after] == list(after.counts) == ["ES007"]
    assert list(after.vanished) == []


def test_a_pair_passes_and_says_what_is_known(store: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "tampered", store / "c")
    check("c", write_baseline="known.jsonl", ignore=[])
    report = check("c", baseline="known.jsonl", ignore=[])
    assert report.exit_code == 0
    (run,) = report.runs
    # A refuted score that is known is not a confirmed one.
    assert run.verdict == "unconfirmed"
    assert sum(run.known.values()) == 8
    assert run.verified is not None
    assert run.verified.checksum is False


def test_one_more_occurrence_is_new(store: Path) -> None:
    check(write_baseline="known.jsonl")
    (store / "a" / "run.jsonl").write_bytes(spoilt(1, 3, 4) + spoilt(3).splitlines()[3] + b"\n")
    report = check(baseline="known.jsonl", select=["ES2"])
    assert report.exit_code == 1
    assert [(one.line, one.code) for one in report] == [(5, "ES202"), (9, "ES202")]
    assert report.totals.known == {"ES202": 3}


def test_another_value_is_new(store: Path) -> None:
    check("a", write_baseline="known.jsonl")
    rows = spoilt(1, 3).replace(b'"much"', b'"more"', 1)
    (store / "a" / "run.jsonl").write_bytes(rows)
    report = check("a", baseline="known.jsonl")
    assert report.exit_code == 1
    assert [(one.line, one.found) for one in report] == [(2, "more")]
    assert (report.totals.known, report.totals.vanished) == ({"ES202": 1}, 1)


def test_another_missing_member_is_new_and_so_is_an_error_instead_of_a_warning(store: Path) -> None:
    document = json.loads((EXAMPLES / "aggregate.json").read_text())
    rows = b"".join(row + b"\n" for row in ROWS)

    def check_pair(without: str, prefix: bytes, **options: Any) -> evalstream.Report:
        one = {key: value for key, value in document.items() if key != without}
        (store / "a" / "aggregate.json").write_text(json.dumps(one))
        hashes = rows.replace(b'"sample_hash": "', b'"sample_hash": "' + prefix)
        (store / "a" / "run.jsonl").write_bytes(hashes)
        return check("a", select=["ES201", "ES405"], **options)

    check_pair("retrieved_timestamp", b"sha256:", write_baseline="known.jsonl")
    assert check_pair("retrieved_timestamp", b"sha256:", baseline="known.jsonl").exit_code == 0
    seal = {"hash_algorithm": "md5", "file_path": "run.jsonl"}
    document["detailed_evaluation_results"] = seal
    report = check_pair("evaluation_id", b"", baseline="known.jsonl")
    assert (report.exit_code, report.totals.known) == (1, {})
    assert report.counts == {"ES201": 1, "ES405": 8}


def test_a_file_that_cannot_be_written_is_an_error_of_the_call(store: Path) -> None:
    for path in ("gone/known.jsonl", str(store)):
        with pytest.raises(evalstream.CannotWrite, match=f"{path} cannot be written: "):
            evalstream.check(store, write_baseline=path)


def test_another_refuted_score_is_new(store: Path) -> None:
    pair = store / "c"
    shutil.copytree(EXAMPLES, pair, ignore=lambda *_: ["tampered", "tutorial", "inspect"])
    path = pair / "aggregate.json"
    aggregate = json.loads(path.read_text())
    details = aggregate["evaluation_results"][0]["score_details"]

    def claim(score: float, **options: Any) -> evalstream.Report:
        details["score"] = score
        path.write_text(json.dumps(aggregate))
        return evalstream.check(pair / "run.jsonl", aggregate=path, select=["ES801"], **options)

    assert claim(0.71, write_baseline="known.jsonl").counts == {"ES801": 1}
    assert claim(0.71, baseline="known.jsonl").exit_code == 0
    report = claim(0.99, baseline="known.jsonl", fail_on=Severity.WARNING)
    assert report.exit_code == 1
    assert [one.found for one in report] == [0.99]


def test_values_are_compared_and_not_shown(store: Path) -> None:
    check("a", write_baseline="known.jsonl", show_values=False)
    assert "much" not in (store / "known.jsonl").read_text()
    assert check("a", baseline="known.jsonl").exit_code == 0
    (store / "a" / "run.jsonl").write_bytes(spoilt(1, 3).replace(b'"much"', b'"more"', 1))
    report = check("a", baseline="known.jsonl", show_values=False)
    assert [(one.line, one.found) for one in report] == [(2, None)]
    with pytest.raises(evalstream.UsageError, match="the ledger would hold values"):
        check("a", baseline="known.jsonl", show_values=False, ledger="../ledger")


def test_the_key_stays(store: Path) -> None:
    check(write_baseline="known.jsonl")
    check(write_baseline="other.jsonl")
    first, other = entries(store / "known.jsonl"), entries(store / "other.jsonl")
    assert [one["code"] for one in first] == [one["code"] for one in other]
    assert not {one["values"] for one in first} & {one["values"] for one in other}
    check(baseline="known.jsonl", write_baseline="other.jsonl")
    assert entries(store / "other.jsonl") == first


def test_a_baseline_without_values_is_refused(store: Path) -> None:
    """It would hide another value at a known place."""
    check(write_baseline="known.jsonl")
    path = store / "known.jsonl"
    head, *lines = map(json.loads, path.read_text().splitlines())
    head |= {"baseline": 1}
    del head["key"]
    for line in lines:
        del line["values"]
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in (head, *lines))
    path.write_text(text)
    with pytest.raises(evalstream.UsageError, match="does not tell the values of findings apart"):
        check(baseline="known.jsonl")
    check(write_baseline="known.jsonl")
    assert check(baseline="known.jsonl").exit_code == 0


def test_lines_and_row_numbers_may_change(store: Path) -> None:
    array = store / "a" / "rows.json"
    array.write_text(json.dumps([json.loads(row) for row in spoilt(1, 3).splitlines()]))
    check(write_baseline="known.jsonl", select=["ES2"])
    rows = spoilt(1, 3).splitlines()
    (store / "a" / "run.jsonl").write_bytes(b"\n".join(reversed(rows)) + b"\n")
    array.write_text(json.dumps([json.loads(row) for row in reversed(rows)], indent=1))
    report = check(baseline="known.jsonl", select=["ES2"])
    assert (report.exit_code, report.total, report.totals.vanished) == (0, 0, 0)
    assert report.totals.known == {"ES202": 5}


def test_a_checkout_may_move(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(str(store), write_baseline="known.jsonl")
    moved = tmp_path / "elsewhere" / "again"
    shutil.copytree(store, moved)
    shutil.rmtree(store)
    monkeypatch.chdir(tmp_path)
    assert check("elsewhere", baseline="elsewhere/again/known.jsonl").exit_code == 0


def test_a_baseline_elsewhere_names_whole_paths(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "known.jsonl"
    other.parent.mkdir()
    check(write_baseline=str(other))
    assert {one["file"] for one in entries(other)} == {
        f"{store}/a/run.jsonl",
        f"{store}/b/run.jsonl",
    }
    check(baseline=str(other), write_baseline="known.jsonl")
    assert {one["file"] for one in entries(store / "known.jsonl")} == {"a/run.jsonl", "b/run.jsonl"}


@pytest.mark.parametrize("more", [deep({"jobs": 1}), {"jobs": 2}, {"ledger": "../ledger"}])
def test_batches_and_ledgers_agree(store: Path, more: dict[str, Any]) -> None:
    for number in range(40):
        (store / f"{number}.jsonl").write_bytes(spoilt(number % 8))
    check(write_baseline="known.jsonl", **more)
    shutil.copy("known.jsonl", "../known.jsonl")
    plain = check(write_baseline="../known.jsonl")
    texts = [Path(path).read_text() for path in ("known.jsonl", "../known.jsonl")]
    assert texts[0] == texts[1].replace('"store/', '"')
    (store / "7.jsonl").write_bytes(spoilt(6, 7))
    for _ in range(2):
        report = check(baseline="known.jsonl", **more)
        assert report.exit_code == 1
        assert [(one.file, one.line) for one in report if one.severity is Severity.ERROR] == [
            ("7.jsonl", 7)
        ]
        errors = report.totals.known_severities[Severity.ERROR]
        assert errors == plain.totals.severities[Severity.ERROR]


def test_the_cap_is_applied_to_new_findings(store: Path) -> None:
    (store / "a" / "run.jsonl").write_bytes(spoilt(0, 1, 2, 3))
    check(write_baseline="known.jsonl", max_findings=1)
    assert len(entries(store / "known.jsonl")) == 5
    (store / "a" / "run.jsonl").write_bytes(spoilt(*range(8)))
    report = check("a", baseline="known.jsonl", max_findings=2)
    assert [one.line for one in report] == [5, 6]
    assert (report.counts, report.totals.known) == ({"ES202": 4}, {"ES202": 4})


def test_standard_input_is_known_as_such(tmp_path: Path) -> None:
    select = ["--select", "ES2"]
    filtered(spoilt(1), *select, "--write-baseline", "known.jsonl", folder=tmp_path)
    code, out, _ = filtered(spoilt(1), *select, "--baseline", "known.jsonl", folder=tmp_path)
    assert code == 0
    assert b"no new findings, 1 known finding in baseline" in out
    assert entries(tmp_path / "known.jsonl")[0]["file"] == "-"


def test_infos_are_known_only_if_they_fail(store: Path) -> None:
    rows = [{**json.loads(row), "unheard_of": 1} for row in ROWS]
    (store / "a" / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = check("a", write_baseline="known.jsonl")
    infos = report.totals.severities.get(Severity.INFO, 0)
    assert all(
        evalstream.RULES[one["code"]].severity is not Severity.INFO
        for one in entries(store / "known.jsonl")
    )
    check("a", write_baseline="known.jsonl", fail_on=Severity.INFO)
    report = check("a", baseline="known.jsonl", fail_on=Severity.INFO)
    assert report.exit_code == 0
    assert report.totals.known_severities.get(Severity.INFO, 0) == infos


# What vanished


def test_findings_that_vanished_are_named(store: Path) -> None:
    check(write_baseline="known.jsonl")
    (store / "a" / "run.jsonl").write_bytes(spoilt(3))
    report = check(baseline="known.jsonl")
    assert report.exit_code == 0
    (gone,) = report.vanished
    sample = json.loads(ROWS[1])["sample_id"]
    assert gone[:5] == ("ES202", "a/run.jsonl", "/evaluation/score", sample, 1)
    assert gone.values in {one["values"] for one in entries(store / "known.jsonl")}
    assert report.totals.vanished == 1
    check(baseline="known.jsonl", write_baseline="known.jsonl")
    assert len(entries(store / "known.jsonl")) == 2


@each(
    ("inputs", "options"),
    [
        (["b"], {}),
        (["."], {"select": ["ES4"]}),
        (["."], {"ignore": ["ES202", "ES5", "ES805", "ES9"]}),
    ],
)
def test_what_was_not_checked_did_not_vanish(
    store: Path, inputs: Sequence[str], options: dict[str, Any]
) -> None:
    check(write_baseline="known.jsonl")
    (store / "a" / "run.jsonl").write_bytes(spoilt())
    report = check(*inputs, baseline="known.jsonl", **options)
    assert list(report.vanished) == []
    check(*inputs, baseline="known.jsonl", write_baseline="new.jsonl", **options)
    assert entries(store / "new.jsonl") == entries(store / "known.jsonl")


def test_rules_over_runs_do_not_vanish_without_the_aggregate(store: Path) -> None:
    shutil.copytree(EXAMPLES / "tampered", store / "c")
    check("c", write_baseline="known.jsonl")
    (rows,) = (store / "c").rglob("*.jsonl")
    (aggregate,) = (store / "c").rglob("*.json")
    aggregate.unlink()
    report = check(str(rows), baseline="known.jsonl")
    assert list(report.vanished) == []


# What a baseline cannot hide


def test_rows_that_cannot_be_read_leave_the_check_incomplete(store: Path) -> None:
    (store / "a" / "run.jsonl").write_bytes(spoilt() + b"{torn\n")
    assert check("a", write_baseline="known.jsonl").exit_code == 1
    report = check("a", baseline="known.jsonl")
    assert report.exit_code == 3
    (run,) = report.runs
    assert (run.verdict, run.incomplete_reason) == ("incomplete", "1 row could not be read")


def test_what_cannot_be_checked_is_never_known(store: Path) -> None:
    names = ["missing.jsonl", "a"]
    assert check(*names, write_baseline="known.jsonl").exit_code == 3
    assert {one["code"] for one in entries(store / "known.jsonl")} == {"ES202"}
    report = check(*names, baseline="known.jsonl")
    assert report.exit_code == 3
    assert report.totals.unchecked == 1


@each("expected", [{"expect_rows": 9}, {"expect_ids": "of"}, {"expect_digests": "of"}])
def test_an_expectation_is_never_known(expected: dict[str, Any], store: Path) -> None:
    rows = "a/run.jsonl"
    Path("of").write_text(f"{'0' * 32} {'0' * 32}\n")
    assert check(rows, write_baseline="known.jsonl", **expected).exit_code == 1
    report = check(rows, baseline="known.jsonl", **expected)
    assert report.exit_code == 1
    assert report.runs[0].verdict == "failed"


@pytest.mark.parametrize("name", ["baseline", "write_baseline"])
@each(
    "routing",
    [
        {"seal_to": "aggregate.json"},
        {"accepted": "x"},
        {"rejected": "x"},
        {"passing": "valid"},
        {"shard": "1/2"},
    ],
)
def test_some_options_exclude_a_baseline(store: Path, name: str, routing: dict[str, Any]) -> None:
    check(write_baseline="known.jsonl")
    with pytest.raises(evalstream.UsageError, match="cannot be combined"):
        evalstream.check("a/run.jsonl", **{name: "known.jsonl"}, **routing)


# The file


def test_the_file_is_stable_and_names_its_options(store: Path) -> None:
    check(write_baseline="known.jsonl", profile="datastore", select=["ES2"])
    first = (store / "known.jsonl").read_bytes()
    check(write_baseline="known.jsonl", profile="datastore", select=["ES2"])
    assert (store / "known.jsonl").read_bytes() == first
    head = json.loads(first.splitlines()[0])
    assert head["options"] == {"profile": "datastore", "select": ["ES2"]}
    listed = entries(store / "known.jsonl")
    assert listed == sorted(listed, key=lambda one: (one["file"], one["code"], one["sample_id"]))


def test_the_order_of_lines_does_not_count(store: Path) -> None:
    check(write_baseline="known.jsonl")
    head, *lines = (store / "known.jsonl").read_text().splitlines()
    (store / "known.jsonl").write_text("\n".join([head, *reversed(lines), *lines]))
    report = check(baseline="known.jsonl")
    assert (report.exit_code, report.totals.vanished) == (0, 0)


DAMAGES: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "without its first line": lambda text: text.partition("\n")[2],
    "another layout": lambda text: text.replace('"baseline":2', '"baseline":3', 1),
    "a layout that is true": lambda text: text.replace('"baseline":2', '"baseline":true', 1),
    "no key": lambda text: text.replace('"key"', '"note"', 1),
    "a short key": lambda text: text.replace('"key":"', '"key":"0', 1),
    "a digest that is none": lambda text: text.replace('"values":"', '"values":"x', 1),
    "another tool": lambda text: text.replace('"evalstream"', '"ruff"', 1),
    "cut in a line": lambda text: text[:-9],
    "a conflict": lambda text: text.replace("\n", "\n<<<<<<< ours\n", 1),
    "a blank line": lambda text: text + "\n",
    "a count of 0": lambda text: text.replace('"count":1', '"count":0', 1),
    "a count beyond all rows": lambda text: text.replace('"count":1', f'"count":{1 << 63}', 1),
    "a count that is true": lambda text: text.replace('"count":1', '"count":true', 1),
    "no count": lambda text: text.replace(',"count":1', "", 1),
    "an unknown member": lambda text: text.replace('"count":1', '"count":1,"x":1', 1),
    "no code": lambda text: text.replace('"ES202"', '"*"', 1),
    "a code of what was not checked": lambda text: text.replace("ES202", "ES001", 1),
    "a second first line": lambda text: text + HEAD,
    "a list": lambda text: text + "[]\n",
}


@each("name", DAMAGES)
def test_a_damaged_baseline_is_refused(store: Path, name: str) -> None:
    check(write_baseline="known.jsonl")
    path = store / "known.jsonl"
    path.write_text(DAMAGES[name](path.read_text()))
    with pytest.raises(evalstream.UsageError, match="not a baseline of evalstream"):
        check(baseline="known.jsonl")


def test_a_missing_baseline_is_refused(store: Path) -> None:
    with pytest.raises(evalstream.UsageError, match="cannot be read: No such file"):
        check(baseline="known.jsonl")


def test_another_file_is_not_replaced(store: Path) -> None:
    (store / "notes").write_text("mine")
    for path in ("notes", "a/run.jsonl", "s3://bucket/known.jsonl"):
        with pytest.raises(evalstream.UsageError):
            check(write_baseline=path)
    with pytest.raises(evalstream.UsageError, match="would overwrite the input"):
        check(write_baseline="a/run.jsonl", overwrite=True)
    check(write_baseline="known.jsonl")
    for more in ({"outputs": ["known.jsonl"]}, {"ledger": "known.jsonl"}):
        with pytest.raises(evalstream.UsageError, match="would overwrite"):
            check(baseline="known.jsonl", overwrite=True, **more)  # type: ignore[arg-type]
    check(write_baseline="notes", overwrite=True)
    assert len(entries(store / "notes")) == 3


def test_what_was_not_checked_stays_known(store: Path) -> None:
    check(write_baseline="known.jsonl")
    (store / "nothing").mkdir()
    check("nothing", baseline="known.jsonl", write_baseline="known.jsonl")
    assert len(entries(store / "known.jsonl")) == 3
    check("nothing", write_baseline="known.jsonl")
    assert entries(store / "known.jsonl") == []


def test_a_baseline_among_data_is_not_data(store: Path) -> None:
    plain = check()
    check(write_baseline="known.jsonl")
    report = check()
    assert report.exit_code == plain.exit_code == 1
    assert report.totals.runs == plain.totals.runs
    found = [one.message for one in report if one.code == "ES007"]
    assert found == [
        (
            "1 name was not checked: 1 baseline of evalstream (known.jsonl); "
            "--exclude PATTERN leaves names out"
        )
    ]


def test_other_options_are_named_on_stderr(store: Path) -> None:
    check(write_baseline="known.jsonl")
    same = ["--ignore", "ES5,ES805,ES9"]
    for more, expected in (
        (same, ""),
        ([*same, "--profile", "datastore"], "profile was the default"),
        ([], 'ignore was ["ES5", "ES805", "ES9"]'),
    ):
        arguments = command("check", ".", "--baseline", "known.jsonl", *more)
        ran = run_command(
            arguments, cwd=store, env=environment(), capture_output=True, text=True, check=False
        )
        assert expected in ran.stderr
        assert bool(ran.stderr) == bool(expected)


def test_options_that_decide_about_no_verdict_are_not_in_the_ledger() -> None:
    from evalstream.batch.serialize import fingerprint

    plain = Options()
    assert fingerprint(plain) == fingerprint(replace(plain, baseline="x", write_baseline="y"))


def test_a_known_difference_is_not_a_passed_test(store: Path) -> None:
    claim = JudgedClaim("/score", "accuracy", "mean", 0.99, 0.75, State.REFUTED, is_score=True)
    run = RunSummary("rows", "aggregate", "eee", rows=1, verdict="unconfirmed", claims=[claim])
    run.known = {"ES801": 1}
    totals = Totals()
    totals.add(run)
    with Output("report.xml") as output:
        JunitReporter(output).finish(evalstream.Report([run], (), 0, 0, totals))
    tests = ET.parse(store / "report.xml").iter("testcase")
    (test,) = (one for one in tests if "/score" in one.attrib["name"])
    assert test.find("skipped") is not None
