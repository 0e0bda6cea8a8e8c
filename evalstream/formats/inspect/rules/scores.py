"""INS2: rules that score samples again."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.inspect.recorded import message_text
from evalstream.formats.inspect.rescoring import (
    BY_COMPLETION,
    GRADED,
    SINCE,
    choice,
    grade,
    last_answer,
)
from evalstream.formats.inspect.values import score_value
from evalstream.formats.inspect.views import SampleView
from evalstream.model.finding import Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import declare_rule
from evalstream.stats.claims.reducers import is_missing

_SHUFFLED: Final = "Choices were shuffled before generating a response"
"""How the explanation of shuffled choices begins."""


def _includes(sample: SampleView) -> Iterator[Violation]:
    """Score samples of the scorer `includes` again."""
    texts = sample.scored_texts
    if sample.log is None or texts is None:
        return
    completion, targets = texts
    for name, ignores_case in sample.log.includes_scorers.items():
        score = sample.scores.get(name)
        if score is None:
            continue
        history = list_or_empty(score.get("history"))
        value = score_value(history[0] if history else score)
        found = [_fold_case(one, folds=ignores_case) for one in targets]
        text = _fold_case(completion, folds=ignores_case)
        expected = "C" if any(one in text for one in found) else "I"
        if (value in ("C", "I") or is_missing(value)) and value != expected:
            path = ("history", 0, "value") if history else ("value",)
            has = "has a target" if expected == "C" else "has no target"
            yield INS213.violation(
                f"the completion {has} in it",
                sample.at("scores", name, *path),
                expected=expected,
                found=value,
            )


def _fold_case(text: str, *, folds: bool) -> str:
    return text.casefold() if folds else text


def _check_rescored(sample: SampleView) -> Iterator[Violation]:
    """Score samples of other scorers of the harness again.

    Scorers of one's own may have the same names: only a score is compared that has the explanation
    or the answer that the harness's scorer gives.
    """
    texts = sample.scored_texts
    if sample.log is None or texts is None or sample.log.release < SINCE:
        return
    completion, targets = texts
    for name, scorer in sample.log.declared_scorers.items():
        score = sample.scores.get(name)
        if score is None:
            continue
        history = list_or_empty(score.get("history"))
        first = object_or_empty(history[0] if history else score)
        declared = text_or_none(scorer.get("name")) or ""
        options = object_or_empty(scorer.get("options"))
        expected = _expected_value(sample, declared, options, completion, targets, first)
        value = score_value(first)
        if expected is not None and _differs(value, expected, graded=declared in GRADED):
            path = ("history", 0, "value") if history else ("value",)
            yield INS218.violation(
                f"the scorer {declared} gives another value to this answer",
                sample.at("scores", name, *path),
                expected=expected,
                found=value,
            )


def _expected_value(
    sample: SampleView,
    scorer: str,
    options: Mapping[str, Any],
    completion: str,
    targets: list[str],
    score: Mapping[str, Any],
) -> str | None:
    """Return the value that a scorer gives, None if the sample does not determine it."""
    told, explanation = (
        sample.resolve_attachment(score.get(one)) for one in ("answer", "explanation")
    )
    if scorer == "choice" and not options:
        letter = last_answer(completion)
        has_all = sample.log is not None and sample.log.ends_with_choices
        is_known = has_all and explanation == completion and _is_choice(sample, letter)
        selected = letter if is_known else told
        is_ours = explanation == completion or str(explanation).startswith(_SHUFFLED)
        found = choice(selected, targets) if is_ours and isinstance(selected, str) else None
        return found.value if found is not None else None
    if scorer in GRADED:
        said = list_or_empty(member(score.get("metadata"), "grading"))
        is_ours = said and message_text(sample, object_or_empty(said[-1])) == explanation
        return grade(explanation, options) if is_ours and isinstance(explanation, str) else None
    again = BY_COMPLETION.get(scorer)
    result = again(completion, targets, options) if again is not None and targets else None
    if result is None or not (explanation == completion or told == result.answer):
        return None
    return result.value


def _is_choice(sample: SampleView, letter: str | None) -> bool:
    """Tell whether a text is the letter of one of the choices of a sample."""
    choices = list_or_empty(sample.value.get("choices"))
    return letter is not None and letter in list(string.ascii_uppercase[: len(choices)])


def _differs(value: Any, expected: str, *, graded: bool) -> bool:
    """Compare values; a sample without an answer may be I or N, without a grade also unscored."""
    if value in ("C", "I", "N"):
        return bool(value == "C") != (expected == "C")
    return is_missing(value) and not graded


INS213: Final = declare_rule("INS213", record=_includes)
INS218: Final = declare_rule("INS218", record=_check_rescored)


RULES: Final = (INS213, INS218)
"""Rules that check one sample."""
