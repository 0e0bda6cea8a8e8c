"""A comparison as JSON values, and its figures as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evalstream.model.comparison import ComparedRun, Comparison, ComparisonReport, Flip, Matrix
from evalstream.model.data_class import DataClass, values_of

SCHEMA: Final = 1
"""The version of the JSON report."""

NAMES: Final[Mapping[str, str | None]] = {
    "others": "other_intervals",
    "tests": "other_tests",
    "clustered": "clusters",
    "is_few": "few",
    "is_binary": "binary",
    "error_a": None,
    "error_b": None,
    "failed": None,
}
"""The names of members that have another one in JSON, None for those that are left out."""

SMALLEST_P: Final = 0.0001


def number(value: float | None, error: float | None = None) -> str:
    """Write a number with digits enough to show a tenth of an error."""
    if value is None:
        return "unknown"
    digits = 4
    if error is not None and error > 0 and math.isfinite(error):
        digits = min(12, max(0, 2 - math.floor(math.log10(error))))
    text = f"{value:.{digits}f}" if abs(value) < 1e12 else f"{value:.6g}"
    return text.removeprefix("-") if float(text) == 0 else text


def p_value(p: float) -> str:
    """Write a p value."""
    return f"p < {SMALLEST_P}" if p < SMALLEST_P else f"p = {p:.4f}"


def percent(share: float) -> str:
    """Write a share in percent."""
    text = f"{100 * share:.1f}"
    # A share below 100 % is not shown as 100 %.
    if text == "100.0" and share < 1:
        text = "99.9"
    return f"{text.removesuffix('.0')} %"


def run_dict(run: ComparedRun) -> dict[str, Any]:
    """Return a run as the output contract writes it."""
    return {
        "label": run.label,
        "file": run.file,
        "aggregate": run.aggregate,
        "format": run.format,
        "version": run.version,
        "model": run.model,
        "evaluation_id": run.evaluation,
        "verdict": run.verdict,
        "reasons": list(run.reasons),
        "rows": run.rows,
        "samples": run.samples,
        "rows_without_identity": run.without_identity,
        "checksum": run.checksum,
        "settings": dict(run.settings),
    }


def comparison_dict(one: Comparison) -> dict[str, Any]:
    """Return a comparison as the output contract writes it."""
    alignment = one.alignment
    return {
        "a": one.a,
        "b": one.b,
        "result": one.metric.result,
        "metric": one.metric.metric,
        "unit": one.metric.unit,
        "lower_is_better": one.metric.lower_is_better,
        "minimum": _finite(one.metric.minimum),
        "maximum": _finite(one.metric.maximum),
        "verdict": str(one.verdict),
        "sentence": one.sentence,
        "better": one.better,
        "alignment": {**alignment._asdict(), "overlap": alignment.overlap},
        "flips": {
            "right_to_wrong": one.right_to_wrong,
            "wrong_to_right": one.wrong_to_right,
            "left_out_for_errors": one.failed_changes,
        },
        "estimate": json_of(one.estimate),
    }


def json_of(value: Any) -> Any:
    """Return figures as JSON values: each member under its name, but for those of NAMES."""
    if isinstance(value, DataClass):
        members = values_of(value)
    elif hasattr(value, "_asdict"):
        members = value._asdict()
    else:
        return [json_of(one) for one in value] if isinstance(value, (tuple, list)) else value
    named = ((NAMES.get(name, name), one) for name, one in members.items())
    return {name: json_of(one) for name, one in named if name is not None}


def matrix_dict(one: Matrix) -> dict[str, Any]:
    """Return a matrix as the output contract writes it."""
    return {
        "title": one.title,
        "labels": list(one.labels),
        "cells": [list(row) for row in one.cells],
    }


def flip_dict(one: Flip) -> dict[str, Any]:
    """Return a flip as the output contract writes it; absent values are left out."""
    return {name: value for name, value in one._asdict().items() if value is not None}


def head_dict(report: ComparisonReport) -> dict[str, Any]:
    """Return a report without its comparisons, drifts and flips, which may be many."""
    settings = report.settings._asdict()
    return {
        "schema": SCHEMA,
        "first_line": report.first_line,
        "refused": report.refused,
        "reference": report.reference,
        "settings": {
            **settings,
            "fail_if": list(report.settings.fail_if),
            "allow_different": list(report.settings.allow_different),
        },
        "runs": [run_dict(run) for run in report.runs],
        "confounders": [
            {"name": one.name, "values": dict(one.values)} for one in report.confounders
        ],
        "unmatched_results": list(report.unmatched_results),
        "drifts_in_all": report.drifts_in_all,
        "differences": [matrix_dict(one) for one in report.differences],
        "overlaps": [matrix_dict(one) for one in report.overlaps],
        "drift_counts": [matrix_dict(one) for one in report.drift_counts],
        "rankings": [
            {"metric": one.metric, "n": one.n, "ranks": [rank._asdict() for rank in one.ranks]}
            for one in report.rankings
        ],
        "warnings": list(report.warnings),
        "failed_on": list(report.failed_on),
        "exit_code": report.exit_code,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def listed(texts: Sequence[str]) -> str:
    """Return texts as one list."""
    return "; ".join(text for text in texts if text)
