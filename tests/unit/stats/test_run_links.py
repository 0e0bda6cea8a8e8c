"""The links of a run come in the order of its lines."""

from array import array

from evalstream.stats.run_links import LinkKey, _in_order


def test_groups_and_their_rows_are_in_the_order_of_lines() -> None:
    one, other = LinkKey(1, 1, 1), LinkKey(2, 2, 2)

    def packed(*lines: int) -> bytes:
        """Return rows whose words before the line fall while the lines rise."""
        words = [word for line in lines for word in (90 - line, 80 - line, line, line)]
        return array("Q", words).tobytes()

    found = _in_order([(one, packed(7, 5)), (other, packed(3)), (one, packed(6))])
    assert [(key, words.tobytes()) for key, words in found] == [
        (other, packed(3)),
        (one, packed(5, 6, 7)),
    ]
