"""Reports in a form that is equal for equal verdicts."""

import json
from typing import Any

from evalstream.model.report import Report


def said(report: Report) -> Any:
    """Return what a report says, but for times and for whether a ledger said it."""
    runs = []
    for run in report.runs:
        shown = {**run.as_dict(), "seconds": 0, "trouble": run.incomplete_reason}
        shown.pop("unchanged", None)
        runs.append(shown)
    totals = report.totals.as_dict()
    totals.pop("unchanged", None)
    return json.dumps([runs, [found.as_dict() for found in report], totals, report.exit_code])
