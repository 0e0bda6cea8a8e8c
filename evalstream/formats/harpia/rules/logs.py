"""HAR3: rules about the log of an evaluation of HarpIA Lab as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.harpia.log_tally import LogTally
from evalstream.formats.harpia.rules.results import shown_metric
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Rule


def _unlogged_metric(log: LogTally) -> Iterator[Violation]:
    of = "an enabled metric" if log.known.source == "input" else "a metric of the output"
    for metric in log.silent():
        yield HAR304.violation(f"the log has no record of {of}: {shown_metric(metric)}")


HAR304: Final = Rule(
    "HAR304",
    "unlogged-metric",
    Severity.INFO,
    "the log has no record of a metric",
    record=_unlogged_metric,
)

HAR305: Final = Rule(
    "HAR305",
    "log-as-array",
    Severity.WARNING,
    "the log is one JSON array, not one object in each line",
)

RULES: Final = (HAR304, HAR305)
