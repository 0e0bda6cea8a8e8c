"""Remote objects by URL: read in order, with threads that fetch blocks ahead."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evalstream.io.names import is_local, is_remote, redact_url

if TYPE_CHECKING:
    from evalstream.io.remote.listing import as_prefix, list_objects, read_each
    from evalstream.io.remote.reader import RemoteReader, exists, read_whole
    from evalstream.io.remote.store import Listed

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
