"""Access to fsspec, which is imported when the first URL is opened."""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from evalstream.io.remote import limits
from evalstream.io.remote.errors import FOLDER, StoreError
from evalstream.io.remote.store import ObjectInfo, version_marks

_Returned = TypeVar("_Returned")


def open_filesystem(url: str, **options: Any) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it."""
    found: tuple[Any, str] = import_module("fsspec.core").url_to_fs(
        url, use_listings_cache=False, **options
    )
    return found


def fsspec_settings(scheme: str, option: str) -> dict[str, Any]:
    """Return the user's fsspec settings of an option, which our own value would replace."""
    return dict(import_module("fsspec.config").conf.get(scheme, {}).get(option, {}))


def run_on(
    loop: Any,
    function: Callable[..., Awaitable[_Returned]],
    *arguments: Any,
    seconds: float | None = None,
) -> _Returned:
    """Run a coroutine on the event loop of fsspec, with a timeout."""
    returned: _Returned = import_module("fsspec.asyn").sync(
        loop, function, *arguments, timeout=seconds or limits.BLOCK_SECONDS
    )
    return returned


def object_info(found: Mapping[str, Any]) -> ObjectInfo:
    """Return the properties of an object from the answer of a file system."""
    if found.get("type") == "directory":
        raise StoreError(FOLDER)
    size = found.get("size")
    return ObjectInfo(size, size is not None, version_marks(found))
