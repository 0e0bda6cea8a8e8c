"""What the schemas of infereval say against a document, in the words of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.infereval.documents import BENCHMARK, EVALUATION, NAME, VERSION
from evalstream.formats.infereval.rules.benchmark import INF101, INF102, INF207
from evalstream.model.finding import Violation
from evalstream.parsing.json_schema import Validator, compile_schema
from evalstream.parsing.limits import limit_findings
from evalstream.parsing.schema_errors import SchemaError
from evalstream.parsing.schema_errors_in_parts import error_parts
from evalstream.parsing.schema_files import builtin_schema, builtin_validator
from evalstream.rules.schema import explain
from evalstream.rules.syntax import ES113

_ITEM: Final = "EvaluationItem"


@lru_cache(maxsize=8)
def item_validator(engine: str) -> Validator:
    """Return the part of the schema of evaluations that judges one item, compiled."""
    schema = builtin_schema(f"{NAME}/{VERSION}/{EVALUATION}")
    kept = {key: schema[key] for key in ("$schema", "$defs")}
    return compile_schema({**kept, "$ref": f"#/$defs/{_ITEM}"}, engine)


def benchmark_validator(engine: str) -> Validator:
    """Return the schema of benchmarks, compiled."""
    return builtin_validator(f"{NAME}/{VERSION}/{BENCHMARK}", engine)


def evaluation_validator(engine: str) -> Validator:
    """Return the schema of evaluations, compiled."""
    return builtin_validator(f"{NAME}/{VERSION}/{EVALUATION}", engine)


def schema_violations(validator: Validator, value: Any) -> list[Violation]:
    """Say everything that a schema says against a value, each breach once, as findings.

    Of each kind the first ones are said, and how many more there are; of a value that is nested
    too deep, that alone.
    """
    try:
        return list(limit_findings(_shape_violations(validator, value)))
    except RecursionError:
        return [ES113.violation("nested too deep to be judged by the schema")]


def fits(validator: Validator, value: Any) -> bool:
    """Tell whether a value is surely of a shape."""
    try:
        return validator.fits(value)
    except RecursionError:
        return False


def _shape_violations(validator: Validator, value: Any) -> Iterator[Violation]:
    for part in error_parts(validator, value):
        plain = [inner for violation in part for inner in _innermost(violation)]
        mistyped = {violation.path for violation in plain if violation.keyword == "type"}
        for violation in plain:
            if violation.keyword != "enum" or violation.path not in mistyped:
                yield _said(violation)


def is_valid(violations: Iterable[Violation]) -> bool:
    """Tell whether violations of a benchmark leave it a normal form, and with it a hash."""
    return all(violation.code == INF102.code for violation in violations)


def _said(violation: SchemaError) -> Violation:
    (said,) = explain([violation], own=True)
    if _is_bare_reference(violation):
        message = "a text, which stands for an object with this citation"
        return INF102.violation(message, pointer=said.pointer, found=violation.found)
    is_kind = violation.path[:1] == ("factor_kinds",) and violation.keyword == "enum"
    return said._replace(code=(INF207 if is_kind else INF101).code)


def _is_bare_reference(violation: SchemaError) -> bool:
    in_list = len(violation.path) > 1 and isinstance(violation.path[-1], int)
    is_text = isinstance(violation.found, str) and violation.expected == ["object"]
    return in_list and is_text and violation.path[-2] == "references"


def _innermost(violation: SchemaError) -> Iterator[SchemaError]:
    """Go down into the branch of oneOf or anyOf that a value was meant for.

    Where a value may be null or something else, that is the something else; builders of
    contexts say by their kind what they are.
    """
    branches = [branch for branch in violation.variants if not _is_null(violation, branch)]
    if not branches:
        yield violation
        return
    meant = [branch for branch in branches if not _is_of_another_kind(violation, branch)]
    if meant:
        # A builder without a kind, or with one, may fit two branches; the first is usual.
        for inner in meant[0]:
            for said in _innermost(inner):
                yield _or_null(violation, said)
        return
    kinds = [str(inner.expected) for branch in branches for inner in branch if _names_kind(inner)]
    path, found = (*violation.path, "kind"), violation.found["kind"]
    yield violation._replace(path=path, keyword="enum", expected=kinds, found=found, variants=())


def _is_null(violation: SchemaError, branch: tuple[SchemaError, ...]) -> bool:
    return any(inner.path == violation.path and inner.expected == ["null"] for inner in branch)


def _or_null(violation: SchemaError, inner: SchemaError) -> SchemaError:
    """Add null to the types that a value may have, if a branch allows it."""
    may_be_null = any(_is_null(violation, branch) for branch in violation.variants)
    if not may_be_null or inner.path != violation.path or inner.keyword != "type":
        return inner
    return inner._replace(expected=[*inner.expected, "null"])


def _is_of_another_kind(violation: SchemaError, branch: tuple[SchemaError, ...]) -> bool:
    return any(_names_kind(inner) and inner.path == (*violation.path, "kind") for inner in branch)


def _names_kind(violation: SchemaError) -> bool:
    return violation.keyword == "const" and violation.path[-1:] == ("kind",)
