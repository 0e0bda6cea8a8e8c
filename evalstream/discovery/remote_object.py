"""Find the run of a single object in a store, and decide whether a URL is an object."""

from __future__ import annotations

import os

from evalstream.discovery.declared_rows import is_outside
from evalstream.discovery.pairing import without_rows
from evalstream.discovery.peek import (
    AGGREGATE,
    BROKEN,
    LIKE_AGGREGATE,
    AggregatePeek,
    peek_document,
)
from evalstream.discovery.remote import is_readable
from evalstream.io import file_names
from evalstream.io.remote import list_objects, read_whole
from evalstream.model.run import Run
from evalstream.parsing.limits import MOST_JSON_BYTES

_WEB = ("http://", "https://")
_SIGNS_OF_URLS = ("?", "#", "::", "\0")


def stands_for_prefix(url: str) -> bool:
    """Tell whether a URL names no object but is the beginning of objects' names.

    Raises OSError if the store cannot be asked, and MissingExtra.
    """
    if url.lower().startswith(_WEB):
        return False
    if url.endswith("/"):
        return True
    if file_names.ends_like_ours(url) or "?" in url or is_readable(url):
        return False
    return any(list_objects(url))


def found_at(url: str) -> Run | AggregatePeek:
    """Find the other half of a remote run: beside it, by name, or where its aggregate declares it.

    A URL with a query is signed for one object, so no other name is guessed from it. An object that
    is not an aggregate is returned as a peek. Raises OSError if a document cannot be read, and
    MissingExtra.
    """
    is_signed = "?" in url and url.startswith(_WEB)
    if not file_names.is_json_name(url.partition("?")[0]):
        candidates = [] if is_signed else file_names.aggregate_candidates(url)
        return Run(url, next(filter(is_readable, candidates), None))
    look = peek_document(read_whole(url, MOST_JSON_BYTES), url)
    if look.kind not in (AGGREGATE, BROKEN, LIKE_AGGREGATE):
        return look
    named = [] if is_signed else [*_beside(url, look.declared), *file_names.rows_named_like(url)]
    rows = next(filter(is_readable, named), None)
    if rows is not None:
        return Run(rows, url)
    leads_out = look.declared if look.declared and is_outside(look.declared) else None
    return without_rows(url, look.declared, leads_out)


def _beside(url: str, declared: str | None) -> list[str]:
    """Name the object beside an aggregate that it declares; the name cannot add a query."""
    name = os.path.basename(declared or "")
    if not name or any(sign in name for sign in _SIGNS_OF_URLS):
        return []
    return [f"{url.rpartition('/')[0]}/{name}"]
