"""The claims of a run: its statistics, judged by those of the instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.helm import calibration
from evalstream.formats.helm.statistics import ORIGINAL, WORST, Name, Stat, is_near
from evalstream.formats.helm.store import InstanceFacts
from evalstream.formats.helm.totals import Recomputed, RunTotals, describe_perturbation
from evalstream.model.claim import Reason
from evalstream.model.data_class import NamedTuple
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
        *("inference_denoised_runtime", "inference_idealized_runtime", "predicted_index"),
    }
)
"""Statistics that every run has and that are no scores (`compute_request_state_metrics`)."""


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
    reason = _doubt(name, known, is_repeated=is_repeated)
    if reason is not None:
        return leave_open(claim, reason, found.rows, expected)
    key, figure = wrong
    told = "" if key == member else f": {key} is {figure}"
    return refute(claim, expected, f"{found.rows:,} values give another figure{told}", found.rows)


def _recompute(name: Name, known: Instances, *, is_only_split: bool) -> Recomputed | None:
    """Return what the instances give for a statistic, None where they give nothing."""
    if name.name == NUM_INSTANCES:
        place, requests = name._replace(name=""), known.facts.requests
        counts = [number for (_, one), number in requests.items() if one == place]
        if not counts:
            return None
        return Recomputed([float(one) for one in counts], sum(counts), float(max(counts)))
    found = None if known.totals is None else known.totals.recompute(name)
    if found is None and known.totals is not None and name.name in calibration.METRICS:
        trials = (known.facts.find_confidences(trial, name) for trial in known.totals.trials)
        return calibration.recompute(name.name, trials)
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


def _doubt(name: Name, known: Instances, *, is_repeated: bool) -> Reason | None:
    """Return why a statistic that differs is open, None where it is refuted."""
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


def find_repeated(found: Sequence[Claimed], known: Instances) -> Iterator[Claimed]:
    """Iterate over the statistics that stand more often than the instances have them."""
    seen: Counter[Name] = Counter()
    for one in found:
        seen[one.name] += 1
        if known.totals is None or seen[one.name] == 1 or known.is_windowed:
            continue
        if known.totals.count_entries(one.name) and seen[one.name] > known.times(one.name):
            yield one
