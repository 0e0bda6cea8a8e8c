"""JSON encoding of runs and findings that can be decoded, for ledgers and parts."""

from __future__ import annotations

from typing import Any

from evalstream.formats.registry import FORMATS
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Figures, ResultSummary, RunSummary, Verified

_LEFT_OUT = ("excluded", "missing", "other_files")
"""The numbers of names that a note counts."""

_SEVERITIES = {severity.label: severity for severity in Severity}


def encode_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as the output contract writes it, marked where it contains an excerpt."""
    encoded = finding.as_dict()
    if finding.found.__class__ is Excerpt:
        encoded["excerpt"] = True
    return encoded


def decode_finding(encoded: dict[str, Any]) -> Finding:
    """Return a finding from its JSON. Raises KeyError or TypeError if it is not valid."""
    fields: dict[str, Any] = {name: encoded.get(name) for name in Finding._fields}
    fields["severity"] = _SEVERITIES[encoded["severity"]]
    if encoded.get("excerpt"):
        fields["found"] = Excerpt(**encoded["found"])
    return Finding(**fields)


def encode_run(summary: RunSummary) -> dict[str, Any]:
    """Return a run as the output contract writes it, with the fields that only a decoder needs."""
    severities = {severity.label: count for severity, count in summary.severities.items()}
    note = {"note": True} if summary.is_note else {}
    left_out = {name: getattr(summary, name) for name in _LEFT_OUT if getattr(summary, name)}
    remark = {"remark": summary.remark} if summary.remark else {}
    trouble = summary.incomplete_reason
    extra = {"severities": severities, "trouble": trouble, **note, **left_out, **remark}
    return {**summary.as_dict(), **extra}


def decode_run(encoded: dict[str, Any]) -> RunSummary:
    """Return a run from its JSON. Raises KeyError or TypeError if it is not valid."""
    checksum = encoded["checksum"]
    return RunSummary(
        file=encoded["file"],
        aggregate=encoded["aggregate"],
        format=encoded["format"],
        inputs=encoded.get("inputs"),
        version=encoded["version"],
        rows=encoded["rows"],
        verdict=encoded["verdict"],
        algorithm=checksum["algorithm"],
        declared=checksum["declared"],
        actual=checksum["actual"],
        covers=checksum.get("covers"),
        recipe=encoded["recipe"],
        counts=dict(encoded["counts"]),
        seconds=encoded["seconds"],
        bytes=encoded["bytes"],
        severities={_SEVERITIES[label]: count for label, count in encoded["severities"].items()},
        incomplete_reason=encoded["trouble"],
        results=[_decode_result(result) for result in encoded["results"]],
        verified=_decode_verified(encoded.get("verified")),
        selected=tuple(encoded.get("selected", ())),
        ignored=tuple(encoded.get("ignored", ())),
        sealed=encoded.get("sealed"),
        is_note=encoded.get("note", False),
        **{name: encoded.get(name, 0) for name in _LEFT_OUT},
        noun=FORMATS[encoded["format"]].noun,
        remark=encoded.get("remark"),
    )


def _decode_result(encoded: dict[str, Any]) -> ResultSummary:
    recomputed = encoded["recomputed"]
    return ResultSummary(
        name=encoded["evaluation_name"],
        id=encoded["evaluation_result_id"],
        rows=encoded["rows"],
        claimed=_decode_figures(encoded["claimed"]),
        recomputed=None if recomputed is None else _decode_figures(recomputed),
        claims=encoded["claims"]["of"],
        claims_recomputed=encoded["claims"]["recomputed"],
    )


def _decode_verified(encoded: dict[str, Any] | None) -> Verified | None:
    if encoded is None:
        return None
    hashes, claims = encoded["sample_hashes"], encoded["claims"]
    return Verified(
        encoded["checksum"],
        encoded["row_count"],
        hashes["verified"],
        hashes["of"],
        claims["of"],
        claims["recomputed"],
    )


def _decode_figures(encoded: dict[str, Any]) -> Figures:
    return Figures(
        encoded["score"],
        encoded["standard_deviation"],
        encoded["standard_error"],
        encoded["num_samples"],
    )
