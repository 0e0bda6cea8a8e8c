"""Decode the JSON of runs and findings, for reports, ledgers and parts."""

from __future__ import annotations

from math import inf
from typing import Any, Final

from evalstream.model import report
from evalstream.model.claim import STATES, JudgedClaim
from evalstream.model.finding import Excerpt, Finding, KnownFinding, Severity
from evalstream.model.run_summary import NOUN, VERDICTS, Checked, RunSummary, Verified
from evalstream.model.sketch import Sketch

LEFT_OUT: Final = ("excluded", "missing", "other_files")
"""The numbers of names that a note counts."""

_ALWAYS: Final = (
    *("file", "aggregate", "format", "version", "rows", "verdict", "recipe"),
    *("seconds", "bytes"),
)
_SELDOM: Final = (
    *("inputs", "incomplete_reason", "sealed", "change", "unchanged", "otherwise_reason", "remark"),
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
