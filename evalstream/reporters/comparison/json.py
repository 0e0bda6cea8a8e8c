"""Comparisons as one JSON document, or as JSON lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from evalstream.model.comparison import Comparison, ComparisonReport, Flip
from evalstream.model.data_class import DataClass, field_values
from evalstream.parsing.json import dumps_visible
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized

SCHEMA: Final = 1
"""The version of the JSON report."""

HEAD: Final = (
    "first_line", "refused", "reference", "settings", "runs", "confounders", "unmatched_results",
    "drifts_in_all", "averages", "differences", "overlaps", "drift_counts", "rankings", "warnings",
    "failed_on", "exit_code",
)  # fmt: skip
"""The fields of a report without its comparisons, drifts and flips, which may be many."""


class JsonComparison(Recognized):
    """Writes one object; the flips are written as they come."""

    beginning = LazyPattern(re.escape(b'{"schema":1,"first_line":'))

    def write(self, report: ComparisonReport, flips: Iterable[Flip], /) -> None:
        """Write the document."""
        whole = {
            **_head_dict(report),
            "drifts": [drift._asdict() for drift in report.drifts],
            "comparisons": [_comparison_dict(one) for one in report.comparisons],
        }
        self._output.write(dumps_visible(whole).removesuffix(b"}") + b',"flips":[')
        for number, flip in enumerate(flips):
            self._output.write((b"," if number else b"") + dumps_visible(_flip_dict(flip)))
        self._output.write(b"]}\n")


class JsonLinesComparison(Recognized):
    """Comparisons as JSON lines: drifts, comparisons and flips one by one, then the summary.

    The only member of each object says what it is.
    """

    beginning = LazyPattern(
        rb'\{"(?:drift|comparison|flip)":\{"|\{"summary":\{"schema":\d+,"first_line":"'
    )

    def write(self, report: ComparisonReport, flips: Iterable[Flip], /) -> None:
        """Write the lines."""
        for drift in report.drifts:
            self._write({"drift": drift._asdict()})
        for comparison in report.comparisons:
            self._write({"comparison": _comparison_dict(comparison)})
        shown = 0
        for shown, flip in enumerate(flips, 1):  # noqa: B007 - the number of all
            self._write({"flip": _flip_dict(flip)})
        self._write({"summary": {**_head_dict(report), "flips_shown": shown}})

    def _write(self, value: dict[str, Any]) -> None:
        self._output.write(dumps_visible(value) + b"\n")


def _as_json(value: Any) -> Any:
    if isinstance(value, DataClass) or hasattr(value, "_asdict"):
        fields = field_values(value) if isinstance(value, DataClass) else value._asdict()
        kept = {key: one for key, one in fields.items() if key not in _OWN}
        return {_NAMES.get(key, key): _as_json(one) for key, one in kept.items()}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_as_json(one) for one in value]
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


def _comparison_dict(one: Comparison) -> dict[str, Any]:
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
        "alignment": {**_as_json(alignment), "overlap": alignment.overlap},
        "flips": {
            "right_to_wrong": one.right_to_wrong,
            "wrong_to_right": one.wrong_to_right,
            "left_out_for_errors": one.failed_changes,
        },
        "estimate": _as_json(one.estimate),
    }


def _head_dict(report: ComparisonReport) -> dict[str, Any]:
    return {"schema": SCHEMA, **{name: _as_json(getattr(report, name)) for name in HEAD}}


def _flip_dict(one: Flip) -> dict[str, Any]:
    """Return a flip as the output contract writes it; absent values are left out."""
    return {name: value for name, value in one._asdict().items() if value is not None}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
