"""Why stores fail, in words of our own: those of a library or a server may hold credentials."""

import os
from http import HTTPStatus
from typing import Final, NamedTuple


class Reason(NamedTuple):
    """Why something failed; what is `lasting` is not tried again."""

    words: str
    kind: type[OSError] = OSError
    lasting: bool = False

    def error(self, tries: int = 1) -> OSError:
        """Return what is told in the end."""
        return self.kind(self.words if tries == 1 else f"{self.words} (tried {tries} times)")


class StoreError(Exception):
    """A try failed for a reason that we found."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.words)
        self.reason = reason


CHANGED: Final = Reason("it changed while it was read", lasting=True)
FOLDER: Final = Reason("it is a folder", IsADirectoryError, lasting=True)

_DENIED: Final = Reason("access is denied", PermissionError, lasting=True)
_NOT_FOUND: Final = Reason("it was not found", FileNotFoundError, lasting=True)
_NO_CREDENTIALS: Final = Reason("no credentials were found", PermissionError, lasting=True)
_NOT_SECURE: Final = Reason("no secure connection could be made", lasting=True)
_NO_SENSE: Final = Reason("the URL makes no sense to its store", lasting=True)
_UNREACHABLE: Final = Reason("the server cannot be reached", ConnectionError)
_BROKEN: Final = Reason("the connection broke off", ConnectionError)
_TIMED_OUT: Final = Reason("the server took too long", TimeoutError)


def reason_of(error: Exception) -> Reason:
    """Say why something failed, by the kind of an exception and its numbers."""
    if isinstance(error, StoreError):
        return error.reason
    status = _status_of(error)
    if status is not None:
        return refusal(status)
    for kind in type(error).__mro__:
        if kind.__name__ in _REASONS_BY_NAME:
            return _REASONS_BY_NAME[kind.__name__]
    # gcsfs tells this in no other way.
    if isinstance(error, OSError) and str(error).startswith("Forbidden"):
        return _DENIED
    if isinstance(error, OSError) and error.errno is not None:
        return Reason(os.strerror(error.errno).lower())
    return Reason(f"it failed with {type(error).__name__}", lasting=isinstance(error, _LASTING))


def refusal(status: int) -> Reason:
    """Say what a status of HTTP means."""
    if status in _REASONS_BY_STATUS:
        return _REASONS_BY_STATUS[status]
    phrase = f" ({HTTPStatus(status).phrase})" if status in _STATUSES else ""
    return Reason(f"the server answered {status}{phrase}", lasting=status not in _PASSING)


def _status_of(error: BaseException | None) -> int | None:
    """Return the status of the HTTP answer that an exception came from, if it did."""
    while error is not None:
        answer = getattr(error, "response", None)
        told = getattr(answer, "status_code", None)
        if isinstance(answer, dict):
            told = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
        elif type(error).__name__ == "HttpError":
            # Only of gcsfs: aiohttp's faults of parsing have a code that nobody answered.
            told = getattr(error, "code", None)
        if str(told).isdecimal():
            return int(str(told))
        error = error.__cause__
    return None


_STATUSES: Final = frozenset(HTTPStatus)
_PASSING: Final = frozenset({408, 425, 429, *range(500, 600)}) - {501}
"""The statuses after which another try may go well."""

_REASONS_BY_STATUS: Final[dict[int, Reason]] = {
    HTTPStatus.UNAUTHORIZED: _DENIED,
    HTTPStatus.FORBIDDEN: _DENIED,
    HTTPStatus.NOT_FOUND: _NOT_FOUND,
    HTTPStatus.GONE: _NOT_FOUND,
    HTTPStatus.PRECONDITION_FAILED: CHANGED,
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: CHANGED,
}

_LASTING: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    NotImplementedError,
    MemoryError,
)

_REASONS_BY_NAME: Final = {
    "FileNotFoundError": _NOT_FOUND,
    "PermissionError": _DENIED,
    "IsADirectoryError": FOLDER,
    "NoCredentialsError": _NO_CREDENTIALS,
    "PartialCredentialsError": _NO_CREDENTIALS,
    "CredentialRetrievalError": _NO_CREDENTIALS,
    "TokenRetrievalError": _NO_CREDENTIALS,
    "ProfileNotFound": _NO_CREDENTIALS,
    "GoogleAuthError": _NO_CREDENTIALS,
    "SSLError": _NOT_SECURE,
    "ClientSSLError": _NOT_SECURE,
    "ClientConnectorCertificateError": _NOT_SECURE,
    "InvalidURL": _NO_SENSE,
    "ParamValidationError": _NO_SENSE,
    "TimeoutError": _TIMED_OUT,
    "ReadTimeoutError": _TIMED_OUT,
    "ConnectTimeoutError": _TIMED_OUT,
    "TimeoutException": _TIMED_OUT,
    "ClientConnectorError": _UNREACHABLE,
    "EndpointConnectionError": _UNREACHABLE,
    "ConnectError": _UNREACHABLE,
    "ClientPayloadError": _BROKEN,
    "ClientOSError": _BROKEN,
    "ServerDisconnectedError": _BROKEN,
    "HTTPClientError": _BROKEN,
    "IncompleteReadError": _BROKEN,
    "IncompleteRead": _BROKEN,
    "ConnectionError": _BROKEN,
}
"""Exceptions by name, as the packages that they are from may not be installed."""
