"""Whole JSON documents, which two paths read alike, and settings as texts."""

import json
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstream.parsing.json import FAST_DEPTH
from evalstream.parsing.json_values import (
    MOST_SETTING,
    flatten_settings,
    parse_document,
    setting_text,
)
from evalstream.parsing.strict_json import parse_exactly

PIECES = [
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"a"',
        '"a":1',
        '"b":',
        " ",
        "\n",
        "1",
        "-0",
        "-0.0",
        "1.50",
        "01",
    ),
    *(
        "1e999",
        "-1e400",
        "1e-999",
        "NaN",
        "-Infinity",
        "true",
        "null",
        "nul",
        '"\\ud800"',
        '"\\u00e9"',
    ),
    *('"\\ud83d\\ude00"', '"é"', '"\x00"', "\x00", '"', "9" * 4300, "9" * 4301, "\ufeff"),
]
"""Pieces of which documents are made, some of them valid."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda some: (
        st.lists(some, max_size=4) | st.dictionaries(st.text(max_size=2), some, max_size=4)
    ),
    max_leaves=12,
)


def refuses(_: Any) -> bool:
    """Accept nothing."""
    return False


def check_same(text: bytes, depth: int) -> None:
    """Compare the result of a document with that of the exact parser."""
    exact = parse_exactly(text, depth)
    assert repr(parse_document(text, depth)) == repr(exact)
    assert repr(parse_document(text, depth, refuses)) == repr(exact)


@settings(max_examples=examples(500))
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join), st.sampled_from([2, 200, 999]))
def test_any_text_is_read_as_by_the_exact_parser(text: str, depth: int) -> None:
    check_same(text.encode(errors="surrogatepass"), depth)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_any_value_is_read_as_by_the_exact_parser(
    value: Any, ascii_only: bool, indent: Any
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    check_same(text.encode(errors="surrogatepass"), FAST_DEPTH)


@each("depth", [FAST_DEPTH - 1, FAST_DEPTH, FAST_DEPTH + 1, FAST_DEPTH + 2])
@pytest.mark.parametrize("inner", ["", "1", "{}"])
def test_the_depth_limit_is_that_of_the_exact_parser(depth: int, inner: str) -> None:
    text = ("[" * depth + inner + "]" * depth).encode()
    for limit in (FAST_DEPTH - 1, FAST_DEPTH, FAST_DEPTH + 1):
        check_same(text, limit)


def test_a_check_that_accepts_is_remembered() -> None:
    assert parse_document(b'{"a": 1}', FAST_DEPTH, lambda value: value == {"a": 1}).accepted
    assert not parse_document(b'{"a": 1}', FAST_DEPTH, refuses).accepted
    assert not parse_document(b'{"a": 1, "a": 1}', FAST_DEPTH, lambda _: True).accepted


@each(
    ("value", "expected"),
    [
        ({"a": {"b": 1, "c": None}, "d": "x"}, {"s/a/b": "1", "s/d": "x"}),
        ({"a": {}, "b": []}, {"s/a": "{}", "s/b": "[]"}),
        ({"a": [{"b": 1}]}, {"s/a": '[{"b":1}]'}),
        (0.5, {"s": "0.5"}),
        ("text", {"s": "text"}),
        (None, {}),
        ({}, {"s": "{}"}),
    ],
)
def test_settings_are_named_by_the_pointers_to_them(value: Any, expected: dict[str, str]) -> None:
    assert flatten_settings("s", value) == expected


def test_long_settings_are_cut() -> None:
    assert setting_text("x" * MOST_SETTING) == "x" * MOST_SETTING
    cut = setting_text("x" * (MOST_SETTING + 1))
    assert cut.startswith("x" * MOST_SETTING + "… (sha256 ")
    assert len(setting_text(["x" * 1000])) == len(cut) < MOST_SETTING + 30


def test_long_settings_that_differ_after_the_cut_differ() -> None:
    long = "x" * MOST_SETTING
    assert setting_text(f"{long}a") != setting_text(f"{long}b")
    assert setting_text(f"{long}\ud800") != setting_text(f"{long}\ud801")
