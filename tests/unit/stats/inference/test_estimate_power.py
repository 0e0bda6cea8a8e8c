"""The smallest detectable difference."""

from statistics import NormalDist

import pytest

from evalstream.stats.inference.estimate import detectable_difference, effect_power, samples_needed


def test_the_usual_factor_is_2_8() -> None:
    assert detectable_difference(0.01, 0.95) == pytest.approx(0.0280158, rel=1e-5)


def test_half_the_difference_needs_four_times_the_samples() -> None:
    assert samples_needed(1000, 0.02, 0.01) == 4000
    assert samples_needed(1000, 0.02, 10) == 2


def test_the_detectable_difference_has_a_power_of_80_percent() -> None:
    size = detectable_difference(0.02, 0.95)
    found = effect_power(size, 500, 0.02, None, 0.95)
    assert found.power == pytest.approx(0.8)
    assert (found.needed, found.needed_without_noise) == (500, None)


def test_the_power_is_that_of_a_normal_test() -> None:
    normal = NormalDist()
    power = normal.cdf(0.05 / 0.0436 - normal.inv_cdf(0.975))
    assert effect_power(0.05, 97, 0.0436, None, 0.95).power == pytest.approx(power)


def test_endless_repeats_leave_the_variance_between_samples() -> None:
    found = effect_power(0.01, 1000, 0.05, 0.03, 0.95)
    between = effect_power(0.01, 1000, 0.04, None, 0.95)
    assert found.needed_without_noise == between.needed
    assert effect_power(0.01, 1000, 0.03, 0.05, 0.95).needed_without_noise == 2
