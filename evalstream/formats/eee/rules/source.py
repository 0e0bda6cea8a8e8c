"""ES65: rules about the harness log that a run was converted from."""

from __future__ import annotations

from typing import Any, Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule


def _rule(
    code: str, name: str, summary: str, severity: Severity = Severity.ERROR, **more: Any
) -> Rule:
    return Rule(code, name, severity, summary, needs="source", **more)


ES650: Final = _rule("ES650", "source-sample-missing", "a sample of the log has no row")

ES651: Final = _rule("ES651", "source-sample-unknown", "the log has no sample for a row")

ES652: Final = _rule(
    "ES652",
    "source-input-differs",
    "input, reference or choices of a row are not those of the log",
    expects_data=True,
)

ES653: Final = _rule(
    "ES653",
    "source-output-differs",
    "the output or a message of a row is not that of the log",
    expects_data=True,
)

ES654: Final = _rule("ES654", "source-score-differs", "the score of a row is not that of the log")

ES655: Final = _rule(
    "ES655",
    "source-score-replaced",
    "the score of a row was made by the converter, not by a scorer of the log",
    Severity.WARNING,
)

ES656: Final = _rule(
    "ES656", "source-result-differs", "a figure of a result is not that of the log"
)

ES657: Final = _rule(
    "ES657", "source-results-differ", "the aggregate lacks a result of the log, or has another one"
)

ES658: Final = _rule("ES658", "source-model-differs", "the model is not that of the log")

ES659: Final = _rule(
    "ES659",
    "source-setting-differs",
    "data set, task, time, metric, direction or a setting is not that of the log",
)

ES660: Final = _rule(
    "ES660",
    "source-member-uncompared",
    "a member cannot be compared with the log",
    Severity.WARNING,
)

ES661: Final = _rule(
    "ES661",
    "source-row-differs",
    "tokens, times, error or metadata of a row are not those of the log",
)

ES662: Final = _rule(
    "ES662",
    "source-member-added",
    "members that converters add cannot be compared with the log",
    Severity.INFO,
)

RULES: Final = (
    *(ES650, ES651, ES652, ES653, ES654, ES655, ES656, ES657, ES658, ES659, ES660, ES661),
    ES662,
)
