"""Runs, findings, totals and options as JSON: read only if they fit the schema and agree."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import inf
from typing import Any, Final

from evalstream._version import __version__
from evalstream.formats.registry import CATALOGUE
from evalstream.model import report
from evalstream.model.claim import STATES, JudgedClaim, count_states
from evalstream.model.data_class import field_values
from evalstream.model.finding import Excerpt, Finding, KnownFinding, Severity, Status
from evalstream.model.options import Options, RowRouting
from evalstream.model.run_summary import NOT_CHECKED, NOUN, VERDICTS, Checked, RunSummary, Verified
from evalstream.model.sketch import Sketch
from evalstream.model.text import with_article
from evalstream.parsing.json import canonical, pointer, type_name
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.schema_errors import SchemaError, Validator
from evalstream.parsing.schema_files import builtin_schema

LEFT_OUT: Final = ("excluded", "missing", "other_files")
"""The numbers of names that a note counts."""

_ALWAYS: Final = (
    *("file", "aggregate", "format", "version", "rows", "verdict", "recipe"),
    *("seconds", "bytes"),
)
_SELDOM: Final = (
    *("inputs", "incomplete_reason", "sealed", "change", "unchanged", "otherwise_reason", "remark"),
    "schema",
)
_COUNTS: Final = ("counts", "failing", "known", "fixable", "fixable_unsafely")
"""Members of a run that are as they are in its summary: given always, or seldom, and counts."""

_SEVERITIES = {severity.label: severity for severity in Severity}


def decode_finding(encoded: dict[str, Any]) -> Finding:
    """Return a finding from its JSON. Raises KeyError or TypeError if it is not valid."""
    fields: dict[str, Any] = {name: encoded.get(name) for name in Finding._fields}
    fields["severity"] = _SEVERITIES[encoded["severity"]]
    for name in ("expected", "found"):
        if name in encoded and encoded[name] is None:
            # JSON has no infinity; a null that was meant is left out.
            fields[name] = inf
    if encoded.get("excerpt"):
        excerpt = Excerpt(**encoded["found"])
        if not isinstance(excerpt.excerpt, str) or type(excerpt.caret) is not int:
            raise TypeError("an excerpt is a text and the place of its caret")
        fields["found"] = excerpt
    return Finding(**fields)


def encode_run(summary: RunSummary) -> dict[str, Any]:
    """Return a run as the output contract writes it, with what no report says."""
    note = {"note": True} if summary.is_note else {}
    left_out = {name: getattr(summary, name) for name in LEFT_OUT if getattr(summary, name)}
    judged = {"otherwise": summary.otherwise, "otherwise_reason": summary.otherwise_reason}
    return {**summary.as_dict(), **judged, **note, **left_out}


def decode_run(encoded: dict[str, Any]) -> RunSummary:
    """Return a run from its JSON. Raises KeyError or TypeError if it is not valid."""
    checksum, sketch = encoded["checksum"], encoded.get("sketch")
    same: dict[str, Any] = {name: encoded[name] for name in _ALWAYS}
    same |= {name: encoded.get(name) for name in _SELDOM}
    same |= {name: dict(encoded.get(name, {})) for name in _COUNTS}
    return RunSummary(
        **same,
        algorithm=checksum["algorithm"],
        declared=checksum["declared"],
        actual=checksum["actual"],
        covers=checksum.get("covers"),
        severities=_decode_severities(encoded["severities"]),
        claims=[JudgedClaim.from_dict(claim) for claim in encoded["claims"]["list"]],
        verified=_decode_verified(encoded.get("verified")),
        selected=tuple(encoded.get("selected", ())),
        ignored=tuple(encoded.get("ignored", ())),
        sketch=None if sketch is None else Sketch.from_dict(sketch),
        otherwise=encoded.get("otherwise", encoded["verdict"]),
        known_severities=_decode_severities(encoded.get("known_severities", {})),
        unfixable=encoded.get("unfixable", 0),
        is_note=encoded.get("note", False),
        **{name: encoded.get(name, 0) for name in LEFT_OUT},
        noun=encoded.get("noun", NOUN),
        checked=tuple(Checked(one["text"], one["ok"]) for one in encoded.get("checked", ())),
    )


def decode_totals(encoded: dict[str, Any]) -> report.Totals:
    """Return totals from their JSON. Raises KeyError or TypeError if they are not valid."""
    return report.Totals(
        runs=encoded["runs"],
        rows=encoded["rows"],
        bytes=encoded["bytes"],
        **{name: encoded.get(name, 0) for name in report.RARE_TOTALS if name != "lost"},
        lost=encoded.get("lost"),
        verdicts={verdict: encoded[verdict] for verdict in VERDICTS if encoded[verdict]},
        counts=dict(encoded["counts"]),
        severities=_decode_severities(encoded["severities"]),
        known=dict(encoded.get("known", {})),
        known_severities=_decode_severities(encoded.get("known_severities", {})),
        claims={state.value: encoded["claims"][state.value] for state in STATES},
        refuted_runs=encoded["refuted_runs"],
        gone=report.GoneRuns(encoded["gone"]["runs"], tuple(encoded["gone"]["names"]))
        if "gone" in encoded
        else report.GoneRuns(),
    )


def decode_known(encoded: dict[str, Any]) -> KnownFinding:
    """Return a finding of a baseline from its JSON. Raises KeyError if it is not valid."""
    return KnownFinding(
        encoded["code"],
        encoded["file"],
        encoded.get("pointer"),
        encoded.get("sample_id"),
        encoded["count"],
        encoded.get("values"),
    )


def _decode_severities(encoded: dict[str, int]) -> dict[Severity, int]:
    return {_SEVERITIES[label]: count for label, count in encoded.items()}


def _decode_verified(encoded: dict[str, Any] | None) -> Verified | None:
    if encoded is None:
        return None
    hashes = encoded["sample_hashes"]
    return Verified(encoded["checksum"], encoded["row_count"], hashes["verified"], hashes["of"])


WHOLE: Final = "report"
"""The name of the schema, and of the report as a whole in it."""

STORED_RUN: Final = "stored_run"
"""A run with the members that only ledgers and parts hold."""

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
    _refuse_misfit(value, STORED_RUN)
    run = decode_run(value)
    contradiction = describe_contradiction(value, run)
    if contradiction is not None:
        raise ValueError(contradiction)
    return run


def reported_run(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a report says of a run of a ledger. Raises ValueError as above."""
    _refuse_misfit(value, STORED_RUN)
    return {name: one for name, one in value.items() if name not in _MORE_OF_A_RUN}


def decode_stored_finding(value: Any) -> Finding:
    """Return a finding of a ledger or a part. Raises ValueError as above."""
    _refuse_misfit(value, "finding")
    try:
        return decode_finding(value)
    except (KeyError, TypeError) as error:
        raise ValueError(BAD_EXCERPT) from error


def _refuse_misfit(value: Any, part: str) -> None:
    misfit = describe_misfit(value, part)
    if misfit is not None:
        raise ValueError(misfit)


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
    if run.verdict == "passed" and run.has_refuted_claims:
        yield "/verdict: expected no run that passed, as a claim of it is refuted"


def _is_doubtful(run: RunSummary) -> bool:
    # Findings of preview never fail a run; codes of other versions may not.
    harmless = sum(
        times
        for code, times in run.counts.items()
        if code not in CATALOGUE or CATALOGUE[code].status is Status.PREVIEW
    )
    has_errors = run.severities.get(Severity.ERROR, 0) > harmless
    return has_errors or run.incomplete_reason is not None or bool(NOT_CHECKED & run.counts.keys())


@lru_cache(maxsize=16)
def _part(part: str) -> tuple[Validator, Any]:
    """Return what validates a part of the schema, and where the part has numbers."""
    whole = builtin_schema(WHOLE)
    schema = whole
    if part != WHOLE:
        run = {**whole["$defs"]["run"]}
        run["properties"] = run["properties"] | _MORE_OF_A_RUN
        schema = {"$ref": f"#/$defs/{part}", "$defs": whole["$defs"] | {STORED_RUN: run}}
    return compile_schema(schema, trusted=True), _find_counts(schema, schema)


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
    wanted, found = error.expected, with_article(type_name(error.found))
    if error.variants:
        return _describe(
            min(
                (one for each in error.variants for one in each[:1]), key=lambda one: -len(one.path)
            )
        )
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


WITHOUT_EFFECT: Final = frozenset(
    {
        *("baseline", "dask_address", "dask_insecure", "dask_scheduler_file", "digests", "exclude"),
        *("executor", "has_others", "jobs", "links", "memory_limit", "sample_digests", "samples"),
        *("sealing", "sketches", "write_baseline"),
    }
)
"""Options that affect how the work is done, what else is collected, or which runs there are.

They affect no verdict; findings are compared with a baseline after a ledger.
"""


def verdict_options(options: Options) -> dict[str, Any]:
    """Return the options that affect a report, as JSON values."""
    values = {
        name: value for name, value in field_values(options).items() if name not in WITHOUT_EFFECT
    }
    values["fail_on"], values["routing"] = options.fail_on.label, field_values(options.routing)
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def restore_options(values: dict[str, Any]) -> Options:
    """Return the options from JSON values. Raises KeyError or TypeError if they are not valid."""
    read: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    read["fail_on"] = Severity[values["fail_on"].upper()]
    read["routing"] = RowRouting(**values["routing"])
    return Options(**read)


def fingerprint(options: Options) -> str:
    """Return a digest that is the same for calls with the same verdicts for the same files."""
    settled: dict[str, Any] = {"tool": __version__, "options": verdict_options(options)}
    if options.per_file_ignores:
        # The patterns of files are relative to it.
        settled["folder"] = os.path.abspath(os.curdir)
    text = canonical(settled)
    return hashlib.sha256(text).hexdigest()
