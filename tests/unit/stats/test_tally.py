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


def test_a_counter_sums_occurrences_and_keeps_the_first_line() -> None:
    counter, later = FirstSeenCounter(), FirstSeenCounter()
    counter.add("a", 5)
    counter.add("a", 3, 2)
    later.add("a", 1)
    later.add("b", 2)
    counter.merge(later, 10)
    assert counter.entries() == [("a", 4, 3), ("b", 1, 12)]
    assert (counter.count("a"), counter.count("c"), counter.total()) == (4, 0, 5)
