"""Benchmarks of which each item stays text until it is asked for: a fraction of the memory."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import Any, Final

from evalstream.engine.positions import envelope_locator, part_locator
from evalstream.formats.infereval.format import BENCHMARK, ITEMS, kind_by_members
from evalstream.formats.infereval.schema import document_validator, fits, item_validator
from evalstream.formats.infereval.views import Benchmark
from evalstream.model.finding import Position
from evalstream.model.options import Options
from evalstream.model.signals import STOPPING
from evalstream.parsing.json import FAST_DEPTH, fast, is_finite
from evalstream.parsing.json_values import fast_or_none
from evalstream.parsing.limits import MOST_JSON_BYTES, refuse_many_values
from evalstream.parsing.object_splitter import Envelope, ObjectSplitter
from evalstream.parsing.schema_errors import Validator


@dataclass(frozen=True)
class CompactBenchmark(Benchmark):
    """A benchmark that matches its schema; `document` lacks the items, whose texts are kept.

    `places` are the lines and columns of the items, alternating, a column that is not known as 0.
    `envelope` is the text without the items, and `size` the number of bytes that were read.
    """

    texts: Sequence[bytes]
    ids: Sequence[str]
    places: Sequence[int]
    envelope: Envelope
    size: int

    @cached_property
    def items(self) -> Collection[tuple[int, dict[str, Any]]]:
        """The items by their index, parsed one at a time."""
        return _Items(self.texts)

    @cached_property
    def by_id(self) -> Mapping[str, dict[str, Any]]:
        """The items by id, parsed one at a time; the first of several with the same id."""
        return _ItemsById(self.texts, self.ids)

    def locate(self, pointers: Iterable[str]) -> Mapping[str, Position]:
        """Return the positions of JSON Pointers; those that name nothing are left out."""
        wanted = sorted(pointers, key=_item_base)
        found = dict(envelope_locator(self.envelope)(wanted))
        for base, below in groupby(wanted, key=_item_base):
            number = int(base.rpartition("/")[2] or -1)
            if 0 <= number < len(self.texts):
                line, column = self.places[2 * number : 2 * number + 2]
                start = Position(line, column or None)
                found |= part_locator(self.texts[number], base, start)(below)
        return found

    @property
    def item_ids(self) -> Iterator[tuple[int, str]]:
        """The ids of the items by index."""
        return iter(enumerate(self.ids))


def _item_base(pointer: str) -> str:
    """Return the pointer of the item that a pointer leads into, or ""."""
    found = _ITEM.match(pointer)
    return found[0] if found else ""


_ITEM: Final = re.compile(rf"/{ITEMS}/(?:0|[1-9][0-9]{{0,9}})(?=/|\Z)")


class _Items(Collection[tuple[int, dict[str, Any]]]):
    def __init__(self, texts: Sequence[bytes]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return ((index, fast(text)) for index, text in enumerate(self._texts))

    def __contains__(self, item: object) -> bool:
        return any(item == one for one in self)


class _ItemsById(Mapping[str, dict[str, Any]]):
    def __init__(self, texts: Sequence[bytes], ids: Sequence[str]) -> None:
        self._texts = texts
        self._places: dict[str, int] = {}
        for index, name in enumerate(ids):
            self._places.setdefault(name, index)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> dict[str, Any]:
        item: dict[str, Any] = fast(self._texts[self._places[name]])
        return item


def compact_benchmark(pieces: Iterable[bytes], options: Options) -> CompactBenchmark | None:
    """Read a benchmark from its bytes, or return None if it has any defect of JSON or its schema.

    A second reading as a whole finds the defects. Raises what reading the pieces raises, TooLarge
    and Stopped.
    """
    # The fast parser has a depth limit of its own, so it cannot decide for a smaller one.
    if options.max_depth < FAST_DEPTH:
        return None
    splitter, size = ObjectSplitter(ITEMS, options.max_line_bytes), 0
    schema = item_validator(BENCHMARK, options.engine)
    texts: list[bytes] = []
    ids: list[str] = []
    places = array("Q")
    for piece in chain(pieces, [b""]):
        STOPPING.check()
        size += len(piece)
        for element in splitter.feed(piece) if piece else splitter.end():
            item = _parse_sound(element.text, schema) if element.whole else None
            if item is None:
                return None
            texts.append(element.text)
            ids.append(item["id"])
            places.extend((element.line, element.column or 0))
        if size > MOST_JSON_BYTES:
            return None
    envelope = splitter.envelope()
    if splitter.issue is not None or not splitter.has_begun or not envelope.is_whole:
        return None
    refuse_many_values(envelope.text)
    # A byte order mark is a defect, too, which the parser refuses.
    document = _parse_sound(envelope.text, document_validator(BENCHMARK, options.engine))
    if document is None or kind_by_members(document.keys()) != BENCHMARK:
        return None
    return CompactBenchmark(document, texts, ids, places, envelope, size)


def _parse_sound(text: bytes, schema: Validator) -> dict[str, Any] | None:
    """Return an object that is free of defects of JSON and of its schema, else None."""
    value = fast_or_none(text)
    return value if isinstance(value, dict) and is_finite(value) and fits(schema, value) else None
