"""What is not sealed: rows that do not cover claims, typing errors, paths that no version takes."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from commands import SECONDS, filtered_arguments, started, until
from each import each
from paths import REPOSITORY
from rows import DETAILS, STEM, Row, aggregate_of, bytes_of, hashed, line_of, sound_rows, write_run
from unsealed import result_of, unsealed

import evalstream
from evalstream.engine.row_pass import RowPass, RowsRead
from evalstream.io.inputs import STANDARD_INPUT
from evalstream.model.errors import UsageError
from evalstream.model.finding import Finding, Severity

RESULT_IDS = ("first", "second")
NUM_SAMPLES = "/evaluation_results/0/score_details/uncertainty/num_samples"
SAMPLE_IDS = "/evaluation_results/0/source_data/sample_ids"
TOTAL_ROWS = f"/{DETAILS}/total_rows"
FILE_PATH = f"/{DETAILS}/file_path"
IN_STORE = f"data/tiny-arithmetic/acme/acorn-7b/{STEM}_samples.jsonl"


def seal(rows: Path | str, aggregate: Path, **settings: Any) -> evalstream.Report:
    """Seal rows in an aggregate, as the command does."""
    return evalstream.check(rows, aggregate=aggregate, seal_to=str(aggregate), **settings)


def refused(rows: Path, aggregate: Path, **settings: Any) -> list[Finding]:
    """Try to seal rows, see that nothing is written and all says so, and return the errors."""
    before = aggregate.read_bytes()
    report = seal(rows, aggregate, **settings)
    (run,) = report.runs
    assert aggregate.read_bytes() == before
    assert (report.exit_code, run.verdict, run.sealed) == (1, "failed", None)
    assert "it was not sealed: " in (run.incomplete_reason or "")
    declared = json.loads(before).get(DETAILS, {}).get("checksum")
    assert run.declared == declared
    return [finding for finding in report if finding.severity.label == "error"]


def refusal(rows: Path, aggregate: Path, **settings: Any) -> set[str]:
    """Try to seal rows whose check does not fail, and return the codes of the warnings.

    With force they are sealed, and the same warnings stay.
    """
    before = aggregate.read_bytes()
    unsealed_codes = set(evalstream.check(rows, aggregate=aggregate).counts)
    report = seal(rows, aggregate, **settings)
    (run,) = report.runs
    assert aggregate.read_bytes() == before
    assert (report.exit_code, run.verdict, run.sealed) == (1, "failed", None)
    assert "it was not sealed: " in (run.incomplete_reason or "")
    codes = {one.code for one in report if one.severity is Severity.WARNING}
    forced = seal(rows, aggregate, seal_anyway=True, **settings)
    assert forced.runs[0].sealed == str(aggregate)
    assert codes - {"ES804", "ES805"} <= set(forced.counts) <= codes | unsealed_codes | {"ES509"}
    return codes - {"ES506", "ES804", "ES805"}


def is_sealed(rows: Path, aggregate: Path, **settings: Any) -> bool:
    """Seal rows, and tell whether that was done and exit code and verdict say so."""
    report = seal(rows, aggregate, **settings)
    if report.exit_code == 0:
        assert report.runs[0].sealed == str(aggregate)
        assert evalstream.check(rows, aggregate=aggregate).exit_code == 0
    return report.exit_code == 0


def repeated(rows: Iterable[Row], epochs: int) -> list[Row]:
    """Return each row once for each epoch, the epochs of a sample behind each other."""
    return [{**row, "metadata": {"epoch": epoch}} for row in rows for epoch in range(1, epochs + 1)]


def fan_out(count: int) -> list[list[Row]]:
    """Return the rows of two results over the same samples, one list for each."""
    rows = sound_rows("0.3.0", count)
    return [[{**row, "evaluation_result_id": name} for row in rows] for name in RESULT_IDS]


def test_a_torn_run_is_not_sealed(tmp_path: Path) -> None:
    torn = sound_rows(count=19)
    (error,) = refused(*unsealed(tmp_path, torn, {"num_samples": 40}))
    assert (error.code, error.pointer) == ("ES802", NUM_SAMPLES)
    assert (error.expected, error.found) == (19, 40)
    (error,) = refused(
        *unsealed(tmp_path, torn, {"sample_ids": [f"sample-{n}" for n in range(40)]})
    )
    assert (error.code, error.pointer) == ("ES609", SAMPLE_IDS)
    errors = refused(*unsealed(tmp_path, torn, format="jsonl", total_rows=40))
    assert [(one.code, one.pointer, one.expected, one.found) for one in errors] == [
        ("ES503", TOTAL_ROWS, 19, 40)
    ]


@pytest.mark.parametrize("count", [19, 40])
def test_a_stream_that_a_harness_left_is_not_sealed(tmp_path: Path, count: int) -> None:
    data = bytes_of(sound_rows(count=count))
    _, aggregate = unsealed(tmp_path, [], {"num_samples": 40, "score": 0.75})
    before = aggregate.read_bytes()
    for command in (("check", "-", "--seal-to"), ("seal", "-", "--aggregate")):
        aggregate.write_bytes(before)
        arguments = (*command, aggregate.name, "--tee", "copy.jsonl")
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        with started(*arguments, folder=tmp_path) as process:
            out, _ = process.communicate(data, timeout=SECONDS)
        assert process.returncode == (0 if count == 40 else 1)
        assert (aggregate.read_bytes() == before) is (count == 19)
        reason = b"it was not sealed: num_samples of result 0 is 40, but the run has 19 rows for it"
        assert (reason in out) is (count == 19)
        assert (tmp_path / "copy.jsonl").read_bytes() == data


def test_what_was_sealed_before_is_not_sealed_anew_with_fewer_rows(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows(count=40)))
    document = json.loads(aggregate.read_text())
    document["evaluation_results"] = [result_of(document["evaluation_results"][0])]
    aggregate.write_text(json.dumps(document))
    assert is_sealed(rows, aggregate)
    rows.write_bytes(bytes_of(sound_rows(count=16)))
    assert {error.code for error in refused(rows, aggregate)} == {"ES501", "ES503"}
    # Nor with more: these are not the rows that were sealed.
    rows.write_bytes(bytes_of(sound_rows(count=48)))
    assert {error.code for error in refused(rows, aggregate)} == {"ES501", "ES503"}
    report = seal(rows, aggregate, seal_anyway=True)
    assert (report.exit_code, report.counts) == (0, {"ES509": 1})
    assert json.loads(aggregate.read_text())[DETAILS]["total_rows"] == 48


def test_rules_that_are_silent_do_not_let_a_torn_run_pass(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows(count=19), {"num_samples": 40})
    assert refused(rows, aggregate, ignore=("ES8",)) == []
    assert refused(rows, aggregate, select=("ES1",)) == []
    assert refused(rows, aggregate, select=("ES1",), dry_run=True) == []
    assert refused(rows, aggregate, select=("ES1",), expect_rows=20) == []


NAMED = {"version": "0.3.0", "file_path": IN_STORE, "format": "jsonl"}
BOTH = [{"id": name} for name in RESULT_IDS]


@pytest.mark.parametrize(
    ("kept", "code"),
    [(lambda first, second: first, "ES604"), (lambda first, second: first + second[:5], "ES607")],
)
def test_a_run_without_rows_of_its_second_metric_is_not_sealed(
    tmp_path: Path, kept: Callable[[list[Row], list[Row]], list[Row]], code: str
) -> None:
    first, second = fan_out(8)
    assert is_sealed(*unsealed(tmp_path, first + second, *BOTH, **NAMED), file_path=IN_STORE)
    run = unsealed(tmp_path, kept(first, second), *BOTH, **NAMED)
    assert refusal(*run, file_path=IN_STORE) == {code}


def test_rows_without_the_id_of_their_result_are_not_sealed(tmp_path: Path) -> None:
    first, second = fan_out(8)
    del second[7]["evaluation_result_id"]
    run = unsealed(tmp_path, first + second[:7], *BOTH, **NAMED)
    assert refusal(*run, file_path=IN_STORE) == {"ES607"}
    run = unsealed(tmp_path, first + second, *BOTH, **NAMED)
    assert "ES604" in refusal(*run, file_path=IN_STORE)


def test_uneven_repeats_are_not_sealed(tmp_path: Path) -> None:
    rows = repeated(sound_rows(count=8), 2)
    assert is_sealed(*unsealed(tmp_path, rows))
    assert refusal(*unsealed(tmp_path, rows[:13])) == {"ES610"}


def test_a_refuted_score_is_not_sealed(tmp_path: Path) -> None:
    half = sound_rows(count=20)
    assert {one.code for one in refused(*unsealed(tmp_path, half, {"score": 0.4}))} == {"ES801"}
    run = unsealed(tmp_path, half, {"score": 0.4})
    # What a check leaves out is not a reason to certify it.
    assert "ES801" not in {one.code for one in refused(*run, ignore=("ES801",))}
    report = seal(*run, seal_anyway=True)
    assert (report.exit_code, report.counts["ES801"]) == (1, 1)
    assert report.runs[0].sealed == str(run[1])
    assert is_sealed(*unsealed(tmp_path, half))


def test_rows_that_confirm_no_score_may_be_sealed(tmp_path: Path) -> None:
    """A seal says which bytes the rows are, not that a score is right."""
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows(count=8)))
    aggregate.unlink()
    report = seal(rows, aggregate, create=True)
    (run,) = report.runs
    assert (report.exit_code, run.verdict, run.sealed) == (0, "unconfirmed", str(aggregate))


def sealed_run(folder: Path) -> tuple[Path, Path]:
    """Return a sealed run."""
    run = unsealed(folder, sound_rows(count=8))
    assert is_sealed(*run)
    assert evalstream.check(run[0], aggregate=run[1], strict=True).exit_code == 0
    return run


def test_the_seal_of_other_bytes_is_replaced_only_with_force(tmp_path: Path) -> None:
    rows, aggregate = sealed_run(tmp_path)
    edited = sound_rows(count=8)
    edited[3]["input"]["raw"] = "another question"
    edited[3] = hashed(edited[3], "concat")
    rows.write_bytes(bytes_of(edited))
    assert {one.code for one in refused(rows, aggregate)} == {"ES501"}
    assert {one.code for one in refused(rows, aggregate, select=("ES1",))} == set()
    before = json.loads(aggregate.read_text())[DETAILS]["checksum"]
    report = evalstream.seal(rows, aggregate, seal_anyway=True)
    (finding,) = report
    assert (finding.code, finding.severity) == ("ES509", Severity.WARNING)
    assert (finding.found, finding.pointer) == (before, f"/{DETAILS}/checksum")
    assert finding.expected == json.loads(aggregate.read_text())[DETAILS]["checksum"]
    # The second time these are the bytes that are sealed.
    assert is_sealed(rows, aggregate, strict=True)


def test_a_stream_does_not_replace_the_seal_of_another_run(tmp_path: Path) -> None:
    rows, aggregate = sealed_run(tmp_path)
    data, before = rows.read_bytes(), aggregate.read_bytes()
    line = data.splitlines(keepends=True)[0]
    arguments = ("check", "-", "--seal-to", aggregate.name, "--tee", "copy.jsonl")
    for given, code in ((data, 0), (data.replace(line, b"", 1), 1)):
        aggregate.write_bytes(before)
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        with started(*arguments, folder=tmp_path) as process:
            out, _ = process.communicate(given, timeout=SECONDS)
        assert process.returncode == code
        assert (b"ES509" in out) is (code == 1)


@each(
    "broken",
    [{"checksum": "n/a"}, {"checksum": "0" * 63}, {"checksum": None}, {"total_rows": "many"}],
)
def test_a_broken_seal_is_replaced_without_a_word(tmp_path: Path, broken: Row) -> None:
    rows, aggregate = sealed_run(tmp_path)
    document = json.loads(aggregate.read_text())
    document[DETAILS] |= broken
    aggregate.write_text(json.dumps(document))
    assert is_sealed(rows, aggregate)


def test_a_torn_run_is_sealed_if_it_must_be(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows(count=19), {"num_samples": 40})
    report = seal(rows, aggregate, seal_anyway=True)
    assert (report.exit_code, report.runs[0].sealed) == (0, str(aggregate))
    assert json.loads(aggregate.read_text())[DETAILS]["total_rows"] == 19
    rows, aggregate = unsealed(tmp_path, sound_rows(count=19))
    report = seal(rows, aggregate, seal_anyway=True, expect_rows=40)
    assert (report.exit_code, report.runs[0].sealed) == (1, str(aggregate))


@each(
    ("claimed", "fits"), [(12, True), (6, True), (8, False), (13, False), (11, False), (7, False)]
)
def test_num_samples_may_count_samples_or_rows(tmp_path: Path, claimed: int, fits: bool) -> None:
    rows, aggregate = unsealed(tmp_path, repeated(sound_rows(count=6), 2), {"num_samples": claimed})
    assert is_sealed(rows, aggregate) is fits


def test_rows_with_an_error_may_be_left_out(tmp_path: Path) -> None:
    rows = repeated(sound_rows(count=6), 2)
    rows[3]["error"] = "timeout"
    assert is_sealed(*unsealed(tmp_path, rows, {"num_samples": 11}))


def test_each_result_is_covered_by_its_own_rows(tmp_path: Path) -> None:
    first, second = fan_out(8)
    claims = [{"id": name, "num_samples": 8} for name in RESULT_IDS]
    listed = [{"id": name, "sample_ids": [f"sample-{n}" for n in range(8)]} for name in RESULT_IDS]
    named = {"version": "0.3.0", "file_path": IN_STORE, "format": "jsonl"}
    for rows, fits in ((first + second, True), (first + second[:3], False)):
        for some in (claims, listed):
            run = unsealed(tmp_path, rows, *some, **named)
            assert is_sealed(*run, file_path=IN_STORE) is fits


def test_results_over_splits_may_list_the_whole_dataset(tmp_path: Path) -> None:
    first, second = fan_out(8)
    everything = [f"sample-{number}" for number in range(8)]
    claims = [
        {"id": "first", "num_samples": 5, "sample_ids": everything},
        {"id": "second", "num_samples": 3, "sample_ids": everything},
        {"id": "first:robustness", "num_samples": 5, "sample_ids": everything},
    ]
    named = {"version": "0.3.0", "file_path": IN_STORE, "format": "jsonl"}
    run = unsealed(tmp_path, first[:5] + second[5:], *claims, **named)
    assert refusal(*run, file_path=IN_STORE) == {"ES604"}
    # The converter of HELM writes no rows of perturbations.
    document = json.loads(run[1].read_text())
    document["eval_library"] = {"name": "helm", "version": "0.5"}
    run[1].write_text(json.dumps(document))
    assert is_sealed(*run, file_path=IN_STORE)
    run = unsealed(tmp_path, first[:5] + second[5:7], *claims, **named)
    assert not is_sealed(*run, file_path=IN_STORE)


def test_results_of_one_name_are_covered_by_rows_that_join_neither(tmp_path: Path) -> None:
    claims = [{"num_samples": 8}, {"num_samples": 8}]
    assert is_sealed(*unsealed(tmp_path, sound_rows(count=8), *claims))
    refused(*unsealed(tmp_path, sound_rows(count=5), *claims))


def test_the_size_of_a_dataset_is_no_claim_where_a_part_was_evaluated(tmp_path: Path) -> None:
    claim = {"samples_number": 40, "num_samples": 8}
    assert is_sealed(*unsealed(tmp_path, sound_rows(count=8), claim))
    assert refusal(*unsealed(tmp_path, sound_rows(count=8), {"samples_number": 40})) == {"ES609"}
    assert is_sealed(*unsealed(tmp_path, sound_rows(count=8), {"samples_number": 8}))


def test_samples_that_are_not_listed_stand_for_none_that_is(tmp_path: Path) -> None:
    claim = {"sample_ids": [f"sample-{number}" for number in (*range(5), 100, 101, 102)]}
    (error,) = refused(*unsealed(tmp_path, sound_rows(count=8), claim))
    assert "3 rows score others" in error.message


@each(
    ("settings", "fits"),
    [
        ({"expect_rows": 16}, True),
        ({"expect_rows": 15}, False),
        ({"expect_rows": 17}, False),
        ({"expect_rows": 0}, False),
        ({"expect_samples": 8}, True),
        ({"expect_samples": 16}, False),
        ({"expect_samples": 9}, False),
        ({"expect_rows": 16, "expect_samples": 8}, True),
        ({"expect_rows": 16, "expect_samples": 9}, False),
    ],
)
def test_rows_and_samples_may_be_expected(
    tmp_path: Path, settings: dict[str, int], fits: bool
) -> None:
    rows, aggregate = unsealed(tmp_path, repeated(sound_rows(count=8), 2))
    report = evalstream.check(rows, aggregate=aggregate, **settings)
    assert (report.exit_code, report.runs[0].verdict == "passed") == (0 if fits else 1, fits)
    errors = [finding for finding in report if finding.severity.label == "error"]
    assert len(errors) == (not fits)
    for error in errors:
        assert error.expected in settings.values()
        assert error.found == (16 if error.code == "ES503" else 8)
    assert evalstream.check(rows, aggregate=aggregate, select=("ES1",), **settings).exit_code == (
        0 if fits else 1
    )
    assert is_sealed(rows, aggregate, **settings) is fits


def test_samples_are_expected_of_each_result(tmp_path: Path) -> None:
    first, second = fan_out(8)
    claims = [{"id": name} for name in RESULT_IDS]
    for rows, fits in ((first + second, True), (first + second[:3], False)):
        path, aggregate = unsealed(tmp_path, rows, *claims, version="0.3.0")
        report = evalstream.check(path, aggregate=aggregate, expect_samples=8, select=("ES8",))
        assert report.exit_code == (0 if fits else 1)
    names = [{**row, "evaluation_name": f"{row['evaluation_name']}-{name}"}
             for name in "ab" for row in sound_rows(count=8)]  # fmt: skip
    path, _ = unsealed(tmp_path, names)
    assert evalstream.check(path, expect_samples=16, select=("ES8",)).exit_code != 1


def test_only_the_rows_of_one_run_are_expected(tmp_path: Path) -> None:
    rows, _ = write_run(tmp_path, bytes_of(sound_rows()))
    for wrong in ({"expect_rows": -1}, {"expect_samples": -1}):
        with pytest.raises(UsageError, match="must not be negative"):
            evalstream.check(rows, **wrong)
    with pytest.raises(UsageError, match="create requires seal_to"):
        evalstream.check(rows, create=True)
    (tmp_path / "other.jsonl").write_bytes(rows.read_bytes())
    for inputs in ([tmp_path], [rows, rows], [f"{tmp_path}/*.jsonl"]):
        with pytest.raises(UsageError, match="exactly one rows file"):
            evalstream.check(inputs, expect_rows=8)
    with pytest.raises(UsageError, match="ledger"):
        evalstream.check(rows, expect_rows=8, ledger=tmp_path / "ledger")
    with pytest.raises(UsageError, match="expect_rows does not go with files of infereval"):
        evalstream.check(REPOSITORY / "examples/infereval/evaluation.json", expect_rows=2)


@pytest.mark.parametrize("stream", [False, True])
def test_an_aggregate_is_begun_only_where_that_is_asked_for(tmp_path: Path, stream: bool) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows())
    typo = tmp_path / "aggergate.json"
    data = rows.read_bytes()
    for command in (("seal", "--aggregate"), ("check", "--seal-to")):
        ways = ["-", "--tee", "copy.jsonl"] if stream else [rows.name]
        arguments = [command[0], *ways, command[1], typo.name]
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        with started(*arguments, folder=tmp_path) as process:
            out, errors = process.communicate(data if stream else b"", timeout=SECONDS)
        assert process.returncode == (3 if stream else 2)
        assert b"--create" in out + errors
        assert not typo.exists()
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        counted = ("--expect-rows", "8") if stream else ()
        with started(*arguments, "--create", *counted, folder=tmp_path) as process:
            process.communicate(data if stream else b"", timeout=SECONDS)
        assert process.returncode == 0
        assert json.loads(typo.read_text())[DETAILS]["total_rows"] == 8
        typo.unlink()
        # One that is there is sealed as it is.
        arguments = [command[0], *ways, command[1], aggregate.name, "--create", *counted]
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        with started(*arguments, folder=tmp_path) as process:
            process.communicate(data if stream else b"", timeout=SECONDS)
        assert process.returncode == 0
        assert "evaluation_results" in json.loads(aggregate.read_text())


def test_a_path_that_breaks_the_pattern_is_told_with_one_that_does_not(tmp_path: Path) -> None:
    data = bytes_of(sound_rows("0.3.0"))
    new = (
        "seal",
        "-",
        "--tee",
        "copy.jsonl",
        "--aggregate",
        "new.json",
        "--create",
        "--expect-rows",
        "8",
    )
    for path, code in ((None, 1), ("data/copy.jsonl", 1), (IN_STORE, 0)):
        given = () if path is None else ("--file-path", path)
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        with started(*new, *given, folder=tmp_path) as process:
            out, errors = process.communicate(data, timeout=SECONDS)
        said = (out + errors).decode()
        assert process.returncode == code, said
        assert (tmp_path / "new.json").exists() is (code == 0)
        if code:
            assert "ES213 pattern" in said
            assert f"--file-path {IN_STORE}" in said
            assert "0.2" not in said.replace("evalstream", "")
    assert json.loads((tmp_path / "new.json").read_text())[DETAILS]["file_path"] == IN_STORE


def test_an_aggregate_that_has_such_a_path_is_told_it_too(tmp_path: Path) -> None:
    details: dict[str, Any]
    for details in ({}, {"format": "jsonl", "file_path": "rows.jsonl"}):
        rows, aggregate = unsealed(tmp_path, sound_rows("0.3.0"), version="0.3.0", **details)
        errors = refused(rows, aggregate)
        assert [(error.code, error.pointer) for error in errors] == [("ES213", FILE_PATH)]
        assert f"--file-path {IN_STORE}" in errors[0].message
        assert "ES216" not in seal(rows, aggregate).counts
        forced = seal(rows, aggregate, seal_anyway=True)
        assert (forced.exit_code, forced.runs[0].sealed) == (1, str(aggregate))
        assert "ES216" not in forced.counts


def test_what_only_the_sealed_aggregate_would_break_is_told(tmp_path: Path) -> None:
    _, aggregate = unsealed(tmp_path, sound_rows("0.3.0"), version="0.3.0")
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(sound_rows("0.3.0")))
    errors = refused(rows, aggregate, file_path=IN_STORE)
    assert [(error.code, error.pointer) for error in errors] == [
        ("ES203", f"/{DETAILS}/format"),
        ("ES505", None),
    ]
    assert errors[0].message.startswith("as it would be sealed: ")


def test_a_refused_seal_is_told_by_what_stands_in_the_aggregate(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows()))
    sealed = json.loads(aggregate.read_text())[DETAILS]["checksum"]
    rows.write_bytes(bytes_of(sound_rows()) + b"{torn\n")
    code, out, _ = filtered_arguments([rows.name, "--seal-to", aggregate.name], tmp_path)
    assert code == 1
    assert b"as declared" not in out
    report = seal(rows, aggregate)
    (run,) = report.runs
    assert run.declared == sealed != run.actual
    assert report.counts["ES501"] == 1
    assert seal(rows, aggregate, dry_run=True).runs[0].declared == sealed


def test_severities_and_profiles_decide_about_a_seal(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows())
    rows.write_bytes(rows.read_bytes() + b"\n")
    for more, code in (((), 0), (("--fail-on", "warning"), 1), (("--profile", "datastore"), 1)):
        rows, aggregate = unsealed(tmp_path, sound_rows())
        rows.write_bytes(rows.read_bytes() + b"\n")
        arguments = ("seal", rows.name, "--aggregate", aggregate.name, *more)
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        with started(*arguments, folder=tmp_path) as process:
            process.communicate(timeout=SECONDS)
        assert process.returncode == code
        assert (DETAILS in json.loads(aggregate.read_text())) is (code == 0)


def test_rows_are_sealed_in_the_aggregate_they_were_checked_against(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows())
    other = tmp_path / "other.json"
    other.write_bytes(aggregate.read_bytes())
    with pytest.raises(UsageError, match="name one aggregate"):
        evalstream.check(rows, aggregate=aggregate, seal_to=str(other))
    other.unlink()
    link = tmp_path / "link.json"
    link.symlink_to(aggregate.name)
    report = evalstream.check(rows, aggregate=aggregate, seal_to=str(link))
    assert report.exit_code == 0
    report = evalstream.check(rows, aggregate=aggregate, seal_to=str(other), create=True)
    assert (report.exit_code, "evaluation_results" in json.loads(other.read_text())) == (0, True)
    _changed_while_rows_are_read(aggregate, monkeypatch)
    report = seal(rows, aggregate)
    assert report.exit_code == 3
    assert "changed while it was checked" in (report.runs[0].incomplete_reason or "")
    assert "it was not sealed" in (report.runs[0].incomplete_reason or "")


def _changed_while_rows_are_read(aggregate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a harness write its aggregate once the rows are being read."""
    run = RowPass.run

    def later(row_pass: RowPass, *arguments: Any) -> RowsRead:
        document = json.loads(aggregate.read_text())
        document["retrieved_timestamp"] = "1760000009"
        aggregate.write_text(json.dumps(document))
        return run(row_pass, *arguments)

    monkeypatch.setattr(RowPass, "run", later)


def test_a_copy_that_reading_broke_off_is_not_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of what came before an error of reading is whole by itself, and not the stream."""
    _, aggregate = unsealed(tmp_path, sound_rows())
    text = aggregate.read_text()
    aggregate.unlink()
    pieces = [line_of(row) for row in sound_rows()[:5]]

    class Broken:
        def read(self) -> bytes:
            if pieces:
                return pieces.pop(0)
            aggregate.write_text(text)
            raise OSError(5, "Input/output error")

        def wait(self, seconds: float) -> bool:
            return True

        def close(self) -> None:
            pass

    monkeypatch.setattr(STANDARD_INPUT, "reader", Broken)
    report = evalstream.check("-", seal_to=str(aggregate), tee=str(tmp_path / "copy.jsonl"))
    assert report.exit_code == 3
    assert report.runs[0].sealed is None
    assert "it was not sealed" in (report.runs[0].incomplete_reason or "")
    assert DETAILS not in json.loads(aggregate.read_text())


def test_an_aggregate_that_comes_late_to_rows_without_a_copy_is_not_sealed(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows(), {"num_samples": 8})
    text = aggregate.read_text()
    aggregate.unlink()
    ways = ("--file-path", rows.name, "--pass", "all")
    with started("check", "-", "--seal-to", aggregate.name, *ways, folder=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(rows.read_bytes())
        until(process, rows.stat().st_size)
        aggregate.write_text(text)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert b"its claims were not checked; it was not sealed" in errors
    assert aggregate.read_text() == text


def test_a_sealed_example_is_sealed_again_unchanged(tmp_path: Path) -> None:
    data = bytes_of(sound_rows())
    rows, aggregate = write_run(tmp_path, data)
    aggregate.write_text(json.dumps(aggregate_of("0.2.0", data, 8, rows.name), indent=2))
    before = aggregate.read_bytes()
    assert is_sealed(rows, aggregate, strict=True, expect_rows=8, expect_samples=8)
    assert aggregate.read_bytes() == before


@each("claimed", ["9", " 9 ", 9.0, "9" * 400])
def test_a_claim_in_quotes_is_a_claim(tmp_path: Path, claimed: Any) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows(count=8), total_rows=claimed)
    before = aggregate.read_bytes()
    report = evalstream.check(rows, seal_to=str(aggregate))
    assert report.exit_code == 1
    assert aggregate.read_bytes() == before


@pytest.mark.parametrize("expected", [{"expect_rows": 8}, {"expect_samples": 8}])
def test_what_is_expected_is_not_there_without_rows(
    tmp_path: Path, expected: dict[str, int]
) -> None:
    document = aggregate_of("0.2.0", b"", 0)
    del document[DETAILS]
    aggregate = tmp_path / "run.json"
    for source in ("documentation", "evaluation_run"):
        document["source_metadata"]["source_type"] = source
        aggregate.write_text(json.dumps(document))
        assert evalstream.check(aggregate).exit_code == 0
        assert evalstream.check(aggregate, **expected).exit_code == 1


@pytest.mark.parametrize("member", ["checksum", "total_rows"])
def test_rows_that_are_sealed_and_gone_were_not_checked(tmp_path: Path, member: str) -> None:
    document = aggregate_of("0.2.0", b"rows", 8)
    aggregate = tmp_path / "run.json"
    document[DETAILS] = {"format": "jsonl", member: document[DETAILS][member]}
    aggregate.write_text(json.dumps(document))
    for place in (aggregate, tmp_path):
        report = evalstream.check(place)
        assert report.exit_code == 3
        assert "ES001" in report.counts


def test_what_fix_mends_in_a_copied_stream_is_listed_once(tmp_path: Path) -> None:
    rows = bytes_of(sound_rows("0.2.0", 3))[:-1].replace(b"\n", b"\n\n", 1)
    new = ("check", "-", "--tee", "rows.jsonl", "--seal-to", "new.json", "--create")
    with started(*new, "--format", "concise", folder=tmp_path) as process:
        text = process.communicate(rows, timeout=SECONDS)[0].decode()
    assert (text.count("ES110"), text.count("ES111")) == (1, 1), text
