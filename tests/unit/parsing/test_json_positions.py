"""Tests of the lines and columns of JSON Pointers."""

import json
from typing import Any

from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.model.finding import Position
from evalstream.parsing.json import UTF8_MARK, pointer
from evalstream.parsing.json_positions import find_positions

TEXT = """{
  "name": "größe", "list": [1, {"a": [], "b~/\\u00e9": null}, "]"],
  "deep": {"er": {"est": true}}
}"""

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3) | st.sampled_from(
    ["0", "{", '"']
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from(["[", '\\"', "}", ","]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def found(text: str | bytes, *pointers: str) -> list[tuple[int, int] | None]:
    """Return line and column of each pointer."""
    data = text if isinstance(text, bytes) else text.encode()
    places = find_positions(data, pointers)
    return [tuple(places[one]) if one in places else None for one in pointers]  # type: ignore[misc]


def test_a_value_is_where_it_begins_in_characters() -> None:
    assert found(TEXT, "", "/name", "/list", "/list/0", "/list/1/b~0~1é", "/list/2") == [
        (1, 1),
        (2, 11),
        (2, 28),
        (2, 29),
        (2, 55),
        (2, 62),
    ]
    assert found(TEXT, "/deep/er/est") == [(3, 26)]


def test_a_missing_member_is_where_its_object_is() -> None:
    assert found(TEXT, "/missing", "/deep/er/missing", "/list/1/c") == [(1, 1), (3, 18), (2, 32)]


@each("nothing", ["/list/3", "/list/-", "/list/x", "/list/01", "/name/x", "/a/b", "/list/0/x/y"])
def test_a_pointer_that_names_nothing_has_no_position(nothing: str) -> None:
    assert found(TEXT, nothing) == [None]


def test_no_pointers_cost_nothing() -> None:
    assert find_positions(b"not JSON", []) == {}


def test_a_byte_order_mark_takes_no_column() -> None:
    assert found(UTF8_MARK + b'{"a": 1}', "", "/a") == [(1, 1), (1, 7)]


def test_the_last_of_repeated_names_counts() -> None:
    text = '{"a": {"b": 1},\n "a": {"c": 2}}'
    assert found(text, "/a", "/a/b", "/a/c") == [(2, 7), (2, 7), (2, 13)]


@each("text", ["", " ", '{"a"', '{"a": [1, "x', '{"a": }', "[", '{"b": "\\', "]"])
def test_what_is_not_json_has_no_more_positions(text: str) -> None:
    assert found(text, "/a/1/c", "/z/y") == [None, None]


def test_what_comes_before_an_error_is_found() -> None:
    assert found('{"a": 1,\n "b": [2, }', "/a", "/b/0", "/c") == [(1, 7), (2, 8), (1, 1)]


def test_half_a_surrogate_pair_is_named_as_findings_name_it() -> None:
    assert found('{"\\ud800": 1}', "/\ufffd") == [(1, 12)]


def test_numbers_that_json_does_not_have_are_passed_over() -> None:
    assert found('{"a": NaN, "b": [-Infinity, 2]}', "/a", "/b/1") == [(1, 7), (1, 29)]


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans(), st.booleans())
def test_every_value_is_found_where_a_reader_finds_it(
    value: Any, indent: int | None, is_ascii: bool, has_mark: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    data = (UTF8_MARK if has_mark else b"") + text.encode()
    lines = text.split("\n")
    everything = dict(_values(value, ()))
    places = find_positions(data, everything)
    assert places.keys() == everything.keys()
    for path, expected in everything.items():
        line, column = places[path]
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert json.JSONDecoder().raw_decode(rest)[0] == expected


def _values(value: Any, path: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Return every value in a value with its pointer."""
    found = [(pointer(path), value)]
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            found += _values(one, (*path, key))
    return found


def test_a_place_at_the_end_of_a_long_line_is_counted_in_characters() -> None:
    text = json.dumps({"list": [{"é": [1, 2]}] * 50_000, "end": 1}, ensure_ascii=False).encode()
    assert find_positions(text, ["/end"]) == {"/end": Position(1, len(text.decode()) - 1)}
