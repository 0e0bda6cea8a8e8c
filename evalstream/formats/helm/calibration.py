"""How well the confidence in answers agrees with their being right.

The formulas are those of crfm-helm 0.1.0 to 0.5.16 (`compute_calibration_metrics`) and of its
package uncertainty-calibration 0.1.4 (`get_ece`, `get_ece_em`, `get_selective_stats`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from evalstream.formats.helm.totals import Recomputed

METRICS: Final = (
    *("ece_10_bin", "ece_1_bin", "selective_cov_acc_area", "selective_acc@10"),
    *("platt_ece_10_bin", "platt_ece_1_bin"),
)
"""The figures that can be computed, the last two where all answers are right or all are wrong."""

_BINS: Final = 10

Confidence = tuple[float, int]
"""The probability of an answer, and whether it is right, as 1 or 0."""


def recompute(metric: str, trials: Iterable[Sequence[Confidence]]) -> Recomputed | None:
    """Return a figure over the answers of each trial, None where it is not known."""
    known = [answers for answers in trials if answers]
    found = [measure(answers).get(metric) for answers in known]
    means = [one for one in found if one is not None]
    if not means or len(means) < len(found):
        return None
    return Recomputed(means, sum(map(len, known)), 1.0)


def measure(answers: Sequence[Confidence]) -> Mapping[str, float]:
    """Return the figures over some answers that follow from them alone, at least one."""
    probabilities, number = sorted(one for one, _ in answers), len(answers)
    right = sum(is_right for _, is_right in answers)
    found = {"ece_1_bin": _measure_error(answers, [1.0])}
    found["ece_10_bin"] = _measure_error(answers, _find_bounds(probabilities))
    accuracies = list(_accumulate_accuracy(answers))
    if len(accuracies) == number:
        found["selective_cov_acc_area"] = sum(accuracies) / number
        found["selective_acc@10"] = accuracies[int(0.1 * number)]
    if right in (0, number):
        found |= {"platt_ece_10_bin": 0.0, "platt_ece_1_bin": 0.0}
    return found


def _find_bounds(probabilities: Sequence[float]) -> list[float]:
    """Return the upper bounds of bins with about as many of some sorted probabilities each."""
    bins = min(_BINS, len(probabilities))
    size, more = divmod(len(probabilities), bins)
    starts = [place * size + min(place, more) for place in range(1, bins)]
    return sorted({*((probabilities[at - 1] + probabilities[at]) / 2 for at in starts), 1.0})


def _measure_error(answers: Sequence[Confidence], bounds: Sequence[float]) -> float:
    """Return by how much probabilities differ from shares of right answers, in the mean over bins.

    A bin of n answers counts n times, so that sums may stand for means.
    """
    differences = [0.0] * len(bounds)
    for probability, is_right in answers:
        place = min(bisect_left(bounds, probability), len(bounds) - 1)
        differences[place] += probability - is_right
    return sum(map(abs, differences)) / len(answers)


def _accumulate_accuracy(answers: Sequence[Confidence]) -> Iterator[float]:
    """Yield the share of right answers among the 1, 2, … most likely ones.

    It ends where right and wrong answers are equally likely, as their order is not known.
    """
    right = seen = 0
    for _, group in groupby(sorted(answers, reverse=True), key=lambda one: one[0]):
        outcomes = [is_right for _, is_right in group]
        if len({*outcomes}) > 1:
            return
        for is_right in outcomes:
            right, seen = right + is_right, seen + 1
            yield right / seen
