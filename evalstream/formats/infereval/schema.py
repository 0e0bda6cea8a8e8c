"""Check documents against the schemas of infereval and return violations of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.infereval.format import BENCHMARK, EVALUATION, NAME, VERSION
from evalstream.formats.infereval.rules.benchmarks import INF101, INF102, INF207
from evalstream.model.finding import Violation
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.limits import limit_findings
from evalstream.parsing.schema_errors import SchemaError, Validator, error_parts
from evalstream.parsing.schema_files import builtin_schema, builtin_validator
from evalstream.rules.schema import explain_schema
from evalstream.rules.syntax import ES113

_ITEMS: Final = {EVALUATION: "EvaluationItem", BENCHMARK: "BenchmarkItem"}


@lru_cache(maxsize=8)
def item_validator(kind: str, engine: str) -> Validator:
    """Return the compiled part of a schema that checks one item of a document of a kind."""
    schema = builtin_schema(f"{NAME}/{VERSION}/{kind}")
    kept = {key: schema[key] for key in ("$schema", "$defs")}
    return compile_schema({**kept, "$ref": f"#/$defs/{_ITEMS[kind]}"}, engine, trusted=True)


def document_validator(kind: str, engine: str) -> Validator:
    """Return the compiled schema of documents of a kind."""
    return builtin_validator(f"{NAME}/{VERSION}/{kind}", engine)


def schema_violations(validator: Validator, value: Any) -> list[Violation]:
    """Return the violations of a schema in a value, each once.

    Of each kind the first ones are listed, with the number of the others. A value that is nested
    too deep gives that violation only.
    """
    try:
        return list(limit_findings(_shape_violations(validator, value)))
    except RecursionError:
        return [ES113.violation("nested too deep to be checked against the schema")]


def fits(validator: Validator, value: Any) -> bool:
    """Return whether a value certainly matches a schema."""
    try:
        return validator.fits(value)
    except RecursionError:
        return False


def _shape_violations(validator: Validator, value: Any) -> Iterator[Violation]:
    for part in error_parts(validator, value):
        plain = [inner for error in part for inner in _innermost(error)]
        mistyped = {error.path for error in plain if error.keyword == "type"}
        for error in plain:
            if error.keyword != "enum" or error.path not in mistyped:
                yield _make_violation(error)


def is_valid(violations: Iterable[Violation]) -> bool:
    """Return whether a benchmark with these violations still has a normal form, and thus a hash."""
    return all(violation.code == INF102.code for violation in violations)


def _make_violation(error: SchemaError) -> Violation:
    (explained,) = explain_schema([error], own=True)
    if _is_bare_reference(error):
        message = "a string in place of an object with this citation"
        return INF102.violation(message, explained.pointer, found=error.found)
    is_kind = error.path[:1] == ("factor_kinds",) and error.keyword == "enum"
    return explained._replace(code=(INF207 if is_kind else INF101).code)


def _is_bare_reference(error: SchemaError) -> bool:
    in_list = len(error.path) > 1 and isinstance(error.path[-1], int)
    is_text = isinstance(error.found, str) and error.expected == ["object"]
    return in_list and is_text and error.path[-2] == "references"


def _innermost(error: SchemaError) -> Iterator[SchemaError]:
    """Yield the errors of the oneOf or anyOf branch that a value was meant for.

    If a value may be null or something else, that is the other branch. The kind of a context
    builder shows which branch is meant.
    """
    branches = [branch for branch in error.variants if not _is_null(error, branch)]
    if not branches:
        yield error
        return
    meant = [branch for branch in branches if not _is_of_another_kind(error, branch)]
    if meant:
        may_be_null = len(branches) < len(error.variants)
        # A builder may match two branches, with or without a kind; the first is usual.
        for inner in meant[0]:
            for deeper in _innermost(inner):
                yield _or_null(error, deeper) if may_be_null else deeper
        return
    kinds = [str(inner.expected) for branch in branches for inner in branch if _names_kind(inner)]
    path, found = (*error.path, "kind"), error.found["kind"]
    yield error._replace(path=path, keyword="enum", expected=kinds, found=found, variants=())


def _is_null(error: SchemaError, branch: tuple[SchemaError, ...]) -> bool:
    return any(inner.path == error.path and inner.expected == ["null"] for inner in branch)


def _or_null(error: SchemaError, inner: SchemaError) -> SchemaError:
    if inner.path != error.path or inner.keyword != "type":
        return inner
    return inner._replace(expected=[*inner.expected, "null"])


def _is_of_another_kind(error: SchemaError, branch: tuple[SchemaError, ...]) -> bool:
    return any(_names_kind(inner) and inner.path == (*error.path, "kind") for inner in branch)


def _names_kind(error: SchemaError) -> bool:
    return error.keyword == "const" and error.path[-1:] == ("kind",)
