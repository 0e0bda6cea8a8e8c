"""The claims of an aggregate about each result, with their digits as written, and their kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, localcontext
from functools import lru_cache, partial
from typing import Any, Final

import jiter

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member, pointer, resolve, text_or_none
from evalstream.parsing.json_values import parse_or_none, read_decimals
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judgement import Method, method_named
from evalstream.stats.claims.kinds import ClaimKind, kind_named
from evalstream.stats.claims.rounding import (
    CERTAIN,
    CERTAIN_DIGITS,
    EXACT,
    HALF,
    ROUNDING,
    as_float,
    is_small_whole,
)

LARGEST_EXPONENT: Final = 400
"""Numbers above 10 to this power are infinite for all readers, which ES108 reports."""

_fast: Final[Callable[[bytes], Any]] = partial(
    jiter.from_json, catch_duplicate_keys=True, allow_inf_nan=False, float_mode="decimal"
)
"""Read a document with floats as Decimal. Raises ValueError for what the exact parser reports."""

RESAMPLED: Final = "bootstrap"
"""The method of figures that name none beside a number of draws."""

MOST_IN_A_DOUBLE: Final = 1 << 53
"""Up to here every whole number is a double."""

Span = tuple[Decimal, Decimal]
"""The smallest and the largest number that may have been written as a claim."""


class Claims(NamedTuple):
    """The claims of one result; None for a missing claim or one of the wrong type.

    `num_samples` and `resamples` are counts; the others are numbers as written.
    """

    score: Decimal | None = None
    num_samples: int | None = None
    deviation: Decimal | None = None
    error: Decimal | None = None
    error_method: str | None = None
    lower: Decimal | None = None
    upper: Decimal | None = None
    level: Decimal | None = None
    interval_method: str | None = None
    resamples: int | None = None

    @property
    def has_analytic_error(self) -> bool:
        """Whether the standard error follows from deviation and number of samples."""
        return method_named(self.error_method) is Method.CLOSED

    def error_follows(self) -> bool:
        """Return whether the error follows from deviation and number, for any rounding.

        Inspect and lm-eval divide the deviation over n-1 by the root of n. HELM's deviation is that
        over n; its error equals that deviation over the root of n-1. If one of the three is
        missing, the result is true.
        """
        if self.error is None or self.deviation is None or not self.num_samples:
            return True
        if self._error_certainly_follows(self.num_samples):
            return True
        with localcontext(EXACT):
            errors, deviations = _spans(self.error, self.deviation)
            error_least, error_most = _squares(errors)
            least, most = _squares(deviations)
            return any(
                error_least * count <= most and least <= error_most * count
                for count in {self.num_samples, max(self.num_samples - 1, 1)}
            )

    def _error_certainly_follows(self, samples: int) -> bool:
        """Tell quickly whether error and deviation agree as written; if not, rounding may be why.

        The spans of the exact comparison are ten times as wide.
        """
        error, deviation = as_float(self.error), as_float(self.deviation)
        if error is None or deviation is None or error <= 0 or samples > MOST_IN_A_DOUBLE:
            return False
        return any(
            abs(error * math.sqrt(count) - deviation) <= CERTAIN * deviation
            for count in (samples, max(samples - 1, 1))
            if count > 0
        )

    def outside_its_interval(self) -> bool:
        """Return whether the score is outside its interval, for any rounding of the numbers."""
        if self.score is None or self.lower is None or self.upper is None:
            return False
        if self.lower <= self.score <= self.upper:
            return False
        with localcontext(EXACT):
            score, lower, upper = _spans(self.score, self.lower, self.upper)
        return score[1] < lower[0] or score[0] > upper[1]


def read_claims(text: bytes) -> dict[int, Claims]:
    """Read the claims of an aggregate's text, by the index of the result.

    A text that is not valid JSON has no claims; other rules report it.
    """
    try:
        document = _fast(text)
    except ValueError:
        # Other rules may refuse it, as they do one with a repeated key.
        document = read_decimals(text)
    results = member(document, "evaluation_results")
    if not isinstance(results, list):
        return {}
    return {
        place: _claims(result) for place, result in enumerate(results) if isinstance(result, dict)
    }


def _spans(*claims: Decimal) -> list[Span]:
    """Return the span of numbers that each claim may be rounded or truncated from.

    A small whole number shows no digits of its own: it has the precision of the most precise other.
    """
    shown = [_decimals(claim) for claim in claims]
    finest = max((digits for digits in shown if digits is not None), default=None)
    return [
        _span(claim, finest if digits is None else digits)
        for claim, digits in zip(claims, shown, strict=True)
    ]


def _decimals(claim: Decimal) -> int | None:
    """Return the number of decimals of a claim, or None for a small whole number."""
    if is_small_whole(claim):
        return None
    return max(0, -int(claim.as_tuple().exponent))


def _span(claim: Decimal, decimals: int | None) -> Span:
    unit = Decimal(0) if decimals is None else Decimal(1).scaleb(-decimals)
    above = unit if decimals is not None and decimals >= CERTAIN_DIGITS else unit * HALF
    size = abs(claim)
    least, most = (size - unit * HALF) * (1 - ROUNDING), (size + above) * (1 + ROUNDING)
    return (least, most) if claim >= 0 else (-most, -least)


def _squares(span: Span) -> Span:
    """Return the squares of the ends of a span; a negative end counts as 0."""
    least, most = max(span[0], Decimal(0)), span[1]
    return least * least, most * most


def _claims(result: Mapping[str, Any]) -> Claims:
    details = member(result, "score_details")
    uncertainty = member(details, "uncertainty")
    if not isinstance(uncertainty, dict):
        return Claims(_decimal(details, "score"))
    error, interval = uncertainty.get("standard_error"), uncertainty.get("confidence_interval")
    draws = _count(uncertainty, "num_bootstrap_samples")
    usual = RESAMPLED if draws and draws > 0 else None
    return Claims(
        score=_decimal(details, "score"),
        num_samples=_count(uncertainty, "num_samples"),
        deviation=_decimal(uncertainty, "standard_deviation"),
        error=_decimal(error, "value"),
        error_method=text_or_none(member(error, "method")) or usual,
        lower=_decimal(interval, "lower"),
        upper=_decimal(interval, "upper"),
        level=_decimal(interval, "confidence_level"),
        interval_method=text_or_none(member(interval, "method")) or usual,
        resamples=draws,
    )


def _decimal(holder: Any, name: str) -> Decimal | None:
    """Return a number as it is written; one that all readers round to 0 is 0."""
    value = holder.get(name) if holder.__class__ is dict else None
    if value.__class__ is int:
        value = Decimal(value)
    if value.__class__ is not Decimal or not value.is_finite():
        return None
    if not value or value.adjusted() < -LARGEST_EXPONENT:
        return Decimal(0)
    return value if value.adjusted() <= LARGEST_EXPONENT else None


def _count(holder: Any, name: str) -> int | None:
    """Return a number that is whole for all readers, who use doubles."""
    number = _decimal(holder, name)
    if number is None or number == int(number):
        return None if number is None else int(number)
    return int(float(number)) if float(number).is_integer() else None


_FIGURE: Final = LazyPattern(
    r"(?<![a-z])(?:auc|auroc|bleu|chrf|ci|elo|f1|margin|mcc|mrr|ndcg|pass@|perplexity|precision"
    r"|recall|rouge|rougel|score|sd|wer)(?![a-z])"
)
"""Words in the names of details that make a number a figure without a formula."""

_WORD: Final = LazyPattern(r"[a-z]+")
_OF_OTHERS: Final = frozenset(
    {
        *("calls", "characters", "chars", "cost", "duration", "latency", "length", "ms", "price"),
        *("seconds", "steps", "time", "token", "tokens", "turns", "usd", "words"),
    }
)
_AVERAGES: Final = frozenset({"avg", "average", "mean", "median"})
"""Words of averages of other things than scores, such as avg_tokens."""

_NUMBER: Final = LazyPattern(r"\W*[0-9]")
"""The start of a text that is a number, perhaps with a sign, a unit or an error."""

CLUSTERED: Final = "cluster"

_SETTINGS: Final = ("args", "config", "options", "params", "parameters", "settings")
"""The names of objects with settings, such as bootstrap_stderr_params of Inspect's converter."""

_LEVELS: Final = frozenset({"alpha", "confidence", "confidence_level", "level"})
"""The names of how sure an interval is."""

_PERCENT_NAME: Final = LazyPattern(r"(?i:percent|pct|%)")

Path = tuple[Any, ...]
"""Keys and indices below a result."""

_SCORE: Final = ("score_details",)
_DETAILS: Final = (*_SCORE, "details")
_UNCERTAINTY: Final = (*_SCORE, "uncertainty")
_KNOWN: Final[Mapping[Path, frozenset[str]]] = {
    (): frozenset(
        {
            *("evaluation_name", "evaluation_result_id", "evaluation_timestamp"),
            *("generation_config", "metric_config", "source_data"),
        }
    ),
    _SCORE: frozenset({"score"}),
    _UNCERTAINTY: frozenset({"standard_deviation", "num_samples", "num_bootstrap_samples"}),
    (*_UNCERTAINTY, "standard_error"): frozenset({"value", "method"}),
    (*_UNCERTAINTY, "confidence_interval"): frozenset(
        {"lower", "upper", "confidence_level", "method"}
    ),
}
"""The members that are no further figures of a result, by the path of the object that has them."""


class Detail(NamedTuple):
    """A further figure of a result: its path and pointer, its kind, and its number."""

    path: Path
    place: str
    kind: ClaimKind
    number: Decimal | None
    value: Any

    @property
    def name(self) -> str:
        """The name of the figure among those of the result."""
        return "/".join(map(str, self.path)).removeprefix("score_details/").removeprefix("details/")

    def read_method(self, result: Any) -> dict[str, Any]:
        """Return how an uncertainty in the details is computed, as its name says.

        The converter of Inspect's logs keeps a second error as `bootstrap_stderr`, and beside it as
        JSON the parameters of that metric.
        """
        method = next(
            (one for one in (RESAMPLED, CLUSTERED) if self.path[-1].startswith(one)), None
        )
        settings = resolve(result, (*self.path[:-1], f"{self.path[-1]}_params"))
        if settings.__class__ is str:
            settings = parse_or_none(settings.encode("utf-8", "surrogatepass"))
        draws = member(settings, "num_samples")
        return {"method": method, "draws": draws if draws.__class__ is int else None}


def read_details(result: Any, *, is_in_percent: bool) -> Iterator[Detail]:
    """Yield the further figures of a result; `is_in_percent` says that its scores are."""
    leaves: list[_Leaf] = []
    _list_leaves(result, (), None, leaves)
    for path, place, value in leaves:
        kind, number = _read_detail(path, value, is_in_percent=is_in_percent)
        if kind is not None:
            yield Detail(path, place or pointer(path), kind, number, value)


_Leaf = tuple[Path, str | None, Any]
"""The path and the value of a member, and the pointer to the text that it was parsed from."""


def _list_leaves(value: Any, path: Path, place: str | None, found: list[_Leaf]) -> None:
    """Add the values that a result holds beside the defined members.

    From 0.2.1 on details are texts, and migration writes an object as its JSON: `place` is then
    the pointer to that text.
    """
    if value.__class__ is str and value[:1] in {"{", "["}:
        place = place or pointer(path)
        value = parse_or_none(value.encode("utf-8", "surrogatepass")) or value
    if value.__class__ is dict:
        known = _KNOWN.get(path, ())
        for key, part in value.items():
            if key not in known and not key.casefold().endswith(_SETTINGS):
                _list_leaves(part, (*path, key), place, found)
    elif value.__class__ is list:
        # Lists beside the score are of its samples.
        for index, part in enumerate(value if path[:1] == _SCORE else ()):
            _list_leaves(part, (*path, index), place, found)
    else:
        found.append((path, place, value))


def _read_detail(
    path: Path, value: Any, *, is_in_percent: bool
) -> tuple[ClaimKind | None, Decimal | None]:
    """Return the kind and the number of a further figure of a result.

    The kind is None for what is no figure: details hold settings as well (HELM's num_train_trials),
    so only names of figures count, and in an uncertainty all numbers with decimals but its level.
    The number is None for a text with more than a number. A figure below another member may be of a
    part of the samples, one in percent may be on another scale than the scores, and a whole number
    is perhaps a count: they are of an unknown kind.
    """
    names = (part for part in reversed(path) if part.__class__ is str and part != "value")
    name = next(names, None)
    kind = None if name is None else _kind_of_name(name)
    if path[:2] == _UNCERTAINTY and value.__class__ is float and name not in _LEVELS:
        kind = kind or kinds.UNKNOWN
    if name is None or kind is None or value.__class__ not in {int, float, str}:
        return None, None
    text = str(value).strip()
    if not _NUMBER.match(text):
        return None, None
    is_percent = text.endswith("%") or _PERCENT_NAME.search(name) is not None
    is_scaled = is_percent and not is_in_percent
    number = _parse_decimal(text.removesuffix("%"), -2 if is_scaled else 0)
    is_own = path[:-1] in {(), _SCORE, _DETAILS, _UNCERTAINTY}
    is_count = kind is kinds.AVERAGE and number is not None and 1 < number == int(number)
    return kind if is_own and not is_percent and not is_count else kinds.UNKNOWN, number


@lru_cache(maxsize=4096)
def _kind_of_name(name: str) -> ClaimKind | None:
    """Return the kind of a figure in the details.

    The least and the greatest may be those that are possible, unless they are said to be of
    instances, and averages of tokens or times are figures of other things than the scores.
    """
    words = frozenset(_WORD.findall(name.lower()))
    if words & _OF_OTHERS and words & _AVERAGES and not words & kinds.AVERAGES - _AVERAGES:
        return None
    kind = kind_named(name)
    if kind in {kinds.LEAST, kinds.GREATEST} and "instance" not in words:
        return kind._replace(is_exact=False, bounds=kinds.UNKNOWN.bounds)
    return kinds.UNKNOWN if kind is None and _FIGURE.search(name.lower()) else kind


def _parse_decimal(text: str, exponent: int) -> Decimal | None:
    """Return the number that a text is, times a power of ten; None for another text."""
    try:
        number = Decimal(text).scaleb(exponent)
    except ArithmeticError:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < 300 else None
