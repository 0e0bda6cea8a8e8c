"""INF3: the rules that check an evaluation, and the rule about its times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.infereval.dates import date_time
from evalstream.formats.infereval.rules.copies import INF301, INF302
from evalstream.formats.infereval.rules.samples import INF303, INF304, INF305, INF306, INF308
from evalstream.formats.infereval.views import Evaluation
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Rule


def _reversed_times(evaluation: Evaluation) -> Iterator[Violation]:
    given = [evaluation.document.get(name) for name in ("started_at", "finished_at")]
    started, finished = (date_time(one) if isinstance(one, str) else None for one in given)
    if started is not None and finished is not None and started > finished:
        yield INF307.violation(
            "finished_at is before started_at", pointer="/finished_at", found=given[1]
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

OF_ITEMS: Final = (INF301, INF303, INF304, INF305, INF306, INF308)
"""The rules that check an item of an evaluation."""

RULES: Final = (INF301, INF302, INF303, INF304, INF305, INF306, INF307, INF308)
