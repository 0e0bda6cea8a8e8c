"""What a rule reports, and what users see of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, NamedTuple


class Severity(IntEnum):
    """How bad a finding is; the order is the order of badness."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """The word used in reports: `error`, `warning` or `info`."""
        return self.name.lower()


class Excerpt(NamedTuple):
    """A piece of a line round a syntax fault, and the fault's place in it, from 0."""

    excerpt: str
    caret: int


class Violation(NamedTuple):
    """What a rule says: which code, where inside the document, and what.

    `severity` is None where the rule's own severity holds. `count` is the number of
    occurrences (rows) that one fault stands for; None means one. `about_rows` says of a rule
    that speaks about the aggregate that this fault is the rows file's.
    """

    code: str
    message: str
    pointer: str | None = None
    keyword: str | None = None
    expected: Any = None
    found: Any = None
    severity: Severity | None = None
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count, not needed here
    about_rows: bool = False


def one_of(values: Iterable[Any]) -> dict[str, Any]:
    """Return what is expected where several values are right, in the terms of JSON Schema."""
    return {"enum": list(values)}


def of_length(items: int) -> dict[str, Any]:
    """Return what is expected where a list is to have so many items."""
    return {"minItems": items, "maxItems": items}


def at_least(limit: Any) -> dict[str, Any]:
    """Return what is expected where a limit and all numbers above it are right."""
    return {"minimum": limit}


def at_most(limit: Any) -> dict[str, Any]:
    """Return what is expected where a limit and all numbers below it are right."""
    return {"maximum": limit}


class Finding(NamedTuple):
    """One fault or remark with its place, in the order of the output contract.

    `found` is what stands at the pointer. `expected` is what should stand there: the value, or a
    small JSON Schema where several are right.

    `line` counts from 1 over all lines; `offset` is the byte offset of the line in the
    unpacked bytes; `pointer` is a JSON Pointer (RFC 6901) into the row or the aggregate.
    """

    code: str
    name: str
    severity: Severity
    file: str
    line: int | None
    offset: int | None
    pointer: str | None
    keyword: str | None
    message: str
    expected: Any
    found: Any
    sample_id: str | int | None
    count: int | None  # type: ignore[assignment]  # hides tuple.count, not needed here

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as the output contract writes it: absent keys left out."""
        shown: dict[str, Any] = {
            key: value for key, value in zip(_FIELDS, self, strict=True) if value is not None
        }
        shown["severity"] = _LABELS[self.severity]
        if self.found.__class__ is Excerpt:
            shown["found"] = self.found._asdict()
        return shown

    @property
    def occurrences(self) -> int:
        """How many occurrences this finding stands for."""
        return 1 if self.count is None else self.count

    def order(self) -> tuple[float, str, str]:
        """Sort key within one file: line, code, pointer; the whole file comes last."""
        line = float("inf") if self.line is None else self.line
        return line, self.code, self.pointer or ""


_FIELDS: Final = Finding._fields


_LABELS: Final = {severity: severity.label for severity in Severity}


MORE: Final = "more findings of this kind, which are counted and not told one by one"
"""What stands for the findings of a document that are not held."""


class PlacedViolation(NamedTuple):
    """A fault in the aggregate, with its line where the text itself is at fault."""

    fault: Violation
    line: int | None = None
