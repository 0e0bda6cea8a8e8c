"""Answers in which a scorer looks for a reference, and right ones that show none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from evalstream.formats.eee.aggregate import Result
from evalstream.formats.eee.facts import STRAINS, UNSHOWN, Answers, Misjudged, RunFacts, sum_rows
from evalstream.formats.eee.row_view import TRANSCRIPT_KEYS
from evalstream.formats.eee.rules.answers import LONGEST_ANSWER, Row, is_integer, only_answer
from evalstream.formats.eee.rules.transcript import tool_calls
from evalstream.formats.eee.score_scale import AS_WRITTEN, NUMBERED, is_by_lm_eval
from evalstream.parsing.json import canonical, member
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims.evidence import Evidence


def find_contradicted(facts: RunFacts, result: Result, answers: Answers) -> Iterator[Misjudged]:
    """Iterate over right answers that differ from every reference, and wrong ones that are one.

    Of several references a scorer may want all.
    """
    if not _keeps_own_scores(facts, result):
        return
    for is_right, unlike in ((True, {False, UNSHOWN}), (False, {True})):
        found = [
            (line, rows)
            for (strain, answered, judged), rows, line in answers.entries()
            if judged == is_right and answered in unlike and (is_right or int(strain) < STRAINS)
        ]
        if found:
            yield Misjudged(is_right, sum_rows(found), found[0][0], 0)


def _keeps_own_scores(facts: RunFacts, result: Result) -> bool:
    """Tell whether each row has the score of its own answer.

    Otherwise the converter of Inspect gives all repeats of a sample one score, that of all of them.
    """
    scores, cover = facts.tally.scores.get(result.place), facts.coverage.of(result.place)
    if cover.repeats <= cover.samples or scores is None or is_by_lm_eval(facts.context.library):
        return cover.repeats <= cover.samples
    evidence = Evidence(scores, cover)
    is_known = cover.products is not None and not scores.unscored
    return is_known and evidence.has_even_repeats and not evidence.has_equal_repeats


MOST_WORDS: Final = 32
"""Of references with more words it is not told whether an answer shows one."""


def shows_no_reference(row: Row, mode: int) -> bool:
    """Tell whether an answer shows nothing of any reference: no word, and no digit if it has one.

    True also where a scorer says that it found no answer. Of a row of several turns all texts and
    calls of the model are its answer. False where a reference may be the number of a choice in this
    `search_mode`, for an answer without text, references that are not a list, which may be joined, and
    letters beyond ASCII.
    """
    text, references = only_answer(row), member(row.get("input"), "reference")
    if text is None and row.get("answer_attribution") == []:
        text = _final_answer(row)
    if references.__class__ is not list or {str} != {one.__class__ for one in (text, *references)}:
        return False
    if not references or text.startswith(_UNMATCHED):
        return bool(references)
    if not (text.strip(" ") and text.isascii() and all(map(str.isascii, references))):
        return False
    may_number = mode == NUMBERED and any(map(_may_number_choice, references))
    has_digit = mode != AS_WRITTEN and _DIGIT.search(text)
    if may_number or (has_digit and any(map(_DIGIT.search, references))):
        return False
    shown = _BESIDE_WORDS.sub("", text.lower())
    words = [_BESIDE_WORDS.sub(" ", one.lower()).split() for one in references]
    if not all(words) or sum(map(len, words)) > MOST_WORDS:
        return False
    return not any(len(one) > LONGEST_ANSWER or one in shown for one in chain.from_iterable(words))


def _final_answer(row: Row) -> str | None:
    """Return what the model says in a transcript that ends with an answer without calls.

    A solver may pick the answer from an earlier turn, or from the arguments of a call. That of
    a question with choices may be a letter of choices in another order.
    """
    turns = next((row[key] for key in TRANSCRIPT_KEYS if row.get(key)), None)
    if turns.__class__ is not list or member(row.get("input"), "choices"):
        return None
    last, own = turns[-1], [one for one in turns if member(one, "role") == "assistant"]
    text = member(last, "content")
    if not own or last is not own[-1] or member(last, "tool_calls"):
        return None
    if text.__class__ is not str or not text.strip(" "):
        return None
    said = [member(one, "content") for one in own]
    said += [member(call, "arguments") for one in own for call in tool_calls(one)]
    return "\n".join(
        one if one.__class__ is str else canonical(one).decode() for one in said if one
    )


def _may_number_choice(reference: str) -> bool:
    number = reference.strip(" ")
    return len(number) <= 2 and is_integer(number)


_UNMATCHED: Final = "Scoring pattern not matched in output: "
"""How the answer begins in which the scorers `answer` and `pattern` of Inspect find nothing."""

_BESIDE_WORDS = LazyPattern(r"[^0-9a-z]+")
_DIGIT = LazyPattern(r"[0-9]")
