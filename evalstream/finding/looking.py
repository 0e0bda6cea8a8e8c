"""The look into a JSON file that tells an aggregate, and which rows it declares."""

from __future__ import annotations

import os
import stat
from typing import Any, Final, NamedTuple

import msgspec

from evalstream.formats.eee import AGGREGATE_KEYS
from evalstream.parsing import fast

LARGEST_AGGREGATE: Final = 256 << 20

AGGREGATE: Final = 1
NO_AGGREGATE: Final = 2
TOO_LARGE: Final = 3

_HEAD_BYTES: Final = 4096
_BLANK: Final = b" \t\r\n\xef\xbb\xbf"


class Look(NamedTuple):
    """What a JSON file is, by one of this module's words, and the rows file that it declares."""

    kind: int
    declared: str | None = None


def look_at(path: str) -> Look | None:
    """Look into a local file, None where there is none; what cannot be read is an aggregate."""
    try:
        with open(path, "rb", buffering=0, opener=_opened) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_size > LARGEST_AGGREGATE:
                return Look(TOO_LARGE)
            return looked(file.readall())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return None
    except OSError:
        return Look(AGGREGATE) if os.path.isfile(path) else None


def looked(text: bytes) -> Look:
    """Look into a JSON document; one that is none counts as an aggregate that is broken."""
    if is_array(text):
        return Look(NO_AGGREGATE if _is_sound(text) else AGGREGATE)
    try:
        top = _TOP.decode(text)
    except (ValueError, RecursionError):
        return _looked_closely(text)
    if top.evaluation_results is msgspec.UNSET and top.detailed_evaluation_results is msgspec.UNSET:
        return _looked_closely(text)
    return Look(AGGREGATE, _declared_by(top.detailed_evaluation_results))


def is_array(head: bytes) -> bool:
    """Tell whether a JSON file holds an array, by its first character."""
    return head[:_HEAD_BYTES].lstrip(_BLANK).startswith(b"[")


def holds_array(path: str) -> bool:
    """Tell whether a local JSON file holds an array; False where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return is_array(file.read(_HEAD_BYTES))
    except (OSError, ValueError):
        return False


class _Top(msgspec.Struct):
    """The members of an aggregate that matter here; the others are skipped, not built."""

    evaluation_results: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    detailed_evaluation_results: Any = msgspec.UNSET


def _opened(path: str, flags: int) -> int:
    """Open a file without waiting, as a pipe would have one wait for who writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _looked_closely(text: bytes) -> Look:
    """Tell a document that is something else from one that is broken."""
    try:
        document = fast(text)
    except ValueError:
        return Look(AGGREGATE)
    if not isinstance(document, dict) or AGGREGATE_KEYS.isdisjoint(document):
        return Look(NO_AGGREGATE)
    return Look(AGGREGATE, _declared_by(document.get("detailed_evaluation_results")))


def _declared_by(details: Any) -> str | None:
    declared = details.get("file_path") if isinstance(details, dict) else None
    return declared if isinstance(declared, str) and declared else None


def _is_sound(text: bytes) -> bool:
    try:
        _ANYTHING.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


_TOP: Final = msgspec.json.Decoder(_Top)
_ANYTHING: Final = msgspec.json.Decoder(msgspec.Raw)
