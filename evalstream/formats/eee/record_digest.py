"""Compute a digest that copies of one aggregate have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from xxhash import xxh3_128_hexdigest

from evalstream.parsing.json import canonical

_DETAILS: Final = "detailed_evaluation_results"
_OF_ONE_COPY: Final = frozenset({"evaluation_id", "retrieved_timestamp"})
"""Members that differ between copies of a record, at any depth."""

_CONTAINERS: Final = frozenset({dict, list})


def record_digest(document: Mapping[str, Any]) -> str | None:
    """Digest an aggregate, with the same result for all copies of its record.

    The order of keys and of list items does not count, nor do evaluation_id and retrieved_timestamp
    at any depth, nor file_path, which names the location of the rows. The digest is None if the
    document nests deeper than Python can follow.
    """
    rest = dict(document)
    details = rest.get(_DETAILS)
    if isinstance(details, dict):
        rest[_DETAILS] = {name: value for name, value in details.items() if name != "file_path"}
    try:
        return xxh3_128_hexdigest(canonical(_without_order(rest)))
    except RecursionError:
        return None


def _without_order(value: Any) -> Any:
    """Return an object or list without what differs between copies; other values unchanged.

    A list of strings is sorted. Any other list becomes the sorted digests of its items, so a list
    in a list is written once, not once for each list around it.
    """
    if value.__class__ is dict:
        if _OF_ONE_COPY.isdisjoint(value) and _CONTAINERS.isdisjoint(map(type, value.values())):
            return value
        return {
            name: _without_order(member) if member.__class__ in _CONTAINERS else member
            for name, member in value.items()
            if name not in _OF_ONE_COPY
        }
    if value.__class__ is not list:
        return value
    if set(map(type, value)) == {str}:
        return sorted(value)
    return sorted(xxh3_128_hexdigest(canonical(_without_order(item))) for item in value)
