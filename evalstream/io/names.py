"""Paths and URLs as reports display them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

from evalstream.io.remote import is_remote, redact_url
from evalstream.model.run import HeldInput
from evalstream.parsing.lazy_regex import LazyPattern

WILD: Final = LazyPattern(r"[*?\[]")
"""A wildcard of a pattern of names."""


def printable(path: str) -> str:
    """Return a path or URL as valid UTF-8, without the credentials of a URL."""
    if is_remote(path):
        return redact_url(path)
    if isinstance(path, HeldInput):
        return path.label
    try:
        return os.fsencode(path).decode(errors="replace")
    except UnicodeEncodeError:
        return path.encode(errors="replace").decode()


def split_root(path: str) -> tuple[str, str]:
    """Split a URL after its server or bucket, such as `s3://bucket/`; a path is not split."""
    if not is_remote(path):
        return "", path
    scheme, _, rest = path.partition("://")
    server, slash, key = rest.partition("/")
    return f"{scheme}://{server}{slash}", key


def find_folders(inputs: Iterable[str]) -> list[str]:
    """Return the inputs that files may lie below, the shortest first."""
    return sorted((one for one in inputs if is_remote(one) or os.path.isdir(one)), key=len)


def name_below(path: str, folders: Sequence[str]) -> str:
    """Return a path or URL for display, relative to the first folder that it lies below.

    Below none it is the last part of its name.
    """
    shown = printable(path)
    for folder in folders:
        if is_remote(folder):
            start = f"{printable(folder).rstrip('/')}/"
            if shown.startswith(start):
                return shown.removeprefix(start)
        elif not is_remote(path):
            name = os.path.relpath(path, folder)
            if name.split(os.sep)[0] != os.pardir:
                return printable(name)
    return os.path.basename(shown)
