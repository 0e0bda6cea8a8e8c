"""Look up the thresholds of tasks in a checked folder, as `GET /thresholds` asks (section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstream.formats.evalguard.documents import POLICY, TASK, THRESHOLD
from evalstream.formats.evalguard.views import Document, Folder, Table, iterate_tables
from evalstream.model.errors import UsageError
from evalstream.model.text import describe_unknown


def find_thresholds(
    folder: Folder, tasks: Sequence[str], metrics: Sequence[str], policy: str | None
) -> list[dict[str, Any]]:
    """Return the ranges of some metrics, or all, of each task, in the shape of the endpoint.

    `policy` is the id of the policy that has them, needed where several policies have thresholds of
    a task. Raises UsageError for a task or policy that the folder does not have, and for a task or
    metric without thresholds.
    """
    found = [_of_task(folder, task, policy) for task in dict.fromkeys(tasks)]
    wanted = list(dict.fromkeys(metrics))
    for metric in wanted:
        if not any(metric in table for _, table in found):
            raise UsageError(f"no thresholds of {metric} for {', '.join(tasks)}")
    return [
        {
            "task": task,
            "thresholds": {
                metric: ranges for metric, ranges in table.items() if not wanted or metric in wanted
            },
        }
        for task, table in found
    ]


def _of_task(folder: Folder, task: str, policy: str | None) -> tuple[str, Mapping[str, Any]]:
    if not folder.owners[TASK]:
        raise UsageError("the folder has no documents of tasks")
    if task not in folder.owners[TASK]:
        raise UsageError(describe_unknown("task", task, sorted(folder.owners[TASK])))
    tables = [
        (document, table.metrics)
        for document in _sources(folder, policy)
        for table in _tables(document)
        if table.task == task
    ]
    if not tables:
        where = "" if policy is None else f" in the policy {policy}"
        raise UsageError(f"there are no thresholds of the task {task}{where}")
    if len(tables) > 1:
        names = ", ".join(sorted(str(document.id) for document, _ in tables))
        which = f"several policies have thresholds of the task {task}"
        raise UsageError(f"{which}; choose one with --policy: {names}")
    return task, tables[0][1]


def _sources(folder: Folder, policy: str | None) -> Iterator[Document]:
    """Yield the documents that have thresholds, or the policy that is named."""
    policies = folder.owners[POLICY]
    if policy is not None and policy not in policies:
        raise UsageError(describe_unknown("policy", policy, sorted(policies)))
    if policy is not None:
        yield policies[policy]
        return
    yield from folder.owners[THRESHOLD].values()
    yield from policies.values()


def _tables(document: Document) -> Iterator[Table]:
    return (table for table in iterate_tables(document) if table.task is not None)
