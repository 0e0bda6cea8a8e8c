"""What an edit script makes: files to check, with options, and which document is which."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import evalstream
from evalstream.io.file import FileSource
from evalstream.model.errors import InternalError


@dataclass(frozen=True, slots=True)
class Case:
    """Files on disk after a script: what to check, with which options.

    `documents` has the files by the words that the documentation of rules uses for them.
    """

    rows: Path
    aggregate: Path | None
    options: dict[str, Any] = field(default_factory=dict)
    grows: bool = False
    has_bug: bool = False
    documents: Mapping[str, Path] = field(default_factory=dict)

    def check(self, **settings: Any) -> evalstream.Report:
        """Check the files, while they grow or a bug breaks the check, if the script says so."""
        with (
            growing(self.rows) if self.grows else nullcontext(),
            breaking() if self.has_bug else nullcontext(),
        ):
            return evalstream.check(
                self.rows, aggregate=self.aggregate, **{**self.options, **settings}
            )


@contextmanager
def growing(path: Path) -> Iterator[None]:
    """Append a row to a file once its check has opened it and read its head."""
    head = FileSource.head

    def head_then_more(source: FileSource, *size: int) -> bytes:
        start = head(source, *size)
        with path.open("ab") as file:
            file.write(b'{"schema_version": "0.2.0"}\n')
        return start

    with patch.object(FileSource, "head", head_then_more):
        yield


@contextmanager
def breaking() -> Iterator[None]:
    """Let the check of every rows file meet a bug, at a place that does not move with the code."""
    bug = InternalError("KeyError", "evalstream.formats.eee.facts:facts_of:42")
    with patch.object(FileSource, "head", Mock(side_effect=bug)):
        yield


def parent_of(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return the container that a JSON Pointer leads into, and the key or index there."""
    *path, last = [
        part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")
    ]
    for part in path:
        document = document[int(part) if isinstance(document, list) else part]
    return document, int(last) if isinstance(document, list) else last


def change(document: Any, pointer: str, value: str | None) -> None:
    """Set the value at a JSON Pointer, written as JSON, or remove it where it is None.

    The index behind the last item of a list adds one.
    """
    parent, key = parent_of(document, pointer)
    if value is None:
        del parent[key]
    elif isinstance(parent, list) and key == len(parent):
        parent.append(json.loads(value))
    else:
        parent[key] = json.loads(value)


def contains(whole: Any, part: Any) -> bool:
    """Tell whether a value has all that a part of it shows.

    An object has the shown members and may have more. A list has the shown elements in their
    order, and may have others between them. Numbers are equal in value and in type.
    """
    if type(whole) is not type(part):
        return False
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        rest = iter(whole)
        return all(any(contains(element, shown) for element in rest) for shown in part)
    return bool(whole == part)


def fit(whole: Any, part: Any) -> Any:
    """Return a value with all that a part of it shows: what it has already stays as it is.

    Objects get the members that are shown. Lists of objects change element by element, from the
    first; every other value is replaced.
    """
    if contains(whole, part):
        return whole
    if isinstance(whole, dict) and isinstance(part, dict):
        return whole | {key: fit(whole.get(key), value) for key, value in part.items()}
    if isinstance(whole, list) and isinstance(part, list) and isinstance(part[0], dict):
        changed = [fit(old, new) for old, new in zip(whole, part, strict=False)]
        return changed + part[len(whole) :] + whole[len(part) :]
    return part
