"""What the schemas of infereval say against a document, in the words of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee.rules.schema import explain
from evalstream.formats.infereval.documents import BENCHMARK, EVALUATION, NAME, VERSION
from evalstream.formats.infereval.rules.benchmark import INF101, INF102, INF207
from evalstream.model.finding import Violation
from evalstream.parsing.json_schema import (
    Validator,
    builtin_schema,
    builtin_validator,
    compile_schema,
)
from evalstream.parsing.limits import held_of
from evalstream.parsing.schema_errors import SchemaError
from evalstream.parsing.schema_errors_in_parts import error_parts
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
        return list(held_of(_shape_faults(validator, value)))
    except RecursionError:
        return [ES113.fault("nested too deep to be judged by the schema")]


def fits(validator: Validator, value: Any) -> bool:
    """Tell whether a value is surely of a shape."""
    try:
        return validator.fits(value)
    except RecursionError:
        return False


def _shape_faults(validator: Validator, value: Any) -> Iterator[Violation]:
    for part in error_parts(validator, value):
        plain = [inner for fault in part for inner in _innermost(fault)]
        mistyped = {fault.path for fault in plain if fault.keyword == "type"}
        for fault in plain:
            if fault.keyword != "enum" or fault.path not in mistyped:
                yield _said(fault)


def is_sound(faults: Iterable[Violation]) -> bool:
    """Tell whether faults of a benchmark leave it a normal form, and with it a hash."""
    return all(fault.code == INF102.code for fault in faults)


def _said(fault: SchemaError) -> Violation:
    (said,) = explain([fault], own=True)
    if _is_bare_reference(fault):
        message = "a text, which stands for an object with this citation"
        return INF102.fault(message, pointer=said.pointer, found=fault.found)
    is_kind = fault.path[:1] == ("factor_kinds",) and fault.keyword == "enum"
    return said._replace(code=(INF207 if is_kind else INF101).code)


def _is_bare_reference(fault: SchemaError) -> bool:
    in_list = len(fault.path) > 1 and isinstance(fault.path[-1], int)
    is_text = isinstance(fault.found, str) and fault.expected == ["object"]
    return in_list and is_text and fault.path[-2] == "references"


def _innermost(fault: SchemaError) -> Iterator[SchemaError]:
    """Go down into the branch of oneOf or anyOf that a value was meant for.

    Where a value may be null or something else, that is the something else; builders of
    contexts say by their kind what they are.
    """
    branches = [branch for branch in fault.variants if not _is_null(fault, branch)]
    if not branches:
        yield fault
        return
    meant = [branch for branch in branches if not _is_of_another_kind(fault, branch)]
    if meant:
        # A builder without a kind, or with one, may fit two branches; the first is usual.
        for inner in meant[0]:
            for said in _innermost(inner):
                yield _or_null(fault, said)
        return
    kinds = [str(inner.expected) for branch in branches for inner in branch if _names_kind(inner)]
    path, found = (*fault.path, "kind"), fault.found["kind"]
    yield fault._replace(path=path, keyword="enum", expected=kinds, found=found, variants=())


def _is_null(fault: SchemaError, branch: tuple[SchemaError, ...]) -> bool:
    return any(inner.path == fault.path and inner.expected == ["null"] for inner in branch)


def _or_null(fault: SchemaError, inner: SchemaError) -> SchemaError:
    """Add null to the types that a value may have, if a branch allows it."""
    may_be_null = any(_is_null(fault, branch) for branch in fault.variants)
    if not may_be_null or inner.path != fault.path or inner.keyword != "type":
        return inner
    return inner._replace(expected=[*inner.expected, "null"])


def _is_of_another_kind(fault: SchemaError, branch: tuple[SchemaError, ...]) -> bool:
    return any(_names_kind(inner) and inner.path == (*fault.path, "kind") for inner in branch)


def _names_kind(fault: SchemaError) -> bool:
    return fault.keyword == "const" and fault.path[-1:] == ("kind",)
