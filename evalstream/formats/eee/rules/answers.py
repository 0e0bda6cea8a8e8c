"""How the answers of rows compare with their references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from evalstream.formats.eee.aggregate import Result
from evalstream.formats.eee.row_view import SINGLE_TURN, shows_choice
from evalstream.formats.eee.score_scale import CHOICE
from evalstream.parsing.json import member
from evalstream.parsing.json_values import list_or_empty
from evalstream.parsing.lazy_regex import LazyPattern

Row = Mapping[str, Any]

NUMBERS: Final[frozenset[Any]] = frozenset({int, float, bool})
"""The types of a score: JSON's numbers, and true and false, which count as 1 and 0."""

LONGEST_ANSWER: Final = 32
TOLERANCE: Final = 20
LARGE: Final = 100
"""Graders may accept numbers of this size that differ by up to a twentieth."""

_OFTEN_ESCAPED: Final = frozenset("\"\\/<>&'=")
"""Some writers of JSON escape slashes, and those for web pages what HTML or a script may read."""

LETTER = LazyPattern(r"[(\[]?([A-Za-z])[)\].:]?")
"""A letter of a choice, such as A, (a) or b."""

_LONGEST_LETTER: Final = 3
_MOST_DIGITS: Final = 15
POLARITY: Final = {"yes": 1, "no": 1, "true": 2, "false": 2}


def is_reference(row: Row) -> bool | None:
    """Tell whether the answer of a row is a reference: the only one attributed, or the output.

    False only for a letter, an integer or a word that can stand for none of them. None also where
    the text of a choice may be the letter or the number of another one.
    """
    sample, text = row.get("input"), only_answer(row)
    reference, choices = member(sample, "reference"), member(sample, "choices")
    references = [reference] if reference.__class__ is str else reference
    value = plain_text(text)
    if value is None or references.__class__ is not list or not references:
        return None
    if not all(text.__class__ is str for text in references):
        return None
    known = [plain_text(text) for text in references]
    listed = Choices(choices if choices.__class__ is list else [])
    if any(text is not None and _may_mean_another(text, listed) for text in (value, *known)):
        return None
    if text in references:
        return True
    rivals = all(text is not None and _are_rivals(value, text, listed) for text in known)
    return False if rivals else None


def only_answer(row: Row) -> Any:
    """Return the only answer attributed, or without one the only output of a single turn."""
    answers = row.get("answer_attribution")
    if answers.__class__ is not list or len(answers) > 1:
        return None
    if answers:
        return member(answers[0], "extracted_value")
    texts = output_texts(row) if row.get("interaction_type") == SINGLE_TURN else ()
    return texts[0] if len(texts) == 1 else None


def has_several_references(row: Row) -> bool:
    """Tell whether an answer is compared with several references: any of them, or all."""
    references = member(row.get("input"), "reference")
    return references.__class__ is list and len(references) > 1


def judgement(score: Any, correct: Any, *, failed: bool) -> bool | None:
    """Return whether a row calls its answer right by its score, too; None where it does not say."""
    if failed or correct.__class__ is not bool or score != correct:
        return None
    return bool(correct)


def plain_text(text: Any) -> str | None:
    """Return a text without blanks around it; None for one that JSON may escape, or that is empty.

    The scanner judges no others.
    """
    if text.__class__ is not str or not (text.isascii() and text.isprintable()):
        return None
    return text.strip(" ") or None if _OFTEN_ESCAPED.isdisjoint(text) else None


def output_texts(row: Row) -> Sequence[str]:
    """Return the texts of output.raw."""
    return list_texts(member(row.get("output"), "raw"))


def list_texts(value: Any) -> list[str]:
    """Return the texts among some values, or a single one."""
    texts = value if value.__class__ is list else [value]
    return [text for text in texts if text.__class__ is str]


class Choices(dict[str, int]):
    """The places of the texts among some choices, of which `count` has the number."""

    def __init__(self, choices: Sequence[Any]) -> None:
        placed = reversed([*enumerate(choices)])
        super().__init__({text: place for place, text in placed if text.__class__ is str})
        self.count = len(choices)


def _may_mean_another(text: str, choices: Choices) -> bool:
    """Tell whether a choice is the letter of another one, or may be its number."""
    if text not in choices:
        return False
    if is_integer(text):
        return 0 <= int(text) <= choices.count
    letter = read_letter(text)
    return letter is not None and ord(letter) - ord("a") != choices[text]


def _are_rivals(one: str, other: str, choices: Choices) -> bool:
    """Tell whether two texts are letters, integers or words that stand for different answers.

    An integer may number one of the choices, if there are any, and large ones may be near enough.
    Words that are not choices, other than yes and no, may mean the same.
    """
    if max(len(one), len(other)) > LONGEST_ANSWER:
        return False
    letters = read_letter(one), read_letter(other)
    if any(letters):
        return all(letters) and letters[0] != letters[1]
    if is_integer(one) and is_integer(other):
        numbers = int(one), int(other)
        largest = max(map(abs, numbers))
        is_far = largest < LARGE or TOLERANCE * abs(numbers[0] - numbers[1]) > largest
        is_part = one in other or other in one
        are_choices = not choices.count or (one in choices and other in choices)
        return is_far and not is_part and are_choices
    if not (one.isalpha() and other.isalpha()):
        return False
    words = one.lower(), other.lower()
    polarities = [POLARITY.get(word) for word in words]
    are_opposed = polarities[0] is not None and polarities[0] == polarities[1]
    if not are_opposed and not (one in choices and other in choices):
        return False
    return words[0] not in words[1] and words[1] not in words[0]


def read_letter(text: str) -> str | None:
    """Return the letter that a text like A, (a) or b. is, in lower case."""
    found = LETTER.fullmatch(text) if len(text) <= _LONGEST_LETTER else None
    return found and found[1].lower()


def is_integer(text: str) -> bool:
    """Tell whether a text is an integer that a double holds."""
    digits = text.removeprefix("-")
    return digits.isdecimal() and len(digits) <= _MOST_DIGITS


_NUMBER = LazyPattern(r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,3})?")
_WORD = LazyPattern(r"[^\W_]+")


def is_right_for_nothing(row: Row, result: Result | None) -> bool:
    """Tell whether an output without text is right, and not by the likelihoods of choices.

    An extracted_value that it does not hold is ES303.
    """
    sample, answers = row.get("input"), row.get("answer_attribution")
    reference, texts = member(sample, "reference"), output_texts(row)
    references = [reference] if reference.__class__ is str else reference
    by_choices = member(sample, "choices") and (result is None or result.scorer != CHOICE)
    if row.get("interaction_type") != SINGLE_TURN or by_choices or not texts:
        return False
    if member(row.get("evaluation"), "is_correct") is not True or any(map(str.strip, texts)):
        return False
    if answers.__class__ is not list or references.__class__ is not list or not references:
        return False
    values = [member(answer, "extracted_value") for answer in answers]
    if any(value.__class__ is not str or value.strip() for value in values):
        return False
    return all(text.__class__ is str and text.strip() for text in references)


def read_exact_answer(row: Row) -> tuple[int, str] | None:
    """Return the place and the value of a row's only terminal answer, if it is an exact match."""
    final = [
        (place, answer)
        for place, answer in enumerate(list_or_empty(row.get("answer_attribution")))
        if member(answer, "is_terminal") is True
    ]
    if len(final) != 1:
        return None
    ((place, answer),) = final
    method, value = answer.get("extraction_method"), answer.get("extracted_value")
    if method.__class__ is not str or value.__class__ is not str:
        return None
    words = method.strip().lower().replace("-", "_").replace(" ", "_")
    # Of gated data sets HELM publishes encrypted texts, of which none is equal to another.
    is_read = words == "exact_match" and not value.startswith("[encrypted_text_")
    return (place, value) if is_read and not shows_choice(value, row) else None


def is_no_method(method: Any) -> bool:
    """Tell whether an extraction_method says that the answer is the output as it is."""
    return method.__class__ is str and method.strip().lower() == "none"


def chooses_right(row: Row, result: Result | None) -> bool | None:
    """Tell whether the answer is the choice whose number, from 0, is the reference.

    The converter of lm-eval writes such rows, and the most likely choice as the answer, which is
    what `acc` looks at; others may count from 1. None for other rows, and where a number could be
    a choice itself.
    """
    answers, sample = row.get("answer_attribution"), row.get("input")
    reference, choices = member(sample, "reference"), member(sample, "choices")
    if (result.id if result is not None else row.get("evaluation_result_id")) != _BY_LIKELIHOOD:
        return None
    if answers.__class__ is not list or len(answers) != 1 or choices.__class__ is not list:
        return None
    value = member(answers[0], "extracted_value")
    number = reference[0] if reference.__class__ is list and len(reference) == 1 else reference
    if not is_no_method(member(answers[0], "extraction_method")) or choices.count(value) > 1:
        return None
    if number.__class__ is not str or not (number.isascii() and number.isdecimal()):
        return None
    if len(number) > 4 or int(number) >= len(choices) or any(map(_is_decimal, choices)):
        return None
    return bool(choices[int(number)] == value)


_BY_LIKELIHOOD: Final = "acc"
"""The result of lm-eval whose score says whether the most likely choice is the target."""


def _is_decimal(choice: Any) -> bool:
    return choice.__class__ is not str or choice.strip().isdecimal()


def matches_reference(value: str, row: Row) -> bool | None:
    """Tell whether a value is the reference; None where that is not certain.

    Equal texts are. Texts that differ only in case, white space, punctuation or form of a number,
    of which one contains the words of the other, or of which one is the letter of a choice, may
    stand for the same answer.
    """
    sample = row.get("input")
    reference, choices = member(sample, "reference"), member(sample, "choices")
    references = [reference] if reference.__class__ is str else reference
    if references.__class__ is not list or not references:
        return None
    if not all(text.__class__ is str for text in references):
        return None
    if value in references:
        return True if len({*references}) == 1 else None
    if choices and _may_name_choices((value, *references), choices):
        return None
    return False if all(_differs(value, text) for text in references) else None


def is_letter_of_another(value: str, row: Row) -> bool:
    """Tell whether a value is the letter of a choice, in their order, that is not a reference.

    HELM's converter writes such answers, and the texts of choices as references.
    """
    sample, letter = row.get("input"), value.strip()
    references, choices = list_texts(member(sample, "reference")), member(sample, "choices")
    place = ord(letter) - ord("A") if len(letter) == 1 else -1
    if choices.__class__ is not list or not 0 <= place < len(choices) or letter in choices:
        return False
    are_choices = bool(references) and Choices(choices).keys() >= {*references}
    are_texts = all(text.__class__ is str and len(text.strip()) > 1 for text in choices)
    return are_choices and are_texts and choices[place] not in references


def _may_name_choices(texts: Sequence[str], choices: Any) -> bool:
    """Tell whether one of some texts may be the letter or the number of a choice.

    Where all are letters, different ones name different choices.
    """
    if choices.__class__ is not list:
        return True
    known = Choices(choices)
    others = [text.strip() for text in texts if text not in known]
    letters = sum(LETTER.fullmatch(text) is not None for text in others)
    return letters not in (0, len(texts)) or any(map(str.isdecimal, others))


def _differs(one: str, other: str) -> bool:
    """Tell whether two texts surely stand for different answers."""
    words = [split_words(text) for text in (one, other)]
    folded = ["".join(some) for some in words]
    if not all(folded) or folded[0] == folded[1] or _holds(*words) or _holds(*reversed(words)):
        return False
    letters = [LETTER.fullmatch(text.strip()) is not None for text in (one, other)]
    if letters[0] != letters[1]:
        return False
    numbers = [_number(text) for text in (one, other)]
    return None in numbers or numbers[0] != numbers[1]


def split_words(text: str) -> list[str]:
    """Return the words of a text, without accents and in lower case."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFKD", text)
    return _WORD.findall(text.casefold())


def _holds(words: list[str], others: list[str]) -> bool:
    """Tell whether the words of one text contain those of another, in their order."""
    return f" {' '.join(others)} " in f" {' '.join(words)} "


def _number(text: str) -> float | None:
    bare = text.strip().strip("$€£%").replace(",", "").replace("\u2212", "-").strip()
    if not _NUMBER.fullmatch(bare):
        return None
    with suppress(ValueError, OverflowError):
        return float(bare)
    return None
