"""The further figures of a result: those in its details and in members that are not defined."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee.claims import (
    KNOWN_MEMBERS,
    RESAMPLED,
    SCORE_PATH,
    UNCERTAINTY_PATH,
    Path,
)
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member, pointer, resolve
from evalstream.parsing.json_values import parse_or_none
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims import kinds
from evalstream.stats.claims.kinds import ClaimKind, kind_named

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
_LEVELS: Final = frozenset({"alpha", "confidence", "confidence_level", "level"})
"""The names of how sure an interval is."""

_SETTING: Final = _LEVELS | {
    *("beta", "cutoff", "date", "fraction", "lambda", "limit", "penalty", "release", "revision"),
    *("size", "temperature", "threshold", "timeout", "top_p", "version", "weight", "weights"),
    "year",
}
"""Words in the names of numbers that set something."""

_AVERAGES: Final = frozenset({"avg", "average", "mean", "median"})
"""Words of averages of other things than scores, such as avg_tokens."""

_NUMBER: Final = LazyPattern(r"\W*[0-9]")
"""The start of a text that is a number, perhaps with a sign, a unit or an error."""

CLUSTERED: Final = "cluster"

_SETTINGS: Final = ("args", "config", "options", "params", "parameters", "settings")
"""The names of objects with settings, such as bootstrap_stderr_params of Inspect's converter."""

_SPREAD: Final = LazyPattern(
    r"(?<![a-z])(?:std|stdev|std_?dev|std_?err|stderror|standard_(?:deviation|error))(?![a-z])"
)
"""Words of a deviation or an error, also before others, as in `stddev_across_train_trials`."""

_ACROSS: Final = LazyPattern(r"(?<=_across_)[a-z_]+$")
"""What the figure of a spread is across, of which `num_…` beside it is the number."""

_DECIMALS: Final = LazyPattern(r"[-+]?(?:[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE]-[0-9]+)%?")

_PERCENT_NAME: Final = LazyPattern(r"(?i:percent|pct|%)")

_DETAILS: Final = (*SCORE_PATH, "details")


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
        if kind is kinds.SPREAD and _is_of_one(result, path):
            kind = kinds.SINGLE
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
        known = KNOWN_MEMBERS.get(path, ())
        for key, part in value.items():
            if key not in known and not key.casefold().endswith(_SETTINGS):
                _list_leaves(part, (*path, key), place, found)
    elif value.__class__ is list:
        # Lists beside the score are of its samples.
        for index, part in enumerate(value if path[:1] == SCORE_PATH else ()):
            _list_leaves(part, (*path, index), place, found)
    else:
        found.append((path, place, value))


def _is_of_one(result: Any, path: Path) -> bool:
    """Return whether a spread is across one trial, as most of HELM's are: it is 0."""
    across = _ACROSS.search(path[-1]) if path[-1].__class__ is str else None
    number = across and resolve(result, (*path[:-1], f"num_{across[0]}"))
    return number.__class__ in {int, str} and str(number) == "1"


def _read_detail(
    path: Path, value: Any, *, is_in_percent: bool
) -> tuple[ClaimKind | None, Decimal | None]:
    """Return the kind and the number of a further figure of a result.

    The kind is None for other members: a whole number may be a setting (HELM's num_train_trials),
    so that only names of figures make it one, and one with decimals is none where `_is_no_figure`
    says so. The number is None for a text with more than a number. A
    figure below another member may be of a part of the samples, one in percent may be on another
    scale than the scores, and a whole number is perhaps a count: they are of an unknown kind.
    """
    if value.__class__ not in {int, float, str}:
        return None, None
    names = (part for part in reversed(path) if part.__class__ is str and part != "value")
    name = next(names, None)
    kind = None if name is None else _kind_of_name(name)
    text = str(value).strip()
    if kind is None and name is not None and _DECIMALS.fullmatch(text):
        kind = None if _is_no_figure(path, name) else kinds.UNKNOWN
    if name is None or kind is None or not _NUMBER.match(text):
        return None, None
    is_percent = text.endswith("%") or _PERCENT_NAME.search(name) is not None
    is_scaled = is_percent and not is_in_percent
    number = _parse_decimal(text.removesuffix("%"), -2 if is_scaled else 0)
    is_own = path[:-1] in {(), SCORE_PATH, _DETAILS, UNCERTAINTY_PATH}
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
    if kind in {None, kinds.AVERAGE} and _SPREAD.search(name.lower()):
        return kinds.SPREAD
    if kind in {kinds.LEAST, kinds.GREATEST} and "instance" not in words:
        return kind._replace(is_exact=False, bounds=kinds.UNKNOWN.bounds)
    return kinds.UNKNOWN if kind is None and _FIGURE.search(name.lower()) else kind


def _is_no_figure(path: Path, name: str) -> bool:
    """Return whether a number with decimals sets something, is not of scores, or is in a list.

    In an uncertainty all are figures but its level.
    """
    if path[:2] == UNCERTAINTY_PATH:
        return name in _LEVELS
    words = {name.lower(), *_WORD.findall(name.lower())}
    return path[-1].__class__ is int or not words.isdisjoint(_OF_OTHERS | _SETTING)


def _parse_decimal(text: str, exponent: int) -> Decimal | None:
    """Return the number that a text is, times a power of ten; None for another text."""
    try:
        number = Decimal(text).scaleb(exponent)
    except ArithmeticError:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < 300 else None
