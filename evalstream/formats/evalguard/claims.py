"""The claims of EvalGuard's reports, which have no rows to be compared with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.evalguard import report
from evalstream.formats.evalguard.documents import METRICS, REPORT
from evalstream.formats.evalguard.responses import Response
from evalstream.formats.evalguard.views import Document, Folder, as_number
from evalstream.model.claim import JudgedClaim, Reason
from evalstream.parsing.json import pointer
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judge import Claim, is_outside, leave_open, refute
from evalstream.stats.claims.kinds import Bounds, Kind

MOST_PERCENT: Final = 100


def judge_figures(document: Document, folder: Folder) -> Iterator[JudgedClaim]:
    """Yield the figures of a report; other documents make no claims.

    Nothing confirms them, but a negative error, a percentage beyond 100, an error that no answers
    can have and more effective than original samples are refuted.
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
    for reported in report.iterate_tasks(document):
        place, counts = reported.samples
        original, effective = (as_number(counts.get(name)) for name in ("original", "effective"))
        task = (reported.id or reported.pointer)[:80]
        for name, number, most in (
            ("original", original, None),
            ("effective", effective, original),
        ):
            label = f"{name} samples of {task}"
            yield from _judge(label, f"{place}/{name}", kinds.COUNT, number, (None, most))


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
    label: str, place: str, kind: Kind, number: Any, bounds: Bounds
) -> Iterator[JudgedClaim]:
    """Judge a figure by its bounds; what is no number is none."""
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return
    value = Decimal(str(number))
    is_score = kind not in (kinds.COUNT, kinds.ERROR)
    claim = Claim(place, label, kind, value, number, is_score=is_score)
    if is_outside(value, bounds):
        yield refute(claim, None, "", 0).claim
    else:
        yield leave_open(claim, Reason.NO_ROWS).claim
