"""Kinds of metrics that are computed over all samples together, from what the rows hold of each.

The definitions are those of api/metrics.py of lm_eval 0.4.13. `Evidence.ordered` holds numbers,
pairs of the right answer and the prediction, or pairs of a log-likelihood and its weight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.kinds import MEAN, ClaimKind, Figure, make_figures
from evalstream.stats.claims.rounding import as_float

EXTRA: Final = "metrics"

_METRICS: Final = {
    "BLEU": ("BLEU", {}),
    "chrF": ("CHRF", {}),
    "chrF++": ("CHRF", {"word_order": 2}),
    "TER": ("TER", {}),
}
"""The class of sacrebleu by kind, and its options beside the usual ones."""

Texts = Sequence[tuple[Any, str]]
"""Pairs of a reference, or a list of references, and the text that is compared with them."""


@lru_cache(maxsize=1)
def has_translation_metrics() -> bool:
    """Return whether sacrebleu is installed."""
    return find_spec("sacrebleu") is not None


def translation_score(kind: str, pairs: Texts) -> float | None:
    """Return a score over all texts together, None if they or sacrebleu are not there."""
    score = resampled_score(kind, pairs)
    return None if score is None else score(range(len(pairs)))


def resampled_score(kind: str, pairs: Texts) -> Callable[[Sequence[int]], float] | None:
    """Return the function that gives the score of the texts at some places.

    The texts are compared only once: a score is a function of sums over texts.
    """
    if not has_translation_metrics() or not _has_references(pairs):
        return None
    metric = _library_metric(kind)
    references = [[one] if isinstance(one, str) else list(one) for one, _ in pairs]
    streams = [list(stream) for stream in zip(*references, strict=True)]
    statistics = metric._extract_corpus_statistics([text for _, text in pairs], streams)  # noqa: SLF001 - the public method repeats the comparison of all texts for each draw

    def score(places: Sequence[int]) -> float:
        drawn = [statistics[place] for place in places]
        return float(metric._aggregate_and_compute(drawn).score)  # noqa: SLF001 - as above

    return score


def _has_references(pairs: Texts) -> bool:
    """Return whether all texts have the same number of references, one at least."""
    numbers = {1 if isinstance(one, str) else len(one) for one, _ in pairs}
    return len(numbers) == 1 and 0 not in numbers


@lru_cache(maxsize=8)
def _library_metric(kind: str) -> Any:
    import logging

    from sacrebleu import metrics

    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    name, options = _METRICS[kind]
    return getattr(metrics, name)(**options)


Statistic = Callable[[Sequence[Any]], float | None]
"""A figure over the values of samples; None where they are not what it needs."""


def upper_median(values: Sequence[float]) -> float:
    """Return the middle value, of an even number the upper one of the two."""
    return sorted(values)[len(values) // 2]


def middle_value(values: Sequence[float]) -> float:
    """Return the value in the middle of a list as it is."""
    return values[len(values) // 2]


def nan_mean(values: Sequence[float]) -> float | None:
    """Return the mean of the values that are numbers, None without any."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else None


def perplexity(values: Sequence[float]) -> float | None:
    """Return e to the negative mean of log-likelihoods."""
    return _exponential(-sum(values) / len(values))


def weighted_perplexity(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return e to the negative sum of log-likelihoods divided by that of their weights."""
    mean = _weighted_mean(pairs)
    return None if mean is None else _exponential(-mean)


def bits_per_weight(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the negative binary log-likelihood per weight."""
    mean = _weighted_mean(pairs)
    return None if mean is None else -mean / math.log(2)


def binary_f1(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Return the F1 score of class 1, None where there are other classes than two."""
    counts = Counter(pairs)
    labels = {label for pair in counts for label in pair}
    if len(labels) > 2 or (len(labels) == 2 and 1 not in labels):
        return None
    right = counts[1, 1]
    wrong = sum(times for (gold, said), times in counts.items() if (gold == 1) != (said == 1))
    return 2 * right / (2 * right + wrong) if right else 0.0


def matthews(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Return the correlation of answers and predictions of any number of classes.

    Source: J. Gorodkin 2004, doi:10.1016/j.compbiolchem.2004.09.006; 0 where it is not defined.
    """
    golds, predictions = Counter[Any](), Counter[Any]()
    right, total = 0, len(pairs)
    for (gold, said), times in Counter(pairs).items():
        golds[gold] += times
        predictions[said] += times
        right += times if gold == said else 0
    both = sum(times * predictions[label] for label, times in golds.items())
    spread = (total**2 - _squares(golds)) * (total**2 - _squares(predictions))
    return (right * total - both) / math.sqrt(spread) if spread else 0.0


def _squares(counts: Mapping[Any, int]) -> int:
    return sum(times * times for times in counts.values())


def _weighted_mean(pairs: Sequence[tuple[float, float]]) -> float | None:
    total = math.fsum(value for value, _ in pairs)
    weight = math.fsum(weight for _, weight in pairs)
    return total / weight if weight else None


def _exponential(value: float) -> float | None:
    try:
        return math.exp(value)
    except OverflowError:
        return None


def _perplexities(evidence: Evidence) -> Iterator[Figure]:
    mean = as_float(evidence.mean)
    return make_figures("the perplexity", None if mean is None else _exponential(-mean))


def _metric(name: str, statistic: Statistic, least: float, most: float | None) -> ClaimKind:
    def figures(evidence: Evidence) -> Iterator[Figure]:
        value = statistic(evidence.ordered) if evidence.ordered else None
        if value is not None and math.isfinite(value):
            yield Figure(f"the {name}", value)

    return ClaimKind(name, frozenset(), figures, lambda _: (least, most), needs_values=True)


UPPER_MEDIAN: Final = ClaimKind(
    "upper median",
    frozenset(),
    lambda evidence: make_figures("the upper median", evidence.middles and evidence.middles[1]),
    MEAN.bounds,
    needs_values=True,
)
MIDDLE_VALUE: Final = ClaimKind(
    "middle value",
    frozenset(),
    lambda evidence: make_figures(
        "the middle one", middle_value(evidence.ordered) if evidence.ordered else None
    ),
    MEAN.bounds,
    needs_values=True,
)
NAN_MEAN: Final = ClaimKind(
    "mean of numbers",
    frozenset(),
    lambda evidence: make_figures("the mean of the numbers", evidence.mean),
    MEAN.bounds,
)
PERPLEXITY: Final = ClaimKind("perplexity", frozenset(), _perplexities, lambda _: (1, None))
WEIGHTED_PERPLEXITY: Final = _metric("weighted perplexity", weighted_perplexity, 1, None)
BITS_PER_BYTE: Final = _metric("bits per byte", bits_per_weight, 0, None)
F1: Final = _metric("binary F1 score", binary_f1, 0, 1)
MATTHEWS: Final = _metric("Matthews correlation", matthews, -1, 1)
BRIER: Final = ClaimKind(
    "Brier score",
    frozenset(),
    lambda evidence: make_figures("the Brier score", evidence.mean),
    lambda _: (0, 2),
)


def _translation(name: str, most: float | None) -> ClaimKind:
    return _metric(name, lambda pairs: translation_score(name, pairs), 0, most)


BLEU: Final = _translation("BLEU", 100)
CHRF: Final = _translation("chrF", 100)
CHRF_PLUS: Final = _translation("chrF++", 100)
TER: Final = _translation("TER", None)

TRANSLATION: Final = frozenset({BLEU.name, CHRF.name, CHRF_PLUS.name, TER.name})
"""The names of the kinds that sacrebleu computes."""


Ratings = Sequence[Any]
"""The ratings of one sample."""

LEVELS: Final = ("nominal", "ordinal", "interval")


def krippendorff_alpha(samples: Callable[[], Iterable[Ratings]], level: str) -> float:
    """Return alpha over the samples with two ratings or more; NaN without any.

    The samples are iterated over twice, so that only different ratings are kept in memory.
    """
    counts: Counter[Any] = Counter()
    for ratings in samples():
        if len(ratings) > 1:
            counts.update(ratings)
    number = counts.total()
    if number < 2:
        return math.nan
    place = _midpoints(counts) if level == "ordinal" else None
    disagreement = _nominal if level == "nominal" else _squared_error
    everything = _counts_at(counts, place)
    observed = math.fsum(
        disagreement(_counts_at(Counter(ratings), place)) / (len(ratings) - 1)
        for ratings in samples()
        if len(ratings) > 1
    )
    expected = disagreement(everything) / (number * (number - 1))
    return 1.0 if expected == 0 else 1.0 - observed / number / expected


def _counts_at(counts: Mapping[Any, int], place: Mapping[Any, float] | None) -> Mapping[Any, int]:
    return counts if place is None else {place[one]: times for one, times in counts.items()}


def _midpoints(counts: Mapping[Any, int]) -> dict[Any, float]:
    """Return for each rating the middle of its ranks."""
    places: dict[Any, float] = {}
    below = 0
    for rating in sorted(counts):
        places[rating] = below + counts[rating] / 2
        below += counts[rating]
    return places


def _nominal(counts: Mapping[Any, int]) -> float:
    number = sum(counts.values())
    return float(number * number - _squares(counts))


def _squared_error(counts: Mapping[Any, int]) -> float:
    number = sum(counts.values())
    middle = math.fsum(float(one) * times for one, times in counts.items()) / number
    squares = math.fsum((float(one) - middle) ** 2 * times for one, times in counts.items())
    return 2 * number * squares
