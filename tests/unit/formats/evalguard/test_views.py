"""Documents as rules look at them."""

from evalstream.formats.evalguard.views import Table, metric_ranges


def test_ranges_come_in_the_order_of_their_values() -> None:
    given = [{"min": 0.8}, {"max": 0.5}, {"min": 0.5, "max": 0.8}, "no range"]
    table = Table(("thresholds",), "sums", {"accuracy": given})
    assert [one.number for one in metric_ranges(table, "accuracy")] == [1, 2, 0]
    assert metric_ranges(table, "f1") == []
