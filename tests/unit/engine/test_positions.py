"""Tests of positions in documents that are read in parts: they are those of the whole document."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstream.engine.positions import (
    envelope_locator,
    json_locator,
    part_locator,
    place_violations,
)
from evalstream.model.finding import PlacedViolation, Position, Violation
from evalstream.parsing.json_positions import find_positions
from evalstream.parsing.object_splitter import ObjectSplitter

MEMBERS = st.dictionaries(
    st.sampled_from(["a", "ö", "b"]),
    st.none() | st.sampled_from([1, "x", "é", ["ü", 2], {"k": "]"}]),
    max_size=3,
)
VALUES = st.tuples(MEMBERS, st.lists(MEMBERS | st.just("é"), max_size=4), MEMBERS).map(
    lambda parts: {**parts[0], "items": parts[1], "z": parts[2]}
)


def split(data: bytes, cuts: list[int]) -> dict[str, Position]:
    """Return the positions of the items, of members outside them, and of members in them."""
    splitter, elements = ObjectSplitter("items", 1 << 20), []
    places = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    for start, stop in pairwise(places):
        elements += splitter.feed(data[start:stop])
    elements += splitter.end()
    found = dict(envelope_locator(splitter.envelope())(["/a", "/ö", "/z", "/z/k", "/z/b", "/none"]))
    for number, element in enumerate(elements):
        base, start_of = f"/items/{number}", Position(element.line, element.column)
        wanted = [base, f"{base}/a", f"{base}/ö/1", f"{base}/none", "/z", f"{base}0"]
        found |= part_locator(element.text, base, start_of)(wanted)
    return found


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans(), st.lists(st.integers(0, 999)))
def test_positions_in_parts_are_those_of_the_whole(
    value: dict[str, Any], indent: int | None, is_ascii: bool, cuts: list[int]
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode()
    found = split(data, cuts)
    whole = find_positions(data, found)
    assert {pointer: one.line for pointer, one in found.items()} == {
        pointer: one.line for pointer, one in whole.items()
    }
    known = {pointer: one for pointer, one in found.items() if one.column is not None}
    assert known == {pointer: whole[pointer] for pointer in known}
    if data.isascii() or indent is not None:
        assert known == found


@given(VALUES, st.booleans(), st.lists(st.integers(0, 999)))
def test_positions_do_not_depend_on_how_the_bytes_come(
    value: dict[str, Any], is_ascii: bool, cuts: list[int]
) -> None:
    data = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert split(data, cuts) == split(data, [])


def test_violations_get_positions_where_they_have_no_line() -> None:
    violations = [
        PlacedViolation(Violation("ES201", "x", "/a")),
        PlacedViolation(Violation("ES201", "x", "/a"), 7),
        PlacedViolation(Violation("ES201", "x")),
        PlacedViolation(Violation("ES201", "x", "/a/b/c")),
    ]
    placed = place_violations(violations, json_locator(b'\n {"a":  1}'))
    assert [(one.line, one.column) for one in placed] == [(2, 9), (7, None), *[(None, None)] * 2]
    assert place_violations(violations, None) == violations


def test_a_sound_document_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstream.parsing.json_positions.find_positions", pytest.fail)
    assert place_violations([], json_locator(b"{}")) == []
