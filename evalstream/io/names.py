"""Paths and URLs: their schemes, and how reports display them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

from evalstream.model.run import STDIN, HeldInput
from evalstream.parsing.lazy_regex import LazyPattern

HUB: Final = "hf"
WEB: Final = frozenset({"http", "https"})
S3: Final = frozenset({"s3", "s3a"})

_URL: Final = LazyPattern(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)")

WILD: Final = LazyPattern(r"[*?\[]")
"""A wildcard of a pattern of names."""


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL, such as `s3://bucket/key`."""
    return "://" in path and _URL.match(path) is not None


def is_local(path: str) -> bool:
    """Tell whether a path is that of a local file or folder, not of standard input."""
    return path != STDIN and not is_remote(path)


def redact_url(url: str) -> str:
    """Return a URL for display: without user, password, query and fragment."""
    match = _URL.match(url)
    if match is None:
        return url
    scheme, server, path = match.groups()
    server = server.rpartition("@")[2]
    _, colon, port = server.rpartition(":")
    if colon and not (port.isdecimal() or port.endswith("]") or server.startswith("arn:")):
        # Not a port: a password with a character that ends the server's part of the URL.
        return f"{scheme}://…"
    return f"{scheme}://{server}{path}"


def url_scheme(url: str) -> str:
    """Return the scheme of a URL in lower case. Raises OSError for chained URLs."""
    match = _URL.match(url)
    scheme = match[1].lower() if match is not None else ""
    if match is None or ("::" in url and scheme not in WEB):
        raise OSError("chained URLs are not supported")
    return scheme


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
