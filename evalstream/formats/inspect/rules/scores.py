"""INS2: rules that score samples again, where all releases from 0.3.60 on give the same.

Sources: scorer/_common.py, _classification.py, _answer.py and _choice.py of inspect_ai.
Patterns of one's own are not computed: a pattern that a file chooses may take for ever.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.inspect.recorded import message_text
from evalstream.formats.inspect.values import known_number, score_to_float, score_value
from evalstream.formats.inspect.views import SampleView
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import declare_rule
from evalstream.stats.claims.reducers import is_missing

CORRECT: Final = "C"
INCORRECT: Final = "I"

_EDGES: Final = string.whitespace + string.punctuation
_MATCHES: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "begin": str.startswith,
    "end": str.endswith,
    "any": str.__contains__,
    "exact": str.__eq__,
}

_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans({**dict.fromkeys(string.punctuation), "-": " "})
_NUMBERS: Final = frozenset({"inf", "infinity", "nan"})
_SHORT_NUMBER: Final = re.compile("0|[1-9][0-9]{0,4}")
_PLAIN: Final = re.compile("[A-Za-z]+(?: [A-Za-z]+)*")

_ANSWER: Final = re.compile(r"(?:\A|\n)ANSWER: ([^\n]+)\Z")
_ANSWERS: Final = {
    "letter": re.compile(r"[A-Za-z]"),
    "word": re.compile(r"[A-Za-z]+"),
    "line": re.compile(r"[!-~]+(?: [!-~]+)*"),
}
_LETTERS: Final = re.compile(r"[A-Z]*")
_SELECTED: Final = re.compile(r"(?:[A-Z](?:, [A-Z])*)?")


_GRADE: Final = re.compile(r"(?i)(?<!\w)GRADE(?!\w)\s*:\s*(\w*)")
_GRADES: Final = {"c": CORRECT, "correct": CORRECT, "i": INCORRECT, "incorrect": INCORRECT}


_EITHER: Final = (True, False)
OPTIONS: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "answer": {"pattern": tuple(_ANSWERS)},
    "choice": {},
    "exact": {},
    "includes": {"ignore_case": _EITHER},
    "match": {"location": tuple(_MATCHES), "ignore_case": _EITHER, "numeric": _EITHER},
}
"""The options of the harness's scorers and their values."""


class Rescored(NamedTuple):
    """The value of a score, and the answer that the scorer found."""

    value: str
    answer: str


Options = Mapping[str, Any]


def match(text: str, targets: Sequence[str], options: Options) -> Rescored | None:
    """Score a completion as `match` does; None where releases may differ."""
    location, answer = str(options.get("location", "end")), text.strip()
    matches = _MATCHES.get(location)
    if matches is None or not options.keys() <= OPTIONS["match"].keys():
        return None
    if options.get("numeric") and not all(map(_is_words, targets)):
        is_right = None if location == "exact" else _has_number(answer, targets)
        return None if is_right is None else Rescored(CORRECT if is_right else INCORRECT, answer)
    folds = options.get("ignore_case") is not False
    here, *there = (
        (one.strip().casefold() if folds else one.strip()).strip(_EDGES) for one in (text, *targets)
    )
    return Rescored(CORRECT if any(matches(here, one) for one in there) else INCORRECT, answer)


def _is_words(text: str) -> bool:
    word = text.strip()
    return bool(_PLAIN.fullmatch(word)) and word.casefold() not in _NUMBERS


def _has_number(text: str, targets: Sequence[str]) -> bool | None:
    """Tell whether the only number in a text is one of the targets; None where releases differ.

    They do about other numbers than short ones, and about targets that are a part of the number.
    """
    words = text.removesuffix(".").split(" ")
    numbers = [one for one in words if _SHORT_NUMBER.fullmatch(one)]
    is_plain = all(map(_is_words, (one for one in words if one not in numbers)))
    if len(numbers) > 1 or not is_plain or not all(map(_SHORT_NUMBER.fullmatch, targets)):
        return None
    number = "".join(numbers)
    return number in targets or (None if any(one in number for one in targets) else False)


def exact(text: str, targets: Sequence[str], options: Options) -> Rescored | None:
    """Score a completion as `exact` does; None where releases may differ."""
    if options or not all(one[:1].strip() for one in targets):
        return None
    here, *there = (_words(one) for one in (text, *targets))
    if not all(there):
        return None
    if any(one.casefold() == text.casefold() for one in targets):
        return Rescored(CORRECT, text)
    has_numbers = any(
        word in _NUMBERS or any(map(str.isnumeric, word))
        for words in (here, *there)
        for word in words
    )
    if has_numbers or here in there:
        return None
    return Rescored(INCORRECT, text)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text as `exact` compares them, but for numbers and their order."""
    return frozenset(_ARTICLE.sub(" ", text.casefold().translate(_NO_PUNCTUATION)).split())


def answer(text: str, targets: Sequence[str], options: Options) -> Rescored | None:
    """Score a completion as `answer` does if its only answer is its last line."""
    kind = _ANSWERS.get(str(options.get("pattern")))
    found = last_answer(text)
    if options.keys() != {"pattern"} or kind is None or not found or not kind.fullmatch(found):
        return None
    is_right = found.lower() in [one.lower() for one in targets]
    return Rescored(CORRECT if is_right else INCORRECT, found)


def last_answer(text: str) -> str | None:
    """Return what follows `ANSWER: ` in the last line, if no other part speaks of an answer."""
    found = _ANSWER.search(text)
    return found[1] if found and text.casefold().count("answer") == 1 else None


def choice(selected: str, targets: Sequence[str]) -> Rescored | None:
    """Score letters that were selected, as in `A, C`, as `choice` does."""
    wanted = "".join(targets)
    if not _SELECTED.fullmatch(selected) or not wanted or not _LETTERS.fullmatch(wanted):
        return None
    if len(set(wanted)) < len(wanted):
        return None
    is_right = selected == ", ".join(sorted(wanted))
    return Rescored(CORRECT if is_right else INCORRECT, selected)


def grade(text: str, options: Options) -> str | None:
    """Return the grade in the text of a grader; None where releases may read another one.

    Sources: DEFAULT_GRADE_PATTERN in scorer/_model.py, of several releases.
    """
    if options.get("grade_pattern") is not None or isinstance(options.get("model"), list):
        return None
    found = {_GRADES.get(word.lower()) for word in _GRADE.findall(text)}
    return found.pop() if len(found) == 1 else None


GRADED: Final = frozenset({"model_graded_fact", "model_graded_qa"})
"""The scorers that ask a model for a grade."""

BY_COMPLETION: Final[Mapping[str, Callable[[str, Sequence[str], Options], Rescored | None]]] = {
    "answer": answer,
    "exact": exact,
    "match": match,
}
"""The scorers that read the completion alone."""


_SHUFFLED: Final = "Choices were shuffled before generating a response"
"""How the explanation of shuffled choices begins."""


def _includes(sample: SampleView) -> Iterator[Violation]:
    """Score samples of the scorer `includes` again."""
    texts = sample.scored_texts
    if texts is None:
        return
    completion, targets = texts
    for scorer, options, first, place in _iterate_first(sample):
        if scorer != "includes" or not options.keys() <= {"ignore_case"}:
            continue
        value, ignores_case = score_value(first), options.get("ignore_case") is not False
        found = [_fold_case(one, folds=ignores_case) for one in targets]
        text = _fold_case(completion, folds=ignores_case)
        expected = "C" if any(one in text for one in found) else "I"
        is_ours = sample.resolve_attachment(first.get("explanation")) == completion
        is_known = value in ("C", "I") or is_missing(value)
        if (is_known and value != expected) or (
            is_ours and _differs(value, expected, graded=False)
        ):
            has = "has a target" if expected == "C" else "has no target"
            message = f"the completion {has} in it"
            yield INS213.violation(message, place, expected=expected, found=value)


def _iterate_first(sample: SampleView) -> Iterator[tuple[str, Options, dict[str, Any], str]]:
    """Iterate over declared scorers and their scores before edits, with their values' places.

    The options are those of the results, where these have any, else the declared ones.
    """
    stated = sample.log.stated_scorers if sample.log is not None else {}
    for name, scorer in sample.declared_scorers.items():
        score, used = sample.scores.get(name), member(stated.get(name), "options")
        if score is not None:
            history = list_or_empty(score.get("history"))
            path = ("history", 0, "value") if history else ("value",)
            first = object_or_empty(history[0] if history else score)
            options = used if isinstance(used, dict) else object_or_empty(scorer.get("options"))
            declared = text_or_none(scorer.get("name")) or ""
            yield declared, options, first, sample.at("scores", name, *path)


def _fold_case(text: str, *, folds: bool) -> str:
    return text.casefold() if folds else text


def _check_rescored(sample: SampleView) -> Iterator[Violation]:
    """Score samples of other scorers of the harness again.

    Scorers of one's own may have the same names: only a score is compared that has the explanation
    or the answer that the harness's scorer gives.
    """
    texts = sample.scored_texts
    is_early = sample.log is not None and sample.log.release and not sample.is_recent
    if texts is None or is_early:
        return
    completion, targets = texts
    for scorer, options, first, place in _iterate_first(sample):
        expected = _expected_value(sample, scorer, options, completion, targets, first)
        value = score_value(first)
        if expected is not None and _differs(value, expected, graded=scorer in GRADED):
            message = f"the scorer {scorer} gives another value to this answer"
            yield INS218.violation(message, place, expected=expected, found=value)


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
        letters = string.ascii_uppercase[: len(list_or_empty(sample.value.get("choices")))]
        is_known = has_all and explanation == completion and letter in [*letters]
        selected = letter if is_known else told
        is_shown = explanation == completion or (has_all and told == letter)
        is_ours = is_shown or str(explanation).startswith(_SHUFFLED)
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
