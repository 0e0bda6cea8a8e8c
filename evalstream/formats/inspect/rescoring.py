"""Scores of samples again, where all releases of inspect_ai from 0.3.60 on give the same.

Sources: scorer/_common.py, _classification.py, _answer.py and _choice.py of inspect_ai.
Numeric matches and patterns of one's own are not computed: releases differ, and a pattern that a
file chooses may take for ever.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

CORRECT: Final = "C"
INCORRECT: Final = "I"

SINCE: Final = (0, 3, 60)
"""The first release whose scorers are known."""

_EDGES: Final = string.whitespace + string.punctuation
_MATCHES: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "begin": str.startswith,
    "end": str.endswith,
    "any": str.__contains__,
    "exact": str.__eq__,
}

_OPTIONS_OF_MATCH: Final = frozenset({"location", "ignore_case", "numeric"})

_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans({**dict.fromkeys(string.punctuation), "-": " "})
_NUMBERS: Final = frozenset({"inf", "infinity", "nan"})

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


class Rescored(NamedTuple):
    """The value of a score, and the answer that the scorer found."""

    value: str
    answer: str


Options = Mapping[str, Any]


def match(text: str, targets: Sequence[str], options: Options) -> Rescored | None:
    """Score a completion as `match` does without `numeric`; None for other options."""
    matches = _MATCHES.get(str(options.get("location", "end")))
    if matches is None or options.get("numeric") or not options.keys() <= _OPTIONS_OF_MATCH:
        return None
    folds = options.get("ignore_case") is not False
    answer = text.strip()
    here, *there = (
        (one.strip().casefold() if folds else one.strip()).strip(_EDGES) for one in (text, *targets)
    )
    return Rescored(CORRECT if any(matches(here, one) for one in there) else INCORRECT, answer)


def exact(text: str, targets: Sequence[str], options: Options) -> Rescored | None:
    """Score a completion as `exact` does; None where releases may differ."""
    if options or not all(one[:1].strip() for one in targets):
        return None
    here, *there = (_words(one) for one in (text, *targets))
    if not all(there):
        return None
    if any(one.casefold() == text.casefold() for one in targets):
        return Rescored(CORRECT, text)
    if any(map(_has_numbers, (here, *there))) or here in there:
        return None
    return Rescored(INCORRECT, text)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text as `exact` compares them, but for numbers and their order."""
    return frozenset(_ARTICLE.sub(" ", text.casefold().translate(_NO_PUNCTUATION)).split())


def _has_numbers(words: frozenset[str]) -> bool:
    return any(word in _NUMBERS or any(map(str.isnumeric, word)) for word in words)


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
