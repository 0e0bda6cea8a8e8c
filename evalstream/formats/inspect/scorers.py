"""The scorers of the harness, where all releases from 0.3.60 on give the same.

Sources: scorer/_common.py, _classification.py, _answer.py, _pattern.py, _choice.py and _model.py of
inspect_ai. Patterns of one's own are not computed: a pattern that a file chooses may never end.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from evalstream.model.data_class import NamedTuple

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
_FRACTION: Final = re.compile(r"[.,]\d")
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
    is_plain = all(
        _SHORT_NUMBER.fullmatch(word) or not (word in _NUMBERS or any(map(str.isnumeric, word)))
        for words in (here, *there)
        for word in words
    )
    if not is_plain or here in there or any(map(_FRACTION.search, (text, *targets))):
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


def pattern(told: Any, targets: Sequence[str]) -> Rescored | None:
    """Score what `pattern` found, which it names; None where case or several groups decide.

    It names nothing where no group of several is a target, and all targets where each must be.
    """
    found = told if isinstance(told, str) else ""
    if found in targets or found == "".join(targets):
        return Rescored(CORRECT, found) if found else None
    lower = found.lower()
    if found and lower in ("".join(targets).lower(), *(one.lower() for one in targets)):
        return None
    return Rescored(INCORRECT, found)


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

KNOWN: Final = frozenset({*BY_COMPLETION, *GRADED, "choice", "includes", "pattern"})
"""The scorers whose scores follow from an answer."""

OURS: Final = KNOWN | {"", "f", "math", "perplexity", "target_perplexity"}
"""The scorers of the harness, as far as known, which change nothing but scores; f1 without number.

The name of an unnamed scorer is empty.
"""
