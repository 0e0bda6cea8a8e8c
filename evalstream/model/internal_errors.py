"""Internal errors: exceptions that nobody raised on purpose, while one input was worked on."""

from __future__ import annotations

import os
import sys
from typing import Final

from evalstream.model.errors import EvalstreamError, InternalError

TRACEBACK: Final = "EVALSTREAM_TRACEBACK"
"""The environment variable that, if it is set, has the traceback of each one printed on stderr."""

_PACKAGE: Final = __name__.partition(".")[0]
_PANIC: Final = "PanicException"
"""What a library in Rust raises where it panics; it is no Exception."""


def internal_error(error: BaseException) -> InternalError:
    """Return an exception as an internal error.

    Raises `error` itself if it is not one: evalstream raised it on purpose, the system refused
    something (OSError), or it ends the process.
    """
    if isinstance(error, InternalError):
        return error
    is_expected = isinstance(error, (EvalstreamError, OSError))
    if is_expected or not (isinstance(error, Exception) or type(error).__name__ == _PANIC):
        raise error
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    return InternalError(type(error).__name__, _error_place(error))


def _error_place(error: BaseException) -> str:
    """Return where the exception left our code, as module:function:line."""
    place, step = "unknown place", error.__traceback__
    while step is not None:
        module = str(step.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == _PACKAGE:
            place = f"{module}:{step.tb_frame.f_code.co_qualname}:{step.tb_lineno}"
        step = step.tb_next
    return place
