"""Runs and submissions of SWE-bench: what belongs together, what is found, and what is not."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from depth import some
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.batch.ledger.run_state import read_state
from evalstream.discovery.inputs import find_runs
from evalstream.model.report import Report
from evalstream.model.run import Run

REPORT = "acme__acorn-7b.tiny.json"
LOGS = "logs/run_evaluation/tiny/acme__acorn-7b"
RESULTS = "submission/results/results.json"
DETAILS = "submission/per_instance_details.json"


def ids(*numbers: int) -> list[str]:
    """Return ids of the example."""
    return [f"acme__widgets-{number}" for number in numbers]


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a copy of the example."""
    shutil.copytree(EXAMPLES / "swe_bench", tmp_path / "swe")
    monkeypatch.chdir(tmp_path / "swe")


def edit(path: str, act: Callable[[Any], Any]) -> None:
    """Change a JSON document in place, or replace it with what `act` returns."""
    value = json.loads(Path(path).read_bytes())
    found = act(value)
    Path(path).write_text(json.dumps(value if found is None else found))


def check(*paths: str, **options: Any) -> Report:
    """Check files of the example."""
    return evalstream.check(list(paths), jobs=1, **options)


def codes(report: Report) -> set[str]:
    """Return the codes of the findings of runs."""
    return set(report.counts) - {"ES007"}


def verdicts(report: Report) -> dict[str, str]:
    """Return the verdict of each run by its document."""
    return {run.aggregate or run.file: run.verdict for run in report.runs if not run.is_note}


@pytest.mark.parametrize("strict", [False, True])
def test_a_folder_has_its_run_and_its_submission(strict: bool) -> None:
    report = check(".", strict=strict, ignore=("ES007",))
    assert (report.exit_code, codes(report)) == (0, set())
    assert sorted(verdicts(report).values()) == ["passed", "passed"]
    run = next(run for run in report.runs if (run.aggregate or "").endswith(REPORT))
    assert (run.rows, run.version) == (6, "2")
    assert [one.text for one in run.checked] == [
        "3 of 3 outcomes as their tests say",
        "4 of 4 patches as predicted",
    ]


def test_a_named_report_is_checked_with_its_logs() -> None:
    report = check(REPORT)
    assert (report.exit_code, verdicts(report)) == (0, {REPORT: "passed"})
    assert {claim.label: claim.state.value for claim in report.runs[0].claims} == {
        "resolved_instances": "confirmed",
        "unresolved_instances": "confirmed",
        "completed_instances": "confirmed",
        "submitted_instances": "open",
        "empty_patch_instances": "open",
    }


@pytest.mark.parametrize("named", [[REPORT, "preds.jsonl"], ["preds.jsonl", REPORT]])
def test_the_order_of_named_files_does_not_matter(named: list[str]) -> None:
    report = check(*named)
    assert (verdicts(report), codes(report)) == ({REPORT: "passed"}, set())
    assert report.runs[0].file == "preds.jsonl"


def test_a_report_without_logs_is_unconfirmed() -> None:
    shutil.rmtree("logs")
    report = check(REPORT, "preds.jsonl")
    assert (verdicts(report), codes(report)) == ({REPORT: "unconfirmed"}, {"SWE402", "ES805"})
    assert check(REPORT, "preds.jsonl", strict=True).exit_code == 1


def test_predictions_alone_confirm_nothing() -> None:
    assert verdicts(check("preds.jsonl")) == {"preds.jsonl": "unconfirmed"}


def test_one_report_of_an_instance_is_held_to_its_tests() -> None:
    path = f"{LOGS}/{ids(107)[0]}/report.json"
    assert verdicts(check(path)) == {path: "passed"}
    edit(path, lambda value: value[ids(107)[0]].update(resolved=True))
    report = check(path)
    assert (codes(report), report.exit_code) == ({"SWE302"}, 1)


def test_reports_of_old_releases_have_fewer_members() -> None:
    """Releases 2.0.0 to 2.0.2 knew neither empty patches nor what was submitted."""
    new = ("schema", "submitted", "empty", "incomplete", "infra", "ambiguous", "failure")

    def age(value: dict[str, Any]) -> dict[str, Any]:
        kept = {key: one for key, one in value.items() if not key.startswith(new)}
        return kept | {"total_instances": 4, "unstopped_instances": 0, "unstopped_containers": []}

    edit(REPORT, age)
    report = check(REPORT)
    assert (verdicts(report), codes(report), report.runs[0].version) == (
        {REPORT: "passed"}, set(), None,
    )  # fmt: skip

    # They evaluate empty patches, and fail to write one that is null.
    def add(value: dict[str, Any]) -> None:
        value["error_ids"] += ids(115)
        value.update(total_instances=5, error_instances=2)

    edit(REPORT, add)
    report = check(REPORT, "preds.jsonl")
    assert (verdicts(report), codes(report)) == ({REPORT: "passed"}, set())


def test_a_broken_report_makes_an_instance_completed_and_an_error() -> None:
    Path(f"{LOGS}/{ids(107)[0]}/report.json").unlink()

    def lose(value: dict[str, Any]) -> None:
        value.update(unresolved_ids=[], unresolved_instances=0, error_instances=2)
        value["error_ids"] = ids(107, 110)

    edit(REPORT, lose)
    report = check(REPORT, "preds.jsonl")
    assert (verdicts(report), codes(report)) == ({REPORT: "passed"}, set())


@each("text", ["", "{", "{}", '{"acme__widgets-107": {}}', "null"])
def test_a_broken_report_is_what_the_run_report_calls_an_error(text: str) -> None:
    path = Path(f"{LOGS}/{ids(107)[0]}/report.json")
    sound = path.read_text()
    path.write_text(text)
    assert check(".").exit_code != 0

    def lose(value: dict[str, Any]) -> None:
        value.update(unresolved_ids=[], unresolved_instances=0, error_instances=2)
        value["error_ids"] = ids(107, 110)

    edit(REPORT, lose)
    report = check(".")
    assert (set(verdicts(report).values()), codes(report)) == ({"passed"}, set())
    path.write_text(sound)
    assert codes(check(".")) == {"SWE301"}


@each("searched", ["logs", LOGS])
def test_an_empty_report_is_that_of_an_error_on_modal(searched: str) -> None:
    Path(f"{LOGS}/{ids(107)[0]}/report.json").write_text("")
    report = check(searched)
    assert (set(verdicts(report).values()), codes(report)) == ({"passed"}, set())
    assert "1 error with an empty report" in [one.text for one in report.runs[0].checked]


@each("searched", [RESULTS, "submission", "submission/logs"])
def test_no_resolved_instance_of_a_submission_has_an_empty_report(searched: str) -> None:
    shutil.copytree(LOGS, "submission/logs")
    report = Path(f"submission/logs/{ids(107)[0]}/report.json")
    report.write_text("")
    assert set(verdicts(check(searched)).values()) == {"passed"}
    assert set(verdicts(evalstream.check(os.path.abspath(searched))).values()) == {"passed"}
    report.write_text("{")
    assert "passed" not in verdicts(check(searched)).values()
    if searched != "submission/logs":
        report.write_text("")
        Path(f"submission/logs/{ids(101)[0]}/report.json").write_text("")
        assert "ES103" in codes(check(searched))


@each(
    "target",
    [
        "image_build_logs/instances/sweb.eval.x86_64.a__latest",
        "/x/sweb.eval.a",
        "../a",
        "../linked",
    ],
)
def test_links_to_the_builds_of_images_hold_no_results(target: str) -> None:
    """2.0.0 to 4.1.0 makes them; what they lead to is often gone. Another link may be data.

    Where a link leads out, nothing is looked at there, such as whether it is a link, too.
    """
    os.symlink("/x/sweb.eval.a", "../linked")
    target = os.path.abspath(target) if target == "../linked" else target
    os.symlink(target, f"{LOGS}/{ids(101)[0]}/image_build_dir")
    is_build = "sweb.eval." in target
    assert (set(verdicts(check(".")).values()) == {"passed"}) is is_build


@pytest.mark.parametrize("info", ["info: # figures", "info:"])
def test_metadata_of_any_layout_is_read_with_its_submission(info: str) -> None:
    path = Path("submission/metadata.yaml")
    path.write_text(path.read_text().replace("info:", info))
    assert "metadata" not in str([one.message for one in check("submission")])
    edit(DETAILS, lambda value: [one.pop("api_calls") for one in value.values()] and None)
    Path(RESULTS).unlink()
    assert codes(check("submission")) == {"SWE402"}
    path.write_text(path.read_text().replace("40.0", "80.0"))
    assert codes(check("submission")) == {"SWE401", "SWE402"}


def test_excluded_metadata_are_not_opened() -> None:
    """Of a named submission they are read, as all that lies where it has its documents."""
    for named in ("submission", RESULTS):
        assert "info.resolved" in [claim.label for claim in check(named).runs[0].claims]
    excluded = check("submission", exclude=["metadata.yaml"])
    assert "info.resolved" not in [claim.label for claim in excluded.runs[0].claims]


def test_predictions_beyond_the_dataset_are_sound() -> None:
    """With `-i`, submitted_ids holds ids that are in no other list."""
    with open("preds.jsonl", "a") as file:
        for one, patch in zip(ids(500, 501), ("", "x"), strict=True):
            record = {"instance_id": one, "model_name_or_path": "acme/acorn-7b"}
            file.write(json.dumps({**record, "model_patch": patch}) + "\n")

    def submit(value: dict[str, Any]) -> None:
        value["submitted_ids"] += ids(500, 501)
        value["submitted_instances"] = 7

    edit(REPORT, submit)
    report = check(REPORT, "preds.jsonl")
    assert (verdicts(report), codes(report)) == ({REPORT: "passed"}, set())


@pytest.mark.parametrize("form", ["list", "by id"])
def test_predictions_as_json(form: str) -> None:
    rows = [json.loads(line) for line in Path("preds.jsonl").read_text().splitlines()]
    rows[0]["model_patch"] = "other"
    value = rows if form == "list" else {row["instance_id"]: row for row in rows}
    Path("preds.json").write_text(json.dumps(value))
    Path("preds.jsonl").unlink()
    for named in ([REPORT, "preds.json"], ["."]):
        report = check(*named, ignore=("ES007",))
        assert codes(report) == {"SWE306"}
        (finding,) = report
        assert finding.pointer == f"/{0 if form == 'list' else ids(101)[0]}/model_patch"


def change_prediction(one: str, **members: Any) -> None:
    """Change the prediction of an instance."""
    rows = [json.loads(line) for line in Path("preds.jsonl").read_text().splitlines()]
    for row in rows:
        row.update(members if row["instance_id"] == one else {})
    Path("preds.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize("with_results", [False, True])
def test_a_patch_is_compared_without_the_report_of_its_instance(with_results: bool) -> None:
    """The tests of an instance timed out: its patch is in the logs, and a report is not."""
    (one,) = ids(110)
    files, place = (REPORT, "preds.jsonl"), "preds.jsonl"
    change_prediction(one, model_patch="+another\n")
    if with_results:
        shutil.copytree(LOGS, "submission/logs")
        shutil.copy("preds.jsonl", "submission/all_preds.jsonl")
        files, place = ("submission",), "submission/all_preds.jsonl"
    report = check(*files)
    found = [finding for finding in report if finding.code == "SWE306"]
    assert [(str(one.file), one.severity.name) for one in found] == [(place, "WARNING")]


@each(
    ("member", "value"),
    [("patch_successfully_applied", False), ("patch_exists", False), ("patch_is_None", True)],
)
@pytest.mark.parametrize("number", [101, 107])
def test_a_patch_that_was_not_applied_resolves_nothing_and_has_no_tests(
    member: str, value: bool, number: int
) -> None:
    (one,) = ids(number)
    edit(f"{LOGS}/{one}/report.json", lambda report: report[one].update({member: value}))
    assert codes(check(REPORT, "preds.jsonl")) == {"SWE302"}


@pytest.mark.parametrize("reasons", [None, {}])
def test_a_failure_of_the_environment_has_a_reason(reasons: Any) -> None:
    failed = {"infra_failure_ids": ids(107), "infra_failure_instances": 1}
    edit(REPORT, lambda value: value.update(failed, failure_reasons=reasons))
    assert codes(check(REPORT, "preds.jsonl")) - {"SWE101"} == {"SWE204"}


def test_a_failure_with_a_reason_in_its_report_has_one_in_the_run_report() -> None:
    (one,) = ids(107)
    reason = {"infra_failure_reason": "no_tests_collected"}
    edit(f"{LOGS}/{one}/report.json", lambda report: report[one].update(reason))
    assert codes(check(REPORT, "preds.jsonl")) == {"SWE204"}
    failed = {"ambiguous_failure_ids": [one], "ambiguous_failure_instances": 1}
    edit(REPORT, lambda value: value.update(failed, failure_reasons={one: "missing_module"}))
    assert codes(check(REPORT, "preds.jsonl")) == set()


def test_a_patch_of_another_call_is_not_compared_with_an_empty_prediction() -> None:
    (one,) = ids(115)
    folder = Path(LOGS) / one
    folder.mkdir()
    (folder / "patch.diff").write_text("+of another call\n")
    assert codes(check(REPORT, "preds.jsonl")) == set()


def test_a_report_of_another_call_is_not_compared_with_an_empty_prediction() -> None:
    """A second call with one run id, for which the patch of an instance was emptied."""
    (one,) = ids(107)

    def move(value: dict[str, Any]) -> None:
        value.update(unresolved_ids=[], unresolved_instances=0)
        value["completed_ids"].remove(one)
        value["completed_instances"] -= 1
        value["empty_patch_ids"] = sorted([*value["empty_patch_ids"], one])
        value["empty_patch_instances"] += 1

    edit(REPORT, move)
    change_prediction(one, model_patch="")
    report = check(REPORT, "preds.jsonl")
    assert (verdicts(report), codes(report)) == ({REPORT: "passed"}, set())
    assert report.runs[0].checked[-1].is_ok
    change_prediction(one, model_patch="+another\n")
    assert {"SWE305", "SWE306"} <= codes(check(REPORT, "preds.jsonl"))


@each("name", ["../acme__widgets-101", "/etc", ".."])
def test_an_id_leads_to_no_other_folder(name: str) -> None:
    change_prediction(ids(110)[0], instance_id=name)
    edit(REPORT, lambda value: value["error_ids"].append(name))
    assert "SWE306" not in codes(check(REPORT, "preds.jsonl"))


def test_a_prediction_that_cannot_be_read_refutes_nothing() -> None:
    lines = Path("preds.jsonl").read_text().splitlines(keepends=True)
    Path("preds.jsonl").write_text("".join([lines[0], "{\n", *lines[2:]]))
    report = check(REPORT, "preds.jsonl")
    assert codes(report) == {"ES103", "SWE402"}
    assert report.totals.claims["refuted"] == 0


def test_a_report_that_cannot_be_read_is_not_missing() -> None:
    Path(f"{LOGS}/{ids(102)[0]}/report.json").write_text("{")
    assert codes(check(REPORT, "preds.jsonl")) == {"ES103", "SWE402"}


def test_the_rate_of_a_submission_that_nothing_resolved_is_refuted() -> None:
    """A published case: 69.6 % over details with none of 500 resolved."""
    edit(DETAILS, lambda value: [one.update(resolved=False) for one in value.values()] and None)
    edit(RESULTS, lambda value: value.update(resolved=[]))
    report = check("submission", ignore=("ES007",))
    assert report.exit_code == 1
    assert {"SWE401", "SWE205"} == codes(report)


def test_a_repository_may_not_be_left_out() -> None:
    edit(
        "submission/results/resolved_by_repo.json",
        lambda _: {"acme/other": {"resolved": 0, "total": 1}},
    )
    assert codes(check(RESULTS)) == {"SWE205"}


def test_an_instance_that_was_left_out_is_named() -> None:
    def leave_out(value: dict[str, Any]) -> None:
        value.update(completed_ids=ids(101, 102), unresolved_ids=[], unresolved_instances=0)
        value.update(completed_instances=2, total_instances=5)

    edit(REPORT, leave_out)
    report = check(REPORT, "preds.jsonl")
    assert (report.exit_code, codes(report)) == (1, {"SWE303"})
    edit(REPORT, lambda value: value["submitted_ids"].remove(ids(107)[0]))
    edit(REPORT, lambda value: value.update(submitted_instances=4, total_instances=4))
    found = [one.severity.label for one in check(REPORT) if one.code == "SWE303"]
    assert found == ["warning"]


def test_a_count_that_was_raised_with_its_list_is_refuted() -> None:
    def claim(value: dict[str, Any]) -> None:
        value["resolved_instances"] += 1
        value["resolved_ids"] += ids(110)

    edit(REPORT, claim)
    report = check(REPORT, "preds.jsonl")
    assert (report.exit_code, codes(report)) == (1, {"SWE202", "SWE203", "SWE401"})


def test_details_are_held_against_the_list() -> None:
    edit(DETAILS, lambda value: value[ids(107)[0]].update(resolved=True))
    Path("submission/metadata.yaml").unlink()
    assert "SWE301" in codes(check(RESULTS))


def test_a_submission_with_logs_is_held_against_them() -> None:
    shutil.copytree(LOGS, "submission/logs")
    shutil.copy("preds.jsonl", "submission/all_preds.jsonl")
    report = check("submission", ignore=("ES007",))
    assert (report.exit_code, codes(report)) == (0, set())
    edit(RESULTS, lambda value: value.update(resolved=ids(101)))
    assert "SWE301" in codes(check("submission"))


def test_the_older_results_have_ten_lists() -> None:
    def age(value: dict[str, Any]) -> None:
        names = ("install_fail", "reset_failed", "no_apply", "test_errored", "test_timeout")
        value.update({name: [] for name in names})
        value.update(generated=ids(101, 102, 107, 110), with_logs=ids(101), applied=ids(101, 102))

    edit(RESULTS, age)
    assert codes(check(RESULTS)) == {"SWE203"}


def test_no_patch_of_white_space_was_generated() -> None:
    """The lists of `get_model_report` (1.1.0 to 1.1.5), which calls such a patch no generation."""
    change_prediction(ids(115)[0], model_patch=" \n\t")
    shutil.copy("preds.jsonl", "submission/preds.jsonl")
    assert codes(check("submission")) == set()
    edit(RESULTS, lambda value: value.update(generated=ids(101, 102, 107, 110)))
    assert codes(check("submission")) == set()
    edit(RESULTS, lambda value: value.update(generated=ids(101, 102, 107, 110, 115)))
    assert codes(check("submission")) == {"SWE202", "SWE305"}


def test_a_linked_patch_is_not_read() -> None:
    Path("secret").write_text("secret")
    patch = Path(f"{LOGS}/{ids(101)[0]}/patch.diff")
    patch.unlink()
    patch.symlink_to(Path("secret").absolute())
    report = check(REPORT, "preds.jsonl")
    assert codes(report) == set()
    assert "3 of 4 patches as predicted" in [one.text for one in report.runs[0].checked]


@pytest.mark.parametrize("named", [".", REPORT])
def test_a_snapshot_of_the_hub_has_patches_and_reports(tmp_path: Path, named: str) -> None:
    """All files there are links to blobs."""
    repository = tmp_path / "datasets--acme--runs"
    snapshot, blobs = repository / "snapshots" / "0a1b2c", repository / "blobs"
    blobs.mkdir(parents=True)
    for number, path in enumerate(one for one in [*Path().rglob("*")] if one.is_file()):
        path.rename(blobs / str(number))
        path.symlink_to(os.path.relpath(blobs / str(number), snapshot / path.parent))
    snapshot.parent.mkdir()
    Path().absolute().rename(snapshot)
    report = check(named, "preds.jsonl", ignore=("ES007",))
    assert (report.exit_code, codes(report)) == (0, set())
    checked = {one.text for run in report.runs for one in run.checked}
    assert {"3 of 3 outcomes as their tests say", "4 of 4 patches as predicted"} <= checked


def test_a_cost_beyond_every_double_is_no_number() -> None:
    edit(DETAILS, lambda value: value[ids(101)[0]].update(cost=10**400))
    assert codes(check("submission")) == {"SWE402"}


@pytest.mark.parametrize(
    "value", some([None, 1, [], True, "x", {}, [1], {"a": [1]}, 1e300, [[]]], 2), ids=repr
)
def test_no_value_of_any_member_breaks_a_check(value: Any) -> None:
    report = json.loads(Path(REPORT).read_bytes())
    for key in report:
        edit(REPORT, lambda found, key=key: found | {key: value})
        assert "ES010" not in check(REPORT, "preds.jsonl").counts, key
        Path(REPORT).write_text(json.dumps(report))
    for path in (RESULTS, DETAILS, f"{LOGS}/{ids(101)[0]}/report.json"):
        whole = json.loads(Path(path).read_bytes())
        for key in whole:
            Path(path).write_text(json.dumps(whole | {key: value}))
            assert "ES010" not in check(".").counts, (path, key)
        Path(path).write_text(json.dumps(whole))
    inner = f"{LOGS}/{ids(101)[0]}/report.json"
    whole = json.loads(Path(inner).read_bytes())
    for key in whole[ids(101)[0]]:
        Path(inner).write_text(json.dumps({ids(101)[0]: whole[ids(101)[0]] | {key: value}}))
        assert "ES010" not in check(REPORT).counts, key
    row = json.loads(Path("preds.jsonl").read_text().splitlines()[0])
    for key in row:
        Path("preds.jsonl").write_text(json.dumps(row | {key: value}) + "\n")
        found = check(REPORT, "preds.jsonl")
        assert "ES010" not in found.counts, key
        assert found.exit_code != 0, key


@each("text", [b"", b"{", b'{"a": 1}', b"\xff\n", b"[" * 5000, b"1\n"])
def test_predictions_that_cannot_be_read_are_not_passed(text: bytes) -> None:
    Path("preds.jsonl").write_bytes(text)
    report = check("preds.jsonl", aggregate=REPORT)
    assert report.exit_code in (1, 3)
    assert "ES010" not in report.counts


def test_a_ledger_does_not_answer_for_runs_with_further_files() -> None:
    (run,) = (one for one in find_runs([REPORT]) if isinstance(one, Run))
    assert run.beside
    assert read_state(run) is None
    assert read_state(Run("preds.jsonl", None, format="swe_bench")) is not None


def test_two_runs_of_one_folder_stay_apart() -> None:
    shutil.copytree("logs/run_evaluation/tiny", "logs/run_evaluation/again")
    shutil.copy(REPORT, "acme__acorn-7b.again.json")
    path = f"logs/run_evaluation/again/acme__acorn-7b/{ids(101)[0]}/report.json"
    edit(path, lambda value: value[ids(101)[0]]["tests_status"]["FAIL_TO_PASS"].update(
        failure=["test_new"]))  # fmt: skip
    found = verdicts(check(".", ignore=("ES007",)))
    assert found == {
        "submission/results/results.json": "passed",
        REPORT: "passed",
        "acme__acorn-7b.again.json": "failed",
    }


def test_predictions_are_not_those_of_another_run_of_their_model() -> None:
    lists = ("completed_ids", "resolved_ids", "unresolved_ids", "error_ids", "empty_patch_ids")
    other = {name: [] for name in lists} | {"submitted_ids": ["acme__gadgets-1"]}
    other |= {"incomplete_ids": [], "error_ids": ["acme__gadgets-1"], "schema_version": 2}
    counts = ("completed", "resolved", "unresolved", "empty_patch")
    other |= {f"{name}_instances": 0 for name in counts}
    other |= {f"{name}_instances": 1 for name in ("total", "submitted", "error")}
    Path("acme__acorn-7b.gadgets.json").write_text(json.dumps(other))
    assert "failed" not in verdicts(check(".", ignore=("ES007",))).values()
    edit(REPORT, lambda value: value | {"submitted_ids": value["submitted_ids"][:-1]})
    assert verdicts(check("."))[REPORT] == "failed"
    # A report that leaves out the first instance is about them all the same.
    first = "acme__widgets-101"
    Path("acme__acorn-7b.gadgets.json").write_text(
        json.dumps(other).replace("acme__gadgets-1", first)
    )
    Path(REPORT).write_text(Path(REPORT).read_text().replace(first, "acme__widgets-120"))
    (run,) = (run for run in check(".").runs if run.aggregate == REPORT)
    assert (run.file, run.verdict) == ("preds.jsonl", "failed")


SETTINGS = "logs/run_evaluation/tiny/run.json"


@each(
    ("named", "options"),
    [
        ([SETTINGS], {}),
        ([SETTINGS], {"input_format": "swe_bench"}),
        ([REPORT, SETTINGS], {}),
        (["preds.jsonl"], {"aggregate": SETTINGS}),
    ],
)
def test_named_settings_in_which_nothing_is_checked_are_incomplete(
    named: list[str], options: dict[str, Any]
) -> None:
    report = check(*named, **options)
    assert report.exit_code == 3
    assert verdicts(report)[SETTINGS] == "incomplete"
    (found,) = [one for one in report if one.code == "ES005"]
    assert found.file == SETTINGS
    others = {verdict for file, verdict in verdicts(report).items() if file != SETTINGS}
    assert others <= {"passed", "unconfirmed"}


def test_settings_in_a_folder_are_no_input() -> None:
    assert SETTINGS not in verdicts(check("."))


def test_settings_in_memory_are_incomplete() -> None:
    settings = json.loads(Path(SETTINGS).read_bytes())
    report = evalstream.check_rows([settings], input_format="swe_bench")
    assert report.exit_code == 3
    assert [run.verdict for run in report.runs] == ["incomplete"]
    predictions = [json.loads(line) for line in Path("preds.jsonl").read_text().splitlines()]
    report = evalstream.check_rows(predictions, input_format="swe_bench")
    assert [run.verdict for run in report.runs] == ["unconfirmed"]


@pytest.mark.parametrize("size", [10, 62, 63, 100])
@pytest.mark.parametrize("start", [".", "logs", "logs/run_evaluation", str(Path(SETTINGS).parent)])
def test_settings_that_were_cut_off_never_pass(
    size: int, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Path(SETTINGS).absolute()
    settings.write_bytes(settings.read_bytes()[:size])
    monkeypatch.chdir(start)
    report = check(".")
    assert report.exit_code == 3
    assert "incomplete" in verdicts(report).values()


@pytest.mark.parametrize(
    ("member", "value"),
    [("dataset", 1), ("dataset", None), ("split", None), ("task_repo", 1), ("created_at", 1)],
)
def test_settings_are_texts(member: str, value: Any) -> None:
    edit(SETTINGS, lambda settings: settings.update({member: value}))
    assert check(".").exit_code == 3


@pytest.mark.parametrize("member", ["infra_failure_ids", "failure_reasons"])
def test_members_that_are_written_together_are_missed(member: str) -> None:
    edit(REPORT, lambda report: {key: one for key, one in report.items() if key != member})
    assert severities(check(REPORT, "preds.jsonl")) == {("SWE101", "warning")}


@pytest.mark.parametrize(
    ("member", "value", "severity"),
    [
        ("schema_version", None, "warning"),
        ("schema_version", -2, "warning"),
        ("schema_version", True, "warning"),
        ("failure_reasons", ["no_tests_collected"], "error"),
        ("failure_reasons", None, "error"),
        ("unstopped_containers", 3, "error"),
        ("unremoved_images", [3], "error"),
    ],
)
def test_members_without_figures_have_the_types_of_the_harness(
    member: str, value: Any, severity: str
) -> None:
    edit(REPORT, lambda report: report.update({member: value}))
    found = [one for one in check(REPORT, "preds.jsonl") if one.code != "ES007"]
    assert [(one.code, one.pointer, one.severity.label) for one in found] == [
        ("SWE101", f"/{member}", severity)
    ]


@pytest.mark.parametrize("member", ["total_instances", "completed_ids", "resolved_ids"])
def test_a_run_report_that_lacks_a_member_is_still_one(member: str) -> None:
    """Else a refused report would be a file of no known format, and the rest would pass."""
    edit(REPORT, lambda report: {key: one for key, one in report.items() if key != member})
    assert "SWE101" in codes(check("."))


def test_results_of_a_submission_need_no_list_to_be_results() -> None:
    def raise_results(results: dict[str, Any]) -> None:
        del results["no_generation"]
        results["resolved"].append(ids(107)[0])

    edit(RESULTS, raise_results)
    assert {"SWE205", "SWE301"} <= codes(check("submission"))


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [
        ("infra_failure", "no", "SWE101"),
        ("infra_failure", True, "SWE302"),
        ("tests_status/FAIL_TO_FAIL", None, "SWE101"),
        ("tests_status/PASS_TO_FAIL/failure", "none", "SWE101"),
    ],
)
def test_members_of_an_outcome_that_decide_nothing_are_held(
    member: str, value: Any, code: str
) -> None:
    def alter(report: dict[str, Any]) -> None:
        *holders, key = member.split("/")
        (one,) = report.values()
        for name in holders:
            one = one[name]
        one[key] = value

    edit(f"{LOGS}/{ids(101)[0]}/report.json", alter)
    assert code in codes(check("."))


def severities(report: Report) -> set[tuple[str, str]]:
    """Return codes and severities of the findings of runs."""
    return {(one.code, one.severity.label) for one in report if one.code != "ES007"}


def resolve(number: int, act: Callable[[dict[str, Any]], None]) -> None:
    """Call an unresolved instance resolved, in its report and in all lists, after a change."""
    (one,) = ids(number)

    def report(value: Any) -> None:
        act(value[one]["tests_status"])
        value[one]["resolved"] = True

    def lists(value: Any) -> None:
        value.update(resolved_ids=ids(101, 102, number), unresolved_ids=[])
        value.update(resolved_instances=3, unresolved_instances=0)

    edit(f"{LOGS}/{one}/report.json", report)
    edit(REPORT, lists)


@pytest.mark.parametrize("group", ["FAIL_TO_FAIL", "PASS_TO_FAIL"])
def test_tests_that_decide_nothing_are_named(group: str) -> None:
    def move(tests: dict[str, Any]) -> None:
        tests[group]["failure"] = tests["PASS_TO_PASS"]["success"]
        tests["PASS_TO_PASS"]["success"] = []

    edit(f"{LOGS}/{ids(101)[0]}/report.json", lambda v: move(v[ids(101)[0]]["tests_status"]))
    (found,) = (one for one in check(REPORT, "preds.jsonl") if one.code == "SWE302")
    assert (found.severity.label, found.pointer) == (
        "warning", f"/{ids(101)[0]}/tests_status/{group}",
    )  # fmt: skip


def test_no_instance_is_resolved_without_a_test_that_failed_before() -> None:
    resolve(107, lambda tests: tests["FAIL_TO_PASS"].update(failure=[]))
    found = {("SWE302", "warning"), ("SWE402", "warning"), ("ES805", "warning")}
    assert severities(check(REPORT, "preds.jsonl")) == found


@pytest.mark.parametrize("emptied", [["FAIL_TO_PASS"], ["FAIL_TO_PASS", "PASS_TO_PASS"]])
def test_an_instance_is_not_proven_to_be_resolved_without_such_a_test(emptied: list[str]) -> None:
    resolve(107, lambda tests: [tests[one].update(success=[], failure=[]) for one in emptied])
    claims = {one.label: one.state.value for one in check(REPORT, "preds.jsonl").runs[0].claims}
    assert claims["resolved_instances"] == "open"
    (found,) = check(LOGS).runs[0].claims
    assert (found.label, found.state.value) == ("resolved", "open")


def test_an_unresolved_instance_may_lack_such_tests() -> None:
    """Before 5.0 a skipped test stands in neither list."""

    def skip(value: Any) -> None:
        value[ids(107)[0]]["tests_status"]["FAIL_TO_PASS"]["failure"] = []
        value[ids(107)[0]]["tests_status"]["PASS_TO_PASS"] = {
            "success": [],
            "failure": ["test_old"],
        }

    edit(f"{LOGS}/{ids(107)[0]}/report.json", skip)
    assert codes(check(REPORT, "preds.jsonl")) == set()


@each(
    "members",
    [["incomplete_ids"], ["submitted_ids", "submitted_instances"], ["empty_patch_instances"]],
)
def test_members_are_not_left_out_of_a_report(members: list[str]) -> None:
    def leave_out(value: dict[str, Any]) -> None:
        for member in members:
            del value[member]
        if "incomplete_ids" in members:
            value["total_instances"] = 5

    edit(REPORT, leave_out)
    (found,) = (one for one in check(REPORT, "preds.jsonl") if one.code == "SWE101")
    assert found.severity.label == "warning"
    assert all(member in found.message for member in members)


def test_a_folder_of_the_logs_is_in_a_list() -> None:
    """The patch of an instance did not apply, and every trace but its folder is gone."""

    def leave_out(value: dict[str, Any]) -> None:
        value.update(error_ids=[], error_instances=0, total_instances=5, submitted_instances=4)
        value["submitted_ids"].remove(ids(110)[0])

    edit(REPORT, leave_out)
    rows = Path("preds.jsonl").read_text().splitlines(keepends=True)
    Path("preds.jsonl").write_text("".join(row for row in rows if ids(110)[0] not in row))
    assert severities(check(REPORT, "preds.jsonl")) == {("SWE303", "warning")}
    shutil.rmtree(f"{LOGS}/{ids(110)[0]}")
    assert codes(check(REPORT, "preds.jsonl")) == set()


def test_a_patch_that_is_gone_from_the_logs_is_named() -> None:
    for number in (101, 107):
        Path(f"{LOGS}/{ids(number)[0]}/patch.diff").unlink()
    (found,) = (one for one in check(REPORT, "preds.jsonl") if one.code == "SWE306")
    assert (found.severity.label, found.count) == ("warning", 2)
    assert "SWE306" not in codes(check(REPORT))


def test_a_run_report_is_not_renamed_after_another_model() -> None:
    shutil.move(REPORT, "acme__acorn-70b.tiny.json")
    assert severities(check(".")) == {("SWE308", "warning")}
    shutil.move("acme__acorn-70b.tiny.json", "report-of-monday.json")
    assert "SWE308" not in codes(check("."))


GROUPS = "submission/results/resolved_by_repo.json"


def test_a_second_list_of_results_is_not_passed_over() -> None:
    shutil.copy(RESULTS, "submission/results.json")
    (run,) = check("submission").runs
    assert run.verdict == "incomplete"
    assert "is a second document with the results of a submission" in str(run.incomplete_reason)


def test_a_figure_that_is_a_text_is_an_open_claim() -> None:
    path = Path("submission/metadata.yaml")
    path.write_text(path.read_text().replace("40.0", '"99.0"'))
    assert "SWE402" in codes(check("submission"))


@pytest.mark.parametrize("text", ["info:\n- resolved: 99\n", "- info:\n"])
def test_metadata_without_members_are_malformed(text: str) -> None:
    Path("submission/metadata.yaml").write_text(text)
    assert codes(check("submission")) >= {"SWE101"}


def test_metadata_of_2024_have_no_info() -> None:
    Path("submission/metadata.yaml").write_text("name: acorn\nverified: true\n")
    assert "SWE101" not in codes(check("submission"))


@each(
    ("resolved", "total", "expected"),
    [
        (2, 1, {("SWE205", "error"), ("SWE205", "warning")}),
        (2, 2, {("SWE205", "warning")}),
        (2, 50, {("SWE205", "warning")}),
        (2, -1, {("SWE101", "error")}),
        ("2", 5, {("SWE101", "error"), ("SWE205", "error")}),
        (2, 5, set()),
    ],
)
def test_totals_of_groups_fit_the_details(
    resolved: Any, total: int, expected: set[tuple[str, str]]
) -> None:
    edit(GROUPS, lambda value: value["acme/widgets"].update(resolved=resolved, total=total))
    assert severities(check("submission")) == expected


def test_totals_without_details_may_be_of_another_split() -> None:
    Path(DETAILS).unlink()
    edit(GROUPS, lambda value: value["acme/widgets"].update(total=2294))
    assert "SWE205" not in codes(check("submission"))


def test_groups_without_results_are_those_of_the_details() -> None:
    Path(RESULTS).unlink()
    assert codes(check("submission")) == set()
    edit(GROUPS, lambda value: value["acme/widgets"].update(resolved=3))
    assert severities(check("submission")) == {("SWE205", "error")}


@each(
    ("detail", "is_sound"),
    [
        ({"cost": -0.1, "api_calls": 3, "resolved": False}, False),
        ({"cost": 0.1, "api_calls": -3, "resolved": False}, False),
        ({"cost": 0.1, "api_calls": 3, "resolved": "true"}, False),
        (3, False),
        ({"cost": None, "api_calls": None, "resolved": False}, True),
    ],
)
def test_details_are_amounts_and_outcomes(detail: Any, is_sound: bool) -> None:
    edit(DETAILS, lambda value: {**value, ids(107)[0]: detail})
    assert ("SWE101" in codes(check("submission"))) is not is_sound


def test_an_outcome_without_tests_is_not_said_to_be_that_of_its_tests() -> None:
    path = f"{LOGS}/{ids(107)[0]}/report.json"

    def lose(value: Any) -> None:
        del value[ids(107)[0]]["tests_status"]
        value[ids(107)[0]]["patch_successfully_applied"] = False

    edit(path, lose)
    report = check(REPORT)
    assert [(one.text, one.is_ok) for one in report.runs[0].checked] == [
        ("2 of 2 outcomes as their tests say", True),
        ("1 outcome without tests", None),
    ]
    assert codes(report) == {"SWE402"}
    edit(path, lambda value: value[ids(107)[0]].update(resolved=True))
    assert ("1 outcome without tests", False) in [
        (one.text, one.is_ok) for one in check(path).runs[0].checked
    ]


START, END = ">>>>> Start Test Output\n", ">>>>> End Test Output\n"


def write_output(number: int, text: str) -> None:
    """Write the output of the tests of an instance."""
    Path(f"{LOGS}/{ids(number)[0]}/test_output.txt").write_text(text)


@each(
    "lines",
    [
        "FAILED test_limit - assert 8 == 9\nPASSED test_old\n",
        "ERROR test_limit\n",
        "test_limit ... FAIL\ntest_old ... ok\n",
        "x" * 70_000 + "\nFAILED test_limit\r\n",
        "test_limit F\ntest_old ok\n",
        "  ✕ test_limit (3 ms)\n  ✓ test_old (1 ms)\n",
        " \N{MULTIPLICATION SIGN} test_limit 3ms\n ✓ test_old\n",
        "not ok 1 test_limit\nok 2 test_old\n",
        "[FAILED] test_limit\n[PASSED] test_old\n",
        "--- FAIL: test_limit (0.00s)\n--- PASS: test_old (0.00s)\n",
        "test test_limit ... FAILED\ntest test_old ... ok\n",
    ],
)
def test_a_failed_test_does_not_become_a_success(lines: str) -> None:
    write_output(107, f"{START}{lines}{END}")
    assert codes(check(REPORT, "preds.jsonl")) == set()
    resolve(107, lambda tests: tests["FAIL_TO_PASS"].update(success=["test_limit"], failure=[]))
    (found,) = (one for one in check(REPORT, "preds.jsonl") if one.code == "SWE302")
    assert (found.severity.label, found.found) == ("warning", "test_limit")


@pytest.mark.parametrize("size", [1, 16, 40])
def test_output_may_be_read_in_any_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstream.formats.swe_bench.reader._READ_BYTES", size)
    lines = (
        f"FAILED test_new\n+ {START}ok 1 test_limit\nnot ok 1 test_limit\n--- FAIL: test_old (1s)\n"
    )
    write_output(107, f"{lines}+ {END}FAILED test_new\n")
    success = ["test_limit", "test_old"]
    resolve(107, lambda tests: tests["FAIL_TO_PASS"].update(success=success, failure=[]))
    (found,) = (one for one in check(REPORT, "preds.jsonl") if one.code == "SWE302")
    assert (found.found, found.count) == ("test_old", 1)


@each(
    "text",
    [
        f"{START}PASSED test_new\nPASSED test_old\n{END}",
        f"{START}FAILED test_new\nPASSED test_new\n{END}",
        f"{START}FAILED test_newer\nFAILED\ntest_new ... FAIL now\n{END}",
        f"FAILED test_new\n{START}{END}FAILED test_new\n",
        f"{START}{END}{START}FAILED test_new\n{END}",
        f"{START}  FAILED test_new\nnot ok test_new\n{' ' * 60_000}x\n{END}",
        f"{START}test test_new ... ok\ntest_new F\n{END}",
        START + "x" * 65_536 + f"FAILED test_new\n{END}",
        f"{START}--- FAIL: test_new\n--- FAIL:{' (' * 30_000}\n{END}",
        "",
    ],
)
def test_other_output_says_nothing(text: str) -> None:
    write_output(101, text)
    assert codes(check(REPORT, "preds.jsonl")) == set()


def write_log(number: int, report: str, outcome: str = "False") -> None:
    """Write the log of an instance as `run_instance` of the harness does."""
    start, (one,) = "2026-01-02 03:04:05,678 - INFO - ", ids(number)
    text = (
        f"{start}Grading answer\n{start}report: {report}\nResult for {one}: resolved: {outcome}\n"
    )
    Path(f"{LOGS}/{one}/run_instance.log").write_text(text)


def test_a_report_is_that_of_its_log() -> None:
    path = Path(f"{LOGS}/{ids(107)[0]}/report.json")
    write_log(107, repr(json.loads(path.read_bytes())))
    assert codes(check(REPORT, "preds.jsonl")) == set()
    # Another writer has the members in another order.
    report = json.loads(path.read_bytes())
    path.write_text(json.dumps(report, sort_keys=True))
    assert codes(check(REPORT, "preds.jsonl")) == set()
    resolve(107, lambda tests: tests["FAIL_TO_PASS"].update(success=["test_limit"], failure=[]))
    found = [one for one in check(REPORT, "preds.jsonl") if one.code == "SWE302"]
    assert {(one.severity.label, one.message) for one in found} == {
        ("warning", f"run_instance.log has another {name}") for name in ("resolved", "tests_status")
    }


@each("text", ["{'a': ", "{" * 200, "[]", "{'a': 1, 'b': 2}", "{'a': f()}", "{'\ufffd': {}}"])
def test_a_log_without_a_report_says_nothing(text: str) -> None:
    write_log(107, text)
    assert codes(check(REPORT, "preds.jsonl")) == set()
    write_log(110, "{}")
    assert codes(check(REPORT, "preds.jsonl")) == set()


def test_a_test_does_not_succeed_and_fail() -> None:
    path = f"{LOGS}/{ids(107)[0]}/report.json"

    def add(value: Any) -> None:
        value[ids(107)[0]]["tests_status"]["FAIL_TO_PASS"]["success"] += ["test_limit", "test_a"]

    edit(path, add)
    (found,) = (one for one in check(REPORT, "preds.jsonl") if one.code == "SWE302")
    assert (found.severity.label, found.found) == ("error", "test_limit")


def serve(value: dict[str, Any]) -> None:
    """Make a run report one of the service of `sb-cli`, which evaluated the empty patch, too."""
    for key in ("empty_patch_ids", "empty_patch_instances"):
        del value[key]
    value.update(pending_ids=[], failed_ids=[], pending_instances=0, failed_instances=0)
    value["completed_ids"] += ids(115)
    value["unresolved_ids"] += ids(115)
    value.update(completed_instances=4, unresolved_instances=2)


def test_the_service_has_no_list_of_empty_patches() -> None:
    edit(REPORT, serve)
    shutil.rmtree("logs")
    assert codes(check(REPORT, "preds.jsonl")) == {"ES805", "SWE402"}
    edit(REPORT, lambda value: value.update(failed_ids=ids(120), failed_instances=2))
    assert codes(check(REPORT, "preds.jsonl")) == {"ES805", "SWE402", "SWE201"}


def test_no_empty_patch_is_resolved_by_the_service() -> None:
    def resolve_it(value: dict[str, Any]) -> None:
        serve(value)
        value["unresolved_ids"].remove(*ids(115))
        value["resolved_ids"] += ids(115)
        value.update(resolved_instances=3, unresolved_instances=1)

    edit(REPORT, resolve_it)
    shutil.rmtree("logs")
    assert "SWE305" in codes(check(REPORT, "preds.jsonl"))


def test_a_submitted_run_report_may_name_the_resolved_as_results_do() -> None:
    def rename(value: dict[str, Any]) -> None:
        value["resolved"] = value.pop("resolved_ids")

    edit(REPORT, rename)
    report = check(REPORT, "preds.jsonl")
    assert (verdicts(report), codes(report)) == ({REPORT: "passed"}, set())
    edit(REPORT, lambda value: value["resolved"].append(*ids(107)))
    assert codes(check(REPORT, "preds.jsonl")) == {"SWE201", "SWE202", "SWE301"}


@pytest.mark.parametrize("resolved", [True, False])
def test_smith_never_says_that_a_patch_was_applied(resolved: bool) -> None:
    """SWE-smith writes the report of an instance without its id."""
    path = f"{LOGS}/{ids(101)[0]}/report.json"

    def write(value: dict[str, Any]) -> dict[str, Any]:
        (own,) = value.values()
        return own | {"patch_successfully_applied": False, "resolved": resolved}

    edit(path, write)
    assert codes(check(path)) == (set() if resolved else {"SWE302"})


@pytest.mark.parametrize("has_rows", [True, False])
def test_nothing_shows_that_no_instance_is_resolved(has_rows: bool) -> None:
    def fail(value: dict[str, Any]) -> None:
        value["error_ids"] += value["completed_ids"]
        value.update(completed_ids=[], resolved_ids=[], unresolved_ids=[], error_instances=4)
        value.update(completed_instances=0, resolved_instances=0, unresolved_instances=0)

    edit(REPORT, fail)
    shutil.rmtree("logs")
    report = check(REPORT, *(["preds.jsonl"] if has_rows else []))
    assert verdicts(report)[REPORT] == "unconfirmed"


def test_empty_patches_show_that_no_instance_is_resolved() -> None:
    def empty(value: dict[str, Any]) -> None:
        value.update({key: [] for key in value if key.endswith("_ids")})
        value.update({key: 0 for key in value if key.endswith("_instances")})
        value.update(empty_patch_ids=ids(115), submitted_ids=ids(115), total_instances=1)
        value.update(empty_patch_instances=1, submitted_instances=1)

    edit(REPORT, empty)
    shutil.rmtree("logs")
    rows = Path("preds.jsonl").read_text().splitlines(keepends=True)
    Path("preds.jsonl").write_text("".join(row for row in rows if ids(115)[0] in row))
    report = check(REPORT, "preds.jsonl")
    assert (verdicts(report), codes(report)) == ({REPORT: "passed"}, set())


@pytest.mark.parametrize("folder", ["docs", "."])
def test_predictions_of_other_instances_are_those_of_another_run(folder: str) -> None:
    """Beside the report they are what it should be about."""
    shutil.rmtree("submission")
    text = Path("preds.jsonl").read_text().replace("acme__widgets", "acme__gadgets")
    Path("preds.jsonl").unlink()
    Path(folder).mkdir(exist_ok=True)
    Path(folder, "preds.jsonl").write_text(text)
    assert ("SWE305" in codes(check("."))) is (folder == ".")


def test_reports_that_are_nested_too_deeply_are_not_checked() -> None:
    for depth in range(1, 6):
        report = evalstream.check(".", max_depth=depth)
        assert "ES010" not in report.counts
        assert report.passed is (depth == 5)


@each("size", [0, 62, 100])
def test_settings_that_are_cut_off_leave_their_folder_incomplete(size: int) -> None:
    Path(SETTINGS).write_bytes(Path(SETTINGS).read_bytes()[:size])
    report = check(".")
    assert (report.exit_code, verdicts(report)[SETTINGS]) == (3, "incomplete")
