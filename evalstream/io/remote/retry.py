"""Requests to stores: each in its own thread, with limits, retries, and errors in our words."""

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from http import HTTPStatus
from threading import Event, Thread
from typing import Final, TypeVar

from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import NamedTuple
from evalstream.model.text import notify

BLOCK_BYTES: Final = 8 * MEBIBYTE
WORKERS: Final = 4
"""Number of blocks fetched in parallel; one more is being processed."""

PIECE_BYTES: Final = MEBIBYTE
"""Most bytes that one `read` returns."""

TRIES: Final = 5
PAUSE_SECONDS: Final = 1.0
"""First pause between two attempts, ± 50 %; each further pause is twice as long."""

STALL_SECONDS: Final = 30.0
"""Seconds without a byte after which a connection is closed."""

STALL_TRIES: Final = 3
"""Attempts at a server that does not answer in time; each one takes long."""

INFO_SECONDS: Final = 45.0
"""Seconds after which a request for the properties of an object is given up."""

NOTICE_SECONDS: Final = 5.0
"""Seconds without a block before the first notice; each further notice takes twice as long."""

BLOCK_SECONDS: Final = 120.0
"""Seconds after which a block is given up, even if bytes still arrive."""


class FailureReason(NamedTuple):
    """The reason of a failure; after a `permanent` one there is no retry.

    `pause` is how many seconds the server asks to wait.
    """

    message: str
    kind: type[OSError] = OSError
    permanent: bool = False
    pause: float = 0.0

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
_EXPIRED: Final = FailureReason("the credentials have expired", permanent=True)
_MAY_BE_EXPIRED: Final = FailureReason(
    "the server answered 400 (Bad Request), as it does to expired credentials", permanent=True
)
_NOT_SECURE: Final = FailureReason("cannot make a secure connection", permanent=True)
_NO_SENSE: Final = FailureReason("the store does not accept this URL", permanent=True)
_UNREACHABLE: Final = FailureReason("cannot reach the server", ConnectionError)
_BROKEN: Final = FailureReason("the connection was interrupted", ConnectionError)
_REDIRECTED: Final = FailureReason("the server redirects every request", permanent=True)
_LED_AWAY: Final = FailureReason(
    "the server redirects to what is not a web address", permanent=True
)
_NO_HTTP: Final = FailureReason("the server's answer is not valid HTTP", ConnectionError)
_TIMED_OUT: Final = FailureReason("the server did not answer in time", TimeoutError)


def classify_error(error: Exception) -> FailureReason:
    """Return the reason of a failure, from the type of an exception and its status codes."""
    if isinstance(error, StoreError):
        return error.reason
    status, code = _http_status(error)
    if status is not None:
        return _REASONS_BY_CODE.get(code) or refusal(status)
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


def _http_status(error: BaseException | None) -> tuple[int | None, str]:
    """Return the HTTP status that an exception is about, and the code that S3 gives."""
    code = ""
    while error is not None:
        answer = getattr(error, "response", None)
        reported = getattr(answer, "status_code", None)
        if isinstance(answer, dict):
            reported = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
            code = str(answer.get("Error", {}).get("Code"))
        elif type(error).__name__ == "HttpError":
            # Only for gcsfs: parse errors of aiohttp have a code that no server sent.
            reported = getattr(error, "code", None)
        if str(reported).isdecimal():
            return int(str(reported)), code
        error = error.__cause__
    return None, code


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

_REASONS_BY_CODE: Final = {
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "RequestExpired": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    # The answer to a request for a head has no body to say more.
    "400": _MAY_BE_EXPIRED,
}
"""Reasons by the code of an answer of S3."""

_LASTING: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    NotImplementedError,
    MemoryError,
)

_REASONS_BY_NAME: Final = {
    name: reason
    for reason, names in (
        (_NOT_FOUND, "FileNotFoundError"),
        (_DENIED, "PermissionError"),
        (FOLDER, "IsADirectoryError"),
        (_NO_CREDENTIALS, "NoCredentialsError PartialCredentialsError CredentialRetrievalError"),
        (_NO_CREDENTIALS, "TokenRetrievalError ProfileNotFound GoogleAuthError"),
        (_NOT_SECURE, "SSLError ClientSSLError ClientConnectorCertificateError"),
        (_NO_SENSE, "InvalidURL ParamValidationError"),
        # botocore asks an S3 that redirects for the region of the bucket, and follows once more.
        (_REDIRECTED, "RecursionError TooManyRedirects"),
        (_LED_AWAY, "RedirectClientError"),
        (_NO_HTTP, "ClientResponseError"),
        (_TIMED_OUT, "TimeoutError ReadTimeoutError ConnectTimeoutError TimeoutException"),
        (_UNREACHABLE, "ClientConnectorError EndpointConnectionError ConnectError"),
        (_BROKEN, "ClientPayloadError ClientOSError ServerDisconnectedError HTTPClientError"),
        (_BROKEN, "IncompleteReadError IncompleteRead ConnectionError"),
    )
    for name in names.split()
}
"""Reasons by name of the exception, because its package may not be installed."""


_Returned = TypeVar("_Returned")


class BackgroundCall(Future[_Returned]):
    """A call in its own daemon thread, which does not delay the end of the process."""

    def __init__(self, call: Callable[[], _Returned]) -> None:
        super().__init__()
        thread = Thread(target=self._run, args=(call,), name="evalstream-remote", daemon=True)
        thread.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Tell whether the call returns or raises within some seconds."""
        return bool(wait([self], seconds).done)

    def _run(self, call: Callable[[], _Returned]) -> None:
        try:
            self.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised where the result is taken
            self.set_exception(error)


class Patience:
    """Tells people now and then that the program waits for a server."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._next = NOTICE_SECONDS

    def tell(self, name: str) -> None:
        """Write a notice if one is due."""
        waited = time.monotonic() - self._since
        if waited >= self._next:
            self._next = 2 * waited
            notify(f"{name}: waiting for the server for {waited:.0f} s")


def with_timeout(call: Callable[[], _Returned], seconds: float | None = None) -> _Returned:
    """Return what a call returns, with a timeout; a stalled call is abandoned."""
    return BackgroundCall(call).result(seconds or BLOCK_SECONDS)


def with_retries(
    call: Callable[[], _Returned], closed: Event, *, tries: int | None = None, name: str = ""
) -> _Returned:
    """Return what a call returns, with retries, notices of `name`, pauses. Raises OSError."""
    count = stalls = 0
    while True:
        count += 1
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - libraries of stores raise any type
            reason = classify_error(error)
        stalls += reason.kind is TimeoutError
        most = tries or TRIES
        if reason.kind is TimeoutError:
            most = min(most, count + STALL_TRIES - stalls)
        pause = PAUSE_SECONDS * 2 ** (count - 1) * random.uniform(0.5, 1.5)
        pause = max(pause, reason.pause)
        if reason.permanent or count >= most or closed.is_set():
            break
        tried = f"{reason.error(count)}; attempt {count + 1} of {most} follows in {pause:.0f} s"
        notify(f"{name}: {tried}")
        if closed.wait(pause):
            break
    # Raised outside the handler, so that the library's message is not part of the traceback.
    raise reason.error(count)
