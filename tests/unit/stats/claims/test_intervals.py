"""Quantiles and intervals that claims are compared with, held against libraries of statistics."""

import subprocess
import sys

import pytest
import scipy
from each import each

from evalstream.stats.claims import intervals
from evalstream.stats.probability import beta_quantile, t_quantile


@each("share", [0.9, 0.95, 0.975, 0.995])
@pytest.mark.parametrize("degrees", [1, 2, 3, 19, 1318, 10**6])
def test_a_t_quantile_is_that_of_scipy(share: float, degrees: int) -> None:
    expected = float(scipy.special.stdtrit(degrees, share))
    assert t_quantile(share, degrees) == pytest.approx(expected, rel=1e-8)


@each(("a", "b"), [(0.5, 20.5), (1, 20), (13, 8), (14_041, 2), (3e5, 7e5)])
@pytest.mark.parametrize("share", [0.005, 0.025, 0.5, 0.975])
def test_a_beta_quantile_is_that_of_scipy(a: float, b: float, share: float) -> None:
    expected = float(scipy.special.betaincinv(a, b, share))
    assert beta_quantile(share, a, b) == pytest.approx(expected, rel=1e-9)


@each("right", [0, 1, 13, 20])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_of_a_share_are_those_of_statsmodels(right: int, level: float) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    found = list(intervals.share_intervals(right, 20, level))
    for method in ("beta", "jeffreys", "agresti_coull"):
        low, high = proportion.proportion_confint(right, 20, 1 - level, method)
        near = [
            ends
            for ends in found
            if (max(ends[0], 0), min(ends[1], 1)) == pytest.approx((low, high), abs=1e-9)
        ]
        assert near, method


def test_wilson_with_continuity_is_that_of_newcombe() -> None:
    # R. Newcombe 1998, table I: 81 of 263.
    found = list(intervals.share_intervals(81, 263, 0.95))
    assert any(ends == pytest.approx((0.2535, 0.3682), abs=5e-5) for ends in found)


def test_intervals_need_no_library_of_statistics() -> None:
    program = (
        "import sys; sys.modules['scipy'] = sys.modules['numpy'] = None\n"
        "from evalstream.stats.claims.evidence import Evidence\n"
        "from evalstream.stats.claims.intervals import compute_intervals\n"
        "print(len(list(compute_intervals(Evidence.of_numbers([0, 1, 1]), 0.95))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0
