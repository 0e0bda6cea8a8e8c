"""The run that a single object in a store stands for, and whether it is one at all."""

from __future__ import annotations

import os

from evalstream.finding.looking import LARGEST_AGGREGATE, looked
from evalstream.finding.prefixes import is_readable
from evalstream.runs import (
    AGGREGATE_ENDING,
    Run,
    aggregate_candidates,
    ends_like_ours,
    missing_rows,
    rows_named_like,
)
from evalstream.sources.remote import listed, read_whole

_WEB = ("http://", "https://")


def stands_for_prefix(url: str) -> bool:
    """Tell whether a URL names no object but what objects' names begin with.

    Raises OSError where the store cannot be asked, and MissingExtra.
    """
    if url.lower().startswith(_WEB):
        return False
    if url.endswith("/"):
        return True
    if ends_like_ours(url) or "?" in url or is_readable(url):
        return False
    return any(listed(url))


def run_at(url: str) -> Run:
    """Find the other half of a remote run beside it, by name, or where its aggregate says.

    A URL with a query is signed for one object; nothing is guessed from it. Raises OSError
    where an aggregate cannot be read, and MissingExtra.
    """
    is_signed = "?" in url and url.startswith(_WEB)
    if not url.partition("?")[0].endswith(AGGREGATE_ENDING):
        candidates = [] if is_signed else aggregate_candidates(url)
        return Run(url, next(filter(is_readable, candidates), None))
    declared = looked(read_whole(url, LARGEST_AGGREGATE)).declared
    folder = url.rpartition("/")[0]
    named = [f"{folder}/{os.path.basename(declared)}"] if declared else []
    candidates = [] if is_signed else [*named, *rows_named_like(url)]
    rows = next(filter(is_readable, candidates), None)
    return Run(rows, url, None if rows else missing_rows(declared))
