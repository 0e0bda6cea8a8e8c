"""Paths and URLs as reports show them."""

from __future__ import annotations

import os

from evalstream.io.remote import is_remote, shown


def printable(path: str) -> str:
    """Return a path or URL as text that UTF-8 can hold, without what a URL carries in secret."""
    if is_remote(path):
        return shown(path)
    try:
        return os.fsencode(path).decode(errors="replace")
    except UnicodeEncodeError:
        return path.encode(errors="replace").decode()


def split_root(path: str) -> tuple[str, str]:
    """Split what no folder is above from a URL, as `s3://bucket/`; paths are split nowhere."""
    if not is_remote(path):
        return "", path
    scheme, _, rest = path.partition("://")
    server, slash, key = rest.partition("/")
    return f"{scheme}://{server}{slash}", key
