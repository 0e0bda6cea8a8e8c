"""Inspect's own reader of logs: the models of inspect_ai, and its digest of attachments.

They are imported only here, and only for what `log_types` does not accept: it takes about two
seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from evalstream.formats.inspect.documents import EXTRA
from evalstream.model.errors import MissingExtra, install_command
from evalstream.parsing.json import pointer

Digest = Callable[[str], str]
"""Returns the key under which a text is attached to a sample."""


_ODD: Final = (TypeError, KeyError, AttributeError, IndexError, OverflowError)


class LibraryRefusal(NamedTuple):
    """Why the harness cannot load a value: its words, and the JSON Pointer within the value."""

    message: str
    place: str


class Library:
    """The models that inspect_ai loads logs with.

    `new_context` makes what they share while they load one value. It is not kept, because it keeps
    each message that was loaded with it.
    """

    def __init__(self, models: Any, new_context: Callable[[], Any]) -> None:
        self._models, self._new_context = models, new_context

    def refused_sample(self, value: Mapping[str, Any]) -> LibraryRefusal | None:
        """Return why the harness cannot load a sample, or None. It may change the value."""
        return self._find_refusal(self._models.EvalSample, value)

    def refused_log(self, value: Mapping[str, Any]) -> LibraryRefusal | None:
        """Return why the harness cannot load a log without its samples, or None."""
        return self._find_refusal(self._models.EvalLog, value)

    def _find_refusal(self, model: Any, value: Mapping[str, Any]) -> LibraryRefusal | None:
        try:
            model.model_validate(value, context=self._new_context())
        except ValueError as error:
            return _explain_error(error)
        # Validators of the harness run over values of any type.
        except (*_ODD, RecursionError) as error:
            return LibraryRefusal(f"{type(error).__name__}: {error}", "")
        return None


def _explain_error(error: ValueError) -> LibraryRefusal:
    listed = getattr(error, "errors", None)
    details = listed(include_url=False, include_context=False) if callable(listed) else []
    if not details:
        return LibraryRefusal(str(error), "")
    first = details[0]
    path = [part for part in first["loc"] if isinstance(part, (int, str))]
    return LibraryRefusal(str(first["msg"]), pointer(path))


@lru_cache(maxsize=1)
def inspect_library() -> Library:
    """Return the harness's reader. Raises MissingExtra if it is not installed."""
    try:
        models = import_module("inspect_ai.log")
    except ImportError as error:
        command = install_command(EXTRA)
        raise MissingExtra(f"inspect_ai is not installed; install it with: {command}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise MissingExtra(f"inspect_ai cannot be imported ({reason[:200]})") from error
    try:
        constants = import_module("inspect_ai._util.constants")
        return Library(models, constants.get_deserializing_context)
    except (ImportError, AttributeError):
        return Library(models, lambda: None)


@lru_cache(maxsize=1)
def attachment_digest() -> Digest | None:
    """Return the digest of attachments, or None if mmh3, which computes it, is not installed.

    It is MurmurHash3 of 128 bits as two unsigned hexadecimal numbers (_util/hash.py of inspect_ai).
    """
    try:
        hash64 = import_module("mmh3").hash64
    except ImportError:
        return None

    def digest(text: str) -> str:
        high, low = hash64(text.encode(errors="backslashreplace"), signed=False)
        return f"{high:016x}{low:016x}"

    return digest
