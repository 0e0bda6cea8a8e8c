"""The name and the place of what a migration writes."""

from __future__ import annotations

import hashlib
import os
import uuid
from typing import Final, NamedTuple

from evalstream.formats.eee.datastore import (
    ROOT,
    Unaddressable,
    derive_address,
    parse_path,
    unportable,
)

ROWS_ENDING: Final = "_samples.jsonl"


class TargetPlace(NamedTuple):
    """Where a run belongs in a datastore."""

    collection: str
    developer: str
    model: str

    def aggregate(self, name: str) -> str:
        """Return the path of an aggregate, relative to the folder around `data`."""
        return "/".join((ROOT, *self, f"{name}.json"))

    def rows(self, name: str) -> str:
        """Return the path of rows, relative to the folder around `data`."""
        return "/".join((ROOT, *self, name + ROWS_ENDING))


def new_name(aggregate: str, rows: str | None, target: str) -> str:
    """Return a name in the form of a UUID4 from hex digests of the old bytes and the new version.

    Equal sources give equal names. The bits of version and variant are those of RFC 9562.
    """
    text = "\n".join(("evalstream migrate", aggregate, rows or "", target))
    digest = hashlib.sha256(text.encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def read_collection(path: str) -> str | None:
    """Return the collection of a file in a datastore, None for a file elsewhere."""
    place = parse_path(path)
    return place.folders[1] if place.inside else None


def place_for(collection: str, model: str, developer: str | None) -> TargetPlace | str:
    """Return the place of a model's run in a collection, or why there is none."""
    is_name = collection == os.path.basename(collection) and collection
    reason = unportable(collection) if is_name else "it is not one name"
    if reason is not None:
        return f"the collection {collection!r} cannot be a folder: {reason}"
    address = derive_address(model, developer)
    if isinstance(address, Unaddressable):
        return f"model_info.{address.member} gives no folder: {address.reason}"
    return TargetPlace(collection, *address)
