"""EVG209: the paging of a response of EvalGuard's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.evalguard.documents import LISTS
from evalstream.formats.evalguard.views import object_member
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json_values import list_or_empty
from evalstream.rules.base import Rule

_PLACE: Final = "/pagination"


def paging(endpoint: str, response: Mapping[str, Any]) -> Iterator[Violation]:
    """Compare the paging of a response with the entries that it has."""
    page = object_member(response, "pagination")
    total, limit, offset = (_count(page.get(name)) for name in ("total", "limit", "offset"))
    if endpoint not in LISTS or total is None or limit is None or offset is None:
        return
    shown = len(list_or_empty(response.get(endpoint)))
    if shown > limit:
        message = f"there are {shown:,} {endpoint}, more than the limit"
        yield EVG209.violation(message, pointer=f"{_PLACE}/limit", found=limit)
    if shown and offset + shown > total:
        message = f"the last of {shown:,} {endpoint} is number {offset + shown:,}, beyond the total"
        yield EVG209.violation(message, pointer=f"{_PLACE}/total", found=total)
        return
    more, said = offset + shown < total, page.get("has_more")
    if isinstance(said, bool) and said is not more:
        message = f"{offset + shown:,} of {total:,} {endpoint} are shown up to here"
        yield EVG209.violation(message, pointer=f"{_PLACE}/has_more", expected=more, found=said)


def _count(value: Any) -> int | None:
    is_whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0
    return int(value) if is_whole and value >= 0 else None


EVG209: Final = Rule(
    "EVG209",
    "paging-mismatch",
    Severity.ERROR,
    "the paging of a response contradicts the entries that it has",
)

RULES: Final = (EVG209,)
