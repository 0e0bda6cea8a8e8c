"""Read the documents of a run, the large ones in constant memory, and note their violations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.log_reading import (
    UNREADABLE,
    begun,
    note_broken_list,
    note_element,
    open_log,
    parse_element,
    parse_part,
    pieces,
)
from evalstream.engine.positions import envelope_locator, envelope_mover
from evalstream.formats.helm import requests, tokens
from evalstream.formats.helm.adapter import describe_adapter, list_settings
from evalstream.formats.helm.claims import Claimed
from evalstream.formats.helm.entries import EntryCollector
from evalstream.formats.helm.format import NOUNS, REQUESTS, STATE
from evalstream.formats.helm.rules import documents as about_documents
from evalstream.formats.helm.rules.instances import check_request
from evalstream.formats.helm.statistics import (
    InstanceEntry,
    RunTotals,
    make_entry,
    make_name,
    make_stat,
)
from evalstream.formats.helm.store import InstanceStore, RawRow
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.io.spill_table import encode_name
from evalstream.model.data_class import NamedTuple
from evalstream.model.text import count_noun
from evalstream.parsing.array_elements import ArrayError, Element, Piece
from evalstream.parsing.array_splitter import ArraySplitter
from evalstream.parsing.json import FAST_DEPTH, text_or_none
from evalstream.parsing.native.binding import library
from evalstream.parsing.native.items import ItemPlace, KeepingScanner
from evalstream.parsing.object_splitter import ObjectSplitter

if TYPE_CHECKING:
    from evalstream.formats.helm.compared import EntrySamples

WORTH_BYTES: Final = 512 << 10
"""The size of a document from which on loading the scanner takes less time than it saves."""


class _Asked(NamedTuple):
    """Data that all requests share: the adapter, its settings, and the rules of their scores."""

    adapter: Mapping[str, Any]
    settings: Mapping[str, Sequence[Any]]
    score: Callable[[requests.PlainRequest], bytes | None]


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
        self.run_spec: Mapping[str, Any] = {}
        self.state: Mapping[str, Any] | None = None
        self.claimed: list[Claimed] | None = None
        self.totals: RunTotals | None = None
        self.is_whole = True
        self.count = self._size = 0

    @cached_property
    def scored(self) -> Sequence[str]:
        """The metrics whose scores follow from requests."""
        if self.is_windowed:
            return (*tokens.OF_TOKENS, *requests.TOLD)
        if self.adapter.get("output_mapping_pattern"):
            return ()
        found = requests.find_scored(self.run_spec, (one.name.name for one in self.claimed or ()))
        return (*found, *tokens.OF_CHOICES) if found and self.is_by_likelihood else found

    @property
    def adapter(self) -> Mapping[str, Any]:
        """The adapter of the run, empty where no document has it."""
        return describe_adapter(self.run_spec, self.state)

    @cached_property
    def _asked(self) -> _Asked:
        """The data that the requests share; the state that ends their document adds nothing."""
        score: Callable[[requests.PlainRequest], bytes | None]
        if self.is_windowed:
            score = tokens.score_window
        elif self.is_by_likelihood:
            score = tokens.measure_reference
        else:
            score = partial(requests.score_again, metrics=self.scored)
        return _Asked(self.adapter, list_settings(self.adapter), score)

    @property
    def is_windowed(self) -> bool:
        """Whether an instance has several requests and entries."""
        return self.adapter.get("method") == tokens.WINDOWED

    @property
    def is_by_likelihood(self) -> bool:
        """Whether the most likely reference is the answer to an instance."""
        return text_or_none(self.adapter.get("method")) in tokens.BY_LIKELIHOOD

    def read_statistics(self, path: str) -> None:
        """Read the statistics of the run."""
        name, text = printable(path), self._documents.uncompressed(path)
        value = (
            UNREADABLE
            if text is None
            else parse_part(self._documents, text, "", lambda position: position, name)
        )
        if not isinstance(value, list):
            if value is not UNREADABLE:
                violation = about_documents.HLM101.violation("statistics must be a list", "")
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
                violations = list(about_documents.check_consistency(stat, f"/{place}", one))
            self._documents.note_all(violations, name)

    def read_requests(self, path: str) -> None:
        """Read the requests of the run."""
        self.state = {}
        self._stream(path, self._read_requests)

    def read_entries(self, path: str) -> None:
        """Read the statistics of instances."""
        entries = EntryCollector(
            self._store, self.scored, self._samples, is_windowed=self.is_windowed
        )
        self.totals = entries.totals
        self._stream(path, partial(self._read_entries, entries))
        entries.close()

    def _stream(self, path: str, read: Callable[[str, Iterator[bytes]], None]) -> None:
        """Read a document in pieces, and report why it cannot be read."""
        name, self.count = printable(path), 0
        with self._documents.reading(
            lambda: count_noun(self.count, "entry", "entries"), name, self._miss
        ):
            reader, self._size = open_log(path, self._documents.watch)
            with closing(reader):
                read(name, self._counted(pieces(begun(reader)[1])))

    def _counted(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for piece in parts:
            yield piece
            self._documents.size += len(piece)
            self._progress.advance(len(piece), self.count, self._documents.collector.errors)

    def _miss(self, reason: str) -> None:
        """Note that instances are missing, so that figures over all of them are not known."""
        self.is_whole = False
        self._documents.cannot(reason)

    def _note_broken(self, name: str, issue: ArrayError, place: str) -> None:
        note_broken_list(self._documents, issue, place, name)
        self._miss(f"{name} could not be read to its end")

    @property
    def _is_quick(self) -> bool:
        """Whether a scanner saves time."""
        options = self._documents.options
        is_native = options.engine == "auto" and options.max_depth >= FAST_DEPTH
        return is_native and self._size >= WORTH_BYTES

    def _read_requests(self, name: str, parts: Iterator[bytes]) -> None:
        loaded = library() if self._is_quick and self._samples is None else None
        take = partial(self._take_requests, name)
        has_tokens = self.is_windowed or self.is_by_likelihood
        kept = tokens.KEPT_WITH_TOKENS if has_tokens else requests.KEPT
        scanner = None if loaded is None else KeepingScanner(loaded, kept, take)
        members = ObjectSplitter(REQUESTS, self._documents.options.max_line_bytes, scanner)
        for element in _iterate_elements(members, parts):
            self._request(name, element)
        if members.issue is not None:
            self._note_broken(name, members.issue, f"/{REQUESTS}/{self.count}")
            return
        envelope = members.envelope()
        self._documents.locate(envelope_locator(envelope), name)
        move = envelope_mover(envelope)
        found = parse_part(self._documents, envelope.text, "", move, name)
        if not envelope.is_whole or not isinstance(found, dict) or found.get(REQUESTS) != []:
            message = f"{REQUESTS} must be one list in an object"
            violation = about_documents.HLM101.violation(message, "")
            self._documents.note(violation, name)
            self._miss(f"{name} could not be read as {NOUNS[STATE]}")
        else:
            self.state = found
            self._documents.note_all(about_documents.check_state(found), name)

    def _take_requests(
        self, name: str, piece: Piece, places: Sequence[ItemPlace], text: bytes
    ) -> None:
        """Read requests from the members that a scanner passes on."""
        found = requests.decode_requests(text)
        rows = None if found is None else self._make_rows(found, places)
        if rows is None:
            for place in places:
                self._request(name, make_element(piece, place))
            return
        self._store.add(rows)
        self.count += len(rows)

    def _make_rows(
        self, found: Sequence[requests.PlainRequest], places: Sequence[ItemPlace]
    ) -> list[RawRow] | None:
        """Return the rows of requests, None if one is malformed or not the adapter's."""
        rows, (adapter, settings, _) = [], self._asked
        for number, (one, place) in enumerate(zip(found, places, strict=True), self.count):
            perturbation = requests.read_perturbation(bytes(one.instance.perturbation))
            if perturbation is None or any(check_request(one, adapter, settings, "")):
                return None
            rows.append(self._make_row(one, perturbation, number, place[2], place[3]))
        return rows

    def _make_row(
        self,
        one: requests.PlainRequest,
        perturbation: str,
        number: int,
        line: int,
        column: int | None,
    ) -> RawRow:
        instance = one.instance
        splits = instance.split, instance.sub_split
        references = None if one.is_plain else len(instance.references or ())
        kind = self._store.number_kind(
            perturbation, one.train_trial_index, None, *splits, references
        )
        scores = self._asked.score(one)
        return encode_name(str(instance.id)), kind, number, line, column, scores

    def _request(self, name: str, element: Element) -> None:
        place, violations = f"/{REQUESTS}/{self.count}", []
        value = parse_element(self._documents, element, place, name)
        if value is not UNREADABLE:
            violations = list(about_documents.check_request(value, place))
        if value is UNREADABLE or violations:
            self._miss(f"a request of {name} could not be read")
        else:
            request, plain = requests.read_request(value), requests.convert_request(value)
            violations = list(check_request(plain, *self._asked[:2], place))
            where = self.count, element.line, element.column
            self._store.add([self._make_row(plain, request.instance.perturbation, *where)])
            if self._samples is not None:
                self._samples.add_input(request)
        note_element(self._documents, element, place, violations, name)
        self.count += 1

    def _read_entries(self, entries: EntryCollector, name: str, parts: Iterator[bytes]) -> None:
        take = partial(self._take_plain, entries, name)
        scanner = entries.make_scanner(take) if self._is_quick else None
        elements = ArraySplitter(self._documents.options.max_line_bytes, scanner=scanner)
        for element in _iterate_elements(elements, parts):
            self._entry(entries, name, element)
        if elements.issue is not None:
            self._note_broken(name, elements.issue, f"/{entries.count}")

    def _take_plain(
        self, entries: EntryCollector, name: str, piece: Piece, place: ItemPlace
    ) -> None:
        """Read an entry that is not written as one before, and remember how it is written."""
        element = make_element(piece, place)
        found, is_sound = self._entry(entries, name, element)
        if found is not None and is_sound:
            entries.learn(element.text, found)

    def _entry(
        self, entries: EntryCollector, name: str, element: Element
    ) -> tuple[InstanceEntry | None, bool]:
        """Read an entry; return it, None if it is malformed, and whether nothing is wrong."""
        place = f"/{entries.count}"
        value = parse_element(self._documents, element, place, name)
        malformed = () if value is UNREADABLE else about_documents.check_entry(value, place)
        violations, found = list(malformed), None
        if value is UNREADABLE or violations:
            self._miss(f"an entry of {name} could not be read")
            entries.count += 1
        else:
            found = make_entry(value)
            violations = list(about_documents.check_values(found, place))
            entries.add(found, element.line, element.column, element.offset)
        note_element(self._documents, element, place, violations, name)
        self.count = entries.count
        return found, not violations


def make_element(piece: Piece, place: ItemPlace) -> Element:
    """Return the element of a list at a place in a piece of it."""
    start, stop, line, column, *_ = place
    return Element(piece.data[start:stop], piece.offset + start, line, column=column)


def _iterate_elements(
    splitter: ArraySplitter | ObjectSplitter, parts: Iterable[bytes]
) -> Iterator[Element]:
    """Iterate over the elements of a list that can be read."""
    for piece in parts:
        yield from splitter.feed(piece)
    # What a scanner did not take of the last piece waits for more.
    yield from splitter.feed(b"")
    yield from (element for element in splitter.end() if element.whole)
