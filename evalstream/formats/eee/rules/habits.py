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
"""A key of a tally: a habit, the strain of the row, and whether it keeps to it.

Of `ANSWER` the place of the row's result stands before the strain.
"""

STRAINS: Final = 256
"""Rows of one evaluation_name are of one strain: parts of a benchmark have habits of their own.

Names share this many strains, so that a tally stays small for any number of them.
"""

LONGEST_ANSWER: Final = 32
TOLERANCE: Final = 20
LARGE: Final = 100
"""Graders may accept numbers of this size that differ by up to a twentieth."""

LONGEST_QUESTION: Final = 1000
"""Prompts of longer ones may be cut to a context."""

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

_MARKUP: Final = frozenset("_$`[]{}")
"""Signs that a template may escape or leave out."""

_EDGES: Final = " \t\r\n([*.:)]!"
"""What may stand around an answer."""

_CHOICES: Final = "ABCDEFGH"
_LONGEST_LETTER: Final = 3
_MOST_DIGITS: Final = 15
_APART = LazyPattern(r"[^0-9A-Za-z]+")
_POLARITY: Final = {"yes": 1, "no": 1, "true": 2, "false": 2}


class Misjudged(NamedTuple):
    """Rows that are called right, or wrong: how many, the first line, and how many others agree."""

    is_right: bool
    rows: int
    first: int
    agreed: int


def asks_question(row: Mapping[str, Any]) -> bool | None:
    """Tell whether input.formatted holds input.raw, apart from its first letter and last mark.

    None without both, with escapes, and where a template may change a question: a long one, and one
    with several blanks or markup.
    """
    sample = row.get("input")
    question, prompt = _plain(member(sample, "raw")), member(sample, "formatted")
    if question is None or prompt.__class__ is not str:
        return None
    asked = question[
        question[0].isalpha() : len(question) - question.endswith((".", "?", "!", ":"))
    ]
    if not asked or asked in prompt:
        return True if asked else None
    may_change = len(question) > LONGEST_QUESTION or "  " in question
    return None if may_change or not _MARKUP.isdisjoint(question) else False


def has_source(row: Mapping[str, Any]) -> bool | None:
    """Tell whether output.raw holds the one answer that was extracted from it.

    False only where it shows another answer of the same kind: a letter at its beginning or end, a
    number, or yes or no. Harnesses write words, other languages and texts of choices in many ways.
    """
    answers = row.get("answer_attribution")
    if row.get("interaction_type") != row_view.SINGLE_TURN or answers.__class__ is not list:
        return None
    value = _plain(member(answers[0], "extracted_value")) if len(answers) == 1 else None
    if value is None or len(value) > LONGEST_ANSWER or answers[0].get("source") != "output.raw":
        return None
    texts, choices = output_texts(row), member(row.get("input"), "choices")
    if any(value in text for text in texts):
        return True
    if not texts or any(_spells(text, value) for text in texts):
        return None
    most = len(choices) if choices.__class__ is list else 0
    return False if all(_shows_another(text, value, most) for text in texts) else None


def is_reference(row: Mapping[str, Any]) -> bool | None:
    """Tell whether the answer of a row is a reference: the only one attributed, or the output.

    False only for a letter, an integer or a word that can stand for none of them. None also where
    the text of a choice may be the letter or the number of another one.
    """
    answers, sample = row.get("answer_attribution"), row.get("input")
    if answers.__class__ is not list or len(answers) > 1:
        return None
    if answers:
        text = member(answers[0], "extracted_value")
    else:
        texts = output_texts(row) if row.get("interaction_type") == row_view.SINGLE_TURN else ()
        text = texts[0] if len(texts) == 1 else None
    reference, choices = member(sample, "reference"), member(sample, "choices")
    references = [reference] if reference.__class__ is str else reference
    value = _plain(text)
    if value is None or references.__class__ is not list or not references:
        return None
    if not all(text.__class__ is str for text in references):
        return None
    known = [_plain(text) for text in references]
    listed = choices if choices.__class__ is list else []
    if any(text is not None and _may_mean_another(text, listed) for text in (value, *known)):
        return None
    if text in references:
        return True
    rivals = all(text is not None and _are_rivals(value, text, listed) for text in known)
    return False if rivals else None


def has_several_references(row: Mapping[str, Any]) -> bool:
    """Tell whether an answer is compared with several references: any of them, or all."""
    references = member(row.get("input"), "reference")
    return references.__class__ is list and len(references) > 1


def describe_exceptions(facts: RunFacts, habit: str, lack: str) -> Iterator[tuple[str, int]]:
    """Describe and count the rows that break a habit, if most rows of their strain keep to it.

    `lack` says what these rows have not, and the others have.
    """
    habits, kept, found = facts.tally.habits, 0, list[tuple[int, int]]()
    for strain in {key[1] for key in habits if key[0] == habit}:
        keeping = habits.count((habit, strain, True))
        rows, first = habits.get((habit, strain, False), (0, 0))
        kept += keeping
        if rows and keeping >= MOST * rows:
            found.append((first, rows))
    if found:
        yield f"{lack} in {kept:,} other rows (first {facts.at(min(found)[0])})", _sum_rows(found)


def find_misjudged(facts: RunFacts, place: int) -> Iterator[Misjudged]:
    """Iterate over rows that are called right, or wrong, unlike others with such an answer.

    In most rows of the result and of their strain answers that are a reference are right, and most
    of those that are right are one.
    """
    habits, agreed = facts.tally.habits, 0
    found: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    for strain in {key[2] for key in habits if key[:2] == (ANSWER, place)}:
        own, denied, wrong, right = (
            habits.get((ANSWER, place, strain, *both), (0, 0))
            for both in ((True, True), (False, False), (True, False), (False, True))
        )
        agreed += own[0]
        if wrong[0] and own[0] >= max(MANY * wrong[0], FEWEST * right[0]):
            found[False].append((wrong[1], wrong[0]))
        is_usual = own[0] > 1 and own[0] >= max(MANY * wrong[0], right[0])
        if right[0] and is_usual and own[0] + denied[0] >= FEWEST * right[0]:
            found[True].append((right[1], right[0]))
    for is_right, some in found.items():
        if some:
            yield Misjudged(is_right, _sum_rows(some), min(some)[0], agreed)


def _sum_rows(found: Sequence[tuple[int, int]]) -> int:
    return sum(rows for _, rows in found)


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


def _shows_another(text: str, value: str, choices: int) -> bool:
    """Tell whether an output shows another answer than a value, of the same kind.

    It shows a letter where it begins or ends with one. An integer may be written with a word for
    its zeros, or number a choice.
    """
    if not text.isascii():
        return False
    if _is_integer(value):
        may_be_choice = choices > 0 and 0 <= int(value) <= choices
        is_plain = not may_be_choice and not value.endswith("00")
        return is_plain and any(map(str.isdecimal, text))
    bare = text.strip(_EDGES)
    if _read_letter(value):
        start = text.lstrip(_EDGES)
        begins = start[:1] in _CHOICES and start[1:2] in {")", "]", ".", ":"}
        ends = bare[-1:] in _CHOICES and bare[-2:-1] in {"\n", " ", "(", "[", ":", "*"}
        return bool(bare) and (begins or ends or (len(bare) == 1 and bare.isalpha()))
    polarity = _POLARITY.get(value.lower())
    return polarity is not None and polarity == _POLARITY.get(bare.lower())


def _may_mean_another(text: str, choices: Sequence[Any]) -> bool:
    """Tell whether a choice is the letter of another one, or may be its number."""
    if text not in choices:
        return False
    if _is_integer(text):
        return 0 <= int(text) <= len(choices)
    letter = _read_letter(text)
    return letter is not None and ord(letter) - ord("a") != choices.index(text)


def _are_rivals(one: str, other: str, choices: Sequence[Any]) -> bool:
    """Tell whether two texts are letters, integers or words that stand for different answers.

    An integer may number one of the choices, if there are any, and large ones may be near enough.
    Words that are not choices, other than yes and no, may mean the same.
    """
    if max(len(one), len(other)) > LONGEST_ANSWER:
        return False
    letters = [_read_letter(text) for text in (one, other)]
    if any(letters):
        return all(letters) and letters[0] != letters[1]
    if _is_integer(one) and _is_integer(other):
        numbers = int(one), int(other)
        largest = max(map(abs, numbers))
        is_far = largest < LARGE or TOLERANCE * abs(numbers[0] - numbers[1]) > largest
        is_part = one in other or other in one
        return is_far and not is_part and (not choices or (one in choices and other in choices))
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
