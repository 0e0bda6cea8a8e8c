"""Values of stored files are read only if they fit the JSON Schema of reports and agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from evalstream.batch.serialize import LEFT_OUT, decode_finding, decode_run
from evalstream.formats.registry import CATALOGUE
from evalstream.model.claim import STATES, count_states
from evalstream.model.finding import Finding, Severity
from evalstream.model.rule_text import Status
from evalstream.model.run_summary import NOT_CHECKED, RunSummary
from evalstream.model.text import with_article
from evalstream.parsing.json import pointer, type_name
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.schema_errors import SchemaError, Validator
from evalstream.parsing.schema_files import builtin_schema

WHOLE: Final = "report"
"""The name of the schema, and of the report as a whole in it."""

STORED_RUN: Final = "stored_run"
"""A run with what ledgers and parts hold beside what a report says."""

LARGEST: Final = 2**63 - 1
"""The largest count."""

BAD_EXCERPT: Final = "/found: expected an excerpt of a line, and the place of its caret"

_COUNT: Final = {"type": "integer", "minimum": 0}
_MORE_OF_A_RUN: Final[dict[str, Any]] = {
    "otherwise": {"$ref": "#/$defs/verdict"},
    "otherwise_reason": {"type": ["string", "null"]},
    "note": {"const": True},
    **dict.fromkeys(LEFT_OUT, _COUNT),
}


def describe_misfit(value: Any, part: str) -> str | None:
    """Return where a value does not fit a part of the schema and what is expected, or None.

    A number that JSON Schema calls an integer must also be written as one, and be at most LARGEST.
    """
    validator, counts = _part(part)
    try:
        if not validator.fits(value):
            return next(map(_describe, validator.errors(value)), "expected another value")
    except (UnicodeError, RecursionError):
        return "expected Unicode text, nested less deeply"
    place = _find_wrong_count(value, counts)
    return (
        None
        if place is None
        else f"{pointer(place)}: expected an integer of at most 63 bits, or a finite number"
    )


def decode_stored_run(value: Any) -> RunSummary:
    """Return a run of a ledger or a part. Raises ValueError that says where it is not valid."""
    misfit = describe_misfit(value, STORED_RUN)
    if misfit is None:
        run = decode_run(value)
        misfit = describe_contradiction(value, run)
    if misfit is not None:
        raise ValueError(misfit)
    return run


def reported_run(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a report says of a run of a ledger. Raises ValueError as above."""
    misfit = describe_misfit(value, STORED_RUN)
    if misfit is not None:
        raise ValueError(misfit)
    return {name: one for name, one in value.items() if name not in _MORE_OF_A_RUN}


def decode_stored_finding(value: Any) -> Finding:
    """Return a finding of a ledger or a part. Raises ValueError as above."""
    misfit = describe_misfit(value, "finding")
    if misfit is not None:
        raise ValueError(misfit)
    try:
        return decode_finding(value)
    except (KeyError, TypeError) as error:
        raise ValueError(BAD_EXCERPT) from error


def describe_contradiction(value: Mapping[str, Any], run: RunSummary) -> str | None:
    """Return what of a run that fits the schema cannot be so, or None; `value` is its JSON."""
    return next(_contradictions(value, run), None)


def _contradictions(value: Mapping[str, Any], run: RunSummary) -> Iterator[str]:
    try:
        "".join(filter(None, (run.file, run.aggregate, run.inputs))).encode()
    except UnicodeEncodeError:
        yield "/file: expected names that are Unicode text"
    claims = {state.value: value["claims"][state.value] for state in STATES}
    if claims != count_states(run.claims):
        yield "/claims: expected the numbers of claims that the list has"
    if sum(run.counts.values()) != sum(run.severities.values()):
        yield "/severities: expected as many findings as /counts has"
    for name in ("failing", "fixable", "fixable_unsafely"):
        counts: Mapping[str, int] = getattr(run, name)
        if any(times > run.counts.get(code, 0) for code, times in counts.items()):
            yield f"/{name}: expected no more findings than /counts has"
    if run.failing and run.verdict != "failed":
        yield "/verdict: expected failed, as findings fail the run"
    if run.verdict in ("passed", "unconfirmed") and not run.is_note and _is_doubtful(run):
        yield "/verdict: expected failed or incomplete, by the findings or the reason of the run"


def _is_doubtful(run: RunSummary) -> bool:
    """Tell whether a run has errors, or was not checked in full."""
    harmless = sum(times for code, times in run.counts.items() if _never_fails(code))
    has_errors = run.severities.get(Severity.ERROR, 0) > harmless
    return has_errors or run.incomplete_reason is not None or bool(NOT_CHECKED & run.counts.keys())


def _never_fails(code: str) -> bool:
    """Tell whether findings of a code never fail a run; codes of other versions may not."""
    return code not in CATALOGUE or CATALOGUE[code].status is Status.PREVIEW


@lru_cache(maxsize=16)
def _part(part: str) -> tuple[Validator, Any]:
    """Return what validates a part of the schema, and where the part has numbers."""
    whole = builtin_schema(WHOLE)
    schema = whole
    if part != WHOLE:
        run = {**whole["$defs"]["run"]}
        run["properties"] = run["properties"] | _MORE_OF_A_RUN
        schema = {"$ref": f"#/$defs/{part}", "$defs": whole["$defs"] | {STORED_RUN: run}}
    return compile_schema(schema), _find_counts(schema, schema)


def _find_counts(schema: Any, whole: Any) -> Any:
    """Return where a schema has numbers: its type for one, else the same by member.

    An ellipsis stands for all items, or all other members.
    """
    name = schema.get("$ref", "")
    if name:
        return _find_counts(whole["$defs"][name.rpartition("/")[2]], whole)
    if schema.get("type") in ("integer", "number"):
        return schema["type"]
    found: dict[Any, Any] = {}
    for variant in schema.get("anyOf", ()):
        inner = _find_counts(variant, whole)
        found |= inner if isinstance(inner, dict) else {}
    inner = {key: _find_counts(one, whole) for key, one in schema.get("properties", {}).items()}
    found |= {key: one for key, one in inner.items() if one}
    for keyword in ("additionalProperties", "items"):
        one = schema.get(keyword)
        if isinstance(one, dict) and (counts := _find_counts(one, whole)):
            found[...] = counts
    return found


def _find_wrong_count(value: Any, counts: Any) -> tuple[Any, ...] | None:
    """Return the path of an integer that is not written as such or is too large, or None."""
    if counts.__class__ is str:
        is_integer = type(value) is int
        is_wrong = not -LARGEST <= value <= LARGEST if is_integer else counts == "integer"
        return () if is_wrong else None
    if isinstance(value, dict):
        keys = value if ... in counts else counts.keys() & value.keys()
    else:
        keys = range(len(value)) if isinstance(value, list) and ... in counts else ()
    for key in keys:
        one, kind = value[key], counts.get(key, counts.get(...))
        if type(one) is int and kind.__class__ is str and -LARGEST <= one <= LARGEST:
            continue
        within = _find_wrong_count(one, kind)
        if within is not None:
            return (key, *within)
    return None


def _describe(error: SchemaError) -> str:
    """Return where a value is wrong, and what is expected there."""
    wanted, found = error.expected, with_article(type_name(error.found))
    if error.variants:
        return _describe(min((one for each in error.variants for one in each[:1]), key=_depth))
    if error.member is not None and error.keyword == "required":
        text = f"expected the member {error.member!r}"
    elif error.keyword == "type":
        text = f"expected {' or '.join(map(with_article, wanted))}, found {found}"
    elif error.keyword == "enum":
        text = f"expected one of {', '.join(map(repr, wanted))}"
    elif error.keyword in ("minimum", "maximum"):
        text = f"expected {'at least' if error.keyword == 'minimum' else 'at most'} {wanted}"
    else:
        text = f"expected {error.keyword} {wanted!r}"
    return f"{pointer(error.path)}: {text}".removeprefix(": ")


def _depth(error: SchemaError) -> int:
    return -len(error.path)
