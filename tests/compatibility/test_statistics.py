"""scipy and statsmodels as the independent opinion on every statistic of a comparison."""

import math
import random

import numpy as np
import pytest
import scipy
from depth import deep, examples, is_deep
from hypothesis import given, settings
from hypothesis import strategies as st
from score_cells import cells_of

from evalstream.model.comparison import CompareSettings, MetricName
from evalstream.model.estimate import Estimate
from evalstream.stats.inference.clusters import clustered_difference
from evalstream.stats.inference.difference_tests import (
    bootstrap_intervals,
    exact_mcnemar,
    mid_p_mcnemar,
    sign_flip_test,
    tango_interval,
)
from evalstream.stats.inference.estimate import estimate, holm
from evalstream.stats.inference.paired import PairedScores
from evalstream.stats.inference.ranks import RankedScores
from evalstream.stats.probability import binomial_tail, t_quantile, two_sided_t

SETTINGS = CompareSettings(resamples=1000)

counts = st.integers(0, 300)
levels = st.floats(0.5, 0.999)
scores = st.integers(-(10**9), 10**9).map(lambda x: x / 1e6) | st.sampled_from([0.0, 0.5, 1.0])


def estimated(a: list[float], b: list[float]) -> Estimate:
    some = PairedScores()
    some.add(a, b)
    found = estimate(some, MetricName("r"), SETTINGS, 1)
    assert found is not None
    return found


def normal(n: int, mean: float, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(mean, 1) for _ in range(n)]


def skewed(n: int, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.expovariate(1) - 0.8 for _ in range(n)]


@given(t=st.floats(-35, 35), df=st.floats(1, 1e9))
def test_t_is_that_of_scipy(t: float, df: float) -> None:
    # scipy itself is off by 5e-9 near 0.
    rel = 5e-10 if abs(t) > 0.01 else 1e-8
    assert two_sided_t(t, df) == pytest.approx(2 * scipy.stats.t.sf(abs(t), df), rel=rel)


@given(p=st.floats(1e-10, 1 - 1e-10), df=st.floats(1, 1e9))
def test_quantiles_of_t_are_those_of_scipy(p: float, df: float) -> None:
    assert t_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=1e-9, abs=1e-9)


@given(n=st.integers(1, 10**7), deviations=st.floats(-20, 0))
def test_binomials_are_those_of_scipy(n: int, deviations: float) -> None:
    k = max(0, math.floor(n / 2 + deviations * math.sqrt(n) / 2))
    assert binomial_tail(k, n) == pytest.approx(scipy.stats.binom.cdf(k, n, 0.5), rel=1e-9)


@given(b=counts, c=counts)
def test_exact_mcnemar_is_that_of_statsmodels(b: int, c: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    expected = mcnemar([[5, b], [c, 7]], exact=True).pvalue if b + c else 1.0
    assert exact_mcnemar(b, c).p == pytest.approx(expected, rel=1e-10)


@given(b=counts, c=counts)
def test_mid_p_is_the_exact_test_less_half_of_what_was_observed(b: int, c: int) -> None:
    binomial = scipy.stats.binom(b + c, 0.5)
    both_ends = {b, c}
    expected = scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0
    if b + c:
        expected -= sum(binomial.pmf(end) for end in both_ends) / 2
    assert mid_p_mcnemar(b, c).p == pytest.approx(expected, rel=1e-9)


def constrained_score(b: int, c: int, n: int, delta: float) -> float:
    """Return the score statistic, its probabilities being fitted by maximising the likelihood."""

    def loss(only_b: float) -> float:
        rest = 1 - 2 * only_b - delta
        terms = ((b, only_b + delta), (c, only_b), (n - b - c, rest))
        return -sum(count * math.log(max(p, 1e-300)) for count, p in terms if count)

    fitted = scipy.optimize.minimize_scalar(
        loss, bounds=(max(0, -delta), (1 - delta) / 2), method="bounded", options={"xatol": 1e-12}
    ).x
    return (b - c - n * delta) / math.sqrt(n * (2 * fitted + delta - delta * delta))


@given(b=counts, c=counts, rest=counts, level=levels)
@settings(max_examples=examples(50))
def test_tango_solves_the_score_equation(b: int, c: int, rest: int, level: float) -> None:
    n = max(1, b + c + rest)
    low, high, _ = tango_interval(b, c, n, level)
    quantile = scipy.stats.norm.ppf((1 + level) / 2)
    if low > -1 + 1e-6:
        assert constrained_score(b, c, n, low) == pytest.approx(quantile, rel=1e-3)
    if high < 1 - 1e-6:
        assert constrained_score(b, c, n, high) == pytest.approx(-quantile, rel=1e-3)


@given(st.lists(st.tuples(scores, scores), min_size=3, max_size=60))
def test_paired_t_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    some = estimated(a.tolist(), b.tolist())
    d = a - b
    scale = np.abs(np.array(pairs)).max()
    if d.std() < 1e-6 * scale or not scale:
        return
    assert some.difference == pytest.approx(d.mean(), abs=1e-14 * scale)
    assert some.standard_error == pytest.approx(scipy.stats.sem(d), rel=1e-7)
    expected = scipy.stats.ttest_rel(a, b)
    (t,) = [one for one in (some.test, *some.tests) if one and one.method == "paired t"] or [None]
    if t is None:
        assert some.is_binary
    else:
        assert t.p == pytest.approx(expected.pvalue, rel=1e-6)
    intervals = (some.interval, *some.others)
    (interval,) = [one for one in intervals if one and one.method == "paired t"]
    bounds = expected.confidence_interval(0.95)
    assert interval[:2] == pytest.approx([bounds.low, bounds.high], rel=1e-6, abs=1e-9 * scale)


@given(st.lists(st.tuples(scores, scores), min_size=3, max_size=60))
def test_errors_and_correlation_are_those_of_scipy(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    some = estimated(a.tolist(), b.tolist())
    expected = math.hypot(scipy.stats.sem(a), scipy.stats.sem(b))
    assert some.unpaired_error == pytest.approx(expected, rel=1e-9)
    scale = np.abs(np.array(pairs)).max()
    if min(a.std(), b.std()) > 1e-6 * scale:
        assert some.correlation == pytest.approx(scipy.stats.pearsonr(a, b)[0], abs=1e-6)


@given(st.data(), st.integers(2, 40))
def test_clustered_errors_are_those_of_statsmodels(data: st.DataObject, clusters: int) -> None:
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=clusters, max_size=clusters))
    rng = np.random.default_rng(sum(sizes))
    labels = np.repeat(np.arange(clusters), sizes)
    d = rng.normal(0.1, 1, len(labels)) + rng.normal(0, 1, clusters)[labels]
    totals = [float(d[labels == i].sum()) for i in range(clusters)]
    found = clustered_difference(sizes, totals, float(d.mean()), 0.9)
    import statsmodels.api

    fit = statsmodels.api.OLS(d, np.ones(len(d))).fit(
        cov_type="cluster",
        # Without the usual factor, which is 1 for a mean but for G / (G - 1).
        cov_kwds={"groups": labels, "use_correction": True, "df_correction": True},
        use_t=True,
    )
    assert found.standard_error == pytest.approx(fit.bse[0], rel=1e-9)
    assert found.interval is not None
    assert found.interval[:2] == pytest.approx(fit.conf_int(0.1)[0], rel=1e-9, abs=1e-9)
    assert found.test is not None
    assert found.test.p == pytest.approx(fit.pvalues[0], rel=1e-8)


@pytest.mark.parametrize("n", [2, 5, 13])
def test_all_sign_flips_are_those_of_scipy(n: int) -> None:
    values = normal(n, 0.5, n)
    expected = scipy.stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_test(cells_of(values), 10_000, 1).p == pytest.approx(expected.pvalue)


def test_random_sign_flips_are_near_those_of_scipy() -> None:
    values = normal(60, 0.25, 4)
    expected = scipy.stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=20_000, rng=1
    )
    found = sign_flip_test(cells_of(values), 20_000, 1)
    assert found.p == pytest.approx(expected.pvalue, abs=8 * math.sqrt(found.p / 20_000))


@pytest.mark.parametrize("values", [normal(40, 0.2, 1), skewed(60, 2), skewed(500, 3)])
@pytest.mark.parametrize("level", [deep(0.8), 0.95])
def test_bootstrap_intervals_are_near_those_of_scipy(values: list[float], level: float) -> None:
    found = bootstrap_intervals(cells_of(values), 20_000, level, 3)
    error = float(scipy.stats.sem(values))
    for method, interval in zip(("percentile", "bca"), found, strict=True):
        expected = scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=20_000, confidence_level=level, method=method, rng=1
        ).confidence_interval
        assert interval.low == pytest.approx(expected.low, abs=0.15 * error)
        assert interval.high == pytest.approx(expected.high, abs=0.15 * error)


def test_the_expansion_is_near_the_bootstrap_of_scipy() -> None:
    values = skewed(21_000, 5)
    found = bootstrap_intervals(cells_of(values), 1000, 0.95, 3)
    error = float(scipy.stats.sem(values))
    # Leaving out each of so many values in turn takes seconds.
    methods = ("percentile", "bca") if is_deep() else ("percentile",)
    for method, interval in zip(methods, found, strict=is_deep()):
        expected = scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=1000, method=method, rng=1, batch=100
        ).confidence_interval
        assert interval.method.endswith("(Cornish-Fisher)")
        assert interval.low == pytest.approx(expected.low, abs=0.2 * error)
        assert interval.high == pytest.approx(expected.high, abs=0.2 * error)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=examples(30))
def test_holm_is_that_of_statsmodels(values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(values, method="holm")[1]
    assert holm(values) == pytest.approx(expected.tolist())


def test_the_detectable_difference_has_its_power() -> None:
    from statsmodels.stats.power import TTestPower

    a, b = normal(2000, 0.0, 1), normal(2000, 0.0, 2)
    found = estimated(a, b)
    assert found.detectable is not None
    assert found.needed_for_point is not None
    deviation = float(np.std(np.subtract(a, b), ddof=1))
    power = TTestPower().power(found.detectable / deviation, 2000, 0.05)
    assert power == pytest.approx(0.8, abs=0.001)
    needed = TTestPower().solve_power(0.01 / deviation, alpha=0.05, power=0.8)
    assert found.needed_for_point == pytest.approx(needed, rel=0.001)


def test_shares_of_ranks_are_near_those_of_numpy() -> None:
    rng = np.random.default_rng(4)
    columns = rng.normal(0, 1, (4, 400)) + rng.normal(0, 1, 400) + np.arange(4)[:, None] * 0.03
    some = RankedScores(4)
    some.add(columns.T)
    found = some.ranking("m", "ABCD", 5000, 1)
    assert found is not None
    means = np.array([columns[:, rng.integers(0, 400, 400)].mean(axis=1) for _ in range(5000)])
    ranks = 5 - scipy.stats.rankdata(means, axis=1)
    for one in found.ranks:
        run = "ABCD".index(one.label)
        assert one.mean == pytest.approx(columns[run].mean())
        assert one.share == pytest.approx((ranks[:, run] == one.rank).mean(), abs=0.04)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1e9 + x for x in normal(5000, 0.0, 1)], [1e9 + x for x in normal(5000, 0.1, 2)]),
        ([1e-9 * x for x in normal(5000, 0.0, 1)], [1e-9 * x for x in normal(5000, 0.1, 2)]),
        ([0.5] * 3000, normal(3000, 0.52, 3)),
    ],
)
def test_edges_of_t_are_those_of_scipy(a: list[float], b: list[float]) -> None:
    found = estimated(a, b)
    expected = scipy.stats.ttest_rel(a, b)
    assert found.test is not None
    assert found.test.p == pytest.approx(expected.pvalue, rel=1e-6)
