"""Several formats in one folder, and documents that are named in one call."""

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES, PAIRS

import evalstream
from evalstream.model.errors import UsageError
from evalstream.model.report import Report

PAIR = PAIRS / "0.3.0"
EVALUATION, BENCHMARK = "evaluation.json", "benchmark.json"
LOG, OUTPUT, INPUT = "log.jsonl", "output.json", "input.json"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that names are short."""
    monkeypatch.chdir(tmp_path)


def check(*paths: str, **settings: Any) -> Report:
    """Check paths in this process."""
    return evalstream.check(list(paths), jobs=1, **settings)


def runs_of(report: Report) -> set[tuple[str, str | None, str | None, str]]:
    """Return what was checked together, and how it came out."""
    return {(run.format, run.file or run.inputs, run.aggregate, run.verdict) for run in report.runs}


def copied(folder: str, *names: str) -> None:
    """Copy some of the examples of a system into the working folder."""
    for name in names:
        shutil.copy(EXAMPLES / folder / name, name)


def edited(name: str, **members: Any) -> None:
    """Change members of a JSON document."""
    document = json.loads(Path(name).read_bytes())
    Path(name).write_text(json.dumps(document | members))


def store_of(pairs: int) -> None:
    """Make a folder of pairs, which come first in every order of names."""
    for number in range(pairs):
        shutil.copytree(PAIR, f"all/a/{number:03}")


def test_all_formats_of_a_folder_are_checked_however_late_they_come() -> None:
    store_of(40)
    for name in ("infereval", "harpia", "evalguard"):
        shutil.copytree(EXAMPLES / name, f"all/z/{name}")
    report = check("all", ignore=("ES9",))
    # The report of the configuration of EvalGuard has no rows that could confirm its values.
    assert (report.exit_code, report.counts) == (0, {"ES805": 1, "EVG402": 3})
    assert [run.format for run in report.runs if run.verdict != "passed"] == ["evalguard"]
    assert {run.format: run.rows for run in report.runs} == {
        "eee": 8, "infereval": 2, "harpia": 6, "evalguard": 7,
    }  # fmt: skip
    assert len(report.runs) == 43


@pytest.mark.parametrize(
    ("name", "spoil", "code"),
    [
        ("infereval", lambda: edited("all/z/infereval/evaluation.json", benchmark_hash="x"), "INF"),
        ("evalguard", lambda: os.remove("all/z/evalguard/metrics/accuracy.yaml"), "EVG"),
        ("harpia", lambda: edited("all/z/harpia/input.json", metrics=[]), "HAR"),
    ],
)
def test_a_broken_run_behind_many_pairs_is_found(name: str, spoil: Any, code: str) -> None:
    store_of(33)
    shutil.copytree(EXAMPLES / name, f"all/z/{name}")
    assert check("all", ignore=("ES9",)).exit_code == 0
    spoil()
    report = check("all", ignore=("ES9",))
    assert report.exit_code == 1
    assert any(one.startswith(code) for one in report.counts)


def test_the_order_of_a_mixed_folder_is_that_of_any_number_of_workers() -> None:
    store_of(70)
    for name in ("infereval", "harpia", "evalguard"):
        shutil.copytree(EXAMPLES / name, f"all/m/{name}")
    one, two = (evalstream.check("all", jobs=jobs) for jobs in (1, 2))
    assert [run.file for run in one.runs] == [run.file for run in two.runs]
    assert list(one) == list(two)


def test_json_of_others_is_not_a_document_of_evalguard() -> None:
    shutil.copytree(EXAMPLES / "evalguard", "all/guard")
    shutil.copytree(EXAMPLES / "infereval", "all/tasks")
    shutil.copytree(PAIR, "all/reports")
    Path("all/guard/config.json").write_text("{}")
    report = check("all")
    assert (report.exit_code, report.counts) == (0, {"ES007": 1, "ES805": 1, "EVG402": 3})
    assert {run.format for run in report.runs} == {"eee", "infereval", "evalguard"}


def test_raw_results_stay_reports_beside_documents_of_evalguard() -> None:
    shutil.copytree(EXAMPLES / "evalguard", "guard")
    results = {"results": {"sums": {"acc": 0.5}}, "configs": {}, "versions": {}, "n-shot": {}}
    Path("guard/reports/results_1.json").write_text(json.dumps(results))
    report = check("guard")
    assert "ES008" not in report.counts
    assert {run.format for run in report.runs} == {"evalguard"}
    Path("alone").mkdir()
    shutil.copy("guard/reports/results_1.json", "alone")
    assert {run.format for run in check("alone").runs} == {"lm_eval"}


def test_a_named_format_is_the_only_one_that_is_checked() -> None:
    shutil.copytree(EXAMPLES / "infereval", "all/infereval")
    shutil.copytree(PAIR, "all/pair")
    for name, other in (("eee", "infereval"), ("infereval", "eee")):
        report = check("all", input_format=name)
        assert {run.format for run in report.runs if run.rows} == {name}
        assert other not in {run.format for run in report.runs if run.rows}
        assert "ES007" in report.counts


def test_a_schema_of_the_users_judges_rows_of_any_kind() -> None:
    Path("all").mkdir()
    Path("all/rows.jsonl").write_text('{"doc_id": 1, "doc": {}, "target": "", "resps": [], '
                                      '"filtered_resps": []}\n{"prompt": 1}\n')  # fmt: skip
    Path("all/more.jsonl").write_text('{"prompt": 1}\n')
    for path in ("all", "all/rows.jsonl"):
        report = check(path, schema='{"required": ["prompt"]}')
        assert (report.exit_code, report.counts["ES201"]) == (1, 1)
        assert not {"ES007", "ES008"} & report.counts.keys()


def test_options_of_one_format_go_with_a_folder_that_has_it() -> None:
    shutil.copytree(EXAMPLES / "infereval", "all/infereval")
    with pytest.raises(UsageError, match="recipe"):
        check("all", recipe="concat")
    shutil.copytree(PAIR, "all/pair")
    assert check("all", recipe="json-list").exit_code == 0


def test_results_of_samples_are_compared_with_them_beside_documents_of_evalguard() -> None:
    shutil.copytree(EXAMPLES / "tutorial" / "log", "all/log")
    (results,) = Path("all").rglob("results_*.json")
    text = results.read_text()
    text = text.replace('none": 0.75', 'none": 0.99').replace('none": 0.25', 'none": 0.05')
    results.write_text(text)
    shutil.copytree(EXAMPLES / "evalguard", "all/evalguard")
    report = check("all")
    assert report.exit_code == 1
    pair = next(run for run in report.runs if run.format == "lm_eval" and run.file)
    assert (pair.verdict, pair.aggregate) == ("failed", str(results))


def test_a_broken_input_beside_a_log_is_still_an_input() -> None:
    shutil.copytree(EXAMPLES / "harpia", "all")
    document = json.loads(Path("all/input.json").read_bytes())
    (metrics,) = (name for name in document if "metric" in name.lower())
    del document[metrics]
    Path("all/input.json").write_text(json.dumps(document))
    report = check("all")
    assert report.exit_code == 1
    assert "HAR101" in report.counts
    assert check("all/input.json", "all/log.jsonl").exit_code == 1


def test_a_list_of_prompts_is_no_input() -> None:
    shutil.copytree(PAIR, "all")
    Path("all/prompts.json").write_text('{"data": [{"id": 1, "input": "x"}]}')
    report = check("all")
    assert (report.exit_code, report.counts) == (0, {"ES007": 1})


@pytest.mark.parametrize("text", ["{}", "[]", '{"schema_version": "0.3.0"}', "7"])
def test_what_bears_the_name_of_samples_is_their_aggregate(text: str) -> None:
    shutil.copytree(PAIR, "all")
    aggregate = next(Path("all").rglob("*.json"))
    rows = next(Path("all").rglob("*.jsonl"))
    aggregate.write_text(text)
    for path in ("all", str(aggregate), str(rows)):
        report = check(path)
        (run,) = report.runs
        assert (run.file, run.aggregate) == (str(rows), str(aggregate))
        assert report.exit_code == 1


@pytest.mark.parametrize("order", list(itertools.permutations([LOG, OUTPUT, INPUT])))
def test_documents_of_harpia_go_together_in_any_order(order: tuple[str, ...]) -> None:
    copied("harpia", LOG, OUTPUT, INPUT)
    report = check(*order)
    (run,) = report.runs
    assert (run.file, run.aggregate, run.inputs, run.verdict) == (LOG, OUTPUT, INPUT, "passed")
    edited(INPUT, metrics=[])
    assert check(*order).exit_code == 1


def test_documents_of_harpia_go_together_from_other_folders() -> None:
    copied("harpia", LOG, OUTPUT, INPUT)
    for name, folder in ((LOG, "a"), (OUTPUT, "b"), (INPUT, "c")):
        Path(folder).mkdir()
        shutil.move(name, folder)
    assert len(check(f"a/{LOG}", f"c/{INPUT}", f"b/{OUTPUT}").runs) == 1
    shutil.copytree("a", "d")
    report = check(f"a/{LOG}", f"d/{LOG}", f"b/{OUTPUT}")
    assert {run.verdict for run in report.runs} == {"unconfirmed"}
    assert len(report.runs) == 3


@pytest.mark.parametrize("name", [LOG, OUTPUT, INPUT])
def test_a_document_of_harpia_by_itself_confirms_nothing(name: str) -> None:
    copied("harpia", name)
    # An input makes no claims.
    verdict = "passed" if name == INPUT else "unconfirmed"
    for settings in ({}, {"input_format": "harpia"}):
        report = check(name, **settings)
        assert (report.exit_code, report.runs[0].verdict) == (0, verdict)
        assert check(name, strict=True, **settings).exit_code == (verdict != "passed")


@pytest.mark.parametrize("settings", [{}, {"input_format": "infereval"}])
@pytest.mark.parametrize("order", [(EVALUATION, BENCHMARK), (BENCHMARK, EVALUATION)])
def test_an_evaluation_goes_with_the_benchmark_that_is_named(
    order: tuple[str, ...], settings: dict[str, Any]
) -> None:
    copied("infereval", EVALUATION, BENCHMARK)
    expected = {("infereval", EVALUATION, BENCHMARK, "passed")}
    assert runs_of(check(*order, **settings)) == expected
    edited(EVALUATION, benchmark_hash="sha256:" + "0" * 64)
    assert check(*order, **settings).counts.keys() >= {"INF302"}
    assert check(*order, **settings).exit_code == 1
    copied("infereval", EVALUATION)
    edited(EVALUATION, benchmark_id="forged")
    assert check(*order, **settings).exit_code == 1


def test_several_evaluations_find_their_own_benchmarks() -> None:
    copied("infereval", EVALUATION, BENCHMARK)
    shutil.copy(BENCHMARK, "other.json")
    edited("other.json", id="other")
    shutil.copy(EVALUATION, "second.json")
    report = check("other.json", EVALUATION, BENCHMARK, "second.json")
    assert runs_of(report) == {
        ("infereval", None, "other.json", "passed"),
        ("infereval", EVALUATION, BENCHMARK, "passed"),
        ("infereval", "second.json", BENCHMARK, "passed"),
    }


def test_an_evaluation_by_itself_says_what_it_lacks() -> None:
    copied("infereval", EVALUATION)
    report = check(EVALUATION)
    assert (report.exit_code, report.runs[0].verdict) == (0, "unconfirmed")
    assert report.counts == {"INF302": 1}
    assert check(EVALUATION, strict=True).exit_code == 1


@pytest.fixture
def apart() -> tuple[str, str]:
    """Rows and their aggregate, which neither names nor places tie."""
    Path("one").mkdir()
    Path("two").mkdir()
    shutil.copy(EXAMPLES / "run.jsonl", "one/rows.jsonl")
    shutil.copy(EXAMPLES / "aggregate.json", "two/claims.json")
    return "one/rows.jsonl", "two/claims.json"


def test_rows_and_aggregate_go_together_in_any_order(apart: tuple[str, str]) -> None:
    for order in (apart, apart[::-1]):
        (run,) = check(*order).runs
        assert (run.file, run.aggregate, run.verdict) == (*apart, "passed")
    lines = Path(apart[0]).read_text().replace("0.75", "0.25").replace('"score": 1', '"score": 0')
    Path(apart[0]).write_text(lines)
    for order in (apart, apart[::-1]):
        assert check(*order).exit_code == 1


def test_rows_go_with_the_aggregate_of_their_evaluation(apart: tuple[str, str]) -> None:
    rows, claims = apart
    shutil.copy(claims, "other.json")
    edited("other.json", evaluation_id="another/evaluation/1")
    report = check("other.json", rows, claims)
    pairs = [(run.file, run.aggregate) for run in report.runs]
    assert pairs == [(None, "other.json"), (rows, claims)]


def test_the_last_two_go_together_although_their_ids_differ(apart: tuple[str, str]) -> None:
    edited(apart[1], evaluation_id="another/evaluation/1")
    report = check(*apart)
    assert (len(report.runs), report.exit_code) == (1, 1)
    assert "ES601" in report.counts


def test_published_figures_are_not_joined_with_rows(apart: tuple[str, str]) -> None:
    rows, claims = apart
    document = json.loads(Path(claims).read_bytes())
    del document["detailed_evaluation_results"]
    document["source_metadata"]["source_type"] = "documentation"
    document["evaluation_id"] = "another/evaluation/1"
    Path(claims).write_text(json.dumps(document))
    report = check(rows, claims)
    assert [run.verdict for run in report.runs] == ["unconfirmed", "unconfirmed"]


def test_what_is_complete_by_itself_is_not_joined(apart: tuple[str, str]) -> None:
    rows, _ = apart
    shutil.copytree(PAIR, "pair")
    shutil.copy(EXAMPLES / "run.jsonl", "run.jsonl")
    shutil.copy(EXAMPLES / "aggregate.json", "aggregate.json")
    report = check(rows, "pair", "run.jsonl", ignore=("ES9",))
    assert [run.verdict for run in report.runs] == ["unconfirmed", "passed", "passed"]


def test_an_aggregate_cannot_hide_itself_or_another() -> None:
    for name, declared in (("a", "a.json"), ("b", "c.json"), ("c", "d.jsonl"), ("e", "f.json")):
        Path("all").mkdir(exist_ok=True)
        document = {"evaluation_results": [], "detailed_evaluation_results":
                    {"file_path": declared}}  # fmt: skip
        Path(f"all/{name}.json").write_text(json.dumps(document))
    copied("infereval", BENCHMARK)
    shutil.move(BENCHMARK, "all/f.json")
    report = check("all")
    assert {run.aggregate for run in report.runs} == {f"all/{name}.json" for name in "abce"}
    assert not {run.verdict for run in report.runs} & {"passed"}
    assert report.exit_code == 3


def test_rows_that_a_later_aggregate_leads_to_are_checked_once() -> None:
    Path("data/rows").mkdir(parents=True)
    Path("data/claims").mkdir()
    shutil.copy(EXAMPLES / "run.jsonl", "data/rows/run.jsonl")
    shutil.copy(EXAMPLES / "aggregate.json", "data/claims/claims.json")
    document = json.loads(Path("data/claims/claims.json").read_text())
    document["detailed_evaluation_results"]["file_path"] = "data/rows/run.jsonl"
    Path("data/claims/claims.json").write_text(json.dumps(document))
    report = check("data/rows/run.jsonl", "data/claims/claims.json")
    assert [(run.file, run.verdict) for run in report.runs] == [("data/rows/run.jsonl", "passed")]


def test_the_metadata_of_a_submission_is_no_document_of_evalguard() -> None:
    for name in ("evalguard", "swe_bench"):
        shutil.copytree(EXAMPLES / name, f"all/{name}")
    report = check("all")
    assert {run.format for run in report.runs} == {"evalguard", "swe_bench"}
    assert not [run for run in report.runs if run.verdict == "incomplete"]
    Path("all/other.yaml").write_text("info: 1\n")
    (evalguard,) = (run for run in check("all").runs if run.format == "evalguard")
    assert evalguard.verdict == "incomplete"


@pytest.mark.parametrize("named", ["alone", "alone/metadata.yaml"])
def test_the_metadata_of_a_submission_alone_confirms_nothing(named: str) -> None:
    Path("alone").mkdir()
    shutil.copy(EXAMPLES / "swe_bench/submission/metadata.yaml", "alone")
    (run,) = check(named).runs
    assert (run.format, run.verdict) == ("swe_bench", "unconfirmed")
    assert [claim.state for claim in run.claims] == ["open"] * 4
