"""The kinds of HarpIA Lab's scores, and the digits with which results are written."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from evalstream.formats.harpia.values import ODD, metric_words
from evalstream.stats.claims import kinds
from evalstream.stats.claims.kinds import ClaimKind

MEAN_PARTS: Final = ("bertscore", "comet", "exactmatch", "meteor")
MEAN_WORDS: Final = frozenset({"accuracy", "acc"})
"""Parts and words in the names of metrics whose score of a data set is the mean over instances.

Exact match and accuracy count right answers. METEOR and COMET in Hugging Face's Evaluate average
the instances, as the command-line tool of BERTScore does. BLEU, chrF, TER, and error rates count
over the whole corpus, and ROUGE there takes the median of resampled means, so they are not listed.
"""

NO_MEAN_WORDS: Final = frozenset({"balanced", "corpus", "weighted"})
"""Words in the names of their variants that are computed over all instances at once."""

COUNTS: Final = frozenset({"correct", "success", "successes"})
"""Names of figures that may be numbers of instances, and then are not between the results."""

MEAN_MEMBERS: Final = frozenset(
    {"accuracy", "exactmatch", "f1", "mean", "meanscore", "meteor", "precision", "recall", "score"}
)
"""The members of a score that hold the figure itself, and not a count or a duration."""

_OF_RESULTS: Final = (
    kinds.AVERAGE,
    kinds.COUNT,
    kinds.MEAN,
    kinds.MEDIAN,
    kinds.MODE,
    kinds.LEAST,
    kinds.GREATEST,
)
"""Kinds whose formula over the results of instances gives the score of a data set.

Others need more than results: the deviation of a score is not that of the results beside it.
"""


def choose_kind(metric: str, path: tuple[str, ...]) -> ClaimKind:
    """Return the kind of a number in a metric's score.

    The documents do not say how a score comes about, so the name of the metric decides, and the
    last key of a number inside an object.
    """
    if is_mean(metric, path):
        return kinds.MEAN
    name = path[-1] if path else metric
    kind = kinds.kind_named(name)
    if kind is None or kind not in _OF_RESULTS or name.strip().lower() in COUNTS:
        return kinds.UNKNOWN
    is_variant = not metric_words(metric).isdisjoint(NO_MEAN_WORDS)
    return kinds.AVERAGE if kind is kinds.MEAN and is_variant else kind


def is_mean(metric: str, path: tuple[str, ...]) -> bool:
    """Return whether a number in a metric's score is known to be the mean over the instances."""
    joined, words = ODD.sub("", metric.lower()), metric_words(metric)
    if not words.isdisjoint(NO_MEAN_WORDS):
        return False
    is_known = any(part in joined for part in MEAN_PARTS) or not words.isdisjoint(MEAN_WORDS)
    return is_known and (not path or ODD.sub("", path[-1].lower()) in MEAN_MEMBERS)


def count_decimals(number: float) -> int:
    """Return the number of decimals of a number in its shortest form, 0 for one not finite."""
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
