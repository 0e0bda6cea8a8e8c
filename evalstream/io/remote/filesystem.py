"""What fsspec does for every kind of store; it is imported when the first URL is opened."""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from evalstream.io.remote import limits
from evalstream.io.remote.errors import FOLDER, StoreError
from evalstream.io.remote.store import Facts, marks_among

_Returned = TypeVar("_Returned")


def located(url: str, **options: Any) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    found: tuple[Any, str] = import_module("fsspec.core").url_to_fs(
        url, use_listings_cache=False, **options
    )
    return found


def configured(scheme: str, option: str) -> dict[str, Any]:
    """Return what fsspec is configured to use; what is handed over would take its place."""
    return dict(import_module("fsspec.config").conf.get(scheme, {}).get(option, {}))


def run_on(loop: Any, function: Callable[..., Awaitable[_Returned]], *arguments: Any) -> _Returned:
    """Run a coroutine on the event loop of fsspec, and end it where it takes too long."""
    returned: _Returned = import_module("fsspec.asyn").sync(
        loop, function, *arguments, timeout=limits.BLOCK_SECONDS
    )
    return returned


def facts_of(found: Mapping[str, Any]) -> Facts:
    """Return what is needed of what a file system tells of an object."""
    if found.get("type") == "directory":
        raise StoreError(FOLDER)
    size = found.get("size")
    return Facts(size, size is not None, marks_among(found))
