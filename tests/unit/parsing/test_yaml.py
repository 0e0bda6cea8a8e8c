"""Tests of the reader of YAML: what texts stand for, what is refused, and where things are."""

import json
import math
import sys
from typing import Any

import pytest
import yaml
from depth import examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstream.parsing.yaml import MOST_UNFOLDED, OLDER, Yaml, find_marks, read_yaml, spelling_at
from evalstream.parsing.yaml_scalars import INVALID, number_spelling, resolve_plain, settle_scalars

DEPTH = 50

CORE = [
    ("", None),
    ("~", None),
    ("null", None),
    ("NULL", None),
    ("nUll", "nUll"),
    ("true", True),
    ("False", False),
    ("no", "no"),
    ("yes", "yes"),
    ("on", "on"),
    ("Off", "Off"),
    ("y", "y"),
    ("5", 5),
    ("-3", -3),
    ("+7", 7),
    ("0777", 777),
    ("0o17", 15),
    ("0x1F", 31),
    ("1_000", "1_000"),
    ("0b11", "0b11"),
    ("12:30:45", "12:30:45"),
    ("2025-01-01", "2025-01-01"),
    ("1e3", 1000.0),
    ("1.", 1.0),
    (".5", 0.5),
    ("-1.5E+2", -150.0),
    ("1e", "1e"),
    (".", "."),
    ("-", "-"),
    ("+.inf", math.inf),
    ("-.INF", -math.inf),
    (".iNf", ".iNf"),
    ("inf", "inf"),
    ("nan", "nan"),
    ("1e999", math.inf),
    ("<<", "<<"),
    ("=", "="),
    ("٣", "٣"),
]


def read(text: str | bytes, depth: int = DEPTH) -> Yaml:
    """Read a text."""
    return read_yaml(text.encode() if isinstance(text, str) else text, depth)


def only_issue(text: str | bytes) -> Any:
    """Return the one trouble of a text."""
    (issue,) = read(text).issues
    return issue


@each(("text", "value"), CORE)
def test_plain_scalars_are_read_as_the_core_schema_has_it(text: str, value: Any) -> None:
    assert resolve_plain(text) == value
    assert type(resolve_plain(text)) is type(value)


def test_not_a_number_is_none() -> None:
    assert math.isnan(resolve_plain(".nan"))


@each("text", ["0777", "1e3", "1.10", "+7", "0x1F", ".5", ".inf", "9" * 5000])
def test_numbers_that_json_would_write_otherwise_keep_their_spelling(text: str) -> None:
    assert number_spelling(text, resolve_plain(text)) == text


@each("text", ["5", "-3", "0.5", "true", "~", "no"])
def test_other_scalars_have_none(text: str) -> None:
    assert number_spelling(text, resolve_plain(text)) is None


def test_numbers_that_are_none_are_told_and_replaced() -> None:
    seen = read("a: 1e999\nb: [.nan, -.inf]\nc: " + "9" * 5000)
    value, troubles = settle_scalars(seen.value, seen.mark)
    assert [(one.name, one.pointer) for one in troubles] == [
        ("non-finite-number", "/a"),
        ("non-finite-number", "/b/0"),
        ("non-finite-number", "/b/1"),
        ("too-deep-or-too-big", "/c"),
    ]
    assert value["b"] == [0.0, -sys.float_info.max]


def test_an_integer_that_yaml_1_1_reads_as_another_is_told() -> None:
    seen = read("a: 0310\nb: [-010, 007, 0o17, 08, '010', 00, !!int 010]\n")
    value, troubles = settle_scalars(seen.value, seen.mark)
    assert [(one.name, one.pointer, one.found) for one in troubles] == [
        (INVALID, "/a", "0310"),
        (INVALID, "/b/0", "-010"),
    ]
    assert value == {"a": 310, "b": [-10, 7, 15, 8, "010", 0, 10]}


def test_keys_are_texts_as_they_are_written() -> None:
    assert read("no: 1\n1e3: 2\n~: 3\n5: 4\n").value == {"no": 1, "1e3": 2, "~": 3, "5": 4}


def test_aliases_stand_for_what_is_anchored() -> None:
    seen = read("a: &x [1, {b: 2}]\nc: *x\n&k key: 1\nother: {*k : 2}\n")
    assert seen.readable
    assert seen.value == {"a": [1, {"b": 2}], "c": [1, {"b": 2}], "key": 1, "other": {"key": 2}}


def test_positions_are_those_of_the_nodes() -> None:
    seen = read("# head\na:\n  - 1\n  - {b: 2,\n     c: 3}\n'x/y':\r\n  z\n")
    places = [
        "",
        "/a",
        "/a/0",
        "/a/1",
        "/a/1/c",
        "/x~1y",
        "/a/1/none",
        "/a/7",
        "/nothing",
        "/a/0/x",
    ]
    found = find_marks(seen.mark, places)
    assert [found.get(place) for place in places] == [
        *((2, 1), (3, 3), (3, 5), (4, 5), (5, 9), (7, 3), (4, 5), None, (2, 1), None)
    ]
    assert find_marks(read("a: [").mark, ["/a"]) == {}


def test_numbers_are_known_as_they_are_written() -> None:
    seen = read("a: 1e3\nb: [1.10, 5]\n")
    places = ["/a", "/b/0", "/b/1", "/b", "/c", "/a/x"]
    assert [spelling_at(seen.mark, place) for place in places] == ["1e3", "1.10", *[None] * 4]


def test_line_breaks_of_yaml_1_1_are_characters() -> None:
    seen = read("a: x\u2028y\u2029z\x85\nb: '\u2028'\n")
    assert seen.value == {"a": "x\u2028y\u2029z\x85", "b": "\u2028"}
    assert find_marks(seen.mark, ["/a", "/b"]) == {"/a": (1, 4), "/b": (2, 4)}


@each(
    ("text", "line", "place", "words"),
    [
        ("a: 1\n---\nb: 2\n", 2, None, "second document"),
        ("a: 1\n<<: {b: 2}\n", 2, "", "merge keys"),
        ("a: !!python/object/apply:os.system [x]\n", 1, "/a", "!!python/object/apply:os.system"),
        ("a:\n  - !mine {b: 1}\n", 2, "/a/0", "core schema"),
        ("a: !!int x\n", 1, "/a", "tagged as int"),
        ("a: !<int> 5\n", 1, "/a", "core schema"),
        ("a: !!float .inf\n", 1, "/a", "finite"),
        ("a: !!binary aGVsbG8=\n", 1, "/a", "!!binary"),
        ("a: &b [*b]\n", 1, "/a/0", "contains it"),
        ("a: *b\n", 1, "/a", "no anchor"),
        ("? [a]\n: 1\n", 1, "", "cannot be a key"),
        ("a: &b [1]\nc:\n  *b : 1\n", 3, "/c", "cannot be a key"),
        ("a:\n\t- b\n", 2, None, "tab"),
        ("a: 'b\n", 2, None, "end of stream"),
        ("a: [1, 2\n", 2, None, "column"),
        ("a: b: c\n", 1, None, "column 5"),
        ("%YAML 2.0\n---\na: 1\n", 1, None, "incompatible"),
        ("a: '\\ud800'\nb: \"\\ud800\"", 2, None, "Unicode"),
    ],
)
def test_what_yaml_1_2_does_not_know_is_refused(
    text: str, line: int, place: str | None, words: str
) -> None:
    seen = read(text)
    (issue,) = seen.issues
    assert not seen.readable
    assert (issue.name, issue.line, issue.pointer) == (INVALID, line, place)
    assert words in issue.message
    assert issue.excerpt is not None


def test_an_older_version_is_a_notice() -> None:
    seen = read("%YAML 1.1\n---\na: no\n")
    assert seen.readable
    assert seen.value == {"a": "no"}
    assert [issue.name for issue in seen.issues] == [OLDER]
    assert read("%YAML 1.2\n---\na: no\n").issues == []


@each(
    ("text", "name", "line"),
    [
        (b"a: 1\nb: \xff\n", "invalid-utf8", 2),
        (b"a: 1\nb: x\0y\n", "nul-bytes", 2),
        (b"a: \x1b[1m\n", "nul-bytes", 1),
        ("a: 1".encode("utf-16"), "byte-order-mark", 1),
        (b"[" * 5000, "too-deep-or-too-big", 1),
        (b"- " * 5000, "too-deep-or-too-big", 1),
        (b"{a: " * 5000, "too-deep-or-too-big", 1),
    ],
)
def test_what_other_formats_refuse_has_their_names(text: bytes, name: str, line: int) -> None:
    seen = read(text)
    assert not seen.readable
    assert [(one.name, one.line) for one in seen.issues] == [(name, line)]


def test_a_repeated_key_is_told_once_with_its_path() -> None:
    seen = read("a:\n  - {b: 1, b: 2, b: 3}\na: 1\n")
    assert [(one.name, one.pointer, one.line) for one in seen.issues] == [
        ("duplicate-key", "/a/0/b", 2),
        ("duplicate-key", "/a", 3),
    ]
    assert seen.value == {"a": 1}


def test_aliases_cannot_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    issue = only_issue("\n".join(lines))
    assert issue.name == INVALID
    assert f"{MOST_UNFOLDED:,}" in issue.message


def test_a_long_text_cannot_explode_either() -> None:
    text = "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 100) + "]\n"
    assert "expand" in only_issue(text).message


def test_aliases_cannot_nest_deeper_than_is_allowed() -> None:
    lines = ["a0: &a0 [1]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 100))]
    assert only_issue("\n".join(lines)).name == "too-deep-or-too-big"


def test_without_libyaml_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a: no\nb: [1e3, 'x']\n", "a: 1\n---\nb: 1\n", "a: !x 1\n", "a: &b [*b]\n"]
    before = [read(text) for text in texts]
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    for text, seen in zip(texts, before, strict=True):
        again = read(text)
        assert (again.value, again.readable) == (seen.value, seen.readable)
        assert [one.name for one in again.issues] == [one.name for one in seen.issues]
    assert [one.name for one in read('a: "\\ud800"').issues] == ["unpaired-surrogate"]


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=60) | st.text("-:[]{}&*!%?|>'\"# \n\tab1.~<é\x85\u2028", max_size=40))
def test_whatever_is_read_is_read_or_refused(text: str | bytes) -> None:
    seen = read(text)
    assert seen.readable or seen.issues
    assert all(issue.line is None or issue.line >= 1 for issue in seen.issues)
    if seen.readable:
        settle_scalars(seen.value, seen.mark)


LETTERS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=6)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | LETTERS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_is_yaml(value: Any) -> None:
    seen = read(json.dumps(value, ensure_ascii=False))
    assert seen.readable
    assert seen.issues == []
    assert seen.value == value


def test_as_many_levels_as_are_allowed_are_read() -> None:
    assert [read("[{a: [1]}]", depth).readable for depth in (2, 3)] == [False, True]
