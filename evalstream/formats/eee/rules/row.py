"""ES3: rules about single rows, apart from their answers and transcripts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS, SOURCE_DATA, Aggregate, Result
from evalstream.formats.eee.facts import RowContext, in_any_context
from evalstream.formats.eee.metrics import BINARY, LEVELS, UNKNOWN_LEVEL, is_alike
from evalstream.formats.eee.row_view import has_error
from evalstream.formats.eee.rules.answers import LETTER, NUMBERS, output_texts
from evalstream.formats.eee.rules.attribution import Row, is_blank
from evalstream.model.finding import Severity, Violation, at_least, at_most
from evalstream.model.text import count_noun
from evalstream.parsing.json import member
from evalstream.parsing.json_values import is_number, to_float
from evalstream.rules.base import RowCheck, declare_rule

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


def _score_out_of_bounds(context: RowContext) -> RowCheck | None:
    if not context.results:
        return None
    join = context.join
    lowest, highest = common_bounds(context.results)

    def check(row: Row) -> Iterable[Violation]:
        score: Any = member(row.get("evaluation"), "score")
        if score.__class__ not in NUMBERS or lowest <= score <= highest:
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


def common_bounds(results: Sequence[Result]) -> tuple[float, float]:
    """Return the bounds within which a score is valid for every result that a row may join.

    If results contradict each other, or one has levels, the lower bound is above the upper one.
    """
    if any(result.score_type == LEVELS for result in results):
        return math.inf, -math.inf
    bounds = list(map(_bounds, results))
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
    is_counted = is_number(given) and given == 0 and (taken, total) != (0, 0)
    if is_counted and not member(row.get("input"), "choices"):
        texts = output_texts(row)
        if not all(map(is_blank, texts)):
            message, pointer = "output_tokens is 0, though there is an output", "output_tokens"
            yield ES309.violation(message, f"/token_usage/{pointer}", found=given)
    reasoned: Any = usage.get("reasoning_tokens")
    if not all(map(is_number, (total, taken, given, reasoned))) or reasoned <= given:
        return
    with suppress(OverflowError):
        if total == taken + given:
            message = "reasoning_tokens is above output_tokens, and total_tokens leaves it out"
            pointer = "/token_usage/reasoning_tokens"
            yield ES309.violation(message, pointer, expected=at_most(given), found=reasoned)


def sums_up(usage: Mapping[str, Any]) -> bool:
    """Return whether total_tokens is a sum of the others; values other than numbers are ignored."""
    counts: list[Any] = [usage.get(name) for name in _COUNTED_TOKENS]
    total, taken, given = counts[:3]
    if not (is_number(total) and is_number(taken) and is_number(given)):
        return True
    # An integer that no double holds cannot be added to a fraction.
    with suppress(OverflowError):
        if total == taken + given:
            return True
    total, taken, given, *extras = _summable(counts)
    return total in _sums(taken + given, extras)


def _timing(context: RowContext) -> RowCheck:
    members = timed_members(context.library)

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
                f"/performance/{member}",
                expected=at_most(latency),
                found=performance[member],
            )
            for member in members
            if (to_float(performance.get(member)) or 0) > longest
        ]

    return check


def timed_members(library: str | None) -> tuple[str, ...]:
    """Return the members of performance that may not exceed the latency.

    Inspect's latency is total minus working time, and its generation time exceeds it in every row.
    If no library is named, Inspect may have written the rows.
    """
    library = (library or "unknown").strip().casefold()
    if library == "unknown" or library.startswith("inspect"):
        return ("time_to_first_token_ms",)
    return ("time_to_first_token_ms", "generation_time_ms")


def _empty_identifier(row: Row) -> Iterable[Violation]:
    violations = [
        ES311.violation(f"{name} is empty", f"/{name}")
        for name in _IDENTIFIERS
        if is_blank(row.get(name))
    ]
    if is_blank(member(row.get("input"), "raw")):
        violations.append(ES311.violation("input.raw is empty", "/input/raw"))
    return violations


def _empty_name(aggregate: Aggregate) -> Iterator[Violation]:
    """Report names in the aggregate by which leaderboards tell runs, models and results apart."""
    for holder, names in _NAMES.items():
        yield from _blank_members(aggregate.document.get(holder), names, f"/{holder}")
    for place, result in aggregate.indexed_results:
        where = f"{RESULTS}/{place}"
        yield from _blank_members(result, ("evaluation_result_id", "evaluation_name"), where)
        for holder, names in _NAMES_OF_RESULT.items():
            yield from _blank_members(result.get(holder), names, f"{where}/{holder}")


def _blank_members(holder: Any, names: Sequence[str], where: str) -> Iterator[Violation]:
    if holder.__class__ is dict:
        for name in names:
            value = holder.get(name)
            if value.__class__ is str and (not value or value.isspace()):
                yield ES311.violation(f"{name} is empty", f"{where}/{name}")


def _reference_not_a_choice(row: Row) -> Iterable[Violation]:
    sample = row.get("input")
    choices, reference = member(sample, "choices"), member(sample, "reference")
    if choices.__class__ is not list or not choices:
        return ()
    references = [reference] if reference.__class__ is str else reference
    if references.__class__ is not list or not references:
        return ()
    return () if are_choices(references, choices) else (NOT_A_CHOICE,)


def _error_yet_correct(row: Row) -> Iterable[Violation]:
    if has_error(row) and member(row.get("evaluation"), "is_correct") is True:
        return (ES314.violation("error is set, but is_correct is true", "/error"),)
    return ()


def _model_id_shape(row: Row) -> Iterable[Violation]:
    model = row.get("model_id")
    if model.__class__ is not str or is_blank(model) or _has_organisation(model):
        return ()
    message = "model_id does not have the form organisation/name"
    return (ES317.violation(message, "/model_id", found=model),)


def _has_organisation(model: str) -> bool:
    """Tell whether an id has two or more parts, separated by slashes, without white space."""
    return "/" in model and all(model.split("/")) and model.split() == [model]


def are_choices(references: Sequence[Any], choices: Sequence[Any]) -> bool:
    """Return whether each reference is a choice, its letter or its number; only strings count.

    A letter may be on a line of its own above further expected text (Mind2Web). Numbers count from
    0 or from 1.
    """
    texts = {text for text in choices if text.__class__ is str}
    others = [text.strip() for text in references if text.__class__ is str and text not in texts]
    if not others:
        return True
    folded = {text.strip().casefold() for text in texts}
    return all(_is_mark(text, len(choices)) or text.casefold() in folded for text in others)


def _is_mark(text: str, count: int) -> bool:
    """Tell whether a text is the number or the letter of one of so many choices."""
    if text.isdecimal() and len(text) < 5 and int(text) <= count:
        return True
    letter = LETTER.fullmatch(text.partition("\n")[0].rstrip())
    return letter is not None and ord(letter[1].upper()) - ord("A") < count


def _summable(counts: Iterable[Any]) -> list[Any]:
    """Return the numbers among some counts, as exact integers if all are integers."""
    known = [count for count in counts if is_number(count)]
    if all(count.__class__ is int for count in known):
        return known
    return [to_float(count) for count in known]


def _sums(base: Any, extras: Sequence[Any]) -> Iterator[Any]:
    """Yield a sum with and without each of the extras."""
    for size in range(len(extras) + 1):
        for chosen in combinations(extras, size):
            yield base + sum(chosen)


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

NOT_A_CHOICE: Final = ES313.violation(
    "choices are given, but the reference is not one of them", "/input/reference"
)

RULES: Final = (ES308, ES309, ES310, ES311, ES313, ES314, ES317)
