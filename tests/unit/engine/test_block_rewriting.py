"""Repairs of lines: what is not repaired stays, and every row keeps its number."""

from __future__ import annotations

import itertools

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.engine.block_rewriting import CleanLines, LineRepairs, clean_lines
from evalstream.model.block import Lines
from evalstream.model.changes import (
    BLANK_LINES,
    BYTE_ORDER_MARK,
    FINAL_NEWLINE,
    LINE_ENDS,
    ChangeKind,
)

NONE = LineRepairs(byte_order_mark=False, line_ends=False, blank_lines=False, final_newline=False)
ALL = LineRepairs()
MARK = b"\xef\xbb\xbf"
ROWS = [b'{"a": 1}', b'{"a":\r2} ', b" {}", b"x" * 40]
FRAGMENTS = [*ROWS, b"\n", b"\r\n", b" \t", b"\r", MARK, b"\n\n"]


def cleaned(data: bytes, repairs: LineRepairs = ALL, longest: int = 1000) -> CleanLines:
    """Repair the lines of a whole file."""
    return clean_lines(Lines(data, final=True), longest, repairs)


def counts(clean: CleanLines) -> dict[ChangeKind, tuple[int, tuple[int, ...]]]:
    """Return how often each repair was made, and on which lines."""
    return {change.kind: (seen.times, seen.lines) for change, seen in clean.tally.seen.items()}


def test_clean_lines_are_not_copied() -> None:
    data = b'{"a": 1}\n{"b": 2}\n'
    clean = cleaned(data)
    assert clean.rows is data
    assert (clean.numbers, clean.lines, bool(clean.tally)) == (None, None, False)


def test_every_repair_is_counted_with_its_lines() -> None:
    clean = cleaned(MARK + b"{}\r\n\n \t\r\n[1]\n{}\r\r\n  {}")
    assert clean.rows == b"{}\n[1]\n{}\n  {}\n"
    assert list(clean.numbers or ()) == [1, 4, 5, 6]
    assert clean.lines == 6
    assert counts(clean) == {
        BYTE_ORDER_MARK: (1, (1,)),
        LINE_ENDS: (2, (1, 5)),
        BLANK_LINES: (2, (2, 3)),
        FINAL_NEWLINE: (1, (6,)),
    }
    assert clean.restore_lines(clean.rows) == clean.rows


def test_a_mark_counts_only_at_the_start_of_the_file() -> None:
    clean = clean_lines(Lines(MARK + b"{}\n", base=100), 1000, ALL)
    assert clean.rows == MARK + b"{}\n"
    assert not clean.tally


def test_a_block_that_is_not_the_last_has_all_its_newlines() -> None:
    clean = clean_lines(Lines(b"{}\n{}\r\n", base=50), 1000, ALL)
    assert clean.rows == b"{}\n{}\n"
    assert counts(clean) == {LINE_ENDS: (1, (2,))}


@pytest.mark.parametrize("final", [False, True])
def test_lines_above_the_limit_are_left(*, final: bool) -> None:
    long = b"x" * 50
    clean = clean_lines(Lines(b"{}\n" + long, final=final), 20, ALL)
    assert clean.rows == b"{}\n"
    assert [(row.line, row.reason) for row in clean.left] == [
        (2, "the line is longer than 20 bytes")
    ]
    overlong = clean_lines(Lines(b"xxxx", base=9, overlong=True), 20, ALL)
    assert (overlong.rows, overlong.lines, len(overlong.left)) == (b"", 1, 1)


@bounded(max_examples=examples(300))
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.tuples(*[st.booleans()] * 4))
def test_what_is_not_repaired_stays(fragments: list[bytes], chosen: tuple[bool, ...]) -> None:
    data, repairs = b"".join(fragments), LineRepairs(*chosen)
    clean = cleaned(data, repairs)
    assert clean.restore_lines(clean.rows) == repaired(data, repairs)
    assert not {b"", b" \t", b" \t\r"} & set(clean.rows.split(b"\n")[:-1])
    assert not clean.rows or clean.rows.endswith(b"\n")
    if clean.rows.startswith(MARK):
        return  # a row that begins with a mark is left: it must not become the first
    again = cleaned(clean.restore_lines(clean.rows), repairs)
    assert not again.tally
    assert again.restore_lines(again.rows) == clean.restore_lines(clean.rows)


def repaired(data: bytes, repairs: LineRepairs) -> bytes:
    """Repair a whole file in the plainest way."""
    mark = MARK if data.startswith(MARK) else b""
    *lines, last = data.removeprefix(MARK).split(b"\n")
    made = [*((line, b"\n") for line in lines), *([(last, b"")] if last else [])]
    out = b"" if repairs.byte_order_mark else mark
    for line, end in made:
        is_blank = not line.strip(b" \t\r")
        if is_blank and repairs.blank_lines:
            continue
        out += line.rstrip(b"\r") if repairs.line_ends else line
        out += b"\n" if not end and not is_blank and repairs.final_newline else end
    return out


def test_the_mark_is_removed_once() -> None:
    for repairs, kept in itertools.product([ALL, NONE], [b"", b"{}\n"]):
        clean = cleaned(MARK + kept, repairs)
        assert clean.rows == kept
        assert clean.restore_lines(clean.rows) == (kept if repairs is ALL else MARK + kept)
