"""ES65: rules about the harness log that a run was converted from."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule

ES650: Final = Rule(
    "ES650",
    "source-sample-missing",
    Severity.ERROR,
    "a sample of the log has no row",
    needs="source",
)

ES651: Final = Rule(
    "ES651",
    "source-sample-unknown",
    Severity.ERROR,
    "the log has no sample for a row",
    needs="source",
)

ES652: Final = Rule(
    "ES652",
    "source-input-differs",
    Severity.ERROR,
    "input, reference or choices of a row are not those of the log",
    expects_data=True,
    needs="source",
)

ES653: Final = Rule(
    "ES653",
    "source-output-differs",
    Severity.ERROR,
    "the output or a message of a row is not that of the log",
    expects_data=True,
    needs="source",
)

ES654: Final = Rule(
    "ES654",
    "source-score-differs",
    Severity.ERROR,
    "the score of a row is not that of the log",
    needs="source",
)

ES655: Final = Rule(
    "ES655",
    "source-score-replaced",
    Severity.WARNING,
    "the score of a row was made by the converter, not by a scorer of the log",
    needs="source",
)

ES656: Final = Rule(
    "ES656",
    "source-result-differs",
    Severity.ERROR,
    "a figure of a result is not that of the log",
    about_aggregate=True,
    needs="source",
)

ES657: Final = Rule(
    "ES657",
    "source-results-differ",
    Severity.ERROR,
    "the aggregate lacks a result of the log, or has another one",
    about_aggregate=True,
    needs="source",
)

ES658: Final = Rule(
    "ES658",
    "source-model-differs",
    Severity.ERROR,
    "the model is not that of the log",
    about_aggregate=True,
    needs="source",
)

ES659: Final = Rule(
    "ES659",
    "source-setting-differs",
    Severity.ERROR,
    "data set, task, time, metric, direction or a setting is not that of the log",
    about_aggregate=True,
    needs="source",
)

ES660: Final = Rule(
    "ES660",
    "source-member-uncompared",
    Severity.WARNING,
    "a member cannot be compared with the log",
    needs="source",
)

ES661: Final = Rule(
    "ES661",
    "source-row-differs",
    Severity.ERROR,
    "tokens, times, error or metadata of a row are not those of the log",
    needs="source",
)

ES662: Final = Rule(
    "ES662",
    "source-member-added",
    Severity.INFO,
    "members that converters add cannot be compared with the log",
    needs="source",
)

RULES: Final = (
    *(ES650, ES651, ES652, ES653, ES654, ES655, ES656, ES657, ES658, ES659, ES660, ES661),
    ES662,
)
