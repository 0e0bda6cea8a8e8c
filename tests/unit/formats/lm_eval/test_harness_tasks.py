"""No function scores tasks of the harness that score by its own metrics."""

from pathlib import Path

import pytest
from each import each
from lm_eval_logs import results, rows, write

import evalstream

TASKS = {
    "arc_easy": {"process_results", "doc_to_target"},
    "mmlu_virology": {"process_results", "doc_to_target"},
    "blimp_irregular_past": {"process_results", "doc_to_target"},
    "winogrande": {"process_results"},
    "virology": set(),
    "drop": set(),
}


@each("task", TASKS)
@pytest.mark.parametrize("name", ["process_results", "doc_to_target"])
def test_a_function_that_a_task_does_not_have_is_an_error(
    name: str, task: str, tmp_path: Path
) -> None:
    samples = rows()
    document = results(samples, task)
    document["configs"][task][name] = "def find(doc):\n    return doc\n"
    report = evalstream.check(write(tmp_path / task, samples, document, task))
    found = [one.pointer for one in report if one.code == "LME306"]
    assert (f"/configs/{task}/{name}" in found) == (name in TASKS[task])


@each("task", TASKS)
def test_a_filter_or_metric_that_is_code_is_an_error(task: str, tmp_path: Path) -> None:
    samples = rows()
    document = results(samples, task)
    config = document["configs"][task]
    config["filter_list"][0]["filter"].insert(0, {"function": "<class 'utils.Own'>"})
    config["metric_list"].append({"metric": "def own(items):\n    return 1\n"})
    report = evalstream.check(write(tmp_path / task, samples, document, task))
    found = {str(one.pointer) for one in report if one.code == "LME306"}
    wanted = {f"/configs/{task}/{name}" for name in ("filter_list", "metric_list")}
    assert wanted & found == (wanted if TASKS[task] else set())
