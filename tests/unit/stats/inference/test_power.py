"""The smallest detectable difference."""

import pytest

from evalstream.stats.inference.bounds import detectable_difference, samples_needed


def test_the_usual_factor_is_2_8() -> None:
    assert detectable_difference(0.01, 0.95) == pytest.approx(0.0280158, rel=1e-5)


def test_half_the_difference_needs_four_times_the_samples() -> None:
    assert samples_needed(1000, 0.02, 0.01) == 4000
    assert samples_needed(1000, 0.02, 10) == 2
