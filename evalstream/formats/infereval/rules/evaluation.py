"""INF3: the rules that check an evaluation, and the rule about its times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.infereval.rules.copies import INF301, INF302
from evalstream.formats.infereval.rules.samples import (
    INF303,
    INF304,
    INF305,
    INF306,
    INF308,
    INF309,
)
from evalstream.formats.infereval.views import Evaluation
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Rule


def _reversed_times(evaluation: Evaluation) -> Iterator[Violation]:
    started, finished = evaluation.times
    if started is not None and finished is not None and started > finished:
        yield INF307.violation(
            "finished_at is before started_at",
            pointer="/finished_at",
            found=evaluation.document.get("finished_at"),
        )


INF307: Final = Rule(
    "INF307",
    "reversed-times",
    Severity.WARNING,
    "the evaluation finished before it started",
    record=_reversed_times,
)

OF_EVALUATIONS: Final = (INF301, INF302, INF307)
"""The rules that check the part of an evaluation outside its items."""

OF_ITEMS: Final = (INF301, INF303, INF304, INF305, INF306, INF308, INF309)
"""The rules that check an item of an evaluation."""

RULES: Final = (INF301, INF302, INF303, INF304, INF305, INF306, INF307, INF308, INF309)
