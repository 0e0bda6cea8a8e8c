"""The values of one metric."""

from evalstream.formats.lm_eval.metric_values import MetricValues


def test_values_are_counted_by_what_they_are() -> None:
    values = MetricValues()
    for value in (1, 0.5, True, "0.5", "nan", "x", "", "٣", None, [1], {}, float("nan")):
        values.add(value)
    values.settle()
    assert (values.texts, values.others, values.sums.unscored) == (2, 6, 1)
    assert values.rows == 12
