"""Results are read once for all of their tasks."""

from pathlib import Path
from typing import Any

import pytest
from lm_eval_logs import results, rows, write

import evalstream
from evalstream.formats.lm_eval import results_reading
from evalstream.model.options import Options

TASKS = ("sums", "terms", "words")


def write_tasks(folder: Path, **changes: Any) -> None:
    """Write a log with several tasks of the same rows."""
    documents = {task: results(rows(), task) for task in TASKS}
    whole = dict(documents[TASKS[0]])
    for name, value in whole.items():
        if isinstance(value, dict) and TASKS[0] in value:
            whole[name] = {task: documents[task][name][task] for task in TASKS}
    whole |= changes
    for task in TASKS:
        write(folder, rows(), whole, task)


def count_calls(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """Return a list to which each call of a function of the module adds its name."""
    calls: list[str] = []
    before = getattr(results_reading, name)

    def call(*arguments: Any) -> Any:
        calls.append(name)
        return before(*arguments)

    monkeypatch.setattr(results_reading, name, call)
    return calls


def test_sound_results_are_read_once_for_all_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the time would grow with the square of the tasks."""
    write_tasks(tmp_path)
    read = count_calls(monkeypatch, "read_document")
    judged = count_calls(monkeypatch, "check_structure")
    report = evalstream.check([str(tmp_path)], jobs=1)
    assert (report.exit_code, len(report.runs)) == (0, 1 + len(TASKS))
    assert (len(read), len(judged)) == (1, 1)


def test_what_is_wrong_with_results_is_found_for_each_task(tmp_path: Path) -> None:
    write_tasks(tmp_path, configs=[])
    report = evalstream.check([str(tmp_path)], jobs=1)
    assert all("LME106" in run.counts for run in report.runs)


def test_other_results_and_other_limits_are_read_anew() -> None:
    read = results_reading.read_results
    options = Options()
    first = read(b'{"results": {}}', options)
    assert read(b'{"results": {}}', options) is first
    assert read(b'{"results": {"a": {}}}', options).reading.value == {"results": {"a": {}}}
    again = read(b'{"results": {}}', Options(max_depth=7))
    assert again is not read(b'{"results": {}}', options)
