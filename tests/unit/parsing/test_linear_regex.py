"""Patterns of a user's own: no text makes a check hang, and no text passes undecided."""

import json
import re
import time
from collections.abc import Callable
from fnmatch import translate
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import ENGINES, bounded, bytes_of, sound_rows

import evalstream
from evalstream.io.names import Exclusion
from evalstream.model.errors import UsageError
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.linear_regex import Undecided, bounded_search, linear_search

HOSTILE = "a" * 5000 + "!"
EXPONENTIAL = "^(a|aa)+$"
LOOKING = "^(a|aa)+(?!b)$"


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Call, and fail where that takes longer."""
    before = time.process_time()  # whatever else the machine does
    result = call()
    assert time.process_time() - before < seconds
    return result


@each("pattern", [EXPONENTIAL, "(a+)+$", "(a*)*b", "(.*a){20}b"])
def test_noise_takes_linear_time(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(bytes_of(sound_rows()) + HOSTILE.encode() + b"\n")
    report = within(20, lambda: evalstream.check(path, noise=pattern, ignore=("ES506",)))
    assert report.exit_code == 1


@each(
    ("pattern", "why"),
    [
        ("(?=a)b", "look-around"),
        (r"(a)\1", "backreference"),
        ("(?<!x)y", "look-around"),
        ("(", "not a valid regular expression"),
    ],
)
def test_noise_that_cannot_be_found_in_linear_time_is_wrong_usage(
    tmp_path: Path, pattern: str, why: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises(UsageError, match=why) as raised:
        evalstream.check(path, noise=pattern)
    assert repr(pattern) in str(raised.value)


def test_noise_is_found_in_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(bytes_of(sound_rows()) + b"\xff\xfe log\n")
    report = evalstream.check(path, noise="log$", ignore=("ES506",))
    assert (report.exit_code, report.counts.get("ES006")) == (0, 1)


def check_with(tmp_path: Path, schema: dict[str, Any], engine: str, rows: str) -> Any:
    path = tmp_path / "rows.jsonl"
    path.write_text(rows)
    return within(
        30, lambda: evalstream.check(path, schema=json.dumps(schema), engine=engine, jobs=1)
    )


HOSTILE_SCHEMAS: list[dict[str, Any]] = [
    {"properties": {"x": {"pattern": "@"}}},
    {"patternProperties": {"@": {"type": "integer"}}},
    {"patternProperties": {"@": True}, "additionalProperties": False},
    {"not": {"properties": {"x": {"pattern": "@"}}, "required": ["nothing"]}},
    {"propertyNames": {"pattern": "@"}},
]


@each("engine", ENGINES)
@pytest.mark.parametrize("number", range(len(HOSTILE_SCHEMAS)))
@pytest.mark.parametrize("pattern", [EXPONENTIAL, LOOKING])
def test_a_schema_of_ones_own_cannot_hang_a_check(
    tmp_path: Path, engine: str, number: int, pattern: str
) -> None:
    schema = json.loads(json.dumps(HOSTILE_SCHEMAS[number]).replace("@", pattern))
    rows = json.dumps({"x": HOSTILE, HOSTILE: 1}) + "\n"
    report = check_with(tmp_path, schema, engine, rows)
    assert report.runs[0].verdict != "passed"
    if pattern == LOOKING and number == 0:
        said = " ".join(finding.message for finding in report)
        assert repr(pattern) in said
        assert "backtracking steps" in said
        assert report.exit_code in (1, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_look_around_in_a_schema_is_taken(tmp_path: Path, engine: str) -> None:
    schema = {"properties": {"x": {"pattern": "^(?!no)[a-z]+$"}}, "required": ["x"]}
    report = check_with(tmp_path, schema, engine, '{"x": "yes"}\n{"x": "not"}\n')
    assert [(one.code, one.line) for one in report if one.code == "ES213"] == [("ES213", 2)]


@each("engine", ENGINES)
@pytest.mark.parametrize("schema", [{"pattern": "("}, {"patternProperties": {"[": True}}])
def test_a_schema_whose_pattern_is_none_is_wrong_usage(engine: str, schema: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        compile_schema(schema, engine)


def test_what_only_looks_like_a_pattern_is_data() -> None:
    schema = {"properties": {"pattern": {"const": {"pattern": "("}}}, "pattern": "a"}
    for engine in ENGINES:
        compile_schema(schema, engine)


@bounded(max_examples=examples(150))
@given(
    st.sampled_from(
        [r"^\d+$", r"\w", "a$", r"^\s", "[^a-z]", r"\bx", "é", "^.$", "(?=a)a", r"(a)\1", "^$"]
    ),
    st.text("ab x0\n\r\u0663é\u00a0", max_size=6),
)
def test_both_engines_find_the_same(pattern: str, text: str) -> None:
    schemas = (
        ({"properties": {"x": {"pattern": pattern}}}, {"x": text}),
        ({"patternProperties": {pattern: {"type": "string"}}}, {text: 1}),
        ({"patternProperties": {pattern: True}, "additionalProperties": False}, {text: 1}),
        ({"patternProperties": {pattern: True}, "additionalProperties": {"const": 2}}, {text: 1}),
    )
    for schema, value in schemas:
        rust, portable = (compile_schema(schema, one) for one in ENGINES)
        assert rust.fits(value) == portable.fits(value) == rust.accepts(value)
        kinds = [{violation.keyword for violation in one.errors(value)} for one in (rust, portable)]
        assert kinds[0] == kinds[1] or (text == "" and all(kinds))


def test_patterns_mean_what_ecma_262_says() -> None:
    assert not linear_search(r"\d")("\u0663")
    assert not linear_search(r"\w")("é")
    assert not linear_search("a$")("a\n")
    assert linear_search("b")("abc")
    assert bounded_search("(?=b)b")("abc")
    with pytest.raises(Undecided, match="backtracking steps"):
        bounded_search(LOOKING)(HOSTILE)


def test_patterns_of_names_do_not_backtrack() -> None:
    for pattern in ("*a*a*a*a*a*a*a*a*a*b", "*" * 60 + "b", "[!b]*?*?*?*?*?*?*?*?*b"):
        within(2, lambda pattern=pattern: Exclusion([pattern]).covers("a" * 4000))
        within(2, lambda pattern=pattern: re.compile(translate(pattern)).match("a" * 4000))
