"""ES301 to ES303: rules about the answers that a row attributes to the output of the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.eee import row_view
from evalstream.formats.eee.facts import (
    SOURCE,
    RunFacts,
    by_version,
    find_exceptions,
    in_any_context,
)
from evalstream.formats.eee.rules.answers import (
    LONGEST_ANSWER,
    POLARITY,
    is_integer,
    is_no_method,
    output_texts,
    plain_text,
    read_letter,
)
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import member
from evalstream.parsing.json_values import is_number
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import declare_rule

Row = Mapping[str, Any]

OUTPUT_SOURCE: Final = "output.raw"
_PLACE_IN_ROW = LazyPattern(
    r"output\.(?:(?P<output>raw)|reasoning_trace)(?:\[[0-9]+\])?"
    r"|(?:interactions|messages)\[(?P<turn>[0-9]{1,9}|turn_idx)\]"
    r"\.(?:(?P<content>content)|(?:reasoning_trace|tool_calls)\b.*)",
    re.DOTALL,
)
"""The places of model output in a row; answers are in the two named groups."""

_USUAL_PLACES: Final = ("output.raw", "output.raw[0]")
"""The places of answers in nearly all rows of one turn."""

_MEANT_IN_ROW = LazyPattern(r"\s*(?:\Z|(?:output|interactions|messages)\b)")
"""The beginning of a source that is empty, or meant as a place in the row."""

_APART = LazyPattern(r"[^0-9A-Za-z]+")
_NO_ANSWERS: Final = frozenset(
    ("none", "null", "nan", "na", "invalid", "unknown", "noanswer", "error", "failed", "empty")
)
"""The texts of harnesses for an answer that they did not find, in letters and digits alone."""


def _terminal_answer(row: Row) -> Iterable[Violation]:
    answers = row.get("answer_attribution")
    if answers.__class__ is not list:
        return ()
    if not answers:
        return (NO_ANSWER,)
    marks = [member(answer, "is_terminal") for answer in answers]
    terminal = marks.count(True)
    if terminal == 1 or not all(mark.__class__ is bool for mark in marks):
        return ()
    message = f"exactly one answer must be terminal; {terminal} of {len(answers)} are"
    return (ES301.violation(message, "/answer_attribution"),)


def _attribution_turn(row: Row, version: str) -> Iterable[Violation]:
    answers = row.get("answer_attribution")
    turns = _turns(row, version)
    if answers.__class__ is not list or not answers or turns is None:
        return ()
    single = row.get("interaction_type") == row_view.SINGLE_TURN
    return [
        ES302.violation(
            "turn_idx is not 0" if single else "turn_idx is not a turn of the transcript",
            f"/answer_attribution/{place}/turn_idx",
            found=turn,
        )
        for place, answer in enumerate(answers)
        if is_number(turn := member(answer, "turn_idx")) and turn not in turns
    ]


def _attribution_source(row: Row, version: str) -> Iterable[Violation]:
    answers, kind = row.get("answer_attribution"), row.get("interaction_type")
    if answers.__class__ is not list or not answers or kind not in row_view.INTERACTION_TYPES:
        return ()
    single = kind == row_view.SINGLE_TURN
    transcript, key = row_view.transcript(row, version), row_view.transcript_key(version)
    turns = None if transcript is None else len(transcript[1])
    violations, foreign = [], False
    for place, answer in enumerate(answers):
        source = member(answer, "source")
        if source.__class__ is not str:
            continue
        doubt = source_doubt(source, turns, single=single)
        if doubt is Severity.WARNING:
            violations.append(
                ES303.violation(
                    f"source is not where a {kind} row has its answers",
                    f"/answer_attribution/{place}/source",
                    expected=OUTPUT_SOURCE if single else f"{key}[i].content of a turn",
                    found=source,
                )
            )
        elif transcript is not None and not single:
            wrong = _why_not_said(source, answer, transcript[1])
            if wrong is not None:
                pointer = f"/answer_attribution/{place}/source"
                violations.append(ES303.violation(wrong, pointer, found=source))
        foreign = foreign or doubt is Severity.INFO
        lack = _why_not_in_output(answer, row) if source in _USUAL_PLACES else None
        if lack is not None:
            pointer = f"/answer_attribution/{place}/extracted_value"
            message = f"extracted_value is not in the output, {lack}"
            violations.append(ES303.violation(message, pointer, found=answer["extracted_value"]))
    return [*violations, FOREIGN_SOURCE] if foreign else violations


def _why_not_said(source: str, answer: Any, turns: Sequence[Any]) -> str | None:
    """Return why the content of a turn cannot be the answer of the model; None where it may."""
    place = _PLACE_IN_ROW.fullmatch(source)
    if place is None or place["content"] is None or not place["turn"].isdecimal():
        return None
    number, claimed = int(place["turn"]), member(answer, "turn_idx")
    if number >= len(turns):
        return None
    numbers = [member(turn, "turn_idx") for turn in turns]
    is_other = is_number(claimed) and claimed not in (number, numbers[number])
    if is_other and (claimed in numbers or claimed in range(len(turns))):
        return "source is the content of another turn than turn_idx"
    if member(turns[number], "role") == "user":
        return "source is the content of a turn of the user"
    return None


def _why_not_in_output(answer: Any, row: Row) -> str | None:
    """Return why an answer cannot come from the output; None where it may."""
    method, value = member(answer, "extraction_method"), member(answer, "extracted_value")
    output: Any = member(row.get("output"), "raw")
    texts = (output or [""]) if output.__class__ is list else [output]
    if value.__class__ is not str or not all(text.__class__ is str for text in texts):
        return None
    if is_no_method(method) and not any(value.strip() in text for text in texts):
        return "though extraction_method is none"
    is_found = not is_blank(value) and _APART.sub("", value).lower() not in _NO_ANSWERS
    return "which is empty" if is_found and all(map(is_blank, texts)) else None


def _answers_without_source(facts: RunFacts) -> Iterator[Violation]:
    """Report answers that the output does not hold, where most rows of the file have theirs there."""
    return find_exceptions(ES303, facts, SOURCE, "extracted_value is not in output.raw, as it is")


def _turns(row: Row, version: str) -> set[Any] | None:
    """Return the turns that an answer can come from, or None if they are unknown."""
    kind = row.get("interaction_type")
    if kind == row_view.SINGLE_TURN:
        return {0}
    transcript = row_view.transcript(row, version)
    if kind not in row_view.INTERACTION_TYPES or transcript is None:
        return None
    numbers = [member(turn, "turn_idx") for turn in transcript[1]]
    return set(numbers) if all(map(is_number, numbers)) else set(range(len(numbers)))


def source_doubt(source: str, turns: int | None, *, single: bool) -> Severity | None:
    """Return the severity of a doubtful source of an answer, or None for a place of answers.

    Other places in the row, and sources outside of it, are an info: WILD names the column of the
    answer, or the scorer that it was taken from. `turns` is the length of the transcript, if there
    is one.
    """
    if single and source in _USUAL_PLACES:
        return None
    place = _PLACE_IN_ROW.fullmatch(source)
    if place is None:
        return Severity.WARNING if _MEANT_IN_ROW.match(source) else Severity.INFO
    turn = place["turn"]
    if single != (turn is None):
        return Severity.WARNING
    if turn is not None and turns is not None and turn.isdecimal() and int(turn) >= turns:
        return Severity.WARNING
    return None if place["output"] or place["content"] else Severity.INFO


def is_blank(value: Any) -> bool:
    """Tell whether a value is a text without anything but white space."""
    return value.__class__ is str and (not value or value.isspace())


_EDGES: Final = " \t\r\n([*.:)]!"
"""Characters that may stand around an answer."""

_CHOICES: Final = "ABCDEFGH"


def has_source(row: Mapping[str, Any]) -> bool | None:
    """Tell whether output.raw holds the one answer that was extracted from it.

    False only where it shows another answer of the same kind: a letter at its beginning or end, a
    number, or yes or no. Harnesses write words, other languages and texts of choices in many ways.
    """
    answers = row.get("answer_attribution")
    if row.get("interaction_type") != row_view.SINGLE_TURN or answers.__class__ is not list:
        return None
    value = plain_text(member(answers[0], "extracted_value")) if len(answers) == 1 else None
    if value is None or len(value) > LONGEST_ANSWER or answers[0].get("source") != "output.raw":
        return None
    texts, choices = output_texts(row), member(row.get("input"), "choices")
    if any(value in text for text in texts):
        return True
    if not texts or any(_spells(text, value) for text in texts):
        return None
    most = len(choices) if choices.__class__ is list else 0
    return False if all(_shows_another(text, value, most) for text in texts) else None


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
    if is_integer(value):
        may_be_choice = choices > 0 and 0 <= int(value) <= choices
        is_plain = not may_be_choice and not value.endswith("00")
        return is_plain and any(map(str.isdecimal, text))
    bare = text.strip(_EDGES)
    if read_letter(value):
        start = text.lstrip(_EDGES)
        begins = start[:1] in _CHOICES and start[1:2] in {")", "]", ".", ":"}
        ends = bare[-1:] in _CHOICES and bare[-2:-1] in {"\n", " ", "(", "[", ":", "*"}
        return bool(bare) and (begins or ends or (len(bare) == 1 and bare.isalpha()))
    polarity = POLARITY.get(value.lower())
    return polarity is not None and polarity == POLARITY.get(bare.lower())


ES301: Final = declare_rule(
    "ES301", row=in_any_context(_terminal_answer), reads=("/answer_attribution",), in_scanner=True
)

ES302: Final = declare_rule(
    "ES302", row=by_version(_attribution_turn), reads=("/answer_attribution",), in_scanner=True
)

ES303: Final = declare_rule(
    "ES303",
    row=by_version(_attribution_source),
    run=_answers_without_source,
    reads=("/answer_attribution",),
    in_scanner=True,
)

NO_ANSWER: Final = ES301.violation(
    "answer_attribution is empty", "/answer_attribution", severity=Severity.INFO
)
"""The violation of a row without an attributed answer; rows that Inspect writes are like that."""

FOREIGN_SOURCE: Final = ES303.violation(
    "the source of an answer is not one that the format names",
    "/answer_attribution",
    severity=Severity.INFO,
)
"""The violation of answers from elsewhere; the format gives its two places only as examples."""

RULES: Final = (ES301, ES302, ES303)
