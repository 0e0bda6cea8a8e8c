"""Remote objects by URL: read in order, with threads that fetch blocks ahead."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstream.io.remote.listing import as_prefix, list_objects
    from evalstream.io.remote.reader import RemoteReader, exists, read_each, read_whole
    from evalstream.io.remote.store import Listed

__all__ = [
    "Listed",
    "RemoteReader",
    "as_prefix",
    "exists",
    "list_objects",
    "read_each",
    "read_whole",
]

_OF_LISTING = {"Listed", "as_prefix", "list_objects"}


def __getattr__(name: str) -> Any:
    # Most files are local.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "listing" if name in _OF_LISTING else "reader"
    return getattr(import_module(f"{__name__}.{module}"), name)
