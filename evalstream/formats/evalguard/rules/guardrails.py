"""EVG207: the tasks, metrics and models that guardrails of EvalGuard are for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.evalguard.documents import GUARDRAIL, METRIC, MODEL, TASK
from evalstream.formats.evalguard.views import Folder, Subject, as_list, text_member
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule


def _targets(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != GUARDRAIL:
        return
    targets = as_list(document.value.get("targets"))
    if not folder.followed:
        if targets:
            message = "the targets were not looked up; name their folder with --aggregate"
            yield EVG207.violation(message, pointer="/targets", severity=Severity.WARNING)
        return
    for index, target in enumerate(targets):
        if isinstance(target, dict):
            yield from _target(target, ("targets", index), folder)


def _target(
    target: dict[str, object], path: tuple[str | int, ...], folder: Folder
) -> Iterator[Violation]:
    task, model = text_member(target, "task"), text_member(target, "model")
    if task is not None and not folder.knows(TASK, task):
        message = "no task document has this id"
        yield EVG207.violation(message, pointer=pointer((*path, "task")), found=task)
    for index, name in enumerate(as_list(target.get("metrics"))):
        if not isinstance(name, str):
            continue
        place = pointer((*path, "metrics", index))
        if not folder.knows(METRIC, name):
            yield EVG207.violation("no metric document has this id", pointer=place, found=name)
        elif task is not None and not folder.lists(task, name):
            message = f"the task {task[:80]} does not list this metric"
            yield EVG207.violation(message, pointer=place, found=name, severity=Severity.WARNING)
    # The layout of the specification has no documents of models.
    has_models = folder.owners[MODEL] or folder.unread[MODEL]
    if model is not None and has_models and not folder.knows(MODEL, model):
        message = "no model document has this id"
        yield EVG207.violation(message, pointer=pointer((*path, "model")), found=model)


EVG207: Final = Rule(
    "EVG207",
    "guardrail-for-unknown-target",
    Severity.ERROR,
    "a guardrail names a task, metric or model that no document defines",
    record=_targets,
)
