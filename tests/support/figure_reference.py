"""Made comparisons, and their figures as numpy, scipy and statsmodels give them.

It imports nothing of the package. Random figures (resamples, signs that are drawn) are left out.
"""

import json
import math
import random
from collections import defaultdict
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Scores = dict[int, list[float | None]]
"""The scores of the rows of samples, by number."""

LIMITS = {"binary": (0, 1), "likert": (1, 5), "equal": (0, 1)}
RESAMPLES = 10_000
OVERLAP = 0.5


class Case(NamedTuple):
    """A comparison: `n` samples in runs of falling skill; the last members lack samples."""

    n: int
    kind: str = "binary"
    runs: int = 2
    results: int = 1
    epochs: int = 1
    clusters: int = 0
    copies: int = 1
    level: float = 0.95
    effect: float | None = None
    gap: float = 0.4
    lower: bool = False
    dropped: int = 0
    failed: int = 0
    unscored: int = 0


def cases() -> list[Case]:
    """Return made comparisons of all kinds."""
    sizes = (1, 2, 3, 8, 29, 30, 97, 1100)
    return [
        *(Case(n, kind, effect=0.1) for n, kind in product(sizes, ("binary", "likert", "free"))),
        *(Case(n, kind) for n, kind in product((1, 9, 40), ("constant", "equal"))),
        *(Case(60, kind, gap=gap, lower=lower, level=level) for kind, gap, lower, level in (
            ("binary", -1.0, False, 0.9), ("likert", 1.0, True, 0.99), ("free", -0.8, True, 0.8),
        )),
        *(Case(90, kind, epochs=epochs, effect=0.1) for kind in LIMITS for epochs in (2, 5)),
        *(Case(n, kind, clusters=groups, effect=0.1) for kind in ("binary", "likert", "constant")
          for n, groups in ((120, 40), (50, 7), (20, 2), (6, 1))),
        *(Case(n, kind, copies=copies) for kind in ("binary", "likert", "equal")
          for n, copies in ((90, 2), (80, 20), (12, 12))),
        *(Case(100, kind, dropped=a, failed=b, unscored=c, lower=lower) for kind in LIMITS
          for a, b, c, lower in ((4, 0, 0, False), (0, 5, 0, True), (0, 0, 6, False),
                                 (3, 4, 5, True), (70, 0, 0, False), (9, 30, 9, False))),
        *(Case(120, kind, runs=runs, clusters=groups, copies=copies, dropped=2)
          for kind in ("binary", "free")
          for runs, groups, copies in ((3, 0, 1), (5, 0, 1), (4, 12, 1), (3, 0, 6))),
        *(Case(70, kind, results=results, clusters=groups, runs=runs, epochs=2)
          for kind in LIMITS for results, groups, runs in ((2, 0, 2), (4, 10, 2), (3, 0, 3))),
    ]  # fmt: skip


class Made(NamedTuple):
    """The runs of a case: their folders, and for each the scores of each result."""

    folders: list[Path]
    scores: list[list[Scores]]


def label(case: Case, number: int) -> int:
    """Return the number of the cluster of a sample, or of its question."""
    question = number // case.copies
    return question % case.clusters if case.clusters else question


def is_failed(case: Case, run: int, number: int) -> bool:
    """Tell whether a sample has an error in a run."""
    return (number + 7 * run) % case.n < case.failed


def make(case: Case, folder: Path) -> Made:
    """Write the runs of a case."""
    made = Made([], [])
    for run in range(case.runs):
        rng = random.Random(f"{case}-{run}")
        scores = [_scores(case, run, result, rng) for result in range(case.results)]
        rows = [
            _row(case, run, result, number, epoch, score)
            for result, number in product(range(case.results), range(case.n))
            for epoch, score in enumerate(scores[result].get(number, ()))
        ]
        rng.shuffle(rows)
        place = folder / f"run-{run}"
        place.mkdir(parents=True)
        (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (place / "rows.json").write_text(json.dumps(_aggregate(case, run)))
        made.folders.append(place)
        made.scores.append(scores)
    return made


def _scores(case: Case, run: int, result: int, rng: random.Random) -> Scores:
    gone = rng.sample(range(case.n), min(case.n, case.dropped + case.unscored))
    found: Scores = {}
    for number in range(case.n):
        hard = random.Random(f"{result}-{label(case, number)}").gauss(0, 1)
        values = [_score(case.kind, run, hard, rng, case.gap) for _ in range(case.epochs)]
        found[number] = [None] * case.epochs if number in gone[case.dropped :] else values
    return {number: found[number] for number in found if number not in gone[: case.dropped]}


def _score(kind: str, run: int, hard: float, rng: random.Random, gap: float) -> float:
    z = -gap * run - hard + rng.gauss(0, 1)
    if kind == "binary":
        return float(z > 0)
    if kind == "likert":
        return min(5.0, max(1.0, round(2 * (3 + z)) / 2))
    if kind == "free":
        return z
    return 0.5 + run if kind == "constant" else round(abs(hard) / 10, 2)


def _row(
    case: Case, run: int, result: int, number: int, epoch: int, score: float | None
) -> dict[str, Any]:
    text = f"Question {number // case.copies} of set {result}?" + " " * (number % case.copies)
    row = {
        "schema_version": "0.2.0", "evaluation_id": f"made/{run}", "model_id": f"acme/{run}",
        "evaluation_name": f"set {result}", "sample_id": f"{result}-{number}",
        "interaction_type": "single_turn", "input": {"raw": text, "reference": "5"},
        "output": {"raw": f"{run} {result} {number} {epoch}"}, "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": bool(score)},
        "metadata": {"epoch": epoch, "passage": f"{label(case, number)}"},
    }  # fmt: skip
    return {**row, "error": "timed out"} if is_failed(case, run, number) else row


def _aggregate(case: Case, run: int) -> dict[str, Any]:
    limits = dict(zip(("min_score", "max_score"), LIMITS.get(case.kind, ()), strict=False))
    config = {"lower_is_better": case.lower, "score_type": "continuous", **limits}
    results = [
        {"evaluation_name": f"set {result}", "metric_config": config,
         "score_details": {"score": 0.5}}
        for result in range(case.results)
    ]  # fmt: skip
    return {
        "schema_version": "0.2.0",
        "evaluation_id": f"made/{run}",
        "model_info": {"id": f"acme/{run}"},
        "evaluation_results": results,
        "detailed_evaluation_results": {"format": "jsonl", "file_path": "rows.jsonl"},
    }


Figures = dict[str, Any]
"""Figures by their path in the JSON of a comparison."""


class Pair:
    """The samples of two runs under one result, and what follows from them."""

    def __init__(self, case: Case, made: Made, a: int, b: int, result: int) -> None:
        self.case = case
        self.runs = a, b
        self.rows = made.scores[a][result], made.scores[b][result]
        self.ids = sorted(self.rows[0].keys() & self.rows[1].keys())
        self.union = sorted(self.rows[0].keys() | self.rows[1].keys())
        scored = [[mean_of(rows[i]) for rows in self.rows] for i in self.ids]
        kept = [place for place, both in enumerate(scored) if None not in both]
        self.scored = [self.ids[place] for place in kept]
        self.a, self.b = np.array([scored[place] for place in kept], float).reshape(-1, 2).T
        d = self.a - self.b
        self.d = np.where(np.abs(d) < 1e-13, 0.0, d)
        self.n = len(kept)
        self.labels = [label(case, i) for i in self.scored]
        self.few = len(self.ids) < OVERLAP * len(self.union)

    def figures(self) -> Figures:
        """Return all figures."""
        found: Figures = {
            "alignment/matched": len(self.ids),
            "alignment/only_a": len(self.rows[0]) - len(self.ids),
            "alignment/only_b": len(self.rows[1]) - len(self.ids),
            "alignment/unscored": len(self.ids) - self.n,
            "alignment/overlap": len(self.ids) / len(self.union),
        }
        if not self.n:
            return {**found, "estimate": None}
        plain = {**self._errors(), **self._plain_tests()}
        chosen, is_clustered = plain, bool(self.case.clusters)
        if self.case.clusters or self.case.copies > 1:
            clustered = self._clustered()
            p, drawn = clustered["test/p"], plain["test/p"]
            if not is_clustered and math.isnan(drawn):
                drawn = scipy.stats.ttest_rel(self.a, self.b).pvalue
                if p is not None and max(p, drawn) < 1 - self.case.level:
                    p, drawn = clustered["standard_error"], plain["standard_error"]
            is_clustered = is_clustered or p is None or p > drawn + 1e-12
            chosen = clustered if is_clustered else plain
        if self.few:
            chosen = {key: one for key, one in chosen.items() if "test" not in key}
            chosen = {key: one for key, one in chosen.items() if not key.startswith("interval")}
            chosen |= {"test": None, "interval": None, "detectable": None, "effect": None}
        clusters = len(set(self.labels)) if is_clustered else None
        chosen |= {} if self.few else {"clusters/clusters": clusters}
        chosen |= self._plain_figures() | self._noise() | self._bounds()
        chosen |= {} if self.few else self._power(chosen)
        return found | {f"estimate/{key}": one for key, one in chosen.items()}

    def _plain_figures(self) -> Figures:
        spread = self.n > 1 and min(np.ptp(self.a), np.ptp(self.b)) > 1e-12
        counts = [int(((self.a == x) & (self.b == y)).sum()) for x, y in ((1, 1), (1, 0), (0, 1))]
        names = ("both", "only_a", "only_b")
        square = dict(zip(names, counts, strict=True)) if self.is_binary else {}
        return {
            "n": self.n,
            "mean_a": self.a.mean(),
            "mean_b": self.b.mean(),
            "difference": self.d.mean(),
            "correlation": scipy.stats.pearsonr(self.a, self.b)[0] if spread else None,
            "binary": self.is_binary,
            **{f"square/{key}": count for key, count in square.items()},
        }

    @property
    def is_binary(self) -> bool:
        """Whether all scores are 0 or 1."""
        return {*self.a, *self.b} <= {0.0, 1.0}

    def _errors(self) -> Figures:
        """Return the errors of both means and of the difference, without clusters."""
        if self.n < 2:
            return {"standard_error": None, "own_a": None, "own_b": None, "unpaired_error": None}
        errors = [sem(one) for one in (self.d, self.a, self.b)]
        return self._described(errors, self.n - 1)

    def _described(self, errors: list[float], df: int) -> Figures:
        found: Figures = {"standard_error": errors[0], "unpaired_error": math.hypot(*errors[1:])}
        for name, values, error in (("a", self.a, errors[1]), ("b", self.b, errors[2])):
            found[f"own_{name}/standard_error"] = error
            ends = self._interval(values.mean(), error, df)
            found |= {f"own_{name}/interval/{end}": one for end, one in ends.items()}
        return found

    def _interval(self, mean: float, error: float, df: int) -> Figures:
        half = scipy.stats.t.ppf((1 + self.case.level) / 2, df) * error
        return {"low": mean - half if error else None, "high": mean + half if error else None}

    def _plain_tests(self) -> Figures:
        if self.is_binary:
            return self._binary()
        differing = np.abs(self.d[self.d != 0])
        found: Figures = {}
        if len(differing) < RESAMPLES.bit_length():
            signs = np.array([*product((-1, 1), repeat=len(differing))])
            sums = np.abs(signs @ differing) if len(differing) else np.zeros(1)
            found["test/p"] = float((sums >= abs(self.d.sum()) - 1e-9).mean())
        elif len(differing) >= 1000:
            found["test/p"] = scipy.stats.ttest_rel(self.a, self.b).pvalue
        else:
            found["test/p"] = math.nan  # drawn at random
        if self.n > 1:
            ends = self._interval(self.d.mean(), sem(self.d), self.n - 1)
            found |= {f"interval/{end}": one for end, one in ends.items()}
        return found

    def _binary(self) -> Figures:
        r, s = int((self.d > 0).sum()), int((self.d < 0).sum())
        binomial = scipy.stats.binom(r + s, 0.5)
        exact = scipy.stats.binomtest(r, r + s).pvalue if r + s else 1.0
        mid = exact - sum(binomial.pmf(end) for end in {r, s}) / 2 if r + s else 1.0
        low, high = tango(r, s, self.n, self.case.level)
        return {"test/p": mid, "other_tests/0/p": exact, "interval/low": low, "interval/high": high}

    def _clustered(self) -> Figures:
        groups = len(set(self.labels))
        if groups < 2:
            return {"test/p": None, "standard_error": None, "own_a": None, "unpaired_error": None}
        errors = [clustered_sem(one, self.labels) for one in (self.d, self.a, self.b)]
        mean = self.d.mean()
        p = 1.0 if not mean else 2.0 ** (1 - groups)
        if errors[0] and mean:
            p = 2 * scipy.stats.t.sf(abs(mean) / errors[0], groups - 1)
        ends = self._interval(mean, errors[0], groups - 1)
        found = {f"interval/{end}": one for end, one in ends.items()}
        return self._described(errors, groups - 1) | found | {"test/p": p}

    def _noise(self) -> Figures:
        if self.case.epochs == 1:
            return {"noise_floor": None}
        spread = [np.var(rows[i], ddof=1) for i in self.scored for rows in self.rows]
        return {"noise_floor": math.sqrt(sum(spread) / self.case.epochs) / self.n}

    def _power(self, found: Figures) -> Figures:
        error, noise = found["standard_error"], found["noise_floor"]
        if not error:
            return {"detectable": None, "needed_for_point": None, "effect": None}
        z = scipy.stats.norm.ppf((1 + self.case.level) / 2)
        reach = z + scipy.stats.norm.ppf(0.8)

        def needed(error: float, size: float) -> int:
            return max(2, math.ceil(self.n * (reach * error / size) ** 2))

        power: Figures = {"detectable": reach * error, "needed_for_point": needed(error, 0.01)}
        size = self.case.effect
        if size is not None:
            between = None if noise is None else math.sqrt(max(0, error**2 - noise**2))
            endless = None if between is None else needed(between, size)
            power |= {
                "effect/power": scipy.stats.norm.cdf(size / error - z),
                "effect/needed": needed(error, size),
                "effect/needed_without_noise": endless,
            }
        return power

    def _bounds(self) -> Figures:
        """Return the bounds: each score that is missing is the worst for one run, and back."""
        limits = LIMITS.get(self.case.kind)
        if limits is None:
            is_whole = self.n == len(self.union) and not self.case.failed
            return {"bounds": [self.d.mean()] * 2 if is_whole else None}
        worst, best = reversed(limits) if self.case.lower else limits
        return {"bounds": [self._bound(worst, best), self._bound(best, worst)]}

    def _bound(self, of_a: float, of_b: float) -> float:
        total = 0.0
        for i in self.union:
            scores = [mean_of(rows.get(i, [None])) for rows in self.rows]
            for side, fill in enumerate((of_a, of_b)):
                # The score of a row with an error is missing, too.
                is_lost = scores[side] is None or is_failed(self.case, self.runs[side], i)
                total += (fill if is_lost else scores[side] or 0.0) * (1 - 2 * side)
        return total / len(self.union)


def mean_of(scores: list[float | None]) -> float | None:
    """Return the mean of the scores of a sample."""
    known = [score for score in scores if score is not None]
    return math.fsum(known) / len(known) if known else None


def sem(values: Array) -> float:
    """Return the standard error of a mean."""
    return float(scipy.stats.sem(values)) if np.ptp(values) > 1e-12 else 0.0


def clustered_sem(values: Array, labels: list[int]) -> float | None:
    """Return the standard error of a mean over clusters, as statsmodels gives it."""
    from statsmodels.regression.linear_model import OLS

    if len(set(labels)) < 2:
        return None
    sums: dict[int, float] = defaultdict(float)
    for one, name in zip(values - values.mean(), labels, strict=True):
        sums[name] += one
    if max(map(abs, sums.values())) < 1e-11:
        return 0.0
    kinds = {"groups": np.array(labels), "use_correction": True, "df_correction": True}
    model = OLS(values, np.ones(len(values)))
    return float(model.fit(cov_type="cluster", cov_kwds=kinds, use_t=True).bse[0])


def tango(r: int, s: int, n: int, level: float) -> tuple[float, float]:
    """Return Tango's interval by solving the score equation with roots and Brent's method."""
    z = scipy.stats.norm.ppf((1 + level) / 2)

    def score(delta: float) -> float:
        linear = -r - s + (2 * n - r + s) * delta
        share = max(np.roots([2 * n, linear, -s * delta * (1 - delta)]).real)
        variance = n * (2 * share + delta * (1 - delta))
        gap = r - s - n * delta
        return gap / math.sqrt(variance) if variance > 0 else 1e9 * np.sign(gap)

    def solve(low: float, high: float, target: float, end: float) -> float:
        ends = score(low) - target, score(high) - target
        if ends[0] * ends[1] > 0:
            return end
        return float(scipy.optimize.brentq(lambda at: score(at) - target, low, high, xtol=1e-14))

    inner, difference = 1 - 1e-13, (r - s) / n
    return solve(-inner, difference, z, -1.0), solve(difference, inner, -z, 1.0)


def ranks_of(case: Case, made: Made, result: int) -> Figures:
    """Return the figures of the ranks of all runs under a result, by their labels."""
    runs = [scores[result] for scores in made.scores]
    shared = [
        i for i in range(case.n) if all(mean_of(run.get(i, [None])) is not None for run in runs)
    ]
    labels = [label(case, i) for i in shared]
    columns = np.array([[mean_of(run[i]) for i in shared] for run in runs])
    means = columns.mean(axis=1)
    places = scipy.stats.rankdata(np.round(means if case.lower else -means, 10), method="min")
    return {
        "n": len(shared),
        **{
            f"{'ABCDE'[run]}/{name}": one
            for run in range(case.runs)
            for name, one in (
                ("mean", means[run]),
                ("rank", int(places[run])),
                ("standard_error", clustered_sem(columns[run], labels)),
            )
        },
    }


def pairs_of(case: Case) -> list[tuple[int, int]]:
    """Return the numbers of each two runs."""
    return [*combinations(range(case.runs), 2)]
