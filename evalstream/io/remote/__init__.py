"""URLs and the objects they name: read in order, with threads that fetch blocks ahead."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evalstream.model.run import STDIN
from evalstream.parsing.lazy_regex import LazyPattern

if TYPE_CHECKING:
    from evalstream.io.remote.listing import as_prefix, list_objects, read_each
    from evalstream.io.remote.reader import RemoteReader, exists, read_whole
    from evalstream.io.remote.store import Listed


HUB: Final = "hf"
WEB: Final = frozenset({"http", "https"})
S3: Final = frozenset({"s3", "s3a"})

_URL: Final = LazyPattern(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)")


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


__all__ = [
    "Listed",
    "RemoteReader",
    "as_prefix",
    "exists",
    "is_local",
    "is_remote",
    "list_objects",
    "read_each",
    "read_whole",
    "redact_url",
]

_HOMES: Final = {
    "RemoteReader": "reader",
    "exists": "reader",
    "read_whole": "reader",
    "Listed": "store",
    "as_prefix": "listing",
    "list_objects": "listing",
    "read_each": "listing",
}
"""Modules that are imported on first use only: most files are local."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
