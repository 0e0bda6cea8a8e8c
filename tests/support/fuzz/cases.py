"""A case: the lines of some blocks, and everything that they are checked with."""

import json
import random
from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from rows import Row

from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.probe import probe_context
from evalstream.model.block import Lines
from evalstream.model.data_class import replace
from evalstream.model.options import Options
from evalstream.settings.options import options_from
from fuzz.blocks import some_lines
from fuzz.settings import Settings, some_aggregate, some_settings

PROBED: Final = 300
"""How many lines stand for the head of a file: more than are probed."""


class Case(NamedTuple):
    """One case, which a seed gives or a file holds.

    `head` are the first bytes of the file, which settle version and recipe. `cuts` are the numbers
    of lines before which a new block begins. With `is_array` the lines are elements of an array,
    whose places are told apart. `rooms` are how many rows, and bytes of texts, the scanner has room
    for.
    """

    seed: int
    settings: Settings
    aggregate: Row | None
    lines: tuple[bytes, ...]
    head: bytes
    cuts: tuple[int, ...] = ()
    is_array: bool = False
    is_run: bool = False
    rooms: tuple[int, int] | None = None

    @property
    def data(self) -> bytes:
        """All bytes of the case."""
        return b"".join(self.lines)

    def options(self) -> Options:
        """Return the options as one object."""
        given = {name: value for name, value in self.settings.items() if name != "links"}
        return replace(options_from(given), links=bool(self.settings.get("links")))

    def context(self) -> RowContext:
        """Return the context of the rows."""
        aggregate = None if self.aggregate is None else Aggregate(self.aggregate)
        return probe_context(self.options(), aggregate, self.head)

    def blocks(self) -> Iterator[Lines]:
        """Return the blocks, as they come to an engine."""
        starts = [0, *self.cuts, len(self.lines)]
        base, longest = 0, self.options().max_line_bytes
        for start, stop in pairwise(starts):
            lines = self.lines[start:stop]
            data, final = b"".join(lines), stop == len(self.lines)
            places = self._places(start, base, lines) if self.is_array else None
            overlong = len(lines) == 1 and len(lines[0].rstrip(b"\n")) > longest + 1
            if lines:
                yield Lines(data, base, final, places, overlong)
            base += len(data)

    def _places(self, first: int, base: int, lines: tuple[bytes, ...]) -> bytes:
        places = array("Q")
        for number, line in enumerate(lines):
            places.extend((first + number // 2 + 1, base))
            base += len(line) + 7
        return places.tobytes()


def case_of(seed: int, most: int) -> Case:
    """Return the case of a seed, of at most so many rows."""
    chance = random.Random(seed)
    settings = some_settings(chance)
    if "schema" in settings:
        settings.pop("schema_version", None)
    lines = some_lines(chance, most, settings.pop("places", ()))
    aggregate = some_aggregate(chance, lines)
    head = b"".join(lines[:PROBED])
    if chance.random() < 0.05:
        head = b"".join(some_lines(chance, 5))
    size = len(lines)
    times = chance.choice((0, 0, 1, 3)) if size > 1 else 0
    cuts = sorted({chance.randrange(1, size) for _ in range(times)})
    is_array, is_run = chance.random() < 0.05, chance.random() < 0.04
    rooms = None
    if chance.random() < 0.05:
        rooms = chance.choice((1, 2, 7, 512)), chance.choice((1, 60, 300, 1000, 10_000))
    return Case(seed, settings, aggregate, tuple(lines), head, tuple(cuts), is_array, is_run, rooms)


def as_json(case: Case) -> str:
    """Return a case as a text; bytes that are no UTF-8 are written as halves of surrogates."""
    members: dict[str, Any] = case._asdict()
    members["lines"] = [line.decode(errors="surrogateescape") for line in case.lines]
    members["head"] = case.head.decode(errors="surrogateescape")
    return json.dumps(members, indent=1, default=int)


def from_json(text: str) -> Case:
    """Return the case that a text holds."""
    members: dict[str, Any] = json.loads(text)
    settings = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in members["settings"].items()
    }
    if "fail_on" in settings:
        settings["fail_on"] = type(Options().fail_on)(settings["fail_on"])
    lines = tuple(line.encode(errors="surrogateescape") for line in members["lines"])
    return Case(
        **members
        | {
            "settings": settings,
            "lines": lines,
            "head": members["head"].encode(errors="surrogateescape"),
            "cuts": tuple(members["cuts"]),
            "rooms": None if members["rooms"] is None else tuple(members["rooms"]),
        }
    )
