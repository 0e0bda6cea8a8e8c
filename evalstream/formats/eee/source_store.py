"""The samples of a log on disk, by id and part, and the differences of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.model.source_log import SourceSample, SourceScore, Stated
from evalstream.parsing.json import reduce_value, shorten

DIGEST_BYTES: Final = 16
SHORT: Final = 32
"""Texts of fewer characters are kept as they are: their digest would be longer."""

NOTHING: Final = "-"
"""The value for null, in the place of its digest."""

_TABLES: Final = """
    CREATE TABLE sample (
        number INTEGER PRIMARY KEY, id BLOB, part BLOB, place BLOB, due BLOB, seen BLOB,
        state INTEGER, data TEXT
    );
    CREATE INDEX by_id ON sample (id, part, number);
    CREATE TABLE difference (
        number INTEGER PRIMARY KEY, line INTEGER, offset INTEGER, condition INTEGER, data TEXT
    );
"""


_OF_ID: Final = "SELECT number, id, part, place, seen, state, data FROM sample WHERE id = ?"


class SampleState:
    """The state of a sample after the rows, as bits."""

    DIFFERS = 1
    OPEN = 2
    OWN_DIFFERS = 4
    REDUCED_DIFFERS = 8


class Spellings(NamedTuple):
    """The digests of the values that a member may have, and the beginning of the log's own.

    Without any the log has the member in a form that cannot be compared.
    """

    digests: tuple[str, ...]
    beginning: Any

    def has(self, value: Any) -> bool:
        """Tell whether a value is one of the spellings."""
        return digest(value) in self.digests


Known = Mapping[str, Spellings]


class KnownSample(NamedTuple):
    """A sample as it is kept."""

    number: int
    id: str
    part: str
    place: str
    seen: int
    state: int
    members: Known
    messages: tuple[Known, ...]
    scores: Mapping[str, SourceScore]
    default: SourceScore


class Difference(NamedTuple):
    """A violation of a row, and its sample's id; with a `condition` only if that bit counts."""

    line: int
    offset: int
    sample_id: str | int | None
    violation: Violation
    condition: int = 0


def digest(value: Any) -> str:
    """Return a digest that is equal for JSON values that say the same; short texts are their own.

    An empty list says as much as none, members that are null say nothing, and 1 is 1.0.
    """
    if isinstance(value, str):
        if len(value) < SHORT:
            return f"={value}"
        content = b"s" + value.encode(errors="surrogatepass")
    else:
        reduced = reduce_value(value)
        if reduced is None:
            return NOTHING
        content = b"j" + json.dumps(reduced, sort_keys=True).encode()
    return blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


class SourceStore:
    """Keeps samples and differences. All methods raise CannotCheck where the disk is full."""

    def __init__(self) -> None:
        self._table = SpillTable(_TABLES)
        self.close = self._table.close
        self.count = 0

    def add(self, sample: SourceSample, due: int) -> None:
        """Keep a sample; `due` has a bit for each result that a row of it should score."""
        self.count += 1
        names = encode_name(sample.id), encode_name(sample.part), encode_name(sample.place)
        messages = [
            _packed_members({"role": (one.role,), **one.members}) for one in sample.messages
        ]
        packed = [_packed_members(sample.members), messages, sample.scores, sample.default]
        row = (self.count, *names, _bits(due), b"", 0, json.dumps(packed))
        self._table.add("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row])

    def samples(self, identity: str, part: str | None) -> Iterator[KnownSample]:
        """Iterate over the samples of an id and a part, or of all parts, in the log's order."""
        in_part = "" if part is None else " AND part = ?"
        names = [encode_name(one) for one in (identity, part) if one is not None]
        query = f"{_OF_ID}{in_part} ORDER BY number LIMIT 10000"
        yield from map(_unpack_sample, self._table.rows(query, *names))

    def mark(self, sample: KnownSample, bit: int, state: int) -> None:
        """Note that a row has a sample, and how it differs."""
        row = (_bits(sample.seen | bit), sample.state | state, sample.number)
        self._table.add("UPDATE sample SET seen = ?, state = ? WHERE number = ?", [row])

    def differ(self, one: Difference) -> None:
        """Keep a difference; they come in the order of their lines."""
        found = one.violation
        data = [one.sample_id, found.code, found.message, found.pointer]
        data += [found.expected, shorten(found.found), found.severity]
        row = (one.line, one.offset, one.condition, json.dumps(data))
        query = "INSERT INTO difference (line, offset, condition, data) VALUES (?, ?, ?, ?)"
        self._table.add(query, [row])

    def differences(self, counts: int) -> Iterator[Difference]:
        """Iterate over the differences without condition, and those whose bit `counts`."""
        query = (
            "SELECT number, line, offset, condition, data FROM difference WHERE number > ? "
            "AND (condition = 0 OR condition & ?) ORDER BY number LIMIT 500"
        )
        for _, line, offset, condition, data in self._table.pages(query, counts):
            sample, code, message, pointer, expected, shown, severity = json.loads(data)
            grade = None if severity is None else Severity(severity)
            violation = Violation(
                code, message, pointer, expected=expected, found=shown, severity=grade
            )
            yield Difference(line, offset, sample, violation, condition)

    def missing(self, *, by_result: bool) -> Iterator[tuple[str, str, str, int]]:
        """Iterate over the samples that lack rows: id, part, place, and the bits of results.

        Without `by_result` one row of a sample suffices, and its bits are 0.
        """
        for row in self._all("number, id, part, place, due, seen"):
            due, seen = (int.from_bytes(one, "little") for one in row[4:])
            lacks = (due & ~seen) if by_result and seen else 0
            if lacks or not seen:
                yield decode_name(row[1]), decode_name(row[2]), decode_name(row[3]), lacks

    def agreeing(self, counts: int, *, by_result: bool) -> tuple[int, int]:
        """Count the samples whose rows agree, and those of which something was left open."""
        agreeing = left_open = 0
        for _, due, seen, state in self._all("number, due, seen, state"):
            wanted, found = int.from_bytes(due, "little"), int.from_bytes(seen, "little")
            whole = found and not (by_result and wanted & ~found)
            same = not state & (SampleState.DIFFERS | counts)
            left_open += bool(state & SampleState.OPEN)
            agreeing += bool(whole and same and not state & SampleState.OPEN)
        return agreeing, left_open

    def _all(self, columns: str) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM sample WHERE number > ? ORDER BY number LIMIT 500"  # noqa: S608
        return self._table.pages(query)


def _bits(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "little")


def _packed_members(stated: Stated) -> dict[str, list[Any]]:
    return {
        place: [[digest(one) for one in values], shorten(values[0]) if values else None]
        for place, values in stated.items()
    }


def _unpack_sample(row: tuple[Any, ...]) -> KnownSample:
    members, messages, scores, default = json.loads(row[6])
    return KnownSample(
        row[0],
        decode_name(row[1]),
        decode_name(row[2]),
        decode_name(row[3]),
        int.from_bytes(row[4], "little"),
        row[5],
        _known_members(members),
        tuple(map(_known_members, messages)),
        {name: SourceScore(*score) for name, score in scores.items()},
        SourceScore(*default),
    )


def _known_members(packed: Mapping[str, list[Any]]) -> Known:
    return {place: Spellings(tuple(found), first) for place, (found, first) in packed.items()}
