"""What must hold of the splitter of arrays, wherever its input is cut and whatever is in it."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
from depth import examples
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalstream.parsing import array_elements
from evalstream.parsing.array_elements import ArrayError, Element
from evalstream.parsing.array_splitter import SHOWN_AFTER_ERROR, ArraySplitter

LONGEST = 1 << 20
SPACES = ["", " ", "\n", "\r\n", "\t", " \n\n  "]
LAYOUTS: list[dict[str, Any]] = [
    {"separators": (",", ":")},
    {"indent": 2},
    {"indent": "\t", "ensure_ascii": False},
    {"ensure_ascii": False},
]
NOT_CLOSED = "the array is not closed"
NOT_BEGUN = "the file does not begin with ["
MALFORMED = "an element is not valid JSON, so the start of the next one is unknown"


class Array(NamedTuple):
    """The bytes of an array, and the elements and values that it was put together from."""

    data: bytes
    expected: list[Element]
    values: list[Any]


class Outcome(NamedTuple):
    found: list[Element]
    issue: ArrayError | None
    lines: int


def values() -> st.SearchStrategy[Any]:
    leaves = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.integers(min_value=10**30)
        | st.floats()
        | st.text(max_size=8)
        | st.text(alphabet='\\"\n{}[],:u/é\u2028😀\x00', max_size=8)
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.dictionaries(st.text(max_size=4), inner, max_size=4) | st.lists(inner, max_size=3)
        ),
        max_leaves=8,
    )


def members() -> st.SearchStrategy[Any]:
    row = st.dictionaries(st.sampled_from(["id", "é", 'a"b', "turns"]), values(), min_size=1)
    return row | row | row | values()


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    """Draw an array in one of many layouts, with its elements as they must be found."""
    wanted = draw(st.lists(members(), max_size=3)) * draw(st.sampled_from([1, 1, 3]))
    layout, newline = draw(st.sampled_from(LAYOUTS)), draw(st.sampled_from(["\n", "\r\n"]))
    usual = draw(st.sampled_from(SPACES))
    spaces = st.sampled_from(SPACES) if draw(st.booleans()) else st.just(usual)
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    data, found = mark + draw(spaces).encode() + b"[", []
    for index, value in enumerate(wanted):
        data += b"," * (index > 0) + draw(spaces).encode()
        text = json.dumps(value, **layout).replace("\n", newline).encode()
        found.append(Element(text, len(data), data.count(b"\n") + 1))
        data += text + draw(spaces).encode()
    return Array(data + b"]" + draw(spaces).encode(), found, wanted)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def split(data: bytes, size: int = LONGEST, longest: int = LONGEST) -> Outcome:
    splitter = ArraySplitter(longest)
    found = [element for piece in pieces(data, size) for element in splitter.feed(piece)]
    found += splitter.end()
    # Columns are tested with the positions of documents.
    return Outcome([one._replace(column=None) for one in found], splitter.issue, splitter.lines)


def split_at(data: bytes, cuts: list[int]) -> Outcome:
    splitter = ArraySplitter(LONGEST)
    ends = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    found = [element for cut in pairwise(ends) for element in splitter.feed(data[slice(*cut)])]
    found += splitter.end()
    # Columns are tested with the positions of documents.
    return Outcome([one._replace(column=None) for one in found], splitter.issue, splitter.lines)


def lines_of(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))


def cuts() -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(min_value=0, max_value=2000), max_size=12)


@settings(max_examples=examples(60))
@given(arrays(), cuts())
def test_elements_are_the_spans_of_the_values(array: Array, cuts: list[int]) -> None:
    for outcome in (split(array.data), split(array.data, 1), split_at(array.data, cuts)):
        assert outcome == (array.expected, None, lines_of(array.data))
    for element, value in zip(array.expected, array.values, strict=True):
        assert array.data[element.offset :].startswith(element.text)
        assert repr(json.loads(element.text)) == repr(value)


@settings(max_examples=examples(80))
@given(arrays(), st.integers(min_value=0), cuts())
def test_a_truncated_array_gives_its_whole_elements(
    array: Array, cut: int, cuts: list[int]
) -> None:
    end = cut % (array.data.rindex(b"]") + 1)
    data = array.data[:end]
    outcome = split(data)
    assert outcome == split(data, 1) == split_at(data, cuts)
    begun = b"[" in data
    assert outcome.issue is not None
    assert outcome.issue[:3] == (
        NOT_CLOSED if begun else NOT_BEGUN,
        end if begun or not data.startswith(b"\xef") or len(data) >= 3 else 0,
        data.count(b"\n") + 1,
    )
    whole = [element for element in outcome.found if element.whole]
    assert whole == array.expected[: len(whole)]
    rest = [element for element in array.expected[len(whole) :] if element.offset < end]
    assert outcome.found[len(whole) :] == [
        Element(data[element.offset :], element.offset, element.line, whole=False)
        for element in rest
    ]
    assert len(rest) <= 1


@given(
    arrays(),
    st.integers(min_value=0),
    st.integers(min_value=0, max_value=3),
    st.sampled_from([b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\n", b"\0", b"0", b"-"])
    | st.binary(max_size=3),
    cuts(),
)
def test_with_garbage_it_agrees_with_the_standard_parser(
    array: Array, place: int, dropped: int, garbage: bytes, cuts: list[int]
) -> None:
    start = place % (len(array.data) + 1)
    data = (array.data[:start] + garbage + array.data[start + dropped :]).lstrip(b"\xef\xbb\xbf")
    outcome = split(data)
    assert outcome == split(data, 1) == split_at(data, cuts)
    assert (outcome.issue is None) == (read(data) is not None)
    whole = [element for element in outcome.found if element.whole]
    assert outcome.found[:-1] == whole[: len(outcome.found) - 1]
    assert all(read(b"[" + element.text + b"]") is not None for element in whole)
    assert all(data.startswith(text, offset) for text, offset, *_ in outcome.found)
    assert all(data.count(b"\n", 0, found.offset) + 1 == found.line for found in outcome.found)


def read(data: bytes) -> list[Any] | None:
    """Read a list with the standard parser, or return None."""
    try:
        value = json.loads(data.decode("latin-1"), parse_int=float)
    except ValueError:
        return None
    return value if isinstance(value, list) else None


@given(values())
@example({"a": [-0.5e-7, True, None, float("-inf"), float("nan"), 'é"\\']})
def test_no_beginning_of_a_value_is_malformed(value: Any) -> None:
    text = json.dumps(value)
    for end in range(1, len(text)):
        outcome = split(f"[{text[:end]}".encode())
        assert outcome.issue is not None
        assert outcome.issue.message == NOT_CLOSED


@each(
    ("data", "message", "offset", "line", "texts"),
    [
        (b"", NOT_BEGUN, 0, 1, []),
        (b" \n", NOT_BEGUN, 2, 2, []),
        (b"\xef\xbb", NOT_BEGUN, 0, 1, []),
        (b"\xef\xbb\xbf\xef\xbb\xbf[]", NOT_BEGUN, 3, 1, []),
        (b'\n{"a": 1}', NOT_BEGUN, 1, 2, []),
        (b"[1\n", NOT_CLOSED, 3, 2, [b"1"]),
        (b"[12", NOT_CLOSED, 3, 1, [b"12"]),
        (b"[1, 2.", NOT_CLOSED, 6, 1, [b"1", b"2."]),
        (b"[1,\n", NOT_CLOSED, 4, 2, [b"1"]),
        (b"[1,\n]", "a trailing comma before the end of the array", 4, 2, [b"1"]),
        (b"[,1]", "a value is missing before a comma", 1, 1, []),
        (b"[1,,2]", "a value is missing before a comma", 3, 1, [b"1"]),
        (b"[{}\n{}]", "a comma is missing between two elements", 4, 2, [b"{}"]),
        (b"[{}]\n{}", "unexpected data after the end of the array at byte 5", 5, 2, [b"{}"]),
        (b"[{}]\0", "unexpected data after the end of the array at byte 4", 4, 1, [b"{}"]),
        (b'[1, {"a": x}, 2]', MALFORMED, 10, 1, [b"1", b'{"a": x}, 2]']),
        (b'[{"a": "b\nc"}]', MALFORMED, 9, 1, [b'{"a": "b\nc"}]']),
        (b'[{"a": "b" "c"}]', MALFORMED, 11, 1, [b'{"a": "b" "c"}]']),
        (b'["\\u12x4"]', MALFORMED, 3, 1, [b'"\\u12x4"]']),
        (b"[oops]", MALFORMED, 1, 1, [b"oops]"]),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, LONGEST])
def test_a_broken_array_is_described(
    data: bytes, message: str, offset: int, line: int, texts: list[bytes], size: int
) -> None:
    found, issue, _ = split(data, size)
    assert issue is not None
    assert issue[:3] == (message, offset, line)
    assert issue.name == ("truncated-record" if message == NOT_CLOSED else "invalid-json")
    assert [element.text for element in found] == texts


@each("data", [b"[]", b"\xef\xbb\xbf [ ]\r\n", b"\n[\n]\n"])
def test_an_empty_array_is_fine(data: bytes) -> None:
    assert split(data, 1) == split(data) == ([], None, data.count(b"\n") or 1)


@each("size", [1, 100, LONGEST])
@pytest.mark.parametrize(("violation", "halved"), [(b"x ", 0), (b"xy ", 1)])
def test_of_a_malformed_element_little_is_kept(size: int, violation: bytes, halved: int) -> None:
    data = b'[{"a": ' + violation + "é".encode() * 4000
    found, issue, _ = split(data, size)
    assert issue == (MALFORMED, 7, 1, "invalid-json", 8)
    assert found == [Element(data[1 : 7 + SHOWN_AFTER_ERROR - halved], 1, 1, whole=False)]
    assert found[0].text.decode().endswith("é")


def test_after_a_violation_nothing_is_kept_but_lines_are_counted() -> None:
    splitter = ArraySplitter(LONGEST)
    splitter.feed(b"[x\n" + b"y\n" * 100)
    assert splitter.issue is not None
    for _ in range(50):
        assert splitter.feed(b"{}\n" * 1000) == []
        assert splitter._buffered == 0
    splitter.feed(b"last")
    assert splitter.end() == []
    assert splitter.lines == 50102


@pytest.mark.parametrize("size", [1, 7, LONGEST])
@each("more", [1, 3, 4, 5, 500])
def test_a_longer_element_than_allowed_ends_the_array(more: int, size: int) -> None:
    fits, longer = b'"' + b"x" * 98 + b'"', b'"' + b"x" * (98 + more) + b'"'
    data = b"[" + b",".join([fits] * 3 + [longer, fits]) + b"]"
    found, issue, _ = split(data, size, longest=100)
    start = 1 + 3 * 101
    assert issue == (
        "an element is longer than the limit of --max-line-bytes",
        start,
        1,
        "line-too-long",
        start + 1,
    )
    assert found[:-1] == [Element(fits, 1 + 101 * index, 1) for index in range(3)]
    assert found[-1] == Element(longer[:104], start, 1, whole=False)


@pytest.mark.parametrize("size", [999, LONGEST])
def test_an_element_nested_too_deep_ends_the_array(size: int) -> None:
    deep = b"[" * 200_000
    found, issue, _ = split(b"[1,\n" + deep + b"1" + b"]" * 200_001, size)
    assert issue == ("an element is nested too deeply to parse", 4, 2, "too-deep-or-too-big", 1)
    assert [(element.offset, element.whole) for element in found] == [(1, True), (4, False)]
    assert found[1].text.startswith(deep[:900])


class CountingDecoder:
    """A decoder that adds up how many bytes lie before it each time."""

    def __init__(self) -> None:
        self.decoder, self.calls, self.scanned = array_elements.DECODER, 0, 0

    def raw_decode(self, text: str, start: int) -> Any:
        self.calls += 1
        self.scanned += len(text) - start
        return self.decoder.raw_decode(text, start)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> CountingDecoder:
    decoder = CountingDecoder()
    monkeypatch.setattr(array_elements, "DECODER", decoder)
    return decoder


@each(
    ("element", "times"),
    [
        (b'{"a":[' + b'{"b": 1.5},\n' * 80_000 + b"0]}", 3.1),
        (b'"' + b'x\\" ' * 250_000 + b'"', 5.1),
        (b"7" * LONGEST, 3.1),
    ],
    ids=["object", "string", "number"],
)
def test_a_huge_element_costs_linear_time(
    counting: CountingDecoder, element: bytes, times: float
) -> None:
    found, issue, _ = split(b"[" + element + b"]", 1 << 12)
    assert issue is None
    assert [one.text == element for one in found] == [True]
    assert counting.scanned < times * len(element)


def rows(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": number, "turns": [{"role": "é"}, {"role": "b"}], **more} for number in range(count)
    ]


@each("layout", LAYOUTS)
def test_rows_that_look_alike_are_taken_together(
    counting: CountingDecoder, layout: dict[str, Any]
) -> None:
    data = json.dumps(rows(5000), **layout).encode()
    found, issue, _ = split(data, 1 << 14)
    assert issue is None
    assert [msgspec.json.decode(element.text) for element in found] == rows(5000)
    assert counting.calls < 1000


@pytest.mark.parametrize("size", [50, 1 << 10, LONGEST])
@each(
    "row",
    [["a", "],[", ["],[", "],["]], [[1], [2]], {"id": [{"id": 1}, {"id": 2}]}, 0, "],[", '","'],
    ids=repr,
)
def test_what_looks_like_the_end_of_an_element_misleads_nobody(row: Any, size: int) -> None:
    text = json.dumps(row, separators=(",", ":")).encode()
    found, issue, _ = split(b"[" + b",".join([text] * 500) + b"]", size)
    assert issue is None
    step = len(text) + 1
    assert found == [Element(text, 1 + step * index, 1) for index in range(500)]


def test_rows_that_only_the_standard_parser_takes_are_taken_one_by_one(
    counting: CountingDecoder,
) -> None:
    data = json.dumps(rows(1000, score=float("nan"))).encode()
    found, issue, _ = split(data, 1 << 14)
    assert issue is None
    assert len(found) == 1000
    assert counting.calls >= 1000
