"""The paths that callers give, and what callers give in their place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.api.arguments import described

Input = str | os.PathLike[str]

ROWS_ELSEWHERE: Final = "evalstream.check_rows checks rows in memory"


def path_of(value: Any, name: str) -> str:
    """Return a path as a text. Raises TypeError for anything else, called `name`."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str) and not _is_row(path):
            return path
    kind = "JSON" if isinstance(value, str) else described(value)
    raise TypeError(f"{name} is {kind}, not a path; {ROWS_ELSEWHERE}")


def optional_path(value: Any, name: str) -> str | None:
    """Return a path as a text, or None. Raises TypeError for anything else, called `name`."""
    return None if value is None else path_of(value, name)


def paths_of(inputs: Input | Iterable[Input]) -> Iterable[str]:
    """Return one path, or many, as texts. Raises TypeError for anything else.

    Of an iterator, each path is looked at when it is reached.
    """
    if isinstance(inputs, (str, os.PathLike)):
        return [path_of(inputs, "the input")]
    is_other = isinstance(inputs, (bytes, bytearray, Mapping)) or hasattr(inputs, "read")
    if is_other or not isinstance(inputs, Iterable):
        path_of(inputs, "the input")
    paths = _each(inputs)
    return list(paths) if isinstance(inputs, Sequence) else paths


def _each(inputs: Iterable[Input]) -> Iterator[str]:
    for number, value in enumerate(inputs, 1):
        yield path_of(value, f"input {number:,}")


def _is_row(text: str) -> bool:
    """Tell whether a text is the JSON of a row, and no file is called so."""
    return text[:1] == "{" and '"' in text and ":" in text and not os.path.exists(text)
