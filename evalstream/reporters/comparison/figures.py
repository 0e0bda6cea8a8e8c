"""A comparison as JSON values, and its figures as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evalstream.model.comparison import Comparison, ComparisonReport, Flip, Rank
from evalstream.model.data_class import DataClass, field_values

SCHEMA: Final = 1
"""The version of the JSON report."""


def show_number(value: float | None, error: float | None = None) -> str:
    """Write a number with digits enough to show a tenth of an error."""
    if value is None:
        return "unknown"
    digits = 4
    if error is not None and error > 0 and math.isfinite(error):
        digits = min(12, max(0, 2 - math.floor(math.log10(error))))
    text = f"{value:.{digits}f}" if abs(value) < 1e12 else f"{value:.6g}"
    return text.removeprefix("-") if float(text) == 0 else text


def join_groups(rank: Rank) -> str:
    """Write the groups that a rank has."""
    return ", ".join(map(str, rank.groups))


def percent(share: float) -> str:
    """Write a share in percent."""
    text = f"{100 * share:.1f}"
    # A share below 100 % is not shown as 100 %.
    if text == "100.0" and share < 1:
        text = "99.9"
    return f"{text.removesuffix('.0')} %"


def as_json(value: Any) -> Any:
    """Return a part of a comparison as the output contract writes it."""
    if isinstance(value, DataClass) or hasattr(value, "_asdict"):
        fields = field_values(value) if isinstance(value, DataClass) else value._asdict()
        kept = {key: one for key, one in fields.items() if key not in _OWN}
        return {_NAMES.get(key, key): as_json(one) for key, one in kept.items()}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(one) for one in value]
    return value


_NAMES: Final = {
    "evaluation": "evaluation_id",
    "without_identity": "rows_without_identity",
    "others": "other_intervals",
    "tests": "other_tests",
    "clustered": "clusters",
    "is_binary": "binary",
    "is_few": "few",
}
"""The names of fields in the output contract, where they are others."""

_OWN: Final = frozenset({"noun", "failed", "error_a", "error_b"})
"""The fields that the output contract does not have."""

COLUMNS: Final = (
    "n", "mean_a", "error_a", "mean_b", "error_b", "difference", "standard_error", "low", "high",
    "interval", "p", "adjusted_p", "test", "clusters", "overlap", "only_a", "only_b",
)  # fmt: skip
"""The figures of a comparison as columns of a table."""


def comparison_figures(one: Comparison) -> dict[str, float | str | None]:
    """Return the figures of a comparison by the names of COLUMNS, None for what it lacks."""
    found, aligned = one.estimate, one.alignment
    values: list[float | str | None] = [None] * (len(COLUMNS) - 3)
    if found is not None:
        values = [
            found.n,
            found.mean_a,
            found.own_a and found.own_a.standard_error,
            found.mean_b,
            found.own_b and found.own_b.standard_error,
            found.difference,
            found.standard_error,
            *(found.interval or (None, None, None)),
            found.test and found.test.p,
            found.adjusted_p,
            found.test and found.test.method,
            found.clustered and found.clustered.clusters,
        ]
    values += [aligned.overlap, aligned.only_a, aligned.only_b]
    return dict(zip(COLUMNS, values, strict=True))


HEAD: Final = (
    "first_line", "refused", "reference", "settings", "runs", "confounders", "unmatched_results",
    "drifts_in_all", "averages", "differences", "overlaps", "drift_counts", "rankings", "warnings",
    "failed_on", "exit_code",
)  # fmt: skip
"""The fields of a report without its comparisons, drifts and flips, which may be many."""


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
        "alignment": {**as_json(alignment), "overlap": alignment.overlap},
        "flips": {
            "right_to_wrong": one.right_to_wrong,
            "wrong_to_right": one.wrong_to_right,
            "left_out_for_errors": one.failed_changes,
        },
        "estimate": as_json(one.estimate),
    }


def head_dict(report: ComparisonReport) -> dict[str, Any]:
    """Return a report without its comparisons, drifts and flips."""
    return {"schema": SCHEMA, **{name: as_json(getattr(report, name)) for name in HEAD}}


def flip_dict(one: Flip) -> dict[str, Any]:
    """Return a flip as the output contract writes it; absent values are left out."""
    return {name: value for name, value in one._asdict().items() if value is not None}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def join_texts(texts: Sequence[str]) -> str:
    """Return texts as one list."""
    return "; ".join(text for text in texts if text)
