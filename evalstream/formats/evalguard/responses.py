"""Responses of EvalGuard's API (section 4.5): check one, and look up what one answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.evalguard import report
from evalstream.formats.evalguard.format import (
    LISTS,
    METRICS,
    POLICY,
    REPORT,
    TASK,
    THRESHOLD,
    detect_endpoint,
    schema_name,
)
from evalstream.formats.evalguard.rules.documents import EVG101, without_unknown
from evalstream.formats.evalguard.rules.folder import paging
from evalstream.formats.evalguard.views import Document, Folder, FolderItem, iterate_tables
from evalstream.model.claim import JudgedClaim, Reason
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.finding import Violation
from evalstream.model.text import describe_unknown
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import objects
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judge import is_outside_bounds
from evalstream.stats.claims.judgement import Claim, leave_open, refute
from evalstream.stats.claims.kinds import Bounds, ClaimKind

Check = Callable[[FolderItem], Iterator[Violation]]
"""Returns the violations of a document among others."""


class Response(NamedTuple):
    """A response: the endpoint that answered, its content, and its documents by their index."""

    endpoint: str
    value: Mapping[str, Any]
    entries: tuple[tuple[int, Document], ...]

    def violations(
        self, documents: DocumentCheck, folder: Folder, check: Check
    ) -> Iterator[Violation]:
        """Yield the violations of the response and, by `check`, of the documents in it.

        References lead to the documents of the folder, if that was named, too.
        """
        schema = schema_name(f"{self.endpoint}_response")
        found = documents.schema_violations(schema, dict(self.value), EVG101.code)
        yield from map(without_unknown, found)
        yield from paging(self.endpoint, self.value)
        among = self._among(folder)
        for index, document in self.entries:
            start = pointer((self.endpoint, index))
            for violation in check(FolderItem(document, among)):
                yield violation._replace(pointer=start + (violation.pointer or ""))

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents in the response."""
        return tuple(document for _, document in self.entries)

    def _among(self, folder: Folder) -> Folder:
        """Return the documents that those of the response may refer to, and they themselves.

        A response may repeat documents of the folder: each id belongs to its own document here.
        """
        alone = Folder(followed=False)
        for document in self.documents:
            alone.add(document)
        if not folder.followed:
            return alone
        owners = {kind: {**known, **alone.owners[kind]} for kind, known in folder.owners.items()}
        return replace(folder, owners=owners, _listed={}, _last=None)


def make_response(name: str, value: Mapping[str, Any]) -> Response:
    """Return the response in a file, whose name in reports is `name`."""
    endpoint = detect_endpoint(value) or ""
    kind = LISTS.get(endpoint)
    if kind is None:
        return Response(endpoint, value, ())
    entries = ((index, Document(name, kind, one, None)) for index, one in objects(value[endpoint]))
    return Response(endpoint, value, tuple(entries))


MOST_PERCENT: Final = 100


def judge_figures(document: Document, folder: Folder) -> Iterator[JudgedClaim]:
    """Yield the figures of a report; other documents make no claims.

    Nothing confirms them, but a negative error, a percentage beyond 100, an error that no answers
    can have and wrong numbers of samples are refuted.
    """
    if document.kind != REPORT:
        return
    for one in report.iterate_values(document):
        metric, task = one.metric[:80], "" if one.task is None else f" of {one.task[:80]}"
        is_percentage = folder.is_percentage(one.metric) or one.is_share
        bounds: Bounds = (0, MOST_PERCENT) if is_percentage else (None, None)
        kind = kinds.kind_named(one.metric) or kinds.UNKNOWN
        yield from _judge(f"{metric}{task}", one.place, kind, one.value, bounds)
        label = f"standard error of {metric}{task}"
        yield from _judge(label, one.error_place, kinds.ERROR, one.error, (0, one.most_error))
    for count in report.iterate_counts(document):
        claim = Claim(
            count.pointer, count.label, kinds.COUNT, Decimal(str(count.value)), count.value
        )
        judged = refute(claim, None, "", 0) if count.fault else leave_open(claim, Reason.NO_ROWS)
        yield judged.claim


def claims_of_response(response: Response, folder: Folder) -> Iterator[JudgedClaim]:
    """Yield the figures of the reports in a response, or of the metrics of one report."""
    for index, document in response.entries:
        start = pointer((response.endpoint, index))
        for claim in judge_figures(document, folder):
            yield claim._replace(pointer=start + claim.pointer)
    if response.endpoint == METRICS:
        value = {"results": response.value.get(METRICS)}
        for claim in judge_figures(Document("", REPORT, value, None), folder):
            yield claim._replace(pointer=f"/{METRICS}{claim.pointer.removeprefix('/results')}")


def _judge(
    label: str, place: str, kind: ClaimKind, number: Any, bounds: Bounds
) -> Iterator[JudgedClaim]:
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return
    value = Decimal(str(number))
    is_score = kind is not kinds.ERROR
    claim = Claim(place, label, kind, value, number, is_score=is_score)
    if is_outside_bounds(value, bounds):
        yield refute(claim, None, "", 0).claim
    else:
        yield leave_open(claim, Reason.NO_ROWS).claim


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
        for table in iterate_tables(document)
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
    policies = folder.owners[POLICY]
    if policy is not None and policy not in policies:
        raise UsageError(describe_unknown("policy", policy, sorted(policies)))
    if policy is not None:
        yield policies[policy]
        return
    yield from folder.owners[THRESHOLD].values()
    yield from policies.values()
