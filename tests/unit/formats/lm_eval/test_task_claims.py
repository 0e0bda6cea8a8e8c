"""Errors that are drawn again: as many draws as the time allows."""

from evalstream.formats.lm_eval.task_claims import MOST_DRAWS, resampled_error


def test_few_values_are_not_drawn_without_end() -> None:
    found = resampled_error([0.5], lambda drawn: drawn[0], 10**30)
    assert found == (0.0, MOST_DRAWS, False)
