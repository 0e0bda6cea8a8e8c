"""What the scanner compares in rows of lm-eval, by the plan of their task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from evalstream.formats.lm_eval.questions import split_question
from evalstream.formats.lm_eval.scoring_plan import (
    CHOICE,
    GENERATE,
    LIKELIHOOD,
    ROLLING,
    TAKE_FIRST,
    ScoringPlan,
)
from evalstream.parsing.native.lm_eval import (
    MOST_FIELDS,
    RequestTarget,
    RowRequest,
    RowScoring,
    Scoring,
)


def choose_scoring(plan: ScoringPlan) -> RowScoring | None:
    """Return what the scanner compares with the answers of rows; None if that is not enough."""
    gold = (plan.gold or "").encode()
    request = _describe_request(plan)
    if plan.is_empty:
        return request and RowScoring(gold=gold, request=request)
    metrics, filters = dict(plan.metrics), dict(plan.filters)
    delimiter = json.dumps(plan.delimiter, ensure_ascii=False)[1:-1].encode(errors="ignore")
    known = {
        CHOICE: ({"acc", "acc_norm"}, Scoring.CHOICES),
        GENERATE: ({"exact_match"}, Scoring.GENERATED),
    }
    names, scoring = known.get(plan.output_type, (set(), Scoring.FILTERED))
    has_options = any(any(json.loads(options).values()) for options in metrics.values())
    is_plain = set(filters.values()) == {TAKE_FIRST} and not has_options
    # Python compares what follows from a few members alone.
    has_answers = not (is_plain and metrics.keys() <= names)
    is_short = plan.output_type in {GENERATE, LIKELIHOOD} or not metrics
    if request is None or not filters or plan.is_numbered or (has_answers and not is_short):
        return None
    scoring = Scoring.UNSCORED if has_answers else scoring if metrics else Scoring.FILTERED
    how = RowScoring(scoring, delimiter, plan.is_chat, gold, tuple(filters), request=request)
    return how._replace(has_contents=plan.has_contents, has_answers=has_answers)


_NEVER: Final = (1 << 64) - 1
"""A number of answers that no request has."""


def _describe_request(plan: ScoringPlan) -> RowRequest | None:
    """Return what the scanner compares in requests; None where that is not all that Python does."""
    if not plan.is_telling:
        return RowRequest()
    texts, fields = split_question(plan.question or "")
    is_choice = plan.has_choices
    if len(plan.members) >= MOST_FIELDS or (is_choice and not plan.metrics):
        return None
    is_named = bool(plan.question) and not fields
    targets = {LIKELIHOOD: RequestTarget.SECOND, ROLLING: RequestTarget.PROMPT}
    return RowRequest(
        generation=(plan.generation or "").encode(errors="surrogatepass"),
        openings=_spell(plan.openings),
        question=[b"", b""] if is_named else _spell(texts) if fields else [],
        fields=_spell([plan.question or ""] if is_named else fields),
        constant=_spell(texts)[0],
        is_named=is_named,
        members=_spell(plan.members),
        choices=_spell(plan.choices) if is_choice else [],
        choice_field=_spell([plan.choice_field or ""])[0] if is_choice else b"",
        repeats=0 if plan.repeats is None else plan.repeats if plan.repeats > 0 else _NEVER,
        target=targets.get(plan.output_type if plan.filters else "", RequestTarget.ANYTHING),
    )


def _spell(texts: Sequence[str]) -> list[bytes]:
    """Return texts as JSON writes them, without their quotes."""
    written = (json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)
    return [text.encode(errors="surrogatepass") for text in written]
