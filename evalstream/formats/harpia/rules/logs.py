"""HAR3: rules about the log of an evaluation of HarpIA Lab as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.harpia.log_tally import Log
from evalstream.formats.harpia.rules.results import shown_metric
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Rule


def _unlogged_metric(log: Log) -> Iterator[Violation]:
    of = "an enabled metric" if log.known.source == "input" else "a metric of the output"
    for metric in log.silent():
        yield HAR304.violation(f"the log has no record of {of}: {shown_metric(metric)}")


HAR304: Final = Rule(
    "HAR304",
    "unlogged-metric",
    Severity.INFO,
    "the log has no record of a metric",
    """
    What it finds: an enabled metric of the input (without an input: a metric of the output) of
    which the log has no record at all. HAR302 reports a metric that has records for some
    instances.

    Why it matters: the score of this metric cannot be recomputed. Not all metrics write records,
    so this may be as it should be; a log that lost all records of a metric looks the same.

    How to fix: Nothing, if the metric does not log by instance. Otherwise run the evaluation again
    and keep the whole log.

    Bad:
        input:
          {"metrics": [{"id": "Word overlap", "enable": true}]}
        log, record 3:
          {"metric": "BLEU NLTK", "instance_id": "weather-3", "result": 0.45}

    Good:
        input:
          {"metrics": [{"id": "Word overlap", "enable": true}]}
        log, record 4:
          {"metric": "Word overlap", "instance_id": "weather-1"}
    """,
    record=_unlogged_metric,
)

HAR305: Final = Rule(
    "HAR305",
    "log-as-array",
    Severity.WARNING,
    "the log is one JSON array, not one object in each line",
    """
    What it finds: a log whose records are the items of one JSON array, on one line or on several.
    The records are read and checked all the same.

    Why it matters: the documentation of HarpIA Lab has one object in each line. Programs that read
    lines cannot read an array, and an array that was cut off is not valid JSON.

    How to fix: Write each record on a line of its own, for example with
    `jq -c '.[]' log.json > log.jsonl`.

    Bad:
        log:
          [{"metric": "BLEU NLTK", "instance_id": "weather-1", "result": 1.0}]

    Good:
        log, record 1:
          {"metric": "BLEU NLTK", "instance_id": "weather-1", "result": 1.0}
    """,
)

RULES: Final = (HAR304, HAR305)
