"""Tallies of changes: merging is associative, and keeps the first places."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from evalstream.model.changes import (
    MOST_PLACES,
    NULL_DROPPED,
    TO_LIST,
    Applied,
    Change,
    ChangeClass,
    ChangeKind,
    ChangeTally,
    Example,
)

CHANGES = [Change(NULL_DROPPED, "/a"), Change(NULL_DROPPED, "/b"), Change(TO_LIST, "/a")]
ROWS = st.lists(st.lists(st.sampled_from(CHANGES), max_size=4), max_size=12)


def applied(change: Change, where: str = "/a") -> Applied:
    return Applied(change, Example(where, "null", None))


def tallied(rows: list[list[Change]]) -> ChangeTally:
    tally = ChangeTally()
    for line, changes in enumerate(rows, 1):
        tally.add_each(map(applied, changes), line)
    return tally


def joined(parts: list[list[list[Change]]]) -> ChangeTally:
    def add(whole: tuple[ChangeTally, int], part: list[list[Change]]) -> tuple[ChangeTally, int]:
        whole[0].merge(tallied(part), whole[1])
        return whole[0], whole[1] + len(part)

    return reduce(add, parts, (ChangeTally(), 0))[0]


@given(ROWS, ROWS, ROWS)
def test_it_does_not_matter_where_rows_are_cut(
    a: list[list[Change]], b: list[list[Change]], c: list[list[Change]]
) -> None:
    whole = tallied(a + b + c)
    assert joined([a, b, c]) == whole
    assert joined([a + b, c]) == joined([a, b + c])
    for change, seen in whole.seen.items():
        lines = [line for line, row in enumerate(a + b + c, 1) if change in row]
        assert seen.times == len(lines)
        assert seen.lines == tuple(lines[:MOST_PLACES])


def test_changes_of_documents_have_no_lines() -> None:
    decided = Change(ChangeKind("x", ChangeClass.DECIDED, "x"), "/x")
    tally = ChangeTally()
    assert not tally
    tally.add_each([applied(CHANGES[0]), applied(CHANGES[0], "/other"), applied(decided)])
    tally.add_each([applied(decided)])
    assert tally
    mechanical = tally.seen[CHANGES[0]]
    assert mechanical.times == 1
    assert mechanical.example == Example("/a", "null", None)
    assert mechanical.lines == ()
    assert tally.seen[decided].times == 2
