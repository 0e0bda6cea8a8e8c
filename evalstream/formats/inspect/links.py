"""The samples of a log and their answers, which link it to other logs."""

from __future__ import annotations

from typing import Any

from evalstream.formats.inspect.views import LogView, SampleView
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import object_or_empty
from evalstream.stats.run_links import LogLinks


class SampleLinks:
    """Collects what links a log to others."""

    def __init__(self, view: LogView) -> None:
        names = ("run_id", "eval_id", "created", "task_id")
        run = [view.eval[name] for name in names if view.eval.get(name) is not None]
        model = text_or_none(view.eval.get("model"))
        self.log = LogLinks(run or None, view.eval.get("task"), model or "", _data(view))

    def add(self, view: SampleView) -> None:
        """Add a sample. Its times tell its answer from that of any other model."""
        value = view.value
        shown = [view.resolved_within(value.get(name)) for name in ("input", "choices", "target")]
        self.log.add_samples([(str(value["id"]), without_ids(shown))])
        times = value.get("total_time"), value.get("working_time")
        if isinstance(times[0], float) and times[0] > 0:
            answer = member(value.get("output"), "completion")
            self.log.add_answer(str(value["id"]), value["epoch"], answer, *times)


def _data(view: LogView) -> list[Any] | None:
    """Return what names the data of a log; None without a name, and where ids may be places."""
    dataset = object_or_empty(view.eval.get("dataset"))
    if not dataset.get("name") or dataset.get("shuffled"):
        return None
    return [dataset["name"], *(view.eval.get(one) for one in ("task_version", "task_args"))]


def without_ids(value: Any) -> Any:
    """Return a value without the ids of messages, which differ from run to run."""
    if isinstance(value, list):
        return [without_ids(one) for one in value]
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if name != "id"}
    return value
