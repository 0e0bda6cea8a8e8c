"""The claims of a run: its statistics, by those of the instances, and figures of calibration."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import Any, Final

from evalstream.formats.helm.statistics import (
    DERIVED,
    ORIGINAL,
    WORST,
    Name,
    Recomputed,
    RunTotals,
    Stat,
    describe_perturbation,
    is_near,
)
from evalstream.formats.helm.store import InstanceFacts
from evalstream.model.claim import Reason
from evalstream.model.data_class import NamedTuple
from evalstream.model.text import count_noun
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judgement import Claim, Judgement, confirm, leave_open, refute

NUM_INSTANCES: Final = "num_instances"

_BOOKKEEPING: Final = frozenset(
    {
        *("num_references", "num_train_trials", "num_prompt_tokens", "num_completion_tokens"),
        *("num_output_tokens", "training_co2_cost", "training_energy_cost", "batch_size"),
        *("num_train_instances", "prompt_truncated", "max_prob", "logprob", NUM_INSTANCES),
        *("num_perplexity_tokens", "num_bytes", "finish_reason_length", "finish_reason_stop"),
        *("finish_reason_endoftext", "finish_reason_unknown", "inference_runtime"),
        *("estimated_num_tokens_cost", "num_completions", "max_num_output_tokens"),
        *("max_num_completion_tokens", "num_requests"),
        *("inference_denoised_runtime", "inference_idealized_runtime", "predicted_index"),
    }
)
"""Statistics that every run has and that are not scores.

Source: `compute_request_state_metrics`, TokensMetric and DryRunMetric of HELM.
"""


class Claimed(NamedTuple):
    """A statistic of the run, by its index in the list, with its JSON value."""

    place: int
    name: Name
    stat: Stat
    value: Mapping[str, Any]


class Instances(NamedTuple):
    """The facts about the instances of a run.

    `totals` are None where there are no statistics of instances, and `has_requests` says whether
    there are requests. With `is_whole` all of them were read. In a windowed run there is no worst
    case, and copies that are not together leave it open.
    """

    totals: RunTotals | None
    facts: InstanceFacts
    has_requests: bool
    is_whole: bool
    is_windowed: bool

    def times(self, name: Name) -> int:
        """Return how many classes of metrics give a statistic, as far as the entries show it."""
        entries = 0 if self.totals is None else self.totals.count_entries(name)
        number = self.facts.entries[name._replace(name="")]
        return max(1, round(entries / number)) if number else 1

    def lacks_some(self, name: Name) -> bool:
        """Tell whether some instance of a statistic's split and perturbation lacks its metric.

        HELM leaves out statistics that are NaN.
        """
        if self.totals is None:
            return True
        number = self.facts.entries[name._replace(name="")]
        if not number:
            return True
        if self.is_windowed:
            like = (one for one in self.totals.names if one[1:] == name[1:])
            number = max(map(self.totals.count_entries, like))
        return self.totals.count_entries(name) < number

    def lacks_metric(self, metric: str) -> bool:
        """Tell whether some instance lacks a metric, in whatever split and perturbation."""
        names = () if self.totals is None else self.totals.names
        return any(self.lacks_some(name) for name in names if name.name == metric)


def judge_statistics(found: Sequence[Claimed], known: Instances) -> Iterator[Judgement]:
    """Judge each statistic of a run, as one claim."""
    times = Counter(one.name for one in found)
    splits: dict[Name, set[str | None]] = {}
    for one in found:
        splits.setdefault(one.name._replace(split=None), set()).add(one.name.split)
    for one in found:
        is_only = len(splits[one.name._replace(split=None)]) == 1
        yield _judge(one, known, is_repeated=times[one.name] > 1, is_only_split=is_only)


def is_score(name: Name) -> bool:
    """Tell whether a statistic is a score, and not something that is counted or measured."""
    return name.name not in _BOOKKEEPING


def _judge(one: Claimed, known: Instances, *, is_repeated: bool, is_only_split: bool) -> Judgement:
    stat, name = one.stat, one.name
    member, kind = ("mean", kinds.MEAN) if stat.count else ("count", kinds.COUNT)
    is_claim = bool(stat.count) and is_score(name)
    claim = Claim(
        f"/{one.place}/{member}", str(name), kind, None, getattr(stat, member), is_score=is_claim
    )
    if not (known.has_requests if name.name == NUM_INSTANCES else known.totals is not None):
        return leave_open(claim, Reason.NO_ROWS)
    found = _recompute(name, known, is_only_split=is_only_split)
    if not known.is_whole:
        return leave_open(claim, Reason.UNREAD, 0 if found is None else found.rows)
    if found is None:
        return _judge_unknown(claim, name, known)
    wrong = find_difference(stat, found)
    expected = sum(found.means) / len(found.means) if found.means else None
    if wrong is None:
        return confirm(claim, expected, found.rows)
    reason = _doubt(one, known, is_repeated=is_repeated)
    if reason is not None:
        return leave_open(claim, reason, found.rows, expected)
    key, figure = wrong
    told = "" if key == member else f": {key} is {figure}"
    message = f"another figure follows from {count_noun(found.rows, 'value')}{told}"
    return refute(claim, expected, message, found.rows)


def _recompute(name: Name, known: Instances, *, is_only_split: bool) -> Recomputed | None:
    """Return what the instances give for a statistic, None where they give nothing."""
    if name.name == NUM_INSTANCES:
        place, requests = name._replace(name=""), known.facts.requests
        counts = [number for (_, one), number in requests.items() if one == place]
        if not counts:
            return None
        return Recomputed([float(one) for one in counts], sum(counts), float(max(counts)))
    found = None if known.totals is None else known.totals.recompute(name)
    if found is None and known.totals is not None and name.name in CALIBRATION_METRICS:
        trials = (known.facts.find_confidences(trial, name) for trial in known.totals.trials)
        return recompute_calibration(name.name, trials)
    if found is None and known.totals is not None and is_only_split:
        # Releases before March 2023 wrote no split into the names of instances' statistics.
        found = known.totals.recompute(name._replace(split=None))
    return found


def _judge_unknown(claim: Claim, name: Name, known: Instances) -> Judgement:
    """Judge a statistic that no instance has."""
    _, computed_on = describe_perturbation(name.perturbation)
    is_plain = computed_on not in (ORIGINAL, WORST)
    is_known = name.name == NUM_INSTANCES or (
        known.totals is not None
        and known.totals.has_metric(name.name)
        and not known.lacks_metric(name.name)
    )
    is_doubtful = known.is_windowed or not known.facts.are_copies_together
    if not is_known or (not is_plain and is_doubtful):
        return leave_open(claim, Reason.FORMULA)
    return refute(claim, None, "no instance has it in this split and perturbation", 0)


def _doubt(one: Claimed, known: Instances, *, is_repeated: bool) -> Reason | None:
    """Return why a statistic that differs is open, None where it is refuted."""
    name = one.name
    if known.totals is not None and known.totals.lacks_requests(name, one.stat):
        return Reason.MISSING
    _, computed_on = describe_perturbation(name.perturbation)
    if is_repeated and name.name != NUM_INSTANCES:
        return Reason.UNSURE
    if computed_on in (ORIGINAL, WORST) and known.totals is not None:
        if not known.facts.are_copies_together or known.is_windowed:
            return Reason.EVIDENCE
        if known.lacks_metric(name.name):
            return Reason.UNSCORED
    return None


def find_difference(stat: Stat, found: Recomputed) -> tuple[str, float | None] | None:
    """Return a member in which a statistic is not the one over the means of trials, and its value.

    Each mean is one value (`Stat.take_mean`).
    """
    means = found.means
    if not means or not stat.count:
        return None if len(means) == stat.count else ("count", len(means))
    total, squares = sum(means), sum(one * one for one in means)
    mean = total / len(means)
    variance = squares / len(means) - mean * mean
    expected = {
        "mean": mean,
        "count": len(means),
        "sum": total,
        "sum_squared": squares,
        "min": min(means),
        "max": max(means),
        "variance": 0.0 if variance < 0 else variance,
    }
    largest = max(found.largest, *map(abs, means))
    for key, value in expected.items():
        claimed = getattr(stat, key)
        scale = largest * largest if key in ("sum_squared", "variance") else largest
        if claimed is None or not is_near(claimed, value, 0 if key == "count" else scale):
            return key, value
    return None


def find_absent(found: Sequence[Claimed], known: Instances) -> Iterator[Name]:
    """Iterate over the statistics that all instances have and the run lacks."""
    if known.totals is None or not known.is_whole:
        return
    names = {one.name for one in found}
    splits = {one.name.split for one in found}
    for name in known.totals.names:
        is_named = name.split is not None or splits <= {None}
        if name not in names and is_named and not known.lacks_some(name):
            yield name
        if name.name == "logprob" and is_named and not known.is_windowed:
            yield from _find_absent_derived(names, name, known)
    if not known.is_windowed and known.facts.are_copies_together:
        yield from _find_absent_worst(names, known, known.totals)


def _find_absent_derived(names: Set[Name], logprob: Name, known: Instances) -> Iterator[Name]:
    """Iterate over the figures that follow from a sum of log probabilities and that a run lacks.

    HELM computes them wherever it can (`compute_perplexity_metrics`).
    """
    for metric, divisor in DERIVED.items():
        name = logprob._replace(name=metric)
        is_whole = not any(map(known.lacks_some, (logprob, logprob._replace(name=divisor))))
        found = known.totals.recompute(name) if known.totals and name not in names else None
        if is_whole and found is not None and found.means:
            yield name


def _find_absent_worst(names: Set[Name], known: Instances, totals: RunTotals) -> Iterator[Name]:
    """Iterate over the worst cases that the run lacks, of metrics that have another one.

    HELM computes them of all metrics (`compute_worst_case_metrics`), but not of critiques.
    """
    worst = [one for one in names if describe_perturbation(one.perturbation)[1] == WORST]
    kinds = {_kind_of_worst(one): one for one in sorted(worst, key=str)}
    known_kinds = {(one.name, _kind_of_worst(one)) for one in worst}
    metrics = {one.name for one in worst}
    for plain in totals.names:
        if plain.perturbation or plain.split is None or plain.name not in metrics:
            continue
        for kind, one in kinds.items():
            name = one._replace(name=plain.name)
            is_there = one[1:3] != plain[1:3] or (plain.name, kind) in known_kinds
            if is_there or known.lacks_metric(plain.name):
                continue
            again = totals.recompute(name)
            if again is not None and again.means:
                yield name


def _kind_of_worst(name: Name) -> tuple[str | None, str | None, str]:
    return name.split, name.sub_split, describe_perturbation(name.perturbation)[0]


def find_repeated(found: Sequence[Claimed], known: Instances) -> Iterator[Claimed]:
    """Iterate over the statistics that stand more often than the instances have them."""
    seen: Counter[Name] = Counter()
    for one in found:
        seen[one.name] += 1
        if known.totals is None or seen[one.name] == 1 or known.is_windowed:
            continue
        if known.totals.count_entries(one.name) and seen[one.name] > known.times(one.name):
            yield one


CALIBRATION_METRICS: Final = (
    *("ece_10_bin", "ece_1_bin", "selective_cov_acc_area", "selective_acc@10"),
    *("platt_ece_10_bin", "platt_ece_1_bin"),
)
"""The figures that can be computed, the last two where all answers are right or all are wrong."""

_BINS: Final = 10

Confidence = tuple[float, int]
"""The probability of an answer, and whether it is right, as 1 or 0."""


def recompute_calibration(metric: str, trials: Iterable[Sequence[Confidence]]) -> Recomputed | None:
    """Return a figure over the answers of each trial, None where it is not known."""
    known = [answers for answers in trials if answers]
    found = [measure_calibration(answers).get(metric) for answers in known]
    means = [one for one in found if one is not None]
    if not means or len(means) < len(found):
        return None
    return Recomputed(means, sum(map(len, known)), 1.0)


def measure_calibration(answers: Sequence[Confidence]) -> Mapping[str, float]:
    """Return the figures of calibration that follow from some answers alone, at least one.

    The formulas are those of crfm-helm 0.1.0 to 0.5.16 (`compute_calibration_metrics`) and of its
    package uncertainty-calibration 0.1.4 (`get_ece`, `get_ece_em`, `get_selective_stats`).
    """
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
