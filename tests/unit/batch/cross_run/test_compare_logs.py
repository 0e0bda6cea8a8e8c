"""Logs of harnesses in one folder: copies, and the answers of one model under two names."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossings import crossing
from each import each
from inspect_archive import sound_log
from lm_eval_logs import RESULTS, TASK, TIME, results, rows, text

import evalstream
from evalstream.formats.lm_eval.row import doc_hash

SAMPLES = f"samples_{TASK}_{TIME}.jsonl"
Edit = Callable[[list[dict[str, Any]], dict[str, Any]], object]


def nothing(_samples: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    """Change nothing."""


def write_lm_eval(folder: Path, model: str, edit: Edit = nothing, count: int = 12) -> None:
    samples = rows([float(at % 3 == 0) for at in range(count)])
    document = {**results(samples), "model_name": f"acme/{model}", "date": 1795645802.375}
    document["configs"][TASK]["process_results"] = "own"
    edit(samples, document)
    place = folder / f"acme__{model}"
    place.mkdir(parents=True)
    (place / SAMPLES).write_bytes(text(samples))
    (place / RESULTS).write_text(json.dumps(document))


def another_call(_samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["date"] += 3600


def another_answer(samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
    another_call(samples, document)
    samples[3]["resps"], samples[3]["filtered_resps"] = [["8"]], ["8"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_under_the_name_of_another_model_are_found(jobs: int, tmp_path: Path) -> None:
    write_lm_eval(tmp_path, "acorn")
    write_lm_eval(tmp_path, "birch", another_call)
    found = crossing(tmp_path, jobs=jobs)
    assert found.keys() == {"ES907"}
    (message,) = found["ES907"]
    assert "acme__acorn" in message


def test_a_copy_of_a_run_is_found_whatever_its_model(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "one", "acorn")
    write_lm_eval(tmp_path / "two", "acorn")
    found = crossing(tmp_path)
    assert found.keys() == {"ES904"}
    assert found["ES904"][0].startswith("12 samples of the same evaluation are already in ")
    write_lm_eval(tmp_path, "birch")
    assert crossing(tmp_path).keys() == {"ES904", "ES907"}


@each("select", ["ES904", "ES905", "ES907", "ES908"])
def test_rules_over_several_runs_alone_check_logs(select: str, tmp_path: Path) -> None:
    write_lm_eval(tmp_path, "acorn")
    write_lm_eval(tmp_path, "birch", another_call)
    report = evalstream.check(tmp_path, select=select)
    assert report.exit_code == 0
    assert {run.incomplete_reason for run in report.runs} == {None}
    assert set(report.counts) == ({"ES907"} if select == "ES907" else set())


@pytest.mark.parametrize("select", ["ES905", "ES907"])
def test_rules_that_compare_nothing_of_a_log_are_no_check_of_it(
    select: str, tmp_path: Path
) -> None:
    """One run has none to be compared with."""
    write_lm_eval(tmp_path, "acorn")
    report = evalstream.check(next(tmp_path.rglob("samples_*")), select=select)
    assert report.exit_code == 3
    assert "incomplete" in {run.verdict for run in report.runs}


@pytest.mark.parametrize("edit", [another_answer, another_call])
def test_a_second_run_is_fine(edit: Edit, tmp_path: Path) -> None:
    """Of the same model with the same answers, and of another model with another one."""
    write_lm_eval(tmp_path / "one", "acorn")
    model = "birch" if edit is another_answer else "acorn"
    write_lm_eval(tmp_path / "two", model, edit)
    assert crossing(tmp_path) == {}


def test_few_texts_may_be_those_of_another_model(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, "acorn", count=9)
    write_lm_eval(tmp_path, "birch", another_call, count=9)
    assert crossing(tmp_path) == {}


def test_few_likelihoods_may_not(tmp_path: Path) -> None:
    def choose(_samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
        document["date"] += len(document["model_name"])
        document["configs"][TASK]["output_type"] = "multiple_choice"

    write_lm_eval(tmp_path, "acorn", choose, count=2)
    write_lm_eval(tmp_path, "birch-2", choose, count=2)
    assert crossing(tmp_path).keys() == {"ES907"}


def with_likelihoods(
    changed: int, of: int = 40
) -> Callable[[list[dict[str, Any]], dict[str, Any]], None]:
    """Return a change to a call with log-likelihoods, of which some are another model's."""

    def edit(samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
        document["date"] += len(document["model_name"])
        document["configs"][TASK]["output_type"] = "multiple_choice"
        for at, row in enumerate(samples):
            own = at >= of - changed
            row["resps"] = [[[f"-{at + own / 8}", "False"]], [[f"-{at}.75", "False"]]]
            row["filtered_resps"] = [one[0] for one in row["resps"]]

    return edit


@each(
    ("changed", "message"),
    [
        (0, "all answers compared are those of "),
        (1, "39 answers are those of "),
        (19, "21 answers are those of "),
        (21, None),
        (40, None),
    ],
)
def test_a_changed_likelihood_does_not_hide_the_others(
    changed: int, message: str | None, tmp_path: Path
) -> None:
    write_lm_eval(tmp_path, "acorn", with_likelihoods(0), count=40)
    write_lm_eval(tmp_path, "birch-2", with_likelihoods(changed), count=40)
    found = crossing(tmp_path)
    assert [one.startswith(message or "") for one in found.get("ES907", ())] == [True] * bool(
        message
    )


def test_another_run_of_the_same_model_gives_the_same_likelihoods(tmp_path: Path) -> None:
    def again(samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
        with_likelihoods(1)(samples, document)
        document["date"] += 60

    write_lm_eval(tmp_path / "one", "acorn", with_likelihoods(0), count=40)
    write_lm_eval(tmp_path / "two", "acorn", again, count=40)
    assert crossing(tmp_path) == {}


def test_equal_texts_of_two_models_are_no_finding_unless_all_are(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "one", "acorn", count=40)
    write_lm_eval(tmp_path / "two", "birch", another_answer, count=40)
    assert crossing(tmp_path) == {}


def write_inspect(path: Path, model: str, *, run: str, slower: float = 0.0) -> None:
    log = sound_log()
    log["eval"] |= {"model": model, "run_id": run, "eval_id": run}
    for at, sample in enumerate(log["samples"]):
        sample |= {"total_time": 1.25 + at / 8 + slower, "working_time": 1.125}
    path.write_text(json.dumps(log))


def test_logs_of_inspect_are_linked_by_run_and_by_answers(tmp_path: Path) -> None:
    write_inspect(tmp_path / "a.json", "acme/acorn", run="r1")
    write_inspect(tmp_path / "b.json", "acme/birch", run="r2", slower=0.5)
    assert crossing(tmp_path) == {}
    write_inspect(tmp_path / "b.json", "acme/birch", run="r2")
    assert crossing(tmp_path).keys() == {"ES907"}
    write_inspect(tmp_path / "b.json", "acme/acorn", run="r1")
    assert crossing(tmp_path).keys() == {"ES904"}


def test_findings_between_logs_can_be_ignored(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, "acorn")
    write_lm_eval(tmp_path, "birch", another_call)
    assert crossing(tmp_path, ignore=("ES907",)) == {}


def edit_inspect(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    log = json.loads(path.read_text())
    edit(log)
    path.write_text(json.dumps(log))


def test_a_changed_answer_does_not_hide_the_others(tmp_path: Path) -> None:
    """Times differ from run to run, so that one equal answer in two is not due to chance."""

    def lengthen(log: dict[str, Any], samples: int) -> None:
        (first, *_) = log["samples"]
        log["samples"] = [
            {**first, "id": at, "total_time": 1.5 + at, "working_time": 1.25}
            for at in range(samples)
        ]

    def change(log: dict[str, Any], samples: int) -> None:
        for sample in log["samples"][:samples]:
            sample["total_time"] += 0.5

    for name, model in (("a", "acme/acorn"), ("b", "acme/birch")):
        write_inspect(tmp_path / f"{name}.json", model, run=f"r-{name}")
        edit_inspect(tmp_path / f"{name}.json", lambda log: lengthen(log, 8))
    edit_inspect(tmp_path / "b.json", lambda log: change(log, 1))
    found = crossing(tmp_path)
    assert found.keys() == {"ES907"}
    assert found["ES907"][0].startswith("7 answers are those of ")
    edit_inspect(tmp_path / "b.json", lambda log: change(log, 5))
    assert crossing(tmp_path) == {}


def test_samples_of_logs_with_other_inputs_are_counted(tmp_path: Path) -> None:
    def ask_otherwise(log: dict[str, Any]) -> None:
        log["samples"][0]["input"] = "What is 20 + 20?"

    write_inspect(tmp_path / "a.json", "acme/acorn", run="r1")
    write_inspect(tmp_path / "b.json", "acme/birch", run="r2", slower=0.5)
    edit_inspect(tmp_path / "b.json", ask_otherwise)
    found = crossing(tmp_path)
    assert found.keys() == {"ES905"}
    assert found["ES905"][0].startswith("the input of 1 sample differs from those of the same ids")
    for change in (
        lambda log: log["eval"].update(task_version=2),
        lambda log: log["eval"]["dataset"].update(shuffled=True),
    ):
        write_inspect(tmp_path / "b.json", "acme/birch", run="r2", slower=0.5)
        edit_inspect(tmp_path / "b.json", ask_otherwise)
        edit_inspect(tmp_path / "b.json", change)
        assert crossing(tmp_path) == {}


def other_doc(samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
    another_answer(samples, document)
    for row in samples[:2]:
        row["doc"] = {**row["doc"], "question": "What else?"}
        row["doc_hash"] = doc_hash(row["doc"])


def test_docs_of_lm_eval_with_other_digests_are_counted(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "one", "acorn")
    write_lm_eval(tmp_path / "two", "birch", other_doc)
    found = crossing(tmp_path)
    assert found.keys() == {"ES905"}
    assert found["ES905"][0].startswith("the inputs of 2 samples differ from those of the same ids")

    def of_another_version(samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
        other_doc(samples, document)
        document["versions"] = {TASK: 2}

    write_lm_eval(tmp_path / "three", "cedar", of_another_version)
    assert len(crossing(tmp_path)["ES905"]) == 1
