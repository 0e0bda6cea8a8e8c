"""What was verified of a log of lm-eval beside its claims, as the line of the verdict says it."""

from __future__ import annotations

from collections.abc import Iterator

from evalstream.formats.lm_eval.task_facts import TaskFacts
from evalstream.formats.lm_eval.views import Results
from evalstream.model.report import Checked
from evalstream.model.text import count_noun


def describe_results(results: Results, beside: frozenset[str] | None) -> Iterator[Checked]:
    """Yield what was verified of results without the samples, of all tasks with results."""
    logged = frozenset(results.logged_tasks)
    if logged and beside is not None:
        tasks = logged.union(results.tasks) - {name for name, _ in results.groups}
        text = f"samples of {len(logged & beside):,} of {count_noun(len(tasks), 'task')} found"
        is_ok = None if logged < tasks else True
        yield Checked(text, is_ok if logged <= beside else False)


def describe_rows(facts: TaskFacts, rows: int) -> Iterator[Checked]:
    """Yield what was verified: the task's hash, the digests of the rows, the number of samples."""
    totals = facts.totals
    if not rows:
        return
    if facts.task_results is not None:
        task, results = facts.task_results
        declared, actual = results.task_hash(task), totals.task_hash()
        if declared is None:
            yield Checked("no task hash to verify", None)
        elif actual is None:
            yield Checked("task hash not verified", None)
        else:
            is_ok = declared == actual
            yield Checked("task hash ok" if is_ok else "task hash not ok", is_ok)
        effective = results.samples(task).get("effective")
        is_number = effective.__class__ is int
        if is_number and not totals.is_scattered:
            is_ok = effective in facts.sample_counts
            yield Checked("sample count ok" if is_ok else "sample count not ok", is_ok)
        elif not is_number:
            yield Checked("no sample count to verify", None)
    elif facts.results is not None:
        yield Checked("nothing of the results verified", None)
    hashed = f"doc, prompt and target hashes ok in {totals.hashed:,} of {count_noun(rows, 'row')}"
    yield Checked(hashed, True if totals.hashed == rows else None)
