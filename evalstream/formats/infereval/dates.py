"""Dates and times in ISO 8601, as the package infereval accepts them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_DATE: Final = r"(\d{4}-\d{2}-\d{2})"
_TIME: Final = r"(\d{2}:\d{2}(?::\d{2})?)(?:(?<=:\d{2}:\d{2})[.,](\d{1,9})\d*)?"
_ZONE: Final = r"(Z|[+-]\d{2}:?\d{2})?"
_DATE_TIME: Final = re.compile(rf"{_DATE}(?:[T _]{_TIME}{_ZONE})?", re.IGNORECASE | re.ASCII)


def date_time(text: str) -> datetime | None:
    """Return the moment that a string names, or None if it is not a date or time.

    A date alone means midnight, and a time without a zone is in UTC.
    """
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return None
    date, time, fraction, zone = found.groups()
    written = f"{date}T{time or '00:00'}"
    if fraction:
        written += f".{fraction[:6]:0<6}"
    try:
        moment = datetime.fromisoformat(written + (zone or "").upper())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_date(text: str) -> bool:
    """Return whether a string is a date; midnight of that date is allowed, too."""
    moment = date_time(text)
    return moment is not None and not (
        moment.hour or moment.minute or moment.second or moment.microsecond
    )
