"""The kind of store of a URL, and the packages to install for it."""

from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from evalstream.io.remote.errors import classify_error
from evalstream.io.remote.store import Store
from evalstream.io.remote.urls import HUB, S3, WEB, url_scheme
from evalstream.model.errors import MissingExtra
from evalstream.model.extras import install_command

_Opened = TypeVar("_Opened")


def find_store(url: str) -> Store:
    """Return the store of a URL. Raises OSError, MissingExtra."""
    return open_url(url, _open_store)


def open_url(url: str, open_as: Callable[[str, str], _Opened]) -> _Opened:
    """Call `open_as` with a URL and its scheme. Raises OSError, MissingExtra."""
    scheme = url_scheme(url)
    try:
        import_module("fsspec").get_filesystem_class("https" if scheme == HUB else scheme)
        return open_as(scheme + url[len(scheme) :], scheme)
    except ImportError as cause:
        error: Exception = _missing(cause, scheme)
    except Exception as cause:  # noqa: BLE001 - libraries of stores raise any type
        error = classify_error(cause).error()
    # Raised outside the handler, so that the library's message is not part of the traceback.
    raise error


def _open_store(url: str, scheme: str) -> Store:
    """Return the store of a URL; each kind is imported on first use."""
    if scheme in WEB:
        from evalstream.io.remote.http import WebObject

        return WebObject(url, scheme)
    if scheme == HUB:
        from evalstream.io.remote.hub import HubObject

        return HubObject(url, scheme)
    if scheme in S3:
        from evalstream.io.remote.s3 import S3Object

        return S3Object(url, scheme)
    from evalstream.io.remote.filesystem import AnyObject

    return AnyObject(url, scheme)


def _missing(error: ImportError, scheme: str) -> MissingExtra:
    """Return an error that names the package to install."""
    cause = error.__cause__
    module = (cause.name if isinstance(cause, ImportError) else error.name) or f"for {scheme}://"
    package = module.partition(".")[0]
    own = "" if scheme in WEB | S3 | {HUB} or package == "fsspec" else f" {package}"
    command = install_command("remote")
    return MissingExtra(f"{package} is not installed; install it with: {command}{own}")
