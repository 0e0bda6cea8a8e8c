"""The table of kinds of claims: the names of each, its formula, and its bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims.evidence import Evidence

Number = Fraction | float | int

MANY_LEVELS: Final = 5
"""With fewer levels, half a level is too wide for a claim that is rounded to one."""

Bounds = tuple[Number | None, Number | None]
"""The least and the greatest value that a figure can have; None for no bound."""


class Figure(NamedTuple):
    """A value that a claim may have, and in words how it is computed.

    `rows` is the number of rows that count, 0 where all of the evidence do.
    """

    words: str
    value: Number
    rows: int = 0


Formula = Callable[[Evidence], Iterable[Figure]]


def no_bounds(_evidence: Evidence) -> Bounds:
    """Return no bounds."""
    return None, None


def no_figures(_evidence: Evidence) -> Iterable[Figure]:
    """Return no figures."""
    return ()


class ClaimKind(NamedTuple):
    """One kind of claim.

    `words` are the names by which documents call it, in lower case with `_` between words.
    `figures` gives the values that the claim may have, the usual one first, and none where the
    evidence does not hold what the formula needs. `bounds` limits the value whatever the formula.
    `hints` are definitions that explain a refuted claim and do not confirm it. A claim that is one
    of the `rounded` figures counts as rounded. `is_exact` says that a claim that no figure gives is
    refuted. `needs_values` says that the formula needs each different score. `power` is that of the
    unit of the scores in the unit of the claim: 0 for counts, 2 for a variance.
    """

    name: str
    words: frozenset[str]
    figures: Formula = no_figures
    bounds: Callable[[Evidence], Bounds] = no_bounds
    hints: Formula = no_figures
    rounded: Formula = no_figures
    is_exact: bool = True
    needs_values: bool = False
    power: int = 1


def make_figures(words: str, value: Number | None) -> Iterator[Figure]:
    """Yield a figure if its value is known."""
    if value is not None:
        yield Figure(words, value)


def _means(evidence: Evidence) -> Iterator[Figure]:
    yield from make_figures("the mean of the scores", evidence.mean)
    sums = evidence.sums
    if sums.sound_rows != sums.rows and not evidence.counts_errors:
        mean = sums.mean_without_errors()
        if mean is not None:
            yield Figure("the mean of the scores without errors", mean, sums.sound_rows)
    if evidence.is_count:
        yield from _sums(evidence)


def _perplexities(evidence: Evidence) -> Iterator[Figure]:
    """Yield the perplexity of log-likelihoods, which are not above 0, or the mean of others."""
    mean, extremes = evidence.mean, evidence.extremes
    if mean is None or extremes is None or extremes[1] > 0:
        yield from _means(evidence)
        return
    with suppress(OverflowError):
        yield Figure("e to the negative mean of the scores", math.exp(-mean))


def _sums(evidence: Evidence) -> Iterator[Figure]:
    if evidence.mean is not None:
        yield Figure("the sum of the scores", evidence.mean * evidence.rows, evidence.rows)


def _near_means(evidence: Evidence) -> Iterator[Figure]:
    """Yield definitions that explain a claim that is not the mean."""
    sums = evidence.sums
    means = (
        ("the mean of the scores", evidence.mean),
        ("the mean without the rows that have an error", sums.mean_without_errors()),
        ("the share of rows with is_correct", sums.share_correct()),
        ("the mean over subtasks", sums.mean_over_subtasks()),
    )
    for words, value in means:
        if value is not None:
            yield Figure(words, value)
            yield Figure(f"{words}, in percent", value * 100)
    for spread in evidence.spreads[:1]:
        yield Figure("the standard deviation of the scores", spread.deviation)
        yield Figure("the standard error of the scores", spread.error)


def _range_of_scores(evidence: Evidence) -> Bounds:
    """Return the least and the greatest score, or what they may be before they were rounded."""
    if evidence.extremes is None or not evidence.unit:
        return evidence.extremes or (None, None)
    least, most = map(Fraction, evidence.extremes)
    return least - evidence.unit / 2, most + evidence.unit / 2


def _deviations(evidence: Evidence) -> Iterator[Figure]:
    for spread in evidence.spreads:
        yield Figure("the standard deviation of the scores", spread.deviation)


def _any_spreads(evidence: Evidence) -> Iterator[Figure]:
    yield from _deviations(evidence)
    yield from _errors(evidence)


def _range_of_spreads(evidence: Evidence) -> Bounds:
    """Return 0 and the range of the scores, which no spread of means of some of them exceeds."""
    least, most = _range_of_scores(evidence)
    return 0, None if least is None or most is None else Fraction(most) - Fraction(least)


def _single_spread(_evidence: Evidence) -> Iterable[Figure]:
    return (Figure("the spread of a single trial", 0),)


def _most_deviation(evidence: Evidence) -> Bounds:
    """Return 0 and half the range of the scores times √(n/(n-1)) (inequality of Popoviciu)."""
    number = evidence.fewest_values
    if evidence.extremes is None or number < 2:
        return 0, None
    least, most = evidence.extremes
    # Exact, as an integer may be too large for a float.
    spread = Fraction(most) - Fraction(least)
    return 0, spread / 2 * Fraction((number / (number - 1)) ** 0.5)


def _errors(evidence: Evidence) -> Iterator[Figure]:
    for spread in evidence.error_spreads:
        yield Figure("the standard error of the scores", spread.error)


def _variances(evidence: Evidence) -> Iterator[Figure]:
    for spread in evidence.spreads:
        yield Figure("the variance of the scores", spread.deviation**2)


def _most_variance(evidence: Evidence) -> Bounds:
    most = _most_deviation(evidence)[1]
    return 0, None if most is None else most * most


def _medians(evidence: Evidence) -> Iterator[Figure]:
    if evidence.middles is not None:
        low, high = evidence.middles
        yield Figure("the median of the scores", (Fraction(low) + Fraction(high)) / 2)
        yield Figure("the upper median of the scores", high)
        yield Figure("the lower median of the scores", low)


def _modes(evidence: Evidence) -> Iterator[Figure]:
    if evidence.values:
        most = max(evidence.values.values())
        for value, times in sorted(evidence.values.items()):
            if times == most:
                yield Figure("the most frequent score", value)


def _level_figures(evidence: Evidence) -> Iterator[Figure]:
    yield from _means(evidence)
    yield from islice(_medians(evidence), 1)
    modes = list(_modes(evidence))
    yield from modes if len(modes) == 1 else ()


def _nearest_levels(evidence: Evidence) -> Iterator[Figure]:
    """Yield the level nearest to the mean, if there are many levels."""
    if evidence.levels >= MANY_LEVELS and evidence.mean is not None:
        yield Figure("the level nearest to the mean", math.floor(evidence.mean + Fraction(1, 2)))


def _least(evidence: Evidence) -> Iterator[Figure]:
    return make_figures("the least score", evidence.sums.least)


def _greatest(evidence: Evidence) -> Iterator[Figure]:
    return make_figures("the greatest score", evidence.sums.most)


def _counts(evidence: Evidence) -> Iterator[Figure]:
    sums, samples = evidence.sums, evidence.cover.samples
    yield Figure("the number of rows", sums.joined_rows + evidence.unknown)
    yield Figure("the number of samples", samples)
    yield Figure("the number of rows without an error", sums.sound_rows)
    yield Figure("the number of rows with a score", sums.rows)


def _right_answers(evidence: Evidence) -> Iterator[Figure]:
    """Count scores of 1 where all are 0 and 1; of repeats it is not known what is counted."""
    if evidence.values and evidence.is_binary and not evidence.is_repeated:
        yield Figure("the number of right answers", evidence.values.get(1, 0))


def words(text: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(text.split())


COUNT: Final = ClaimKind("count", words("num_samples n_samples samples_number"), _counts, power=0)
CORRECT: Final = ClaimKind(
    "number of right answers",
    words("n_correct num_correct number_correct correct_count"),
    _right_answers,
    lambda evidence: (0, evidence.sums.joined_rows or None),
    power=0,
)
MEAN: Final = ClaimKind(
    "mean",
    words(
        "mean average avg accuracy acc acc_norm acc_bytes acc_mutual_info em exact_match "
        "quasi_exact_match prefix_exact_match quasi_prefix_exact_match"
    ),
    _means,
    _range_of_scores,
    _near_means,
)
MEDIAN: Final = ClaimKind("median", words("median"), _medians, _range_of_scores, needs_values=True)
MODE: Final = ClaimKind("mode", words("mode"), _modes, _range_of_scores, needs_values=True)
LEAST: Final = ClaimKind("min", words("min minimum min_instance_score"), _least, _range_of_scores)
GREATEST: Final = ClaimKind(
    "max", words("max maximum max_instance_score"), _greatest, _range_of_scores
)
DEVIATION: Final = ClaimKind(
    "standard deviation",
    words("std stdev std_dev stddev standard_deviation"),
    _deviations,
    _most_deviation,
)
VARIANCE: Final = ClaimKind("variance", words("var variance"), _variances, _most_variance, power=2)
ERROR: Final = ClaimKind(
    "standard error", words("stderr std_err stderror standard_error sem"), _errors, _most_deviation
)
SPREAD: Final = ClaimKind("spread", frozenset(), _any_spreads, _range_of_spreads, is_exact=False)
"""A deviation or an error by a name with further words, such as one across trials."""

SINGLE: Final = ClaimKind("spread of a single trial", frozenset(), _single_spread)
SUM: Final = ClaimKind("sum", frozenset(), _sums, hints=_near_means)
INTERVAL: Final = ClaimKind("confidence interval", words("confidence_interval ci"))
AVERAGE: Final = ClaimKind(
    "weighted mean", frozenset(), _means, _range_of_scores, _near_means, is_exact=False
)
"""An average by a name with further words, such as balanced accuracy: it may have weights."""

LEVEL: Final = ClaimKind(
    "level",
    frozenset(),
    _level_figures,
    _range_of_scores,
    _near_means,
    rounded=_nearest_levels,
    needs_values=True,
)
UNKNOWN: Final = ClaimKind("unknown", frozenset(), _means, hints=_near_means, is_exact=False)
"""A metric whose name says nothing about its formula: its mean confirms it, nothing refutes it."""

PERPLEXITY: Final = ClaimKind(
    "perplexity", words("perplexity"), _perplexities, lambda _evidence: (1, None), is_exact=False
)

TABLE: Final[tuple[ClaimKind, ...]] = (
    COUNT,
    CORRECT,
    MEAN,
    MEDIAN,
    MODE,
    LEAST,
    GREATEST,
    AVERAGE,
    LEVEL,
    DEVIATION,
    VARIANCE,
    ERROR,
    SPREAD,
    SINGLE,
    INTERVAL,
    SUM,
    PERPLEXITY,
    UNKNOWN,
)

AVERAGES: Final = frozenset(
    {
        *("accuracy", "acc", "average", "avg", "correct", "correctness", "em", "mean"),
        *("proportion", "rate", "share", "success"),
    }
)
"""Words in the name of a metric that make it an average of the scores of its samples."""

_NO_AVERAGES: Final = frozenset(
    {"count", "delta", "difference", "gain", "n", "num", "number", "total"}
)
"""Words in the name of a metric that make it a count or a difference."""

KIND_BY_NAME: Final = {kind.name: kind for kind in TABLE}

_BY_WORD: Final = {word: kind for kind in TABLE for word in kind.words}

_SUFFIX: Final = LazyPattern(
    r"(?:^|[^a-z])(std|stdev|std_?dev|standard_deviation|stderr|std_?err|sem|standard_error"
    r"|var|variance)[0-9]*$"
)
_BEST_OF: Final = LazyPattern(r"(?<=match)@[0-9]+$")
"""The mark of a metric whose rows have the best of several answers."""

_ODD: Final = LazyPattern(r"[^a-z0-9@+]+")


@lru_cache(maxsize=4096)
def kind_named(name: str) -> ClaimKind | None:
    """Return the kind that the name of a metric says, or None if it says none.

    A whole name decides first, then a last word such as `stderr`, then any word of an average.
    """
    joined = _normalise(name)
    if joined in _BY_WORD:
        return _BY_WORD[joined]
    suffix = _SUFFIX.search(joined)
    if suffix is not None:
        return _BY_WORD[suffix[1]]
    words = set(joined.split("_"))
    is_average = not words.isdisjoint(AVERAGES) or {"exact", "match"} <= words
    return AVERAGE if is_average and words.isdisjoint(_NO_AVERAGES) else None


def is_plain_name(name: str) -> bool:
    """Return whether a name is one of the table, without words that qualify it."""
    return _normalise(name) in _BY_WORD


@lru_cache(maxsize=4096)
def _normalise(name: str) -> str:
    """Return the last part of a name, in lower case with `_` between words."""
    bare = name.strip().lower().rpartition("/")[2].rpartition(".")[2]
    return _ODD.sub("_", _BEST_OF.sub("", bare)).strip("_")


SHARE: Final = ClaimKind("share", frozenset(), bounds=lambda _evidence: (0, 1))
COUNTS: Final = ClaimKind("number of scores", frozenset(), bounds=lambda _evidence: (0, None))
ALPHA: Final = ClaimKind("agreement of raters", frozenset(), bounds=lambda _evidence: (None, 1))
