"""Which scores of HarpIA Lab's metrics are means over the instances, and how exact they are."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final

from evalstream.formats.harpia.values import ODD, words_of

MEAN_PARTS: Final = ("bertscore", "comet", "exactmatch", "meteor")
MEAN_WORDS: Final = frozenset({"accuracy", "acc"})
"""Parts and words in the names of metrics whose score of a data set is the mean over instances.

Exact match and accuracy count right answers. METEOR and COMET in Hugging Face's Evaluate average
the instances, as the command-line tool of BERTScore does. BLEU, chrF, TER, and error rates count
over the whole corpus, and ROUGE there takes the median of resampled means, so they are not listed.
"""

NO_MEAN_WORDS: Final = frozenset({"balanced", "weighted", "corpus"})
"""Words in the names of their variants that are computed over all instances at once."""

MEAN_MEMBERS: Final = frozenset(
    {"accuracy", "exactmatch", "f1", "mean", "meanscore", "meteor", "precision", "recall", "score"}
)
"""The members of a score that hold the figure itself, and not a count or a duration."""


def is_mean(metric: str, path: tuple[str, ...]) -> bool:
    """Return whether a number in a metric's score is known to be the mean over the instances.

    The documents do not say how a score comes about, so the name of the metric decides, and the
    last key of a number inside an object.
    """
    joined, words = ODD.sub("", metric.lower()), words_of(metric)
    if not words.isdisjoint(NO_MEAN_WORDS):
        return False
    is_known = any(part in joined for part in MEAN_PARTS) or not words.isdisjoint(MEAN_WORDS)
    return is_known and (not path or ODD.sub("", path[-1].lower()) in MEAN_MEMBERS)


def decimals_of(number: float) -> int:
    """Return the number of decimals of a number in its shortest form, 0 for one not finite."""
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def is_beyond_rounding(claim: Decimal, mean: Fraction, decimals: int) -> bool:
    """Return whether a claim differs from a mean by more than the rounding of both explains.

    `decimals` are the most decimals of a result; the mean of results that were rounded to them has
    an error of at most half a unit of the last one. Whole results, of right and wrong, are exact.
    """
    unit = Fraction(10) ** min(0, int(claim.as_tuple().exponent))
    results = Fraction(1, 10**decimals) if decimals else Fraction(0)
    return abs(Fraction(claim) - mean) > (unit + results) / 2
