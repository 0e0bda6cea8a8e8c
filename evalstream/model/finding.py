"""Violations that rules report, the texts of rules, findings that users see, and lists of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from typing import IO, Any, Final, Generic, TypeVar

from evalstream.model.data_class import NamedTuple
from evalstream.model.temporary_file import open_temporary_file


class Severity(IntEnum):
    """The severity of a finding, in ascending order."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """The word used in reports: `error`, `warning` or `info`."""
        return self.name.lower()


CountKey = tuple[str, Severity]
"""A code and a severity, by which findings are counted."""


def pointer_key(pointer: str) -> str:
    """Return a JSON Pointer as a sort key that has its indices in the order of numbers."""
    return "/".join(part.zfill(20) if part.isdecimal() else part for part in pointer.split("/"))


class Excerpt(NamedTuple):
    """An excerpt of a line around a syntax violation, and the violation's index in it, from 0."""

    excerpt: str
    caret: int


class Violation(NamedTuple):
    """One report of a rule: a code, a message, and a position inside the document.

    `severity` is None where the rule's own severity applies. `count` is the number of occurrences
    (rows) that one violation covers; None means one. `about_rows` marks a violation of a rule on
    the aggregate that concerns the rows file, and `is_fixable` one that a limited repair mends.
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
    is_fixable: bool = False

    def order(self) -> tuple[str, str]:
        """Sort key within one line: code, then pointer, whose indices are sorted as numbers."""
        return self.code, pointer_key(self.pointer or "")


Values = tuple[Any, Any]
"""The expected and the found value of one of many violations that are alike."""


def with_values(violation: Violation, values: Values | None) -> Violation:
    """Return one of many violations that are alike; None for values that they share."""
    return violation if values is None else violation._replace(expected=values[0], found=values[1])


SAFE: Final = "safe"
UNSAFE: Final = "unsafe"
"""The kinds of repairs; an unsafe one replaces what a source says."""


def expect_one(values: Iterable[Any]) -> dict[str, Any]:
    """Return `expected` for a finding where several values are valid, as JSON Schema."""
    return {"enum": list(values)}


def of_length(items: int) -> dict[str, Any]:
    """Return `expected` for a finding where a list must have this many items, as JSON Schema."""
    return {"minItems": items, "maxItems": items}


def at_least(limit: Any) -> dict[str, Any]:
    """Return `expected` for a finding where the limit and all greater numbers are valid."""
    return {"minimum": limit}


def at_most(limit: Any) -> dict[str, Any]:
    """Return `expected` for a finding where the limit and all smaller numbers are valid."""
    return {"maximum": limit}


class Finding(NamedTuple):
    """One violation with code, severity, file and line, in the order of the output contract.

    Attributes:
        code: The code of the rule, such as ES401.
        name: The name of the rule, such as sample-hash-mismatch.
        severity: How grave it is.
        file: The file as reports name it.
        line: The number of the line, from 1, blank lines counted; None if it is about the whole
            file.
        column: The number of the character in the line, from 1, of a value in a document.
        offset: Where the line begins, in bytes of the unpacked file from 0.
        pointer: A JSON Pointer (RFC 6901) into the row or the aggregate.
        keyword: The keyword of the JSON Schema that is violated.
        message: What is wrong, for people.
        expected: The correct value, or a small JSON Schema where several values are correct.
        found: The value at the pointer.
        sample_id: The id of the sample that the row is about.
        count: The number of rows, or findings, that it stands for; None for one.
        fix: SAFE if `evalstream fix` mends it, UNSAFE if only `fix --unsafe` does, None if neither.

    """

    code: str
    name: str
    severity: Severity
    file: str
    line: int | None
    column: int | None
    offset: int | None
    pointer: str | None
    keyword: str | None
    message: str
    expected: Any
    found: Any
    sample_id: str | int | None
    count: int | None  # type: ignore[assignment]  # hides tuple.count, not needed here
    fix: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as the output contract writes it, without absent keys."""
        shown = {key: value for key, value in zip(_FIELDS, self, strict=True) if value is not None}
        shown["severity"] = _LABELS[self.severity]
        if self.found.__class__ is Excerpt:
            shown["found"] = self.found._asdict()
            # Data may look like an excerpt.
            shown["excerpt"] = True
        return shown

    @property
    def occurrences(self) -> int:
        """The number of occurrences that this finding covers."""
        return 1 if self.count is None else self.count

    @property
    def position(self) -> str:
        """The line and the column as they follow the name of a file, `:3:5`; "" without a line."""
        if self.line is None:
            return ""
        return f":{self.line}" if self.column is None else f":{self.line}:{self.column}"

    def order(self) -> tuple[float, str, str]:
        """Sort key within one file: line, code, pointer; findings on the whole file come last.

        Indices in pointers are sorted as numbers.
        """
        line = float("inf") if self.line is None else self.line
        return line, self.code, pointer_key(self.pointer or "")


_FIELDS: Final = Finding._fields


_LABELS: Final = {severity: severity.label for severity in Severity}


Show = Callable[[Finding], None]
"""Receives findings, in order."""


MORE: Final = "more findings of this kind, counted but not listed"
"""The message that replaces the findings of a document above the limit."""


class Position(NamedTuple):
    """A place in a text: its line, and its column in characters if it is known, both from 1."""

    line: int
    column: int | None


Locator = Callable[[Iterable[str]], Mapping[str, Position]]
"""Returns the positions of JSON Pointers in a document; those that name nothing are left out."""


class PlacedViolation(NamedTuple):
    """A violation in a document, with its line and column as far as they are known."""

    violation: Violation
    line: int | None = None
    column: int | None = None

    def order(self) -> tuple[float, str, str]:
        """Sort key within one document: line, code, pointer; those without a line come last."""
        return float("inf") if self.line is None else self.line, *self.violation.order()


class KnownFinding(NamedTuple):
    """A finding as a baseline keeps it.

    Attributes:
        code: The code of the rule.
        file: The file as the baseline has it: below its folder relative to that.
        pointer: A JSON Pointer into the row or the aggregate.
        sample_id: The id of the sample that the row is about.
        count: The number of occurrences.
        values: The digest of the values found and expected, None for a finding without any.

    """

    code: str
    file: str
    pointer: str | None
    sample_id: str | int | None
    count: int  # type: ignore[assignment]  # hides tuple.count, not needed here
    values: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as the output contract and baselines write it, without absent keys."""
        return {key: value for key, value in self._asdict().items() if value is not None}


IN_MEMORY: Final = 20_000

Item = TypeVar("Item", bound=tuple[Any, ...])


class SpilledList(Generic[Item]):
    """A list of named tuples, past a bound on disk, that can be iterated over repeatedly."""

    def __init__(self, make: Callable[..., Item], in_memory: int = IN_MEMORY) -> None:
        self._make, self._in_memory = make, in_memory
        self._recent: list[Item] = []
        self._file: IO[bytes] | None = None

    def append(self, item: Item) -> None:
        """Append an item."""
        self._recent.append(item)
        if len(self._recent) >= self._in_memory:
            # Few checks have so many findings, and these imports take 4 ms.
            import pickle
            import weakref

            if self._file is None:
                self._file = open_temporary_file()
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            pickle.dump([tuple(item) for item in self._recent], self._file)
            self._recent.clear()

    def __deepcopy__(self, _: object) -> list[Item]:
        return list(self)

    def __iter__(self) -> Iterator[Item]:
        """Iterate over the items in the order in which they were appended."""
        if self._file is not None:
            import pickle

            place, end = 0, self._file.seek(0, 2)
            while place < end:
                self._file.seek(place)
                batch = pickle.load(self._file)  # noqa: S301 - our own temporary file
                place = self._file.tell()
                yield from (self._make(*fields) for fields in batch)
        yield from list(self._recent)


class FindingList(SpilledList[Finding]):
    """A list of findings that can be appended to and iterated over repeatedly."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        super().__init__(Finding, in_memory)


FOUND: Final = "What it finds"
WHY: Final = "Why it matters"
FIX: Final = "How to fix"
BAD: Final = "Bad"
GOOD: Final = "Good"

EXAMPLES: Final = frozenset({BAD, GOOD})
"""The headings below which fragments of documents stand."""


class Status(str, Enum):
    """How far a rule is: in preview it never fails a run, retired it is never applied."""

    STABLE = "stable"
    PREVIEW = "preview"
    RETIRED = "retired"


class Section(NamedTuple):
    """A part of a rule's page: prose in lines, or an example, which keeps its layout."""

    heading: str
    text: str
    is_example: bool = False


class RuleText(NamedTuple):
    """The texts of one rule, and its status.

    Attributes:
        name: The name of the rule.
        summary: A phrase that says what the rule finds.
        fix: A sentence that says how to fix it; empty where it is not known.
        help: The whole page.
        severity: The label of the rule's own severity, which a finding may differ from; empty if
            unknown.
        sections: The parts of the page.
        status: Whether the rule is stable, in preview or retired.
        page: The path of its page in the repository; empty if unknown.

    """

    name: str
    summary: str
    fix: str
    help: str
    severity: str = ""
    sections: tuple[Section, ...] = ()
    status: Status = Status.STABLE
    page: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the texts as the output contract writes them, and a status that is not stable."""
        texts = {"name": self.name, "summary": self.summary, "fix": self.fix}
        return texts if self.status is Status.STABLE else {**texts, "status": self.status.value}
