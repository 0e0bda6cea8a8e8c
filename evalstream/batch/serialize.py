"""Runs and findings as JSON that can be read back: in ledgers, and in the parts of a report."""

from __future__ import annotations

from typing import Any

from evalstream.formats.registry import FORMATS
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Figures, ResultSummary, RunSummary, Verified

_SEVERITIES = {severity.label: severity for severity in Severity}


def encode_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as the output contract writes it, marked where it holds an excerpt."""
    packed = finding.as_dict()
    if finding.found.__class__ is Excerpt:
        packed["excerpt"] = True
    return packed


def decode_finding(packed: dict[str, Any]) -> Finding:
    """Return the finding that was packed. Raises KeyError or TypeError for what was not."""
    fields: dict[str, Any] = {name: packed.get(name) for name in Finding._fields}
    fields["severity"] = _SEVERITIES[packed["severity"]]
    if packed.get("excerpt"):
        fields["found"] = Excerpt(**packed["found"])
    return Finding(**fields)


def encode_run(summary: RunSummary) -> dict[str, Any]:
    """Return a run as the output contract writes it, with what only the report's end needs."""
    severities = {severity.label: count for severity, count in summary.severities.items()}
    note = {"note": True} if summary.is_note else {}
    excluded = {"excluded": summary.excluded} if summary.excluded else {}
    remark = {"remark": summary.remark} if summary.remark else {}
    trouble = summary.incomplete_reason
    more = {"severities": severities, "trouble": trouble, **note, **excluded, **remark}
    return {**summary.as_dict(), **more}


def decode_run(packed: dict[str, Any]) -> RunSummary:
    """Return the run that was packed. Raises KeyError or TypeError for what was not."""
    checksum = packed["checksum"]
    return RunSummary(
        file=packed["file"],
        aggregate=packed["aggregate"],
        format=packed["format"],
        inputs=packed.get("inputs"),
        version=packed["version"],
        rows=packed["rows"],
        verdict=packed["verdict"],
        algorithm=checksum["algorithm"],
        declared=checksum["declared"],
        actual=checksum["actual"],
        covers=checksum.get("covers"),
        recipe=packed["recipe"],
        counts=dict(packed["counts"]),
        seconds=packed["seconds"],
        bytes=packed["bytes"],
        severities={_SEVERITIES[label]: count for label, count in packed["severities"].items()},
        incomplete_reason=packed["trouble"],
        results=[_unpacked_result(result) for result in packed["results"]],
        verified=_unpacked_verified(packed.get("verified")),
        selected=tuple(packed.get("selected", ())),
        ignored=tuple(packed.get("ignored", ())),
        sealed=packed.get("sealed"),
        is_note=packed.get("note", False),
        excluded=packed.get("excluded", 0),
        noun=FORMATS[packed["format"]].noun,
        remark=packed.get("remark"),
    )


def _unpacked_result(packed: dict[str, Any]) -> ResultSummary:
    recomputed = packed["recomputed"]
    return ResultSummary(
        name=packed["evaluation_name"],
        id=packed["evaluation_result_id"],
        rows=packed["rows"],
        claimed=_unpacked_figures(packed["claimed"]),
        recomputed=None if recomputed is None else _unpacked_figures(recomputed),
        claims=packed["claims"]["of"],
        claims_recomputed=packed["claims"]["recomputed"],
    )


def _unpacked_verified(packed: dict[str, Any] | None) -> Verified | None:
    if packed is None:
        return None
    hashes, claims = packed["sample_hashes"], packed["claims"]
    return Verified(
        packed["checksum"],
        packed["row_count"],
        hashes["verified"],
        hashes["of"],
        claims["of"],
        claims["recomputed"],
    )


def _unpacked_figures(packed: dict[str, Any]) -> Figures:
    return Figures(
        packed["score"],
        packed["standard_deviation"],
        packed["standard_error"],
        packed["num_samples"],
    )
