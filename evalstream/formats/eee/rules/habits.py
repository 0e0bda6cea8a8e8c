"""What most rows of a file keep to, so that the rows that do not can be named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.eee import row_view
from evalstream.formats.eee.facts import RunFacts
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member
from evalstream.parsing.lazy_regex import LazyPattern

PROMPT: Final = "prompt"
SOURCE: Final = "source"
ANSWER: Final = "answer"

Habit = tuple[str | int, ...]
"""A key of a tally: a habit and whether the row keeps to it, of `ANSWER` those of its result."""

LONGEST_ANSWER: Final = 32
FEWEST: Final = 3
MANY: Final = 5
MOST: Final = 10
"""A habit is that of a file if at least so many rows keep to it for each one that does not.

More are needed where a further demand on the answer may make a row wrong, and most where the text
of a prompt or an answer may have been changed on the way.
"""

_OFTEN_ESCAPED: Final = frozenset("\"\\/<>&'=")
"""Some writers of JSON escape slashes, and those for web pages what HTML or a script may read."""

LETTER = LazyPattern(r"[(\[]?([A-Za-z])[)\].:]?")
"""A letter of a choice, such as A, (a) or b."""

_LONGEST_LETTER: Final = 3
_MOST_DIGITS: Final = 15
_NO_ANSWERS: Final = frozenset(
    ("none", "null", "nan", "na", "invalid", "unknown", "noanswer", "error", "failed", "empty")
)
"""What harnesses write for an answer that they did not find, in letters alone."""

_APART = LazyPattern(r"[^0-9A-Za-z]+")
_POLARITY: Final = {"yes": 1, "no": 1, "true": 2, "false": 2}


class Misjudged(NamedTuple):
    """Rows that are called right, or wrong: how many, the first line, and how many others agree."""

    is_right: bool
    rows: int
    first: int
    agreed: int


def asks_question(row: Mapping[str, Any]) -> bool | None:
    """Tell whether input.formatted holds input.raw; None without both, or with escapes."""
    sample = row.get("input")
    question, prompt = _plain(member(sample, "raw")), member(sample, "formatted")
    if question is None or prompt.__class__ is not str:
        return None
    return question in prompt


def has_source(row: Mapping[str, Any]) -> bool | None:
    """Tell whether output.raw holds the one answer that was extracted from it.

    None where it is empty, or has the letters and digits of the answer and others between them, and
    where the answer is a word for none.
    """
    answers = row.get("answer_attribution")
    if row.get("interaction_type") != row_view.SINGLE_TURN or answers.__class__ is not list:
        return None
    value = _plain(member(answers[0], "extracted_value")) if len(answers) == 1 else None
    if value is None or len(value) > LONGEST_ANSWER or answers[0].get("source") != "output.raw":
        return None
    texts = output_texts(row)
    if any(value in text for text in texts):
        return True
    is_open = not "".join(texts).strip() or any(_spells(text, value) for text in texts)
    return None if is_open or _APART.sub("", value).lower() in _NO_ANSWERS else False


def is_reference(row: Mapping[str, Any]) -> bool | None:
    """Tell whether the answer of a row is a reference: the only one attributed, or the output.

    False only for a letter, an integer or a word that can stand for none of them.
    """
    answers, sample = row.get("answer_attribution"), row.get("input")
    if answers.__class__ is not list or len(answers) > 1:
        return None
    if answers:
        value = _plain(member(answers[0], "extracted_value"))
    else:
        texts = output_texts(row) if row.get("interaction_type") == row_view.SINGLE_TURN else ()
        value = _plain(texts[0]) if len(texts) == 1 else None
    reference, choices = member(sample, "reference"), member(sample, "choices")
    references = [reference] if reference.__class__ is str else reference
    if value is None or references.__class__ is not list or not references:
        return None
    if not all(text.__class__ is str for text in references):
        return None
    known = [_plain(text) for text in references]
    if value in known:
        return True
    listed = choices if choices.__class__ is list else []
    rivals = all(text is not None and _are_rivals(value, text, listed) for text in known)
    return False if rivals else None


def describe_exceptions(facts: RunFacts, habit: str, lack: str) -> Iterator[tuple[str, int]]:
    """Describe and count the rows that break a habit, if most rows of a file keep to it.

    `lack` says what these rows have not, and the others have.
    """
    habits = facts.tally.habits
    kept, (rows, first) = habits.count((habit, True)), habits.get((habit, False), (0, 0))
    if rows and kept >= MOST * rows:
        yield f"{lack} in {kept:,} other rows (first {facts.at(first)})", rows


def find_misjudged(facts: RunFacts, place: int) -> Iterator[Misjudged]:
    """Iterate over rows that are called right, or wrong, unlike others with such an answer.

    In most rows of the result answers that are a reference are right.
    """
    habits = facts.tally.habits
    agreed = habits.count((ANSWER, place, True, True))
    denied = habits.count((ANSWER, place, False, False))
    for is_right, alike, fewest in ((False, agreed, MANY), (True, agreed + denied, FEWEST)):
        rows, first = habits.get((ANSWER, place, not is_right, is_right), (0, 0))
        if rows and agreed > 1 and alike >= fewest * rows:
            yield Misjudged(is_right, rows, first, agreed)


def judgement(score: Any, correct: Any, *, failed: bool) -> bool | None:
    """Return whether a row calls its answer right by its score, too; None where it does not say."""
    if failed or correct.__class__ is not bool or score != correct:
        return None
    return bool(correct)


def _plain(text: Any) -> str | None:
    """Return a text without blanks around it; None for one that JSON may escape, or that is empty.

    The scanner judges no others.
    """
    if text.__class__ is not str or not (text.isascii() and text.isprintable()):
        return None
    return text.strip(" ") or None if _OFTEN_ESCAPED.isdisjoint(text) else None


def output_texts(row: Mapping[str, Any]) -> Sequence[str]:
    """Return the texts of output.raw."""
    output: Any = member(row.get("output"), "raw")
    texts = output if output.__class__ is list else [output]
    return [text for text in texts if text.__class__ is str]


def _spells(text: str, part: str) -> bool:
    """Tell whether a text holds the letters and digits of another one."""
    return _APART.sub("", part).lower() in _APART.sub("", text).lower()


def _are_rivals(one: str, other: str, choices: Sequence[Any]) -> bool:
    """Tell whether two texts are letters, integers or words that stand for different answers.

    An integer may number one of the choices, if there are any. Words that are not choices,
    other than yes and no, may mean the same.
    """
    if max(len(one), len(other)) > LONGEST_ANSWER:
        return False
    letters = [_read_letter(text) for text in (one, other)]
    if any(letters):
        return all(letters) and letters[0] != letters[1]
    if _is_integer(one) and _is_integer(other):
        return int(one) != int(other) and (not choices or (one in choices and other in choices))
    if not (one.isalpha() and other.isalpha()):
        return False
    words = one.lower(), other.lower()
    polarities = [_POLARITY.get(word) for word in words]
    are_opposed = polarities[0] is not None and polarities[0] == polarities[1]
    if not are_opposed and not (one in choices and other in choices):
        return False
    return words[0] not in words[1] and words[1] not in words[0]


def _read_letter(text: str) -> str | None:
    """Return the letter that a text like A, (a) or b. is, in lower case."""
    found = LETTER.fullmatch(text) if len(text) <= _LONGEST_LETTER else None
    return found and found[1].lower()


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isdecimal() and len(digits) <= _MOST_DIGITS
