"""ES6: rows against their aggregate."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Final

from evalstream.model import Fault, Severity
from evalstream.rule import Context, RowCheck, Rule

EXPECTED_SHOWN: Final = 5


def _foreign_evaluation(context: Context) -> RowCheck | None:
    if context.evaluation_id is None:
        return None
    message = "evaluation_id is not the aggregate's"
    return _expecting(ES601, "evaluation_id", {context.evaluation_id}, message)


def _foreign_model(context: Context) -> RowCheck | None:
    if context.model_id is None:
        return None
    message = "model_id is not the aggregate's model_info.id"
    return _expecting(ES602, "model_id", {context.model_id}, message)


def _unknown_evaluation_name(context: Context) -> RowCheck | None:
    if context.evaluation_names is None:
        return None
    message = "evaluation_name is none of the aggregate's results"
    return _expecting(ES605, "evaluation_name", context.evaluation_names, message)


def _expecting(rule: Rule, member: str, sound: Set[str], message: str) -> RowCheck:
    """Return a check that a member, where it is a text, is one of the sound ones."""
    expected: Any = sorted(sound)[:EXPECTED_SHOWN] if len(sound) > 1 else next(iter(sound))

    def check(row: Mapping[str, Any]) -> tuple[Fault, ...]:
        found = row.get(member)
        if found.__class__ is not str or found in sound:
            return ()
        return (rule.fault(message, pointer=f"/{member}", expected=expected, found=found),)

    return check


ES601: Final = Rule(
    "ES601",
    "foreign-evaluation",
    Severity.ERROR,
    "evaluation_id differs from the aggregate's",
    """
    What it finds: a row whose evaluation_id is not the evaluation_id of the aggregate.

    Why it matters: the row belongs to another run, or the converter wrote another key; either
    way the rows cannot be joined with the claims that they are meant to support.

    Bad:
        row 2 /evaluation_id = "another-run/1700000000"

    Good:
        row 2 /metadata/note = "the ids agree"
    """,
    row=_foreign_evaluation,
    by_ids=True,
)

ES602: Final = Rule(
    "ES602",
    "foreign-model",
    Severity.ERROR,
    "model_id differs from the aggregate's model_info.id",
    """
    What it finds: a row whose model_id is not model_info.id of the aggregate.

    Why it matters: scores of one model would be published under the name of another.

    Bad:
        row 2 /model_id = "another/model"

    Good:
        row 2 /metadata/note = "the models agree"
    """,
    row=_foreign_model,
    by_ids=True,
)

ES605: Final = Rule(
    "ES605",
    "unknown-evaluation-name",
    Severity.WARNING,
    "evaluation_name is none of the aggregate's",
    """
    What it finds: a row whose evaluation_name is the name of no result in the aggregate.

    Why it matters: before 0.2.2 the name is the only key that joins rows with results; a row
    that joins none supports no claim.

    Bad:
        row 2 /evaluation_name = "another-benchmark"

    Good:
        row 2 /metadata/note = "the names agree"
    """,
    row=_unknown_evaluation_name,
    by_ids=True,
)

RULES: Final = (ES601, ES602, ES605)
