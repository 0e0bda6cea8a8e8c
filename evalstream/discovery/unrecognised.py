"""Files beside data: recognised by their members, counted by kind, the first ones named."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from evalstream.formats.registry import FORMATS, folder_format, main_format
from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.model.run import NoInput
from evalstream.model.text import count_noun
from evalstream.rules.inputs import ES007

if TYPE_CHECKING:
    from msgspec import Raw
    from msgspec.json import Decoder

NAMED: Final = 5
"""How many files of a kind are named."""

ROWS_LIKE: Final = "rows_like"
AGGREGATE_LIKE: Final = "aggregate_like"
LINK_OUT: Final = "link_out"
DOCUMENT_LINK: Final = "document_link"
DANGLING_LINK: Final = "dangling_link"
HIDDEN_LINK: Final = "hidden_link"
SPECIAL: Final = "special"
STORED_DOCUMENT: Final = "stored_document"
JSON: Final = "json"
BROKEN: Final = "broken"
EMPTY: Final = "empty"
MAYBE_ALONE: Final = (BROKEN, EMPTY)
INDEX: Final = "index"
TWIN: Final = "twin"
LISTING: Final = "listing"
REPORT: Final = "report"
BASELINE: Final = "baseline"
ATTESTATION: Final = "attestation"
EVENTS: Final = "events"
OTHER: Final = "other"
HIDDEN: Final = "hidden"
GONE: Final = "gone"
NOT_OURS: Final = "not_ours"


class LeftKind(NamedTuple):
    """The noun for files of a kind, singular and plural, and how severe it is to find them.

    `severity` None keeps the severity of the rule. A kind that `leaves_open` may hold data, so that
    the verdict over the folder is incomplete without it.
    """

    noun: str
    plural: str
    severity: Severity | None = None
    leaves_open: bool = True


def _aside(noun: str, plural: str) -> LeftKind:
    """Return a kind of files that certainly hold no data."""
    return LeftKind(noun, plural, Severity.INFO, leaves_open=False)


KINDS: Final[Mapping[str, LeftKind]] = {
    ROWS_LIKE: LeftKind("file named like rows", "files named like rows"),
    AGGREGATE_LIKE: LeftKind(
        "JSON file with members of a known document", "JSON files with members of known documents"
    ),
    LINK_OUT: LeftKind("link that leads out of the folder", "links that lead out of the folder"),
    DANGLING_LINK: LeftKind("link that leads nowhere", "links that lead nowhere"),
    HIDDEN_LINK: LeftKind("link to a hidden folder", "links to hidden folders"),
    SPECIAL: LeftKind("FIFO, socket or device", "FIFOs, sockets or devices"),
    STORED_DOCUMENT: LeftKind(
        "{wholes} document in a store", "{wholes} documents in a store, which are checked locally"
    ),
    JSON: LeftKind(
        "JSON file of an unknown format", "JSON files of unknown formats", leaves_open=False
    ),
    BROKEN: LeftKind(
        "broken JSON file of an unknown format",
        "broken JSON files of unknown formats",
        leaves_open=False,
    ),
    EMPTY: LeftKind("empty file", "empty files", leaves_open=False),
    INDEX: _aside(
        "manifest, index or list of entries of a datastore",
        "manifests, indexes and lists of entries of a datastore",
    ),
    TWIN: _aside(
        "object of a datastore whose file in data/ is checked",
        "objects of a datastore whose files in data/ are checked",
    ),
    LISTING: _aside("listing of logs", "listings of logs"),
    REPORT: _aside("report of evalstream", "reports of evalstream"),
    BASELINE: _aside("baseline of evalstream", "baselines of evalstream"),
    ATTESTATION: _aside("attestation", "attestations"),
    EVENTS: _aside("event log of {writers}", "event logs of {writers}"),
    OTHER: _aside("file of another kind", "files of other kinds"),
    HIDDEN: _aside("hidden name", "hidden names"),
    GONE: _aside("name that is gone", "names that are gone"),
    NOT_OURS: _aside("file that is not an evaluation file", "files that are not evaluation files"),
}
"""The kinds in the order in which a finding lists them; `_noun` puts formats into the nouns."""


def _noun(text: str) -> str:
    """Put the formats that are meant into a noun; only here they are all loaded."""
    if "{" not in text:
        return text
    wholes = (one.label for name, one in FORMATS.items() if folder_format(name) is not None)
    writers = (one.label for one in FORMATS.values() if one.event_members)
    return text.format(wholes=" or ".join(wholes), writers=" or ".join(writers))


class Counted(NamedTuple):
    """How many files of a kind there are, and the first of them in path order."""

    kind: str
    number: int
    first: tuple[str, ...]


class Unrecognised(NoInput, frozen=True):
    """The files that a search of `path` left unchecked, and the number of excluded names.

    Instead of a folder, `path` may be a list of names.
    """

    kinds: tuple[Counted, ...] = ()
    excluded: int = 0

    def count(self, kind: str) -> int:
        """Return the number of files of a kind."""
        return sum(one.number for one in self.kinds if one.kind == kind)

    @property
    def leaves_open(self) -> bool:
        """Whether some file may hold data."""
        return any(KINDS[one.kind].leaves_open for one in self.kinds)

    def violation(self) -> Violation | None:
        """Return the violation, or None if names were only excluded."""
        if not self.kinds:
            return None
        is_info = all(KINDS[one.kind].severity is Severity.INFO for one in self.kinds)
        return ES007.violation(
            self.reason,
            found={_noun(KINDS[one.kind].plural): one.number for one in self.kinds},
            severity=Severity.INFO if is_info else None,
        )


class Leftovers:
    """Counts the files that a search leaves unchecked, in constant memory."""

    def __init__(self) -> None:
        self.excluded = 0
        self._counts: dict[str, int] = {}
        self._first: dict[str, list[str]] = {}

    def add(self, kind: str, path: str) -> None:
        """Count a file of a kind."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        first = self._first.setdefault(kind, [])
        if len(first) < NAMED or path < first[-1]:
            insort(first, path)
            del first[NAMED:]

    def take_back(self, kind: str) -> None:
        """Stop counting the files of a kind: another finding reports them."""
        self._counts.pop(kind, None)
        self._first.pop(kind, None)

    def join(self, kind: str, other: str) -> None:
        """Count the files of one kind under another."""
        count, first = self._counts.get(kind, 0), self._first.get(kind, [])
        self.take_back(kind)
        for path in first:
            self.add(other, path)
        if count > len(first):
            self._counts[other] += count - len(first)

    def of(self, path: str, *, is_list: bool = False) -> Unrecognised | None:
        """Return the unknown files of the folder or list that is named `path`, or None."""
        kinds = tuple(
            Counted(kind, self._counts[kind], tuple(self._first[kind]))
            for kind in KINDS
            if kind in self._counts
        )
        if not kinds and not self.excluded:
            return None
        message = _message(kinds) if is_list else f"{_message(kinds)}; {_ADVICE}"
        return Unrecognised(path, message, kinds=kinds, excluded=self.excluded)


_ADVICE: Final = "--exclude PATTERN leaves names out"


def _message(kinds: Iterable[Counted]) -> str:
    total = sum(one.number for one in kinds)
    parts = ", ".join(map(_part, kinds))
    verb = "was" if total == 1 else "were"
    return f"{count_noun(total, 'name')} {verb} not checked: {parts}"


def _part(one: Counted) -> str:
    kind = KINDS[one.kind]
    named = ", ".join(map(printable, one.first))
    more = ", …" if one.number > len(one.first) else ""
    return f"{count_noun(one.number, _noun(kind.noun), _noun(kind.plural))} ({named}{more})"


_DOCUMENTS: Final = (
    (INDEX, frozenset({"object_uuid", "object_path", "sha256"})),
    (INDEX, frozenset({"entries_path", "manifest_core_sha256"})),
    (REPORT, frozenset({"code", "name", "severity", "file", "message"})),
    (REPORT, frozenset({"schema", "tool", "runs", "findings", "shown", "total"})),
    (BASELINE, frozenset({"baseline", "tool", "options"})),
    (BASELINE, frozenset({"code", "file", "count"})),
    (ATTESTATION, frozenset({"payload", "payloadType", "signatures"})),
    (ATTESTATION, frozenset({"_type", "subject", "predicateType", "predicate"})),
)
"""Members of a store's index files and of what evalstream writes."""

_REPORT_LINES: Final = (
    frozenset({"run", "number"}),
    frozenset({"summary"}),
    frozenset({"vanished"}),
)
"""All members of lines of a report; other files have these among others."""

_OF_DATA: Final = (main_format().aggregate_members | main_format().row_members) - {
    "schema_version",
    "sample_id",
}
"""Members of rows and aggregates; an index may have a version, and a finding a sample id."""


def aside_by_members(keys: frozenset[str]) -> str | None:
    """Return the kind of non-data file that an object with these members is, or None for data."""
    if not _OF_DATA.isdisjoint(keys):
        return None
    if keys in _REPORT_LINES:
        return REPORT
    events = ((EVENTS, one.event_members) for one in FORMATS.values() if one.event_members)
    return next((kind for kind, sign in chain(_DOCUMENTS, events) if sign <= keys), None)


def read_members(text: bytes) -> frozenset[str]:
    """Return all members of a JSON object, or none if the text is not a JSON object."""
    from msgspec import MsgspecError

    try:
        return frozenset(_decoder().decode(text))
    except (MsgspecError, ValueError, RecursionError):
        return frozenset()


@lru_cache(maxsize=1)
def _decoder() -> Decoder[dict[str, Raw]]:
    import msgspec  # it loads inspect, and few searches meet such a file

    return msgspec.json.Decoder(dict[str, msgspec.Raw])


def are_all_aside(lines: Iterable[bytes], kind: str) -> bool:
    """Tell whether every line is of this non-data kind; any other line may be a row."""
    return all(not line.strip() or aside_by_members(read_members(line)) == kind for line in lines)
