"""ES3: rules about single rows, apart from their transcripts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any, Final

from evalstream.formats.eee import row_view
from evalstream.formats.eee.aggregate import (
    LEVELS,
    RESULTS,
    SOURCE_DATA,
    UNKNOWN_LEVEL,
    Aggregate,
    Join,
    Result,
    is_alike,
    to_float,
)
from evalstream.formats.eee.facts import RowContext, RunFacts, in_any_context
from evalstream.formats.eee.rules import habits
from evalstream.formats.eee.rules.evidence import BINARY, is_no_method
from evalstream.model.finding import Severity, Violation, at_least, at_most
from evalstream.model.text import count_noun
from evalstream.parsing.json import member
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import RowCheck, declare_rule

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

_EXTRA_TOKENS: Final = ("input_tokens_cache_write", "input_tokens_cache_read", "reasoning_tokens")
_COUNTED_TOKENS: Final = ("total_tokens", "input_tokens", "output_tokens", *_EXTRA_TOKENS)
_IDENTIFIERS: Final = ("evaluation_id", "model_id", "evaluation_name", "sample_id")
_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "source_metadata": ("source_name", "source_organization_name"),
    "eval_library": ("name",),
    "model_info": ("id", "name", "developer"),
}
_NAMES_OF_RESULT: Final[Mapping[str, Sequence[str]]] = {
    SOURCE_DATA: ("dataset_name",),
    "metric_config": ("metric_id", "metric_name"),
}
_ROUNDING: Final = 1e-9
"""The relative difference allowed between two times of the same clock.

A whole number of milliseconds may be rounded, so that less than one more is no longer time.
"""

_APART = LazyPattern(r"[^0-9A-Za-z]+")
_NO_ANSWERS: Final = frozenset(
    ("none", "null", "nan", "na", "invalid", "unknown", "noanswer", "error", "failed", "empty")
)
"""What harnesses write for an answer that they did not find, in letters and digits alone."""


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
    message = f"{terminal} of {len(answers)} answers are terminal; exactly one must be"
    return (ES301.violation(message, pointer="/answer_attribution"),)


def _attribution_turn(context: RowContext) -> RowCheck:
    def check(row: Row) -> Iterable[Violation]:
        answers = row.get("answer_attribution")
        turns = _turns(row, context.choose_version(row))
        if answers.__class__ is not list or not answers or turns is None:
            return ()
        single = row.get("interaction_type") == row_view.SINGLE_TURN
        return [
            ES302.violation(
                "turn_idx is not 0" if single else "turn_idx is not a turn of the transcript",
                pointer=f"/answer_attribution/{place}/turn_idx",
                found=turn,
            )
            for place, answer in enumerate(answers)
            if _is_number(turn := member(answer, "turn_idx")) and turn not in turns
        ]

    return check


def _attribution_source(context: RowContext) -> RowCheck:
    def check(row: Row) -> Iterable[Violation]:
        answers, kind = row.get("answer_attribution"), row.get("interaction_type")
        if answers.__class__ is not list or not answers or kind not in row_view.INTERACTION_TYPES:
            return ()
        version, single = context.choose_version(row), kind == row_view.SINGLE_TURN
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
                        pointer=f"/answer_attribution/{place}/source",
                        expected=OUTPUT_SOURCE if single else f"{key}[i].content of a turn",
                        found=source,
                    )
                )
            elif transcript is not None and not single:
                wrong = _why_not_said(source, answer, transcript[1])
                if wrong is not None:
                    pointer = f"/answer_attribution/{place}/source"
                    violations.append(ES303.violation(wrong, pointer=pointer, found=source))
            foreign = foreign or doubt is Severity.INFO
            lack = _why_not_in_output(answer, row) if source in _USUAL_PLACES else None
            if lack is not None:
                pointer = f"/answer_attribution/{place}/extracted_value"
                message = f"extracted_value is not in the output, {lack}"
                found = answer["extracted_value"]
                violations.append(ES303.violation(message, pointer=pointer, found=found))
        return [*violations, FOREIGN_SOURCE] if foreign else violations

    return check


def _why_not_said(source: str, answer: Any, turns: Sequence[Any]) -> str | None:
    """Return why the content of a turn cannot be the answer of the model; None where it may."""
    place = _PLACE_IN_ROW.fullmatch(source)
    if place is None or place["content"] is None or not place["turn"].isdecimal():
        return None
    number, claimed = int(place["turn"]), member(answer, "turn_idx")
    if number >= len(turns):
        return None
    numbers = [member(turn, "turn_idx") for turn in turns]
    is_other = _is_number(claimed) and claimed not in (number, numbers[number])
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
    is_found = not _is_blank(value) and _APART.sub("", value).lower() not in _NO_ANSWERS
    return "which is empty" if is_found and all(map(_is_blank, texts)) else None


def _answers_without_source(facts: RunFacts) -> Iterator[Violation]:
    """Report answers that the output does not hold, where most rows of the file have theirs there."""
    lack = "extracted_value is not in output.raw, as it is"
    for message, count in habits.describe_exceptions(facts, habits.SOURCE, lack):
        yield ES303.violation(message, count=count)


def _score_out_of_bounds(context: RowContext) -> RowCheck | None:
    if not context.results:
        return None
    join = Join(context.results)
    lowest, highest = common_bounds(context)

    def check(row: Row) -> Iterable[Violation]:
        score: Any = member(row.get("evaluation"), "score")
        if score.__class__ not in _NUMBERS or lowest <= score <= highest:
            return ()
        result = join.result(row)
        broken = None if result is None else _broken_bound(result, score)
        if broken is None:
            return ()
        message, expected = broken
        if result is not None and result.metric == _PERPLEXITY and score <= 0:
            message = f"{message}: {LIKELIHOOD_FOR_PERPLEXITY}"
        severity = (
            Severity.WARNING if row.get("evaluation_result_id").__class__ is not str else None
        )
        place: dict[str, Any] = {"pointer": "/evaluation/score", "found": score}
        return (ES308.violation(message, expected=expected, severity=severity, **place),)

    return check


_PERPLEXITY: Final = "perplexity"
LIKELIHOOD_FOR_PERPLEXITY: Final = (
    "the converter of lm-eval logs (every-eval-ever 0.3.0) writes the log-likelihood of the sample, "
    "of which the perplexity is exp(-score)"
)


def common_bounds(context: RowContext) -> tuple[float, float]:
    """Return the bounds within which a score is valid for every result that a row may join.

    If results contradict each other, or one has levels, the lower bound is above the upper one.
    """
    if any(result.score_type == LEVELS for result in context.results):
        return math.inf, -math.inf
    bounds = [_bounds(result) for result in context.results]
    minima = [least for least, _ in bounds if least is not None]
    maxima = [most for _, most in bounds if most is not None]
    return max(minima, default=-math.inf), min(maxima, default=math.inf)


def _bounds(result: Result) -> tuple[float | None, float | None]:
    """Return the bounds of a result's scores; a binary metric without bounds has 0 and 1."""
    lowest, highest = result.minimum, result.maximum
    if result.score_type == BINARY and lowest is None and highest is None:
        return 0, 1
    return lowest, highest


def _broken_bound(result: Result, score: Any) -> tuple[str, Any] | None:
    """Return the message and the expected value for a score out of bounds, else None.

    Reversed bounds apply to no score. A score may exceed a bound by the rounding error of float
    sums.
    """
    if result.score_type == LEVELS and result.levels is not None:
        return _broken_level(result.levels, score, unknown=result.has_unknown_level)
    if score == UNKNOWN_LEVEL and result.has_unknown_level:
        return None
    least, most = _bounds(result)
    if least is not None and most is not None and least > most:
        return None
    if least is not None and score < least and not is_alike(score, least):
        return "the score is below the metric's min_score", at_least(least)
    if most is not None and score > most and not is_alike(score, most):
        return "the score is above the metric's max_score", at_most(most)
    return None


def _broken_level(levels: int, score: Any, *, unknown: bool) -> tuple[str, Any] | None:
    """Return the message and the expected value for a score that is not a valid level, else None."""
    lowest = UNKNOWN_LEVEL if unknown else 0
    message = f"the score is not an index of the {count_noun(levels, 'level')} in level_names"
    if score < lowest:
        return message, at_least(lowest)
    if score >= levels:
        return message, at_most(levels - 1)
    return None if score == int(score) else (message, {"type": "integer"})


def _token_sum(row: Row) -> Iterable[Violation]:
    usage: Any = row.get("token_usage")
    if usage.__class__ is not dict:
        return ()
    if sums_up(usage):
        return _uncounted_tokens(row, usage)
    message = "total_tokens is not input plus output tokens, nor these plus cache or reasoning"
    place: dict[str, Any] = {"pointer": "/token_usage/total_tokens"}
    taken, given = _summable([usage["input_tokens"], usage["output_tokens"]])
    return (ES309.violation(message, expected=taken + given, found=usage["total_tokens"], **place),)


def _uncounted_tokens(row: Row, usage: Mapping[str, Any]) -> Iterator[Violation]:
    """Find an output without a token; and reasoning that is not in the total, nor in the output.

    A choice by log-likelihoods takes no token. Where all counts are 0, none was taken: the converter
    of HELM's runs writes them so.
    """
    counts: list[Any] = [usage.get(name) for name in _COUNTED_TOKENS[:3]]
    total, taken, given = counts
    is_counted = _is_number(given) and given == 0 and (taken, total) != (0, 0)
    if is_counted and not member(row.get("input"), "choices"):
        texts = habits.output_texts(row)
        if not all(map(_is_blank, texts)):
            message, pointer = "output_tokens is 0, though there is an output", "output_tokens"
            yield ES309.violation(message, pointer=f"/token_usage/{pointer}", found=given)
    reasoned: Any = usage.get("reasoning_tokens")
    if not all(map(_is_number, (total, taken, given, reasoned))) or reasoned <= given:
        return
    with suppress(OverflowError):
        if total == taken + given:
            message = "reasoning_tokens is above output_tokens, and total_tokens leaves it out"
            pointer = "/token_usage/reasoning_tokens"
            yield ES309.violation(message, pointer=pointer, expected=at_most(given), found=reasoned)


def sums_up(usage: Mapping[str, Any]) -> bool:
    """Return whether total_tokens is a sum of the others; values other than numbers are ignored."""
    counts: list[Any] = [usage.get(name) for name in _COUNTED_TOKENS]
    total, taken, given = counts[:3]
    if not (_is_number(total) and _is_number(taken) and _is_number(given)):
        return True
    # An integer that no double holds cannot be added to a fraction.
    with suppress(OverflowError):
        if total == taken + given:
            return True
    total, taken, given, *extras = _summable(counts)
    return total in _sums(taken + given, extras)


def _timing(context: RowContext) -> RowCheck:
    members = timed_members(context)

    def check(row: Row) -> Iterable[Violation]:
        performance: Any = row.get("performance")
        latency = to_float(member(performance, "latency_ms"))
        if latency is None or latency < 0:
            return ()
        longest = latency + latency * _ROUNDING
        if latency.is_integer():
            longest = math.nextafter(latency + 1, 0)
        return [
            ES310.violation(
                f"{member} is above latency_ms",
                pointer=f"/performance/{member}",
                expected=at_most(latency),
                found=performance[member],
            )
            for member in members
            if (to_float(performance.get(member)) or 0) > longest
        ]

    return check


def timed_members(context: RowContext) -> tuple[str, ...]:
    """Return the members of performance that may not exceed the latency.

    Inspect's latency is total minus working time, and its generation time exceeds it in every row.
    If no library is named, Inspect may have written the rows.
    """
    library = (context.library or "unknown").strip().casefold()
    if library == "unknown" or library.startswith("inspect"):
        return ("time_to_first_token_ms",)
    return ("time_to_first_token_ms", "generation_time_ms")


def _empty_identifier(row: Row) -> Iterable[Violation]:
    violations = [
        ES311.violation(f"{name} is empty", pointer=f"/{name}")
        for name in _IDENTIFIERS
        if _is_blank(row.get(name))
    ]
    if _is_blank(member(row.get("input"), "raw")):
        violations.append(ES311.violation("input.raw is empty", pointer="/input/raw"))
    return violations


def _empty_name(aggregate: Aggregate) -> Iterator[Violation]:
    """Report names in the aggregate by which leaderboards tell runs, models and results apart."""
    for holder, names in _NAMES.items():
        yield from _blank_members(aggregate.document.get(holder), names, f"/{holder}")
    for place, result in aggregate.indexed_results():
        where = f"{RESULTS}/{place}"
        yield from _blank_members(result, ("evaluation_result_id", "evaluation_name"), where)
        for holder, names in _NAMES_OF_RESULT.items():
            yield from _blank_members(result.get(holder), names, f"{where}/{holder}")


def _blank_members(holder: Any, names: Sequence[str], where: str) -> Iterator[Violation]:
    if holder.__class__ is dict:
        for name in names:
            value = holder.get(name)
            if value.__class__ is str and (not value or value.isspace()):
                yield ES311.violation(f"{name} is empty", pointer=f"{where}/{name}")


def _reference_not_a_choice(row: Row) -> Iterable[Violation]:
    sample = row.get("input")
    choices, reference = member(sample, "choices"), member(sample, "reference")
    if choices.__class__ is not list or not choices:
        return ()
    references = [reference] if reference.__class__ is str else reference
    if references.__class__ is not list or not references:
        return ()
    if all(is_choice(text, choices) for text in references):
        return ()
    return (NOT_A_CHOICE,)


def _error_yet_correct(row: Row) -> Iterable[Violation]:
    error = row.get("error")
    if error.__class__ is not str or not error or error.isspace():
        return ()
    if member(row.get("evaluation"), "is_correct") is True:
        return (ES314.violation("error is set, but is_correct is true", pointer="/error"),)
    return ()


def _model_id_shape(row: Row) -> Iterable[Violation]:
    model = row.get("model_id")
    if model.__class__ is not str or _is_blank(model) or _has_organisation(model):
        return ()
    message = "model_id does not have the form organisation/name"
    return (ES317.violation(message, pointer="/model_id", found=model),)


def _has_organisation(model: str) -> bool:
    """Tell whether an id has two or more parts, separated by slashes, without white space."""
    return "/" in model and all(model.split("/")) and model.split() == [model]


def _turns(row: Row, version: str) -> set[Any] | None:
    """Return the turns that an answer can come from, or None if they are unknown."""
    kind = row.get("interaction_type")
    if kind == row_view.SINGLE_TURN:
        return {0}
    transcript = row_view.transcript(row, version)
    if kind not in row_view.INTERACTION_TYPES or transcript is None:
        return None
    numbers = [member(turn, "turn_idx") for turn in transcript[1]]
    return set(numbers) if all(map(_is_number, numbers)) else set(range(len(numbers)))


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


def is_choice(reference: Any, choices: Sequence[Any]) -> bool:
    """Return whether a reference is a choice, its letter or its number; only strings count.

    A letter may be on a line of its own above further expected text (Mind2Web). Numbers count from
    0 or from 1.
    """
    if reference.__class__ is not str or reference in choices:
        return True
    bare = reference.strip()
    if bare.isdecimal() and len(bare) < 5 and int(bare) <= len(choices):
        return True
    letter = habits.LETTER.fullmatch(bare.partition("\n")[0].rstrip())
    if letter is not None and ord(letter[1].upper()) - ord("A") < len(choices):
        return True
    folded = bare.casefold()
    return any(
        choice.__class__ is str and choice.strip().casefold() == folded for choice in choices
    )


def _summable(counts: Iterable[Any]) -> list[Any]:
    """Return the numbers among some counts, as exact integers if all are integers."""
    known = [count for count in counts if _is_number(count)]
    if all(count.__class__ is int for count in known):
        return known
    return [to_float(count) for count in known]


def _sums(base: Any, extras: Sequence[Any]) -> Iterator[Any]:
    """Yield a sum with and without each of the extras."""
    for size in range(len(extras) + 1):
        for chosen in combinations(extras, size):
            yield base + sum(chosen)


def _is_blank(value: Any) -> bool:
    return value.__class__ is str and (not value or value.isspace())


def _is_number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float


_NUMBERS: Final[frozenset[Any]] = frozenset({int, float, bool})

ES301: Final = declare_rule(
    "ES301", row=in_any_context(_terminal_answer), reads=("/answer_attribution",), in_scanner=True
)

ES302: Final = declare_rule(
    "ES302", row=_attribution_turn, reads=("/answer_attribution",), in_scanner=True
)

ES303: Final = declare_rule(
    "ES303",
    row=_attribution_source,
    run=_answers_without_source,
    reads=("/answer_attribution",),
    in_scanner=True,
)

ES308: Final = declare_rule(
    "ES308", row=_score_out_of_bounds, reads=("/evaluation/score",), in_scanner=True
)

ES309: Final = declare_rule(
    "ES309", row=in_any_context(_token_sum), reads=("/token_usage/total_tokens",), in_scanner=True
)

ES310: Final = declare_rule(
    "ES310",
    row=_timing,
    reads=("/performance/time_to_first_token_ms", "/performance/generation_time_ms"),
    in_scanner=True,
)

ES311: Final = declare_rule(
    "ES311",
    row=in_any_context(_empty_identifier),
    aggregate=_empty_name,
    reads=("/evaluation_id", "/model_id", "/evaluation_name", "/sample_id", "/input/raw"),
    in_scanner=True,
)

ES313: Final = declare_rule(
    "ES313", row=in_any_context(_reference_not_a_choice), reads=("/input/choices",), in_scanner=True
)

ES314: Final = declare_rule(
    "ES314", row=in_any_context(_error_yet_correct), reads=("/error",), in_scanner=True
)

ES317: Final = declare_rule(
    "ES317", row=in_any_context(_model_id_shape), reads=("/model_id",), by_ids=True
)

NO_ANSWER: Final = ES301.violation(
    "answer_attribution is empty", pointer="/answer_attribution", severity=Severity.INFO
)
"""The violation of a row without an attributed answer; rows that Inspect writes are like that."""

FOREIGN_SOURCE: Final = ES303.violation(
    "the source of an answer is not one that the format names",
    pointer="/answer_attribution",
    severity=Severity.INFO,
)
"""The violation of answers from elsewhere; the format gives its two places only as examples."""

NOT_A_CHOICE: Final = ES313.violation(
    "choices are given, but the reference is not one of them", pointer="/input/reference"
)

RULES: Final = (ES301, ES302, ES303, ES308, ES309, ES310, ES311, ES313, ES314, ES317)
