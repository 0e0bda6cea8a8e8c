"""Which samples of its dataset a result says that it uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json_values import to_float

SOURCE_DATA: Final = "source_data"


class UsedSamples(NamedTuple):
    """The number of samples of a dataset, the used ones, and the member that says so.

    `lists_evenly` says that the used ones are listed equally often.
    """

    number: int | None
    ids: frozenset[str] | None
    place: str = SOURCE_DATA
    lists_evenly: bool = True


def read_used_samples(source: Mapping[str, Any]) -> UsedSamples:
    """Read which samples there are.

    For a dataset that is not one of Hugging Face, the converter of Inspect's logs writes them as
    texts in additional_details, the ids with commas between them. If there seem to be more ids than
    samples, they have commas themselves.
    """
    listed, details = source.get("sample_ids"), source.get(_DETAILS)
    if isinstance(listed, list) or "samples_number" in source or not isinstance(details, dict):
        number = _whole(source.get("samples_number"))
        if not isinstance(listed, list):
            return UsedSamples(number, None)
        known = frozenset(map(str, listed))
        is_even = len(known) == len(listed) or len({*Counter(map(str, listed)).values()}) == 1
        return UsedSamples(number, known, lists_evenly=is_even)
    number, texts = details.get("samples_number"), details.get("sample_ids")
    if not (isinstance(number, str) and number.isdecimal() and len(number) < MOST_DIGITS):
        return UsedSamples(None, None)
    parts = texts.split(",") if isinstance(texts, str) and texts else []
    ids = frozenset(parts) if 0 < len(parts) <= int(number) else None
    return UsedSamples(int(number), ids, f"{SOURCE_DATA}/{_DETAILS}")


_DETAILS: Final = "additional_details"

MOST_DIGITS: Final = 16
"""Numbers of samples have fewer digits."""


def _whole(value: Any) -> int | None:
    """Return a number that is an integer for JSON Schema, as 20.0 is, else None."""
    known = to_float(value)
    return int(value) if known is not None and known.is_integer() else None
