"""The verdict of a comparison, in words."""

from __future__ import annotations

from typing import Final

from evalstream.model.comparison import Alignment, CompareSettings, CompareVerdict, MetricName
from evalstream.model.data_class import NamedTuple
from evalstream.model.estimate import Estimate
from evalstream.model.text import count_noun, p_value
from evalstream.stats.inference.estimate import samples_needed, score_limits

FEW_SAMPLES: Final = 30
"""Below this number equal scores say little: the rule of three leaves 10 % for a difference."""


class EstimateJudgement(NamedTuple):
    """A verdict, why in one sentence, and the label of the better run if it is significant."""

    verdict: CompareVerdict
    sentence: str
    better: str | None = None


def judge_estimate(
    estimate: Estimate | None,
    alignment: Alignment,
    settings: CompareSettings,
    metric: MetricName,
    labels: tuple[str, str],
) -> EstimateJudgement:
    """Return the verdict of a comparison of two runs, the first label being the reference's.

    It is `not comparable` below the overlap that the settings ask for or without statistics, and
    `significant` where the p value (adjusted, if there are several tests) is at most 1 - level; but
    it `depends on missing samples` where their scores could turn the difference. Otherwise it is
    `within noise` where FEW_SAMPLES or more all have equal scores, or where differences of the size
    that the settings ask for would have been found; else, or where one run alone scores more
    samples than it may alone have, it is `uninformative`.
    """
    if estimate is None or alignment.overlap < settings.min_overlap:
        sentence = _why_not(alignment, settings, labels)
        return EstimateJudgement(CompareVerdict.NOT_COMPARABLE, sentence)
    if estimate.p is not None and estimate.p <= 1 - settings.level:
        judgement = _significant(estimate, settings, metric, labels)
        return _dependent(estimate, judgement.sentence) or judgement
    wanted = relevant_difference(settings, metric)
    if is_equal(estimate):
        n, is_few = estimate.n, estimate.n < FEW_SAMPLES
        few = ", too few to show a difference" if is_few else ""
        scored = " that both score" if alignment.unscored else ""
        these = "the one matched sample" if n == 1 else f"all {n:,} matched samples"
        equal = f"{labels[0]} and {labels[1]} have equal scores in {these}{scored}{few}"
        sentence = f"{equal}{_ruled_out(estimate, settings)}"
        return _judge_unshown(sentence, alignment, settings, is_shown=not is_few)
    figures = _figures(estimate, settings, labels)
    sentence = f"no significant difference between {labels[0]} and {labels[1]}: {figures}"
    is_small = estimate.detectable is not None and estimate.detectable <= wanted
    rest = _ruled_out(estimate, settings) if is_small else f"; {_describe_needed(estimate, wanted)}"
    return _judge_unshown(f"{sentence}{rest}", alignment, settings, is_shown=is_small)


def _judge_unshown(
    sentence: str, alignment: Alignment, settings: CompareSettings, *, is_shown: bool
) -> EstimateJudgement:
    """Judge runs that do not differ; `is_shown` tells whether their samples show that."""
    samples = alignment.matched + alignment.only_a + alignment.only_b
    if is_shown and alignment.unscored <= (1 - settings.min_overlap) * samples:
        return EstimateJudgement(CompareVerdict.WITHIN_NOISE, sentence)
    if is_shown:
        unscored = count_noun(alignment.unscored, "more matched sample")
        sentence += f"; {unscored} without a score on both sides"
    return EstimateJudgement(CompareVerdict.UNINFORMATIVE, sentence)


def relevant_difference(settings: CompareSettings, metric: MetricName) -> float:
    """Return the smallest difference that matters, on the scale of the scores.

    --min-delta is a share of the range of a metric whose lowest and highest score are known, so
    that 0.005 is half a point of 0 to 100, too. Otherwise it is on the scale of the scores.
    """
    limits = score_limits(metric)
    return settings.min_delta * (limits[1] - limits[0] if limits else 1.0)


def is_equal(estimate: Estimate) -> bool:
    """Tell whether no sample differs, but for rounding."""
    if estimate.square is not None:
        return not estimate.square.only_a and not estimate.square.only_b
    if estimate.clustered is not None and any(value for value, _ in estimate.histogram):
        # Differences within a cluster may cancel out.
        return False
    return not estimate.difference and not estimate.standard_error and estimate.n > 0


def _why_not(alignment: Alignment, settings: CompareSettings, labels: tuple[str, str]) -> str:
    a, b = labels
    if not alignment.matched:
        return f"no sample of {a} matches one of {b}"
    if alignment.overlap < settings.min_overlap:
        return (
            f"{a} and {b} share {count_noun(alignment.matched, 'sample')};"
            f" {alignment.only_a:,} only in {a}, {alignment.only_b:,} only in {b}:"
            f" the overlap is {alignment.overlap:.6g}, below {settings.min_overlap:g}"
        )
    if alignment.unscored >= alignment.matched:
        return f"no matched sample has a score in both {a} and {b}"
    return f"the scores of {a} and {b} are too large, or too close to each other, for statistics"


def _significant(
    estimate: Estimate, settings: CompareSettings, metric: MetricName, labels: tuple[str, str]
) -> EstimateJudgement:
    first_is_better = (estimate.difference > 0) != metric.lower_is_better
    better, worse = labels if first_is_better else labels[::-1]
    lower = " (lower scores are better)" if metric.lower_is_better else ""
    sentence = (
        f"{better} is better than {worse} by {abs(estimate.difference):.4g}{lower}:"
        f" {_figures(estimate, settings, labels)}"
    )
    return EstimateJudgement(CompareVerdict.SIGNIFICANT, sentence, better)


def _dependent(estimate: Estimate, sentence: str) -> EstimateJudgement | None:
    """Return the verdict where the missing samples could turn a difference, else None."""
    if estimate.bounds is None or min(estimate.bounds) > 0 or max(estimate.bounds) < 0:
        return None
    low, high = sorted(estimate.bounds)
    missing = f"with any scores of the missing samples it is {low:.4g} to {high:.4g}"
    return EstimateJudgement(
        CompareVerdict.DEPENDS, f"of the samples that both score, {sentence}; {missing}"
    )


def _figures(estimate: Estimate, settings: CompareSettings, labels: tuple[str, str]) -> str:
    """Return the difference with its interval and its p value."""
    parts = [f"{labels[0]} - {labels[1]} = {estimate.difference:.4g}"]
    if estimate.interval:
        low, high, method = estimate.interval
        parts.append(f"{_percent(settings.level)} interval {low:.4g} to {high:.4g} ({method})")
    if estimate.test and estimate.p is not None:
        adjusted = ", with Holm's correction" if estimate.adjusted_p is not None else ""
        clusters = f", {estimate.clustered.clusters:,} clusters" if estimate.clustered else ""
        parts.append(f"{p_value(estimate.p)} ({estimate.test.method}{clusters}{adjusted})")
    return ", ".join(parts)


def _ruled_out(estimate: Estimate, settings: CompareSettings) -> str:
    """Return which differences the interval excludes, empty if it says nothing."""
    if estimate.interval is None:
        return ""
    most = max(abs(estimate.interval.low), abs(estimate.interval.high))
    if not most:
        return ""
    return f"; differences above {most:.4g} are ruled out at {_percent(settings.level)}"


def _describe_needed(estimate: Estimate, wanted: float) -> str:
    """Return how many samples would find the wanted difference."""
    if estimate.detectable is None:
        if estimate.clustered is not None and estimate.clustered.clusters < 2:
            return "with one cluster the standard error is unknown"
        return f"{count_noun(estimate.n, 'sample')} cannot show how much differences vary"
    smallest = (
        f"the smallest difference that {count_noun(estimate.n, 'sample')} would show with a power"
        f" of 80 % is {estimate.detectable:.4g}"
    )
    if not wanted:
        return smallest
    needed = samples_needed(estimate.n, estimate.detectable, wanted)
    return f"{smallest}; about {needed:,} samples would show {wanted:.4g}"


def _percent(level: float) -> str:
    return f"{100 * level:.6g} %"
