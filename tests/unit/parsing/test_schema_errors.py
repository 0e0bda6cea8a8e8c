"""Faults as the schema finds them: what is kept of one, and what is found without the library."""

import itertools
from typing import Any

import fastjsonschema
import pytest
from depth import deep
from each import each
from rows import ENGINES

from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.schema_files import builtin_schema, builtin_validator, schema_documents

both_engines = pytest.mark.parametrize("engine", ENGINES)


@both_engines
@each("others", [{}, {"": 1}, {"unknown": 1}])
def test_every_member_that_a_row_lacks_is_told_once_and_in_order(
    others: dict[str, int], engine: str
) -> None:
    required = builtin_schema("eee/0.3.0/instance")["required"]
    violations = builtin_validator("eee/0.3.0/instance", engine).errors(others)
    lacking = [violation for violation in violations if violation.route == ("required",)]
    assert [violation.member for violation in lacking] == required
    assert all(
        violation[:5] == ((), "required", ("required",), None, None) for violation in lacking
    )


@both_engines
def test_what_is_no_row_lacks_no_member(engine: str) -> None:
    violations = builtin_validator("eee/0.3.0/instance", engine).errors([])
    assert [violation.keyword for violation in violations] == ["type"]


def test_violations_of_one_keyword_keep_their_own_values() -> None:
    """What is kept of a place of a schema is only what all its faults share."""
    schema = {
        "properties": {"a": {"type": "string"}, "m": {"additionalProperties": {"type": "string"}}},
        "additionalProperties": {"type": "integer"},
        "required": ["a"],
    }
    validator = compile_schema(schema, "rust")
    values: list[dict[str, Any]] = [
        {"a": 1, "m": {"x": 2}, "y": "z"},
        {"a": None, "m": {"y": None}, "x": 1.5},
    ]
    for value, _ in itertools.product(values, range(2)):
        told = {
            violation.path: (violation.found, violation.optional)
            for violation in validator.errors(value)
        }
        inner, other = ("x", "y") if value is values[0] else ("y", "x")
        assert told == {
            ("a",): (value["a"], False),
            ("m", inner): (value["m"][inner], False),
            (other,): (value[other], False),
        }


def test_a_name_that_is_refused_by_propertynames_is_a_violation_that_can_be_told() -> None:
    validator = compile_schema({"propertyNames": {"maxLength": 2}}, "rust")
    (violation,) = validator.errors({"abc": 1})
    assert (violation.keyword, violation.expected, violation.found) == (
        "propertyNames",
        None,
        {"abc": 1},
    )


@pytest.mark.parametrize("engine", ["rust", deep("portable")])
def test_every_schema_of_ours_compiles(engine: str) -> None:
    for name in schema_documents():
        assert not compile_schema(builtin_schema(name), engine, trusted=True).fits([[]]), name


def test_where_fastjsonschema_writes_broken_code_the_schema_judges_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise IndentationError("expected an indented block")

    monkeypatch.setattr(fastjsonschema, "compile_to_code", broken)
    validator = compile_schema(
        {"items": {"description": "anything"}, "minItems": 1}, "portable", trusted=True
    )
    assert validator.accepts([1])
    assert not validator.accepts([])
