"""Document shapes that EvalGuard's specification shows but its schemas do not allow."""

from __future__ import annotations

import re
from typing import Any, Final

from evalstream.formats.evalguard.documents import LEGACY_IMPACT, REPORT, THRESHOLD
from evalstream.formats.evalguard.report import FLAT, is_flat
from evalstream.formats.evalguard.views import as_list, is_legacy

_ANY_IMPACT: Final = "no_measurable"


def conform(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return a document in the shape that its schema requires, otherwise unchanged.

    The last threshold example of the specification has `label` instead of `impact`; its report
    example lists tasks without a name around each.
    """
    if kind == THRESHOLD and isinstance(value.get("thresholds"), dict):
        thresholds = {metric: _with_impacts(items) for metric, items in value["thresholds"].items()}
        return {**value, "thresholds": thresholds}
    if kind == REPORT and isinstance(value.get("tasks"), list):
        return {
            **value,
            "tasks": [{FLAT: item} if is_flat(item) else item for item in value["tasks"]],
        }
    return value


def true_pointer(kind: str, value: dict[str, Any], place: str | None) -> str | None:
    """Return the pointer in a document for a pointer in its conformed shape."""
    found = re.match(r"/tasks/([0-9]+)(/[^/]*)", place or "") if kind == REPORT else None
    if place is None or found is None or not is_flat(as_list(value["tasks"])[int(found.group(1))]):
        return place
    return place[: found.start(2)] + place[found.end(2) :]


def _with_impacts(items: Any) -> Any:
    if not isinstance(items, list):
        return items
    return [_with_impact(item) if isinstance(item, dict) else item for item in items]


def _with_impact(item: dict[str, Any]) -> dict[str, Any]:
    if not is_legacy(item):
        return item
    kept = {member: value for member, value in item.items() if member != LEGACY_IMPACT}
    return {**kept, "impact": _ANY_IMPACT}
