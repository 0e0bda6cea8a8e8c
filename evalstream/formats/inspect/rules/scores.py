"""INS2: rules that score samples again by their answers."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.inspect.recorded import message_text
from evalstream.formats.inspect.scorers import (
    BY_COMPLETION,
    CORRECT,
    GRADED,
    INCORRECT,
    KNOWN,
    OPTIONS,
    Options,
    choice,
    grade,
    last_answer,
    pattern,
)
from evalstream.formats.inspect.values import known_number, score_to_float, score_value
from evalstream.formats.inspect.views import SINCE, SampleView
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import declare_rule
from evalstream.stats.claims.reducers import is_missing

_INCLUDES: Final = "includes"
_SEARCHING: Final = frozenset({"answer", "pattern"})
_UNMATCHED: Final = "Scoring pattern not matched in output: "
"""How the explanation begins where a pattern finds nothing."""

_UNGRADED: Final = "Grade not found in model output: "
"""How the explanation begins where a grader gave no grade."""

_SHUFFLED: Final = "Choices were shuffled before generating a response"
"""How the explanation of shuffled choices begins."""


class DerivedScore(NamedTuple):
    """One of a sample's scores as its answer gives it, before edits.

    `path` leads to its value. `expected` is the value that the scorer gives, None if the sample
    does not determine it.
    `is_explained` says that answer or explanation are those of the harness's scorer, None where
    that cannot be told.
    """

    name: str
    scorer: str
    path: tuple[str | int, ...]
    value: Any
    expected: str | None
    is_explained: bool | None

    @property
    def is_derived(self) -> bool:
        """Whether the sample shows what the score must be.

        Whatever gives C or I and is called `includes` looks for targets.
        """
        return self.expected is not None and bool(self.is_explained or self.scorer == _INCLUDES)


@lru_cache(maxsize=1)
def derive_scores(sample: SampleView) -> list[DerivedScore]:
    """Derive the scores of the harness's scorers from the completion and the target of a sample."""
    texts = sample.scored_texts
    is_early = sample.is_before(SINCE)
    found: list[DerivedScore] = []
    for name, scorer, options, first, path in _iterate_first(sample) if texts else ():
        if scorer in KNOWN and texts and not (is_early and scorer != _INCLUDES):
            derived = _derive(sample, scorer, options, *texts, first)
            found.append(DerivedScore(name, scorer, path, score_value(first), *derived))
    return found


def _includes(sample: SampleView) -> Iterator[Violation]:
    """Score samples of the scorer `includes` again."""
    for one in derive_scores(sample):
        if one.scorer != _INCLUDES or one.expected is None:
            continue
        is_known = one.value in ("C", "I") or is_missing(one.value)
        if (is_known and one.value != one.expected) or (
            one.is_explained and _differs(one.value, one.expected, graded=False)
        ):
            has = "has a target" if one.expected == "C" else "has no target"
            message = f"the completion {has} in it"
            place = sample.at(*one.path)
            yield INS213.violation(message, place, expected=one.expected, found=one.value)


def _iterate_first(
    sample: SampleView,
) -> Iterator[tuple[str, str, Options, dict[str, Any], tuple[str | int, ...]]]:
    """Iterate over names of scores, their scorers, the scores before edits, and paths to values.

    The options are those of the results, where these have any, else the declared ones.
    """
    stated = sample.log.stated_scorers if sample.log is not None else {}
    for name, scorer in sample.declared_scorers.items():
        score, used = sample.scores.get(name), member(stated.get(name), "options")
        if score is not None:
            history = list_or_empty(score.get("history"))
            path = ("history", 0) if history else ()
            first = object_or_empty(history[0] if history else score)
            options = used if isinstance(used, dict) else object_or_empty(scorer.get("options"))
            declared = text_or_none(scorer.get("name")) or ""
            yield name, declared, options, first, ("scores", name, *path, "value")


def _fold_case(text: str, *, folds: bool) -> str:
    return text.casefold() if folds else text


def _check_rescored(sample: SampleView) -> Iterator[Violation]:
    """Score samples of other scorers of the harness again.

    Scorers of one's own may have the same names: only a score is compared that has the explanation
    or the answer that the harness's scorer gives.
    """
    for one in derive_scores(sample):
        if one.scorer == _INCLUDES or one.expected is None or not one.is_explained:
            continue
        if _differs(one.value, one.expected, graded=one.scorer in GRADED):
            message = f"the scorer {one.scorer} gives another value to this answer"
            place = sample.at(*one.path)
            yield INS218.violation(message, place, expected=one.expected, found=one.value)


def _derive(
    sample: SampleView,
    scorer: str,
    options: Options,
    completion: str,
    targets: list[str],
    score: Mapping[str, Any],
) -> tuple[str | None, bool | None]:
    """Return the value that a scorer gives, and whether the score looks like one of it."""
    told, explanation = (
        sample.resolve_attachment(score.get(one)) for one in ("answer", "explanation")
    )
    if scorer == "choice":
        return _derive_choice(sample, options, completion, targets, told, explanation)
    if scorer in GRADED:
        return _derive_grade(sample, options, score, explanation)
    # Earlier releases explained no wrong answer that is the whole completion.
    is_explained = explanation == completion or (explanation is None and told == completion)
    if scorer == _INCLUDES:
        if not options.keys() <= OPTIONS[scorer].keys():
            return None, is_explained
        folds = options.get("ignore_case") is not False
        text, *found = (_fold_case(one, folds=folds) for one in (completion, *targets))
        return CORRECT if any(one in text for one in found) else INCORRECT, is_explained
    if scorer in _SEARCHING and explanation == f"{_UNMATCHED}{completion}":
        return INCORRECT, True
    if scorer == "pattern":
        is_explained &= isinstance(options.get("pattern"), str)
        result = pattern(told, targets)
    else:
        result = BY_COMPLETION[scorer](completion, targets, options)
        is_explained = is_explained or told == (completion if result is None else result.answer)
    return None if result is None else result.value, is_explained


def _derive_choice(
    sample: SampleView,
    options: Options,
    completion: str,
    targets: list[str],
    told: Any,
    explanation: Any,
) -> tuple[str | None, bool | None]:
    letter = last_answer(completion)
    has_all = sample.log is not None and sample.log.plan.ends_with_choices
    letters = string.ascii_uppercase[: len(list_or_empty(sample.value.get("choices")))]
    is_known = has_all and explanation == completion and letter in [*letters]
    selected = letter if is_known else told
    is_shown = explanation == completion or (has_all and told == letter)
    is_explained = is_shown or str(explanation).startswith(_SHUFFLED)
    found = choice(selected, targets) if isinstance(selected, str) and not options else None
    return None if found is None else found.value, is_explained


def _derive_grade(
    sample: SampleView, options: Options, score: Mapping[str, Any], explanation: Any
) -> tuple[str | None, bool | None]:
    if isinstance(options.get("model"), list):
        return None, None
    if "metadata" not in score and str(explanation).startswith(_UNGRADED):
        # Earlier releases kept no grading where they found no grade.
        is_ungraded = grade(str(explanation).removeprefix(_UNGRADED), options) is None
        return (INCORRECT, True) if is_ungraded else (None, False)
    said = list_or_empty(member(score.get("metadata"), "grading"))
    text = message_text(sample, object_or_empty(said[-1])) if said else None
    if text is None or not isinstance(explanation, str):
        return None, False
    is_whole = text == explanation
    return grade(text, options) if is_whole else None, is_whole or explanation.endswith(f": {text}")


class ScoreCounts:
    """Counts over the scores of one scorer.

    `number` counts all, `derived` those that follow from answers, `edited` those that were edited,
    and `explained` and `others` those that look like ones of the harness's scorer, and do not.
    `other` is the place of the first of these.
    """

    def __init__(self) -> None:
        self.number = self.derived = self.edited = self.explained = self.others = 0
        self.other = ""

    def merge(self, later: ScoreCounts) -> None:
        """Add those of later samples."""
        self.number += later.number
        self.derived += later.derived
        self.edited += later.edited
        self.explained += later.explained
        self.others += later.others
        self.other = self.other or later.other


def count_scores(sample: SampleView, counts: dict[str, ScoreCounts]) -> None:
    """Count the scores of a sample by their scorers."""
    for name, score in sample.scores.items():
        own = counts.setdefault(name, ScoreCounts())
        own.number += 1
        own.edited += bool(score.get("history"))
    for one in derive_scores(sample):
        own = counts[one.name]
        own.derived += one.is_derived
        own.explained += one.is_explained is True
        if one.is_explained is False:
            own.others += 1
            own.other = own.other or sample.at(*one.path)


def find_unlike(counts: Mapping[str, ScoreCounts]) -> Iterator[Violation]:
    """Warn of scores that do not look like most others of their scorer, so that none is derived."""
    for name, own in counts.items():
        if own.others and own.others < own.explained:
            number = count_noun(own.others, "score")
            message = (
                f"{number} of {name} without the answer or explanation that"
                f" {own.explained:,} others have, so that nothing shows how it came about"
            )
            yield INS218.violation(message, own.other, severity=Severity.WARNING)


def _differs(value: Any, expected: str, *, graded: bool) -> bool:
    """Compare values; a sample without an answer may be I or N, without a grade also unscored."""
    if is_missing(value):
        return not graded
    number = known_number(value)
    return number is not None and number != score_to_float(expected)


INS213: Final = declare_rule("INS213", record=_includes)
INS218: Final = declare_rule("INS218", record=_check_rescored)


RULES: Final = (INS213, INS218)
"""Rules that check one sample."""
