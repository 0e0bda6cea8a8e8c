"""The claims of a run report and of a submission, judged by the instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.swe_bench.views import Lists, Submitted, is_natural
from evalstream.model.claim import Reason
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import holds_double
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.judge import judge
from evalstream.stats.claims.judgement import Claim, Judgement, confirm, leave_open, refute

PERCENT: Final = 100.0

OUTCOMES: Final = "resolved"
"""The label of a claim that is not a figure: the outcomes of instances one by one."""

_OF_METADATA: Final = (
    ("resolved", "resolved", kinds.MEAN),
    ("cost", "cost", kinds.SUM),
    ("instance_cost", "cost", kinds.MEAN),
    ("instance_calls", "api_calls", kinds.MEAN),
)
"""Figures in the metadata: the member, the member of the details, and the kind."""


def judge_report(report: Lists, run: Submitted) -> Iterator[Judgement]:
    """Judge the counts of a run report by the logs and the predictions."""
    completed = report.places("completed")
    # The report of an instance that was completed and is an error was broken.
    sound = completed.keys() - report.places("error").keys()
    # Instances without a report count only where predictions show that there was nothing to run.
    has_nothing = run.predictions is not None and not report.union(("completed", "error"))
    outcomes = {one: found.proven for one, found in run.outcomes.items() if one in sound}
    unknown_reports = unknown = sum(one not in outcomes for one in sound)
    unknown += sum(found is None for found in outcomes.values())
    for name, counted in (
        ("resolved", sum(found is True for found in outcomes.values())),
        ("unresolved", sum(found is False for found in outcomes.values())),
        ("completed", len(completed) - unknown_reports),
    ):
        rows = len(outcomes) if run.outcomes or has_nothing else None
        yield from _judge_count(report, name, counted, unknown, rows, Reason.NO_ROWS)
    predictions = (run.predictions or {}).values()
    submitted = None if run.predictions is None else len(predictions)
    listed = report.union(("completed", "error", "empty_patch", "incomplete"))
    empty = sum(one.is_empty and one.id in listed for one in predictions)
    reason = Reason.UNREAD if run.is_unpredicted else Reason.NO_ROWS
    for name, counted in (("submitted", len(predictions)), ("empty_patch", empty)):
        yield from _judge_count(report, name, counted, 0, submitted, reason)


def judge_results(results: Lists, run: Submitted) -> Iterator[Judgement]:
    """Judge the list of resolved instances of a submission by the logs, as one claim."""
    resolved = list(results.places("resolved"))
    found = {one: each.proven for one, each in run.outcomes.items()}
    claim = Claim(pointer(["resolved"]), OUTCOMES, kinds.COUNT, None, resolved, is_score=True)
    expected = [one for one, is_resolved in found.items() if is_resolved]
    if not found:
        yield leave_open(claim, Reason.NO_ROWS)
    elif set(expected) - {*resolved} or any(found.get(one) is False for one in resolved):
        yield refute(claim, expected, "the logs have other resolved instances", len(found))
    elif any(found.get(one) is None for one in resolved):
        yield leave_open(claim, Reason.MISSING, len(found))
    else:
        yield confirm(claim, expected, len(found))


def judge_metadata(info: Mapping[str, Any], details: Mapping[str, Any]) -> Iterator[Judgement]:
    """Judge the figures of a submission's metadata by the details of its instances."""
    entries = [one for one in details.values() if isinstance(one, dict)]
    for name, member, kind in _OF_METADATA:
        claimed = info.get(name)
        if claimed is None:
            continue
        place, is_score = pointer(["info", name]), name == "resolved"
        value = Decimal(str(claimed)) if holds_double(claimed) else None
        claim = Claim(place, f"info.{name}", kind, value, claimed, is_score=is_score)
        if value is None:
            yield leave_open(claim, Reason.FORMULA)
            continue
        found = [entry.get(member) for entry in entries]
        if name == "resolved":
            found = [PERCENT * one if isinstance(one, bool) else None for one in found]
        numbers = [float(one) for one in found if holds_double(one)]
        if not numbers or len(numbers) < len(details):
            reason = Reason.NO_ROWS if not details else Reason.UNSCORED
            yield leave_open(claim, reason, len(numbers))
        else:
            yield judge(claim, Evidence.of_numbers(numbers))


def judge_outcomes(run: Submitted) -> Iterator[Judgement]:
    """Judge the outcomes of reports without a run report by their tests, as one claim."""
    declared = [found.declared for found in run.outcomes.values()]
    derived = [found.derived and found.proven for found in run.outcomes.values()]
    number, expected = declared.count(True), derived.count(True)
    claim = Claim("", OUTCOMES, kinds.COUNT, Decimal(number), number, is_score=True)
    if None in declared or None in derived:
        yield leave_open(claim, Reason.UNREAD, len(declared))
    elif declared != derived:
        yield refute(claim, expected, "the tests give other outcomes", len(declared))
    else:
        yield confirm(claim, expected, len(declared))


def _judge_count(
    report: Lists, name: str, number: int, unknown: int, rows: int | None, reason: Reason
) -> Iterator[Judgement]:
    """Judge a count by the number of such instances, of which `unknown` more may be some.

    `rows` are the reports or predictions that were counted, None where there are none for a reason.
    """
    key = f"{name}_instances"
    claimed = report.value.get(key)
    if not is_natural(claimed):
        return
    is_score = name == "resolved"
    claim = Claim(pointer([key]), key, kinds.COUNT, Decimal(claimed), claimed, is_score=is_score)
    if rows is None:
        yield leave_open(claim, reason)
    elif not number <= claimed <= number + unknown:
        yield refute(claim, number, f"the number of such instances is {number:,}", rows)
    elif unknown:
        yield leave_open(claim, Reason.MISSING, rows, number)
    else:
        yield confirm(claim, number, rows)
