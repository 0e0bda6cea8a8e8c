"""What must hold of the cutter of lines: rows are found whole, and nothing is lost round them."""

import json
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from depth import examples
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalstream.parsing import line_recovery
from evalstream.parsing.line_recovery import (
    BREAKS_OFF,
    BYTE_ORDER_MARK,
    CONTROL_BYTES,
    EMPTY,
    NO_UTF8,
    NOT_AN_OBJECT,
    NUL_BYTES,
    TOO_DEEP,
    TOO_MANY,
    LinePiece,
    find_row_start,
    split_line,
)
from evalstream.parsing.strict_json import parse_exactly

HEAD = b'{"a":'
ROW = ""
NO_VALUE = "not JSON: expecting value"
EXTRA = "not JSON: extra data"
NO_COMMA = "not JSON: expecting ',' delimiter"
WHITE = b" \t\r\n"
DEEP = 100_000

Shown = list[tuple[bytes, str]]


class Spliced(NamedTuple):
    """A line, the rows that stand in it undamaged, and where each of them begins."""

    line: bytes
    rows: list[bytes]
    starts: list[int]


class CountingDecoder:
    """Python's decoder, and how often and how far it was asked to read."""

    def __init__(self) -> None:
        self.calls = self.read_in_vain = 0
        self._decoder = json.JSONDecoder()

    def raw_decode(self, text: str, start: int = 0) -> tuple[Any, int]:
        self.calls += 1
        try:
            return self._decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            self.read_in_vain += error.pos - start
            raise


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch) -> CountingDecoder:
    counting = CountingDecoder()
    monkeypatch.setattr(line_recovery, "DECODER", counting)
    return counting


def shown(line: bytes, begins: bytes | None = HEAD) -> Shown:
    """Return the bytes and the reason of each piece."""
    return [(line[piece.start : piece.stop], piece.reason) for piece in split_line(line, begins)]


def rows_of(line: bytes, begins: bytes | None = HEAD) -> list[bytes]:
    return [line[piece.start : piece.stop] for piece in split_line(line, begins) if piece.whole]


@pytest.mark.parametrize("begins", [None, HEAD, b'{"other":', b"", b"nonsense"])
@each(
    "line",
    [
        b'{"a":1}',
        b"{}",
        b'{"b":{"a":1},"c":[{"a":2},{"a":3}]}',
        b'{"a":1,"a":2}',
        b'{"a":NaN,"b":-Infinity,"c":1e999}',
        b'{"a":"\\ud800"}',
        '{"a":"é\u2028😀"}'.encode(),
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":"{\\"a\\":1}"}',
        b'{ "a" :\t1 }',
    ],
)
def test_a_line_that_is_one_object_is_one_row(line: bytes, begins: bytes | None) -> None:
    assert split_line(line, begins) == [LinePiece(0, len(line), whole=True)]
    assert split_line(b" \t" + line + b" \r", begins) == [LinePiece(2, len(line) + 2, whole=True)]


@each(
    ("line", "reason"),
    [
        (b"[1]", NOT_AN_OBJECT),
        (b'[{"a":1},{"a":2}]', NOT_AN_OBJECT),
        (b"12", NOT_AN_OBJECT),
        (b'"text"', NOT_AN_OBJECT),
        (b"null", NOT_AN_OBJECT),
        (b'{"a":"\xff"}', NO_UTF8),
        (b"\xff\xfe", NO_UTF8),
        (b"INFO done", NO_VALUE),
        (b'"b":2}', EXTRA),
        (b'{"a":1 "b":2}', NO_COMMA),
        (b'{"a":' * DEEP + b"1" + b"}" * DEEP, TOO_DEEP),
        (b'{"a":' * DEEP, TOO_DEEP),
        (b"[" * DEEP, TOO_DEEP),
        (b'{"b":' + b"[" * DEEP + b"]" * DEEP + b"}", TOO_DEEP),
        (b"\0", NUL_BYTES),
        (b"\0" * 4096, NUL_BYTES),
        (b"\0\x01\0", CONTROL_BYTES),
        (b"\x1f", CONTROL_BYTES),
        (b"\xef\xbb\xbf", BYTE_ORDER_MARK),
        (b"", EMPTY),
        (b" \t\r", EMPTY),
    ],
)
def test_a_line_that_is_no_row_says_why(line: bytes, reason: str) -> None:
    for begins in (None, HEAD):
        assert split_line(line, begins) == [LinePiece(0, len(line), False, reason)]


WRITTEN = b'{"a":[1.5,-0.25e+10,true,false,null,"x\\u00e9\\\\\\"y"],"b":{"c":-Infinity,"d":NaN}}'


@each("length", range(1, len(WRITTEN)))
def test_a_row_breaks_off_wherever_it_is_cut(length: int) -> None:
    torn = WRITTEN[:length]
    assert shown(torn) == [(torn, BREAKS_OFF)]
    assert shown(torn + b"\0" + WRITTEN) == [
        (torn, BREAKS_OFF), (b"\0", NUL_BYTES), (WRITTEN, ROW),
    ]  # fmt: skip
    assert shown(torn + WRITTEN) == [(torn, BREAKS_OFF), (WRITTEN, ROW)]
    assert shown(WRITTEN + torn) == [(WRITTEN, ROW), (torn, BREAKS_OFF)]


def test_a_row_cut_inside_a_letter_breaks_off() -> None:
    torn = '{"a":"é'.encode()[:-1]
    assert shown(torn + b'{"a":2}') == [(torn, BREAKS_OFF), (b'{"a":2}', ROW)]


@pytest.mark.parametrize("begins", [None, HEAD])
@each(
    "expected",
    [
        [(b'{"a":1}', ROW), (b'{"a":2}', ROW)],
        [(b'{"a":1}', ROW), (b'{"b":2}', ROW), (b'{"a":3}', ROW)],
        [(b'{"a":1,"b":"te', BREAKS_OFF), (b'{"a":2,"b":"x"}', ROW)],
        [(b'{"a":1,"b":"te', BREAKS_OFF), (b'{ "a"\t: 2}', ROW)],
        [(b'{"a":1}', ROW), (b'{"a":2,"b":[', BREAKS_OFF)],
        [(b'{"a":1,', BREAKS_OFF), (b'{"a":2,"b":', BREAKS_OFF), (b'{"a":3}', ROW)],
        [(b'{"a":', BREAKS_OFF), (b'{"a":2}', ROW)],
        [(b'{"a":1}', ROW), (b'{"a":"te', BREAKS_OFF), (b'{"a":3}', ROW), (b'{"a', BREAKS_OFF)],
        [(b'{"a":1,"b":"te', BREAKS_OFF), (b'{"a":2}', ROW), (b'xt"}', NO_VALUE)],
        [(b'{"a":1,"b":', BREAKS_OFF), (b'{"a":2}', ROW), (b'{"t":5},"z":1}', EXTRA)],
        [(b"\0\0", NUL_BYTES), (b'{"a":1}', ROW), (b"\0", NUL_BYTES), (b'{"b":2}', ROW)],
        [(b'{"a":1}', ROW), (b"\0\0", NUL_BYTES)],
        [(b'{"a":"x', BREAKS_OFF), (b"\0\0", NUL_BYTES), (b'y"}', NO_VALUE)],
        [(b'{"a":"x', BREAKS_OFF), (b"\0", NUL_BYTES), (b'","b":{"c":1}}', EXTRA)],
        [(b'{"a":1}', ROW), (b"\x02", CONTROL_BYTES), (b'{"a":2', BREAKS_OFF)],
        [(b"INFO done", NO_VALUE), (b'{"a":1}', ROW), (b'{"a":2}', ROW)],
        [(b"2024-05-01", EXTRA), (b'{"a":1}', ROW)],
        [(b'{"a":1}', ROW), (b",", NO_VALUE)],
        [(b"\xef\xbb\xbf", BYTE_ORDER_MARK), (b'{"a":1}', ROW)],
        [(b"[1]", NOT_AN_OBJECT), (b'{"a":1}', ROW)],
        [(b'{"a":"\xff"}', NO_UTF8), (b'{"a":1}', ROW)],
        [(b'{"a":1}', ROW), (b"\xff", NO_UTF8), (b'{"a":2}', ROW)],
        [(b'{"a":"x', BREAKS_OFF), (b'{"a":2,"c":{"a":5},"d":[{"a":6}]}', ROW)],
        [(b'{"a":1,"b":"te', BREAKS_OFF), (b'{"a":' * DEEP, TOO_DEEP)],
        [(b'{"a":' * DEEP, TOO_DEEP), (b"\0", NUL_BYTES), (b'{"a":1}', ROW)],
    ],
)
def test_spliced_lines_are_cut_where_rows_begin(expected: Shown, begins: bytes | None) -> None:
    line = b"".join(part for part, _ in expected)
    assert shown(line, begins) == expected
    assert shown(b" \r".join(part for part, _ in expected), begins) == expected


def test_a_nested_object_that_begins_otherwise_is_no_row() -> None:
    torn = b'{"a":1,"b":[{"c":1},{"c":2}'
    for begins in (None, HEAD):
        assert shown(torn, begins) == [(torn, BREAKS_OFF)]
        assert shown(torn + b'{"a":2}', begins) == [(torn, BREAKS_OFF), (b'{"a":2}', ROW)]


@each("rest", [b",", b"]", b'],"c":"te', b', {"b":1', b' ,{"a":6},{"b'])
def test_a_nested_object_that_its_row_reads_past_is_no_row(rest: bytes) -> None:
    torn = b'{"a":1,"b":[{"a":5}' + rest
    assert shown(torn) == [(torn, BREAKS_OFF)]
    assert shown(torn + b'{"a":2}') == [(torn, BREAKS_OFF), (b'{"a":2}', ROW)]
    assert shown(b'{"a":"te' + torn) == [(b'{"a":"te', BREAKS_OFF), (torn, BREAKS_OFF)]


def test_the_last_value_of_a_torn_row_is_taken_for_a_row() -> None:
    assert shown(b'{"a": {"a": 2}') == [(b'{"a":', BREAKS_OFF), (b'{"a": 2}', ROW)]
    assert shown(b'{"a": {"a": 2}}') == [(b'{"a": {"a": 2}}', ROW)]


@each("rest", [b',{"b":2}],"c":3}', b"]}", b"}", b' , "c":3}'])
def test_what_is_left_of_a_row_without_its_head_is_no_row(rest: bytes) -> None:
    left = b'{"b":1}' + rest
    for before in (b"", b"\0", b'{"a":1}'):
        assert rows_of(before + left) == ([before] if before.startswith(b"{") else [])
        assert shown(before + left)[-1] == (left, EXTRA)


@each(
    ("line", "begins", "rows"),
    [
        (b'{"b":1}', HEAD, [b'{"b":1}']),
        (b'{"b":1}{"a":2}', HEAD, [b'{"b":1}', b'{"a":2}']),
        (b'INFO {"b":1}', HEAD, []),
        (b'INFO {"b":1}', None, [b'{"b":1}']),
        (b'INFO {} {"b":1}', None, []),
        (b'INFO {} {"b":1}', b'{ "b" :', [b'{"b":1}']),
        (b'{{"a":1}', None, []),
        (b'{{"a":1}', HEAD, [b'{"a":1}']),
        (b"{}{}", None, [b"{}", b"{}"]),
        (b'{}\0{"b":1}', None, [b"{}", b'{"b":1}']),
        (b'INFO {"a.b":1} {"aXb":1}', None, [b'{"a.b":1}', b'{"aXb":1}']),
        (b'INFO {"aXb":1}', b'{"a.b":', []),
        ('x {"é":1}'.encode(), '{"é":'.encode(), ['{"é":1}'.encode()]),
    ],
)
def test_rows_inside_other_text_begin_as_rows_do(
    line: bytes, begins: bytes | None, rows: list[bytes]
) -> None:
    assert rows_of(line, begins) == rows


@each(
    ("line", "beginning"),
    [
        (b'{"a":1}', b'{"a":'),
        (b' {\t"schema_version" : "1"}\r', b'{"schema_version":'),
        (b'{"a b":{"c":1}}', b'{"a b":'),
        (b'{"\\"a\\\\":1}', b'{"\\"a\\\\":'),
        (b'{"":1}', b'{"":'),
        (b"{}", None),
        (b"[1]", None),
        (b"", None),
        (b'{"a"', None),
        (b'{"a\0":1}', None),
    ],
)
def test_a_row_shows_how_rows_begin(line: bytes, beginning: bytes | None) -> None:
    assert find_row_start(line) == beginning


def test_behind_too_many_torn_rows_nothing_is_looked_for(decoder: CountingDecoder) -> None:
    torn, row = b'{"a":1,', b'{"a":2}'
    few = torn * (line_recovery.TORN_CANDIDATES - 1)
    assert shown(few + row)[-1] == (row, ROW)
    many = few + torn + row + b"\0" + row
    found = shown(row + many + b" \r")
    assert found[0] == (row, ROW)
    assert found[1:-1] == [(torn, BREAKS_OFF)] * (line_recovery.TORN_CANDIDATES - 2)
    assert found[-1] == (torn + torn + row + b"\0" + row, TOO_MANY)


@each(
    "hostile",
    [
        b'{"a":',
        b'{"a":,',
        b'{"a":1,',
        b'{"a":"',
        b'{"a":\\',
        b'{"a":\0',
        b'[{"a":',
        b"{",
        b"[",
        b"{\0",
        b"}",
        b'"',
        b"\\",
        b'"a":',
        b"\xff",
        b"\xef\xbb\xbf",
        b"{ ",
    ],
)
@pytest.mark.parametrize("begins", [None, HEAD])
def test_hostile_lines_cost_a_bounded_number_of_reads(
    hostile: bytes, begins: bytes | None, decoder: CountingDecoder
) -> None:
    line = hostile * (1_000_000 // len(hostile))
    found = split_line(line, begins)
    # Each torn candidate is read once, and what is left round it once more to be named.
    assert decoder.calls <= 2 * line_recovery.TORN_CANDIDATES + 1
    assert not any(piece.whole for piece in found)


def test_no_more_than_some_lengths_are_read_in_vain(
    decoder: CountingDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_recovery, "READ_IN_VAIN_BYTES", 0)
    line = b'{"a":1,"b":' * 60 + b"[" + b"1," * 50_000
    assert [piece.reason for piece in split_line(line, HEAD)] == [TOO_MANY]
    assert decoder.read_in_vain <= (line_recovery.READ_IN_VAIN + 2) * len(line)


def test_the_nested_objects_of_a_torn_row_are_read_once(decoder: CountingDecoder) -> None:
    line = b'{"a":[' + b'{"a":{"a":{"a":1}}},' * 1000
    assert shown(line) == [(line, BREAKS_OFF)]
    assert decoder.calls == 1002


def test_what_follows_the_most_pieces_is_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_recovery, "MOST_PIECES", 3)
    row = b'{"a":1}'
    assert shown(row * 3) == [(row, ROW)] * 3
    assert shown(row * 5 + b"\0 ") == [(row, ROW)] * 3 + [(row * 2 + b"\0", TOO_MANY)]


def values() -> st.SearchStrategy[Any]:
    # No key of a nested object is "a": such an object at a torn row's end would be a row.
    keys = st.text(alphabet='bcé{"\\:', max_size=3)
    leaves = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(alphabet='\\"\n{}[],:a é\u2028😀\x00', max_size=8)
    )
    return st.recursive(
        leaves,
        lambda inner: st.dictionaries(keys, inner, max_size=3) | st.lists(inner, max_size=3),
        max_leaves=6,
    )


@st.composite
def rows(draw: st.DrawFn) -> bytes:
    """Draw a row that begins with the key that all rows begin with."""
    rest = draw(st.dictionaries(st.text(alphabet="bc:é{", min_size=1, max_size=2), values()))
    row = {"a": draw(values()), **rest}
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r")]))
    return json.dumps(row, ensure_ascii=draw(st.booleans()), separators=separators).encode()


@st.composite
def torn_rows(draw: st.DrawFn) -> bytes:
    row = draw(rows())
    return row[: draw(st.integers(1, len(row) - 1))]


def garbage() -> st.SearchStrategy[bytes]:
    """Draw text that can neither close what a torn row left open nor lead it on.

    With a bracket, a comma or a quote behind it a torn row and the whole row in its place of a
    value may be one row, byte for byte: nothing could tell the two from a nested object.
    """
    return st.text(alphabet="x1.-: \té\u2028\\\x00\x01\ufeff", max_size=6).map(str.encode)


@st.composite
def spliced(draw: st.DrawFn) -> Spliced:
    """Draw a line of whole rows, torn rows, NUL bytes and garbage in any order."""
    line, whole, starts = b"", [], []
    for _ in range(draw(st.integers(0, 7))):
        kind = draw(st.sampled_from(["row", "row", "torn", "nul", "garbage"]))
        if kind == "row":
            whole.append(draw(rows()))
            starts.append(len(line))
            line += whole[-1]
        elif kind == "torn":
            line += draw(torn_rows())
        elif kind == "nul":
            line += b"\0" * draw(st.integers(1, 5))
        else:
            line += draw(garbage())
    return Spliced(line, whole, starts)


def covers(line: bytes, found: list[LinePiece]) -> None:
    """Check that pieces are in order, do not overlap and leave out nothing but white space."""
    assert found
    assert all(first.stop <= second.start for first, second in pairwise(found))
    ends = [0, *(place for piece in found for place in (piece.start, piece.stop)), len(line)]
    assert not b"".join(line[ends[i] : ends[i + 1]] for i in range(0, len(ends), 2)).strip(WHITE)
    for piece in found:
        text = line[piece.start : piece.stop]
        assert piece.whole == (piece.reason == "")
        assert (text and text == text.strip(WHITE)) or piece.reason == EMPTY
        if piece.whole:
            parsed = parse_exactly(text, 10**6)
            assert parsed.readable
            assert isinstance(parsed.value, dict)


@settings(max_examples=examples(40), deadline=None)
@given(spliced())
@example(Spliced(b'{"a":"\\' + b'{"a":2}', [b'{"a":2}'], [7]))
def test_every_undamaged_row_is_found_and_nothing_else(case: Spliced) -> None:
    found = split_line(case.line, HEAD)
    covers(case.line, found)
    whole = [piece for piece in found if piece.whole]
    assert [piece.start for piece in whole] == case.starts
    assert [case.line[piece.start : piece.stop] for piece in whole] == case.rows


@settings(max_examples=examples(30), deadline=None)
@given(spliced(), st.none() | st.sampled_from([b"", b'{"b":', b"{", b"\xff", b'{"(":']))
def test_rows_that_stand_side_by_side_need_no_hint(case: Spliced, begins: bytes | None) -> None:
    covers(case.line, split_line(case.line, begins))
    joined = b"".join(case.rows)
    assert rows_of(joined, begins) == case.rows
    assert rows_of(b"\0\0".join(case.rows), begins) == case.rows
    if case.rows:
        torn = b'{"a":"te'
        assert rows_of(torn + joined, None) == case.rows


@settings(max_examples=examples(30), deadline=None)
@given(rows(), st.data())
def test_a_row_that_was_damaged_is_not_taken_for_one_that_was_put_in(
    row: bytes, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(row) - 1))
    damaged = row[:place] + b"\0" + row[place + 1 :]
    found = split_line(damaged, HEAD)
    covers(damaged, found)
    assert not any(piece.whole and piece.start <= place < piece.stop for piece in found)


BITS = [
    b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b" ", b"\r", b"\n", b"\t", b"\0", b"\x7f",
    b"a", b"1", b"-", b"e", b"\xff", b"\xc3", b"\xa9", b"\xef\xbb\xbf", b'{"a":', b'{"a":1}',
    b'{"b":1}', b'{"a":"x', b'"a":', b"NaN", b"tru", b"\\u12",
]  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(
    st.binary(max_size=40) | st.lists(st.sampled_from(BITS), max_size=14).map(b"".join),
    st.none() | st.sampled_from([HEAD, b'{"b":', b"{"]) | st.binary(max_size=6),
)
@example(b'{"a":"\xef\xbb\xbf{"a":1}', HEAD)
@example(b'{"a":1}\xef\xbb\xbf{"a":1}', HEAD)
def test_no_bytes_raise_and_none_are_lost(line: bytes, begins: bytes | None) -> None:
    covers(line, split_line(line, begins))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.sampled_from(BITS), max_size=7).map(b"".join),
    st.lists(st.sampled_from(BITS), max_size=7).map(b"".join),
)
@example(b'{"a":[', b"")
@example(b'{"a":"x', b'\xef\xbb\xbf{"b":1}')
def test_whole_rows_stay_whole_when_they_are_cut_again(before: bytes, behind: bytes) -> None:
    found = rows_of(before + b'{"a":1}' + behind)
    assert found or before
    for row in found:
        assert split_line(row, HEAD) == [LinePiece(0, len(row), whole=True)]
