"""Answers in which a scorer looks for a reference, and right ones that show none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.rules.answers import (
    ANSWER,
    LONGEST_ANSWER,
    STRAINS,
    UNSHOWN,
    Misjudged,
    Row,
    is_integer,
    only_answer,
    sum_rows,
)
from evalstream.formats.eee.score_scale import NUMBERED
from evalstream.parsing.json import member
from evalstream.parsing.lazy_regex import LazyPattern


def find_contradicted(facts: RunFacts, place: int) -> Iterator[Misjudged]:
    """Iterate over right answers that differ from every reference, and wrong ones that are one.

    Of several references a scorer may want all.
    """
    entries = [one for one in facts.tally.habits.entries() if one[0][:2] == (ANSWER, place)]
    for is_right, unlike in ((True, {False, UNSHOWN}), (False, {True})):
        found = [
            (line, rows)
            for (_, _, strain, answered, judged), rows, line in entries
            if judged == is_right and answered in unlike and (is_right or int(strain) < STRAINS)
        ]
        if found:
            yield Misjudged(is_right, sum_rows(found), found[0][0], 0)


MOST_WORDS: Final = 32
"""Of references with more words it is not told whether an answer shows one."""


def shows_no_reference(row: Row, mode: int) -> bool:
    """Tell whether an answer shows nothing of any reference: no word, and no digit if it has one.

    False also where a reference may be the number of a choice in this `search_mode`, for an answer
    without text, references that are no list, which may be joined, and letters beyond ASCII.
    """
    text, references = only_answer(row), member(row.get("input"), "reference")
    if references.__class__ is not list or not references or text.__class__ is not str:
        return False
    if not (text.strip(" ") and all(one.__class__ is str and one.isascii() for one in references)):
        return False
    if mode == NUMBERED and any(map(_may_number_choice, references)):
        return False
    if not text.isascii() or (_DIGIT.search(text) and any(map(_DIGIT.search, references))):
        return False
    shown = _BESIDE_WORDS.sub("", text.lower())
    words = [_BESIDE_WORDS.sub(" ", one.lower()).split() for one in references]
    if not all(words) or sum(map(len, words)) > MOST_WORDS:
        return False
    return not any(len(one) > LONGEST_ANSWER or one in shown for one in chain.from_iterable(words))


def _may_number_choice(reference: str) -> bool:
    number = reference.strip(" ")
    return len(number) <= 2 and is_integer(number)


_BESIDE_WORDS = LazyPattern(r"[^0-9a-z]+")
_DIGIT = LazyPattern(r"[0-9]")
