"""Read the documents of a run, the large ones in constant memory, and note what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.log_reading import UNREADABLE, begun, open_log, parse_text, pieces
from evalstream.engine.positions import envelope_locator, envelope_mover, move_behind, place_in_part
from evalstream.engine.row_pass import BREAKS, describe_error
from evalstream.formats.helm.claims import Claimed
from evalstream.formats.helm.documents import NOUNS, REQUESTS, STATE
from evalstream.formats.helm.entries import EntryForms, InstanceEntry, make_entry, quick_scanner
from evalstream.formats.helm.requests import (
    arrange_scores,
    decode_request,
    find_scored,
    read_request,
    score_again,
)
from evalstream.formats.helm.rules import documents as about_documents
from evalstream.formats.helm.rules.instances import check_model, describe_adapter
from evalstream.formats.helm.statistics import Name, make_name, make_stat
from evalstream.formats.helm.store import InstanceStore, Placed
from evalstream.formats.helm.totals import RunTotals
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.errors import BrokenCompression, CannotCheck
from evalstream.model.finding import Position, Violation
from evalstream.model.signals import Stopped
from evalstream.model.text import count_noun
from evalstream.parsing.array_splitter import ArrayError, ArraySplitter, Element
from evalstream.parsing.object_splitter import ObjectSplitter
from evalstream.rules.base import Rule
from evalstream.rules.inputs import ES001, ES002

if TYPE_CHECKING:
    from evalstream.formats.helm.compared import EntrySamples

MOST_COPIES: Final = 10_000
"""Most copies of one instance that are summed up together."""

WINDOWED: Final = "language_modeling"
"""The method of adaptation that makes several requests and entries of one instance."""

FIRST_OF_BASIC: Final = "num_references"
"""The first statistic in entries of the class of metrics whose scores follow from the requests."""


class RunReader:
    """Reads a run: first the specification, then the statistics, the requests, and the entries.

    `claimed` are the statistics of the run, `totals` the sums over its entries, None without them.
    `is_whole` says that no instance is missing because a document could not be read.
    """

    def __init__(
        self,
        documents: DocumentCheck,
        store: InstanceStore,
        progress: Progress,
        samples: EntrySamples | None,
    ) -> None:
        self._documents, self._store, self._progress = documents, store, progress
        self._samples = samples
        self.scored: Sequence[str] = ()
        self._forms = EntryForms(())
        self._copies: list[InstanceEntry] = []
        self._cluster = 0
        self.run_spec: Mapping[str, Any] = {}
        self.state: Mapping[str, Any] | None = None
        self.claimed: list[Claimed] | None = None
        self.totals: RunTotals | None = None
        self.is_whole = True
        self.count = self._size = 0

    @property
    def adapter(self) -> Mapping[str, Any]:
        """The adapter of the run, empty where no document has it."""
        return describe_adapter(self.run_spec, self.state)

    @property
    def is_windowed(self) -> bool:
        """Whether an instance has several requests and entries."""
        return self.adapter.get("method") == WINDOWED

    def read_statistics(self, path: str) -> None:
        """Read the statistics of the run."""
        name, text = printable(path), self._documents.uncompressed(path)
        value = UNREADABLE if text is None else self._parse(text, name)
        if not isinstance(value, list):
            if value is not UNREADABLE:
                violation = about_documents.HLM101.violation(
                    "statistics must be a list", pointer=""
                )
                self._documents.note(violation, name)
            self._documents.cannot(f"{name} could not be read")
            return
        self.claimed = []
        for place, one in enumerate(value):
            violations = list(about_documents.check_statistic(one, f"/{place}"))
            if violations:
                self._documents.cannot(f"a statistic of {name} could not be read")
            else:
                stat = make_stat(one)
                self.claimed.append(Claimed(place, make_name(one["name"]), stat, one))
                violations = list(about_documents.check_members(stat, f"/{place}", one))
            self._documents.note_all(violations, name)

    def read_requests(self, path: str) -> None:
        """Read the requests of the run."""
        self.state = {}
        self._stream(path, self._read_requests)

    def read_entries(self, path: str) -> None:
        """Read the statistics of instances."""
        self.totals = RunTotals()
        self._stream(path, self._read_entries)
        self._add_copies()

    def _stream(self, path: str, read: Callable[[str, Iterator[bytes]], None]) -> None:
        """Read a document in pieces, and report why it cannot be read."""
        name = printable(path)
        try:
            reader, self._size = open_log(path, self._documents.watch)
            with closing(reader):
                read(name, self._counted(pieces(begun(reader)[1])))
        except BrokenCompression as error:
            self._fail(ES002, name, str(error))
        except BrokenPipeError:
            raise
        except (OSError, CannotCheck) as error:
            self._fail(ES001, name, f"cannot be read: {describe_error(error)}")
        except Stopped as stopped:
            read_so_far = count_noun(self.count, "entry", "entries")
            self._miss(f"stopped by {stopped.name} after {read_so_far}")

    def _counted(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for piece in parts:
            yield piece
            self._documents.size += len(piece)
            self._progress.advance(len(piece), self.count, self._documents.collector.errors)

    def _fail(self, rule: Rule, name: str, reason: str) -> None:
        self._documents.note(rule.violation(reason), name)
        self._miss(f"{name} {reason}")

    def _miss(self, reason: str) -> None:
        """Note that instances are missing, so that figures over all of them are not known."""
        self.is_whole = False
        self._documents.cannot(reason)

    def _note_broken(self, name: str, issue: ArrayError, place: str) -> None:
        message = f"{issue.message} (byte {issue.offset:,} of the file)"
        violation = BREAKS[issue.name].violation(message, pointer=place)
        self._documents.note(violation, name, issue.line, issue.column)
        self._miss(f"{name} could not be read to its end")

    def _parse(
        self,
        text: bytes,
        name: str,
        place: str = "",
        move: Callable[[Position], Position] = lambda position: position,
    ) -> Any:
        """Return the value of a text, or UNREADABLE, with what is wrong with it noted."""

        def note(violation: Violation, at: Position | None) -> None:
            where = place + (violation.pointer or "")
            line, column = (None, None) if at is None else move(at)
            self._documents.note(violation._replace(pointer=where or None), name, line, column)

        return parse_text(text, self._documents.options.max_depth, note)

    def _parse_element(self, element: Element, name: str, place: str) -> Any:
        start = Position(element.line, element.column)
        return self._parse(element.text, name, place, partial(move_behind, start))

    def _note_element(
        self, element: Element, name: str, place: str, violations: Iterable[Violation]
    ) -> None:
        found = list(violations)
        if found:
            start = Position(element.line, element.column)
            for violation, line, column in place_in_part(found, element.text, place, start):
                self._documents.note(violation, name, line, column)

    def _read_requests(self, name: str, parts: Iterator[bytes]) -> None:
        options = self._documents.options
        scanner = quick_scanner(options, self._size)
        members = ObjectSplitter(REQUESTS, options.max_line_bytes, scanner)
        place, adapter, scored = 0, self.adapter, find_scored(self.run_spec)
        if adapter.get("output_mapping_pattern"):
            scored = ()
        for element in _iterate_elements(members, parts):
            self._request(name, element, place, adapter, scored)
            place += 1
        if members.issue is not None:
            self._note_broken(name, members.issue, f"/{REQUESTS}/{place}")
            return
        envelope = members.envelope()
        self._documents.locate(envelope_locator(envelope), name)
        found = self._parse(envelope.text, name, move=envelope_mover(envelope))
        if not envelope.is_whole or not isinstance(found, dict) or found.get(REQUESTS) != []:
            message = f"{REQUESTS} must be one list in an object"
            violation = about_documents.HLM101.violation(message, pointer="")
            self._documents.note(violation, name)
            self._miss(f"{name} could not be read as {NOUNS[STATE]}")
        else:
            self.state = found

    def _request(
        self,
        name: str,
        element: Element,
        number: int,
        adapter: Mapping[str, Any],
        scored: Sequence[str],
    ) -> None:
        place, violations = f"/{REQUESTS}/{number}", []
        is_quick = element.is_plain and self._samples is None
        value: Any = decode_request(element.text) if is_quick else None
        if value is None:
            value = self._parse_element(element, name, place)
            if value is not UNREADABLE:
                violations = list(about_documents.check_request(value, place))
        if value is UNREADABLE or violations:
            self._miss(f"a request of {name} could not be read")
        else:
            request = read_request(value)
            violations = list(check_model(request.model, adapter, place))
            scores = score_again(request, scored) if scored else None
            asked = None if self._samples is None else self._samples.pack_input(request)
            at = Placed(request.instance, number, Position(element.line, element.column))
            name_of_split = Name("", request.split, request.sub_split)
            self._store.add_request(at, name_of_split, scores, asked)
        self._note_element(element, name, place, violations)

    def _read_entries(self, name: str, parts: Iterator[bytes]) -> None:
        options = self._documents.options
        scanner = quick_scanner(options, self._size)
        elements = ArraySplitter(options.max_line_bytes, scanner=scanner)
        self.scored = find_scored(self.run_spec)
        self._forms = EntryForms(self.scored)
        for element in _iterate_elements(elements, parts):
            self._entry(name, element)
            self.count += 1
        if elements.issue is not None:
            self._note_broken(name, elements.issue, f"/{self.count}")

    def _entry(self, name: str, element: Element) -> None:
        found, place = (
            self._forms.read(element.text) if element.is_plain else None,
            f"/{self.count}",
        )
        if found is None:
            found = self._read_entry(name, element, place)
        if found is None:
            return
        last = self._copies[-1].instance if self._copies else None
        same = last is not None and last[::2] == found.instance[::2]
        if not same or self.is_windowed or len(self._copies) >= MOST_COPIES:
            self._add_copies()
        self._copies.append(found)
        first = found.names[0] if found.names else None
        scores = None
        if self.scored and first is not None and first.name == FIRST_OF_BASIC:
            scores = arrange_scores(found.scores, self.scored)
        at = Placed(found.instance, self.count, Position(element.line, element.column))
        self._store.add_entry(at, first, self._cluster, scores, found.confidence)
        if self._samples is not None:
            self._samples.add(found, element.line, element.offset)

    def _read_entry(self, name: str, element: Element, place: str) -> InstanceEntry | None:
        """Return an entry, None for one that is malformed, and note what is wrong with it."""
        value = self._parse_element(element, name, place)
        malformed = () if value is UNREADABLE else about_documents.check_entry(value, place)
        violations = list(malformed)
        if value is UNREADABLE or violations:
            self._note_element(element, name, place, violations)
            self._miss(f"an entry of {name} could not be read")
            return None
        found = make_entry(value)
        violations = list(about_documents.check_values(found, place))
        self._note_element(element, name, place, violations)
        if element.is_plain and not violations:
            self._forms.learn(element.text, found)
        return found

    def _add_copies(self) -> None:
        """Add the copies of an instance to the totals."""
        if self._copies and self.totals is not None:
            self.totals.add(self._copies)
        self._copies = []
        self._cluster += 1


def _iterate_elements(
    splitter: ArraySplitter | ObjectSplitter, parts: Iterable[bytes]
) -> Iterator[Element]:
    """Iterate over the elements of a list that can be read."""
    for piece in parts:
        yield from splitter.feed(piece)
    yield from (element for element in splitter.end() if element.whole)
