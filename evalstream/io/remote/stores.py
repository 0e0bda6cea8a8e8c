"""Which kind of store a URL names, and what to install for it."""

from collections.abc import Callable
from importlib import import_module
from typing import Final, TypeVar

from evalstream.io.remote.errors import reason_of
from evalstream.io.remote.store import Store
from evalstream.io.remote.urls import S3, WEB, scheme_of
from evalstream.model.errors import MissingExtra

INSTALL: Final = "pip install 'evalstream[remote]'"

_Opened = TypeVar("_Opened")


def store_of(url: str) -> Store:
    """Return the store of a URL. Raises OSError, MissingExtra."""
    return opened(url, _opened)


def opened(url: str, open_as: Callable[[str, str], _Opened]) -> _Opened:
    """Return what a URL and its scheme are opened as. Raises OSError, MissingExtra."""
    scheme = scheme_of(url)
    try:
        import_module("fsspec").get_filesystem_class(scheme)
        return open_as(scheme + url[len(scheme) :], scheme)
    except ImportError as error:
        fault: Exception = _missing(error, scheme)
    except Exception as error:  # noqa: BLE001 - libraries of stores raise what they like
        fault = reason_of(error).error()
    # Raised here, so that what a library said does not hang on it.
    raise fault


def _opened(url: str, scheme: str) -> Store:
    """Return the store of a URL; each kind is imported when it is first met."""
    if scheme in WEB:
        from evalstream.io.remote.http import WebObject

        return WebObject(url, scheme)
    if scheme in S3:
        from evalstream.io.remote.s3 import S3Object

        return S3Object(url, scheme)
    from evalstream.io.remote.generic import AnyObject

    return AnyObject(url, scheme)


def _missing(error: ImportError, scheme: str) -> MissingExtra:
    """Name the package that is not installed."""
    cause = error.__cause__
    module = (cause.name if isinstance(cause, ImportError) else error.name) or f"for {scheme}://"
    package = module.partition(".")[0]
    own = "" if scheme in WEB | S3 or package == "fsspec" else f" {package}"
    return MissingExtra(f"{package} is not installed; install it with: {INSTALL}{own}")
