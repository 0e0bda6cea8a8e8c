"""An independent comparison of two runs: plain json, dictionaries, and sums of fractions.

It imports nothing of the package, and keeps everything in memory.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

Identity = tuple[str, tuple[str, ...], tuple[str, ...]]
Metric = tuple[str, str | None]
Limits = tuple[Any, Any, bool]


class Sample(NamedTuple):
    """A sample by its identity and its id: first lines and prompts by group, and its scores.

    `scores` are by metric and group: a metric of several groups is not compared.
    """

    identity: Identity
    sample_id: str
    lines: dict[Any, int]
    prompts: dict[Any, list[str]]
    scores: dict[Metric, dict[Any, list[Fraction]]]

    def score(self, metric: Metric) -> Fraction | None:
        """Return the mean score of the only group of a metric, None without scores."""
        (scores,) = self.scores[metric].values()
        return sum(scores, Fraction(0)) / len(scores) if scores else None


class ReferenceRun(NamedTuple):
    """The samples of a run by identity and id, its metrics, and rows that cannot be paired."""

    samples: dict[tuple[Identity, str], Sample]
    metrics: dict[Metric, Limits]
    without_identity: int

    def ambiguous(self) -> set[Identity]:
        """Return the identities of several sample ids."""
        times = Counter(identity for identity, _ in self.samples)
        return {identity for identity, count in times.items() if count > 1}


class Expected(NamedTuple):
    """What a comparison under one metric has to say."""

    samples_a: int
    samples_b: int
    matched: int
    only_a: int
    only_b: int
    drifted: int
    relabelled: int
    other_prompts: int
    unscored: int
    overlap: float
    n: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    standard_error: float | None
    square: tuple[int, int, int, int] | None
    bounds: tuple[float, float] | None


def read_run(rows: Path, aggregate: Path | None) -> ReferenceRun:
    """Read a run of Every Eval Ever."""
    results = _results(aggregate)
    names = _metric_names(results, [row for _, row in _rows(rows)])
    samples: dict[tuple[Identity, str], Sample] = {}
    limits_of: dict[Metric, dict[Any, Limits]] = {}
    without = 0
    for number, row in _rows(rows):
        group = _group(row, results)
        metric, limits = names[group]
        limits_of.setdefault(metric, {})[group] = limits
        identity = _identity(row)
        if identity is None:
            without += 1
            continue
        key = identity, _id_text(row.get("sample_id"))
        sample = samples.setdefault(key, Sample(*key, {}, {}, {}))
        sample.lines.setdefault(group, number)
        scores = sample.scores.setdefault(metric, {}).setdefault(group, [])
        score = (row.get("evaluation") or {}).get("score")
        if isinstance(score, (int, float)) and math.isfinite(score):
            scores.append(Fraction(score))
        sample.prompts.setdefault(group, []).append(row["input"].get("formatted") or "")
    metrics = {metric: _agreed(list(said.values())) for metric, said in limits_of.items()}
    return ReferenceRun(samples, metrics, without)


def compare_runs(a: ReferenceRun, b: ReferenceRun) -> dict[Metric, Expected]:
    """Compare two runs under each metric that both have, `a` being the reference."""
    a, b = _with_names(a, b), _with_names(b, a)
    partners = _partners(a, b)
    shared = [metric for metric in a.metrics if metric in b.metrics]
    pairs: dict[Metric, list[tuple[Sample, Sample]]] = defaultdict(list)
    left_a: dict[tuple[Identity, str], set[Metric]] = {}
    left_b: dict[tuple[Identity, str], set[Metric]] = {}
    for metric in shared:
        met_b = set()
        for key, sample in a.samples.items():
            other = partners.get(key)
            if other is not None and _is_sole(sample, metric) and _is_sole(other, metric):
                pairs[metric].append((sample, other))
                met_b.add((other.identity, other.sample_id))
            elif metric in sample.scores:
                left_a.setdefault(key, set()).add(metric)
        for key, sample in b.samples.items():
            if metric in sample.scores and key not in met_b:
                left_b.setdefault(key, set()).add(metric)
    changed = _changed(
        [(a.samples[key], metrics) for key, metrics in left_a.items()],
        [(b.samples[key], metrics) for key, metrics in left_b.items()],
    )
    expected = {}
    for metric in shared:
        alone_a = _alone(metric, [a.samples[key] for key in left_a if metric in left_a[key]])
        alone_b = _alone(metric, [b.samples[key] for key in left_b if metric in left_b[key]])
        limits = _joined_limits(a.metrics[metric], b.metrics[metric])
        expected[metric] = _expected(metric, pairs[metric], alone_a, alone_b, limits, changed)
    return expected


def _alone(metric: Metric, samples: list[Sample]) -> list[Fraction | None]:
    """Return the scores of samples without a partner, one for each group that has the sample."""
    scores = (group for sample in samples for group in sample.scores[metric].values())
    return [sum(one, Fraction(0)) / len(one) if one else None for one in scores]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if line.strip():
            row = json.loads(line)
            if isinstance(row, dict):
                yield number, row


def _results(aggregate: Path | None) -> list[dict[str, Any]]:
    if aggregate is None:
        return []
    results = json.loads(aggregate.read_bytes()).get("evaluation_results") or []
    return [one for one in results if isinstance(one, dict)]


def _group(row: Mapping[str, Any], results: list[dict[str, Any]]) -> Any:
    """Return the index of the result that a row joins, else its name and its result's id."""
    name, own = row.get("evaluation_name"), row.get("evaluation_result_id")
    ids = [one.get("evaluation_result_id") for one in results]
    if isinstance(own, str) and any(one is not None for one in ids):
        places = [place for place, one in enumerate(ids) if one == own]
    else:
        places = [at for at, one in enumerate(results) if one.get("evaluation_name") == name]
    return places[0] if len(places) == 1 else (name, own)


def _metric_names(
    results: list[dict[str, Any]], rows: list[dict[str, Any]]
) -> dict[Any, tuple[Metric, Limits]]:
    """Return the name and the limits of each group of rows."""
    named: dict[Any, tuple[Metric, Limits]] = {}
    for group in dict.fromkeys(_group(row, results) for row in rows):
        if isinstance(group, tuple):
            name, own = group
            named[group] = (name or "", own if own != name else None), (None, None, False)
            continue
        result = results[group]
        config = result.get("metric_config") or {}
        name, own = result.get("evaluation_name"), result.get("evaluation_result_id")
        known = [config.get(key) for key in ("metric_name", "metric_id", "metric_kind")]
        metric = next(filter(None, known), own if own != name else None)
        limits = config.get("min_score"), config.get("max_score"), config.get("lower_is_better")
        named[group] = (name or "", metric), (limits[0], limits[1], limits[2] is True)
    times = Counter(metric for metric, _ in named.values())
    for group, (metric, limits) in named.items():
        if times[metric] > 1 and isinstance(group, int):
            own = results[group].get("evaluation_result_id")
            named[group] = (metric[0], own or metric[1]), limits
    return named


def _agreed(said: list[Limits]) -> Limits:
    """Return the limits of a metric that several groups have: those that none contradicts."""
    low, high = ([one[at] for one in said if one[at] is not None] for at in (0, 1))
    bounds = (
        values[0] if values and values.count(values[0]) == len(values) else None
        for values in (low, high)
    )
    return *bounds, any(one[2] for one in said)


def _identity(row: Mapping[str, Any]) -> Identity | None:
    shown = row.get("input")
    if not isinstance(shown, dict) or not isinstance(shown.get("raw"), str):
        return None
    references = shown.get("reference")
    references = [references] if isinstance(references, str) else references
    if not isinstance(references, list) or not all(isinstance(one, str) for one in references):
        return None
    return shown["raw"], tuple(references), tuple(map(str, shown.get("choices") or ()))


def _id_text(sample: Any) -> str:
    return sample if isinstance(sample, str) else json.dumps(sample)


def _is_sole(sample: Sample, metric: Metric) -> bool:
    return len(sample.scores.get(metric, ())) == 1


def _partners(a: ReferenceRun, b: ReferenceRun) -> dict[tuple[Identity, str], Sample]:
    """Return the sample of the second run that each sample of the first one meets."""
    ambiguous = a.ambiguous() | b.ambiguous()
    by_identity = {identity: sample for (identity, _), sample in b.samples.items()}
    partners = {}
    for key in a.samples:
        other = b.samples.get(key) if key[0] in ambiguous else by_identity.get(key[0])
        if other is not None:
            partners[key] = other
    return partners


def _with_names(run: ReferenceRun, other: ReferenceRun) -> ReferenceRun:
    """Return a run with the other's names where a result's only metric has none."""
    renamed: dict[Metric, Metric] = {}
    for metric in run.metrics:
        result = metric[0]
        own = [one for one in run.metrics if one[0] == result]
        others = [one for one in other.metrics if one[0] == result]
        if metric[1] is None and len(own) == len(others) == 1:
            renamed[metric] = others[0]
    samples = {
        key: one._replace(
            scores={renamed.get(metric, metric): kept for metric, kept in one.scores.items()}
        )
        for key, one in run.samples.items()
    }
    metrics = {renamed.get(metric, metric): limits for metric, limits in run.metrics.items()}
    return ReferenceRun(samples, metrics, run.without_identity)


Left = list[tuple[Sample, set[Metric]]]


def _changed(left_a: Left, left_b: Left) -> dict[Metric, Counter[str]]:
    """Count relabelled and drifted samples among those without a partner, by metric.

    Samples of one key are matched one by one, in the order of their lines. Of the same question and
    the same id, an equal input ends the search: the sample lacks a partner under some metric alone.
    """
    counts: dict[Metric, Counter[str]] = defaultdict(Counter)
    for kind, key, goes_on in (
        ("relabelled", lambda one: (_question(one), one.sample_id), False),
        ("relabelled", _question, True),
        ("drifted", lambda one: one.sample_id, False),
    ):
        waiting_a, waiting_b = _by_key(left_a, key), _by_key(left_b, key)
        met = set()
        for value in waiting_a.keys() & waiting_b.keys():
            for one, other in zip(waiting_a[value], waiting_b[value], strict=False):
                is_same = one[0].identity == other[0].identity
                if not (is_same and goes_on):
                    met |= {id(one[0]), id(other[0])}
                for metric in set() if is_same else one[1] & other[1]:
                    counts[metric][kind] += 1
        left_a = [one for one in left_a if id(one[0]) not in met]
        left_b = [one for one in left_b if id(one[0]) not in met]
    return counts


def _by_key(left: Left, key: Callable[[Sample], Any]) -> dict[Any, Left]:
    found: dict[Any, Left] = defaultdict(list)
    for one in sorted(left, key=_first_line):
        found[key(one[0])].append(one)
    return found


def _first_line(left: tuple[Sample, set[Metric]]) -> int:
    """Return the first line of a sample under the metrics that it lacks a partner for."""
    sample, metrics = left
    return min(sample.lines[group] for metric in metrics for group in sample.scores[metric])


def _question(sample: Sample) -> tuple[str, tuple[str, ...]]:
    raw, _, choices = sample.identity
    return raw, choices


def _joined_limits(a: Limits, b: Limits) -> Limits:
    low, high = (own if own is not None else other for own, other in zip(a[:2], b[:2], strict=True))
    return low, high, a[2]


def _expected(
    metric: Metric,
    pairs: list[tuple[Sample, Sample]],
    alone_a: list[Fraction | None],
    alone_b: list[Fraction | None],
    limits: Limits,
    changed: dict[Metric, Counter[str]],
) -> Expected:
    known = [(a.score(metric), b.score(metric)) for a, b in pairs]
    scored = [(a, b) for a, b in known if a is not None and b is not None]
    differences = [a - b for a, b in scored]
    n, union = len(scored), len(pairs) + len(alone_a) + len(alone_b)
    values = {value for pair in scored for value in pair}
    alone: list[tuple[Fraction | None, Fraction | None]] = [
        *((one, None) for one in alone_a),
        *((None, one) for one in alone_b),
    ]
    return Expected(
        samples_a=len(pairs) + len(alone_a),
        samples_b=len(pairs) + len(alone_b),
        matched=len(pairs),
        only_a=len(alone_a),
        only_b=len(alone_b),
        drifted=changed[metric]["drifted"],
        relabelled=changed[metric]["relabelled"],
        other_prompts=sum(_has_other_prompt(metric, a, b) for a, b in pairs),
        unscored=len(pairs) - n,
        overlap=len(pairs) / union if union else 0.0,
        n=n,
        mean_a=_mean([a for a, _ in scored]),
        mean_b=_mean([b for _, b in scored]),
        difference=_mean(differences),
        standard_error=_standard_error(differences),
        square=_square(scored) if values <= {0, 1} and scored else None,
        bounds=_bounds(known + alone, limits) if scored else None,
    )


def _has_other_prompt(metric: Metric, a: Sample, b: Sample) -> bool:
    """Tell whether the first prompts of a sample are known and differ."""
    prompts = [one.prompts[next(iter(one.scores[metric]))][0] for one in (a, b)]
    return all(prompts) and prompts[0] != prompts[1]


def _mean(values: list[Fraction]) -> float | None:
    return float(sum(values) / len(values)) if values else None


def _standard_error(differences: list[Fraction]) -> float | None:
    n = len(differences)
    if n < 2:
        return None
    mean = sum(differences) / n
    return math.sqrt(sum((one - mean) ** 2 for one in differences) / (n - 1) / n)


def _square(scored: list[tuple[Fraction, Fraction]]) -> tuple[int, int, int, int]:
    times = Counter(scored)
    one, zero = Fraction(1), Fraction(0)
    return times[one, one], times[one, zero], times[zero, one], times[zero, zero]


def _bounds(
    known: list[tuple[Fraction | None, Fraction | None]], limits: Limits
) -> tuple[float, float] | None:
    """Return the difference if missing scores count against the reference, then against the other.

    None where scores are missing and the range of the metric is not known, or too narrow. Scores
    that are all 0 or 1 have a known range.
    """
    low, high, lower_is_better = limits
    values = {one for pair in known for one in pair if one is not None}
    if None in (low, high) and values <= {0, 1}:
        low, high = 0, 1
    if any(None in pair for pair in known) and (
        None in (low, high) or not low < high or any(not low <= one <= high for one in values)
    ):
        return None
    worst, best = (high, low) if lower_is_better else (low, high)
    both = []
    for of_a, of_b in ((worst, best), (best, worst)):
        total = sum((_or(a, of_a) - _or(b, of_b) for a, b in known), Fraction(0))
        both.append(float(total / len(known)))
    return both[0], both[1]


def _or(score: Fraction | None, value: Any) -> Fraction:
    return Fraction(value) if score is None else score
