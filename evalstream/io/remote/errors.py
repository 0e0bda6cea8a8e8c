"""Errors of stores, in messages of our own: those of libraries and servers may hold credentials."""

import os
from http import HTTPStatus
from typing import Final, NamedTuple


class FailureReason(NamedTuple):
    """The reason of a failure; after a `permanent` one there is no retry."""

    message: str
    kind: type[OSError] = OSError
    permanent: bool = False

    def error(self, tries: int = 1) -> OSError:
        """Return the exception to raise after the last attempt."""
        return self.kind(self.message if tries == 1 else f"{self.message} (tried {tries} times)")


class StoreError(Exception):
    """A request failed for a known reason."""

    def __init__(self, reason: FailureReason) -> None:
        super().__init__(reason.message)
        self.reason = reason


CHANGED: Final = FailureReason("the object changed while it was read", permanent=True)
FOLDER: Final = FailureReason("it is a folder", IsADirectoryError, permanent=True)

_DENIED: Final = FailureReason("access denied", PermissionError, permanent=True)
_NOT_FOUND: Final = FailureReason("not found", FileNotFoundError, permanent=True)
_NO_CREDENTIALS: Final = FailureReason("no credentials found", PermissionError, permanent=True)
_NOT_SECURE: Final = FailureReason("cannot make a secure connection", permanent=True)
_NO_SENSE: Final = FailureReason("the store does not accept this URL", permanent=True)
_UNREACHABLE: Final = FailureReason("cannot reach the server", ConnectionError)
_BROKEN: Final = FailureReason("the connection was interrupted", ConnectionError)
_TIMED_OUT: Final = FailureReason("the server did not answer in time", TimeoutError)


def classify_error(error: Exception) -> FailureReason:
    """Return the reason of a failure, from the type of an exception and its status codes."""
    if isinstance(error, StoreError):
        return error.reason
    status = _http_status(error)
    if status is not None:
        return refusal(status)
    for kind in type(error).__mro__:
        if kind.__name__ in _REASONS_BY_NAME:
            return _REASONS_BY_NAME[kind.__name__]
    # gcsfs has no other sign of this failure.
    if isinstance(error, OSError) and str(error).startswith("Forbidden"):
        return _DENIED
    if isinstance(error, OSError) and error.errno is not None:
        return FailureReason(os.strerror(error.errno).lower())
    return FailureReason(
        f"unexpected {type(error).__name__}", permanent=isinstance(error, _LASTING)
    )


def refusal(status: int) -> FailureReason:
    """Return the reason for an HTTP status."""
    if status in _REASONS_BY_STATUS:
        return _REASONS_BY_STATUS[status]
    phrase = f" ({HTTPStatus(status).phrase})" if status in _STATUSES else ""
    return FailureReason(f"the server answered {status}{phrase}", permanent=status not in _PASSING)


def _http_status(error: BaseException | None) -> int | None:
    """Return the HTTP status of the response that caused an exception, if there is one."""
    while error is not None:
        answer = getattr(error, "response", None)
        reported = getattr(answer, "status_code", None)
        if isinstance(answer, dict):
            reported = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
        elif type(error).__name__ == "HttpError":
            # Only for gcsfs: parse errors of aiohttp have a code that no server sent.
            reported = getattr(error, "code", None)
        if str(reported).isdecimal():
            return int(str(reported))
        error = error.__cause__
    return None


_STATUSES: Final = frozenset(HTTPStatus)
_PASSING: Final = frozenset({408, 425, 429, *range(500, 600)}) - {501}
"""The HTTP statuses after which a retry may succeed."""

_REASONS_BY_STATUS: Final[dict[int, FailureReason]] = {
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
"""Reasons by name of the exception, because its package may not be installed."""
