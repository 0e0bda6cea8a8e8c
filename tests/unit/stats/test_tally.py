"""What the rows of a run amount to."""

from evalstream.stats.tally import FirstSeenCounter


def test_counters_are_equal_if_they_saw_the_same() -> None:
    one, other = FirstSeenCounter(), FirstSeenCounter()
    for counter in (one, other):
        counter.add("a", 3)
        counter.add("a", 5)
    assert one == other
    other.add("b", 7)
    assert one != other
