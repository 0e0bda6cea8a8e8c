"""The samples of a log on disk, by id and part, and what differs from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from evalstream.io.spill_table import SpillTable, restored, stored
from evalstream.model.finding import Severity, Violation
from evalstream.model.source_log import SourceSample, SourceScore
from evalstream.parsing.json import shorten

EXCERPT: Final = 300
"""How many characters of a text are kept for messages; all texts are compared by their digest."""

DIGEST_BYTES: Final = 16
_BATCH: Final = 500

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


_FIELDS: Final = "SELECT number, id, part, place, seen, state, data FROM sample WHERE id = ?"
_IN_ANY_PART: Final = f"{_FIELDS} ORDER BY number LIMIT 10000"
_IN_PART: Final = f"{_FIELDS} AND part = ? ORDER BY number LIMIT 10000"


class State:
    """What is known of a sample after the rows, as bits."""

    DIFFERS = 1
    OPEN = 2
    OWN_DIFFERS = 4
    REDUCED_DIFFERS = 8


class Text(NamedTuple):
    """The digests of the spellings of a value, and the beginning of the first one."""

    digests: tuple[str, ...]
    beginning: Any

    def has(self, value: Any) -> bool:
        """Tell whether a value is one of the spellings."""
        return digest(value) in self.digests


class Known(NamedTuple):
    """A sample as it is kept; `choices` is None where the log has none."""

    number: int
    id: str
    part: str
    place: str
    seen: int
    state: int
    input: Text
    reference: Text
    choices: Text | None
    output: Text
    messages: tuple[tuple[str, Text], ...]
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
    """Return the digest of a text, of a list of texts, or of null."""
    if isinstance(value, str):
        content = b"s" + value.encode(errors="surrogatepass")
    else:
        content = b"j" + json.dumps(value).encode()
    return blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


class SourceStore:
    """Keeps samples and differences. All methods raise CannotCheck where the disk is full."""

    def __init__(self) -> None:
        self._table = SpillTable(_TABLES)
        self.count = 0
        self._new: list[tuple[Any, ...]] = []
        self._changed: dict[int, Known] = {}
        self._differences: list[tuple[Any, ...]] = []

    def close(self) -> None:
        """Delete what is kept."""
        self._table.close()

    def add(self, sample: SourceSample, due: int) -> None:
        """Keep a sample; `due` has a bit for each result that a row of it should score."""
        self.count += 1
        names = stored(sample.id), stored(sample.part), stored(sample.place)
        self._new.append((self.count, *names, _bits(due), b"", 0, _packed(sample)))
        if len(self._new) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        self._table.change("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._new)
        self._table.change(
            "UPDATE sample SET seen = ?, state = ? WHERE number = ?",
            [(_bits(one.seen), one.state, one.number) for one in self._changed.values()],
        )
        self._table.change(
            "INSERT INTO difference (line, offset, condition, data) VALUES (?, ?, ?, ?)",
            self._differences,
        )
        self._new, self._changed, self._differences = [], {}, []

    def samples(self, identity: str, part: str | None) -> Iterator[Known]:
        """Iterate over the samples of an id and a part, or of all parts, in the log's order."""
        among = _IN_PART if part is not None else _IN_ANY_PART
        values = [stored(identity)] if part is None else [stored(identity), stored(part)]
        for row in self._table.rows(among, *values):
            yield self._changed.get(row[0]) or _known(row)

    def mark(self, sample: Known, bit: int, state: int) -> None:
        """Note that a row has a sample, and how it differs."""
        marked = sample._replace(seen=sample.seen | bit, state=sample.state | state)
        self._changed[sample.number] = marked
        if len(self._changed) >= _BATCH:
            self.flush()

    def differ(self, one: Difference) -> None:
        """Keep a difference; they come in the order of their lines."""
        found = one.violation
        data = [one.sample_id, found.code, found.message, found.pointer]
        data += [shorten(found.expected), shorten(found.found), found.severity]
        self._differences.append((one.line, one.offset, one.condition, json.dumps(data)))
        if len(self._differences) >= _BATCH:
            self.flush()

    def differences(self, counts: int) -> Iterator[Difference]:
        """Iterate over the differences without condition, and those whose bit `counts`."""
        last = 0
        while found := self._table.rows(
            "SELECT number, line, offset, condition, data FROM difference WHERE number > ? "
            "AND (condition = 0 OR condition & ?) ORDER BY number LIMIT ?",
            last,
            counts,
            _BATCH,
        ):
            for last, line, offset, condition, data in found:  # noqa: B007 - goes on there
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
                yield restored(row[1]), restored(row[2]), restored(row[3]), lacks

    def agreeing(self, counts: int, *, by_result: bool) -> tuple[int, int]:
        """Count the samples whose rows agree, and those of which something was left open."""
        agreeing = left_open = 0
        for _, due, seen, state in self._all("number, due, seen, state"):
            wanted, found = int.from_bytes(due, "little"), int.from_bytes(seen, "little")
            whole = found and not (by_result and wanted & ~found)
            same = not state & (State.DIFFERS | counts)
            left_open += bool(state & State.OPEN)
            agreeing += bool(whole and same and not state & State.OPEN)
        return agreeing, left_open

    def _all(self, columns: str) -> Iterator[tuple[Any, ...]]:
        last = 0
        while found := self._table.rows(
            f"SELECT {columns} FROM sample WHERE number > ? ORDER BY number LIMIT ?",  # noqa: S608
            last,
            _BATCH,
        ):
            yield from found
            last = found[-1][0]


def _bits(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "little")


def _text(spellings: tuple[Any, ...]) -> list[Any]:
    first = spellings[0] if spellings else None
    if isinstance(first, tuple):
        first = [one[:EXCERPT] for one in first[:EXCERPT]]
    return [[digest(one) for one in spellings], first[:EXCERPT] if first else first]


def _packed(sample: SourceSample) -> str:
    return json.dumps(
        [
            _text(sample.inputs),
            _text(sample.references),
            None if sample.choices is None else _text((sample.choices,)),
            _text(sample.outputs),
            [(one.role, *_text(one.texts)) for one in sample.messages],
            sample.scores,
            sample.default,
        ]
    )


def _known(row: tuple[Any, ...]) -> Known:
    shown, reference, choices, output, messages, scores, default = json.loads(row[6])
    return Known(
        row[0],
        restored(row[1]),
        restored(row[2]),
        restored(row[3]),
        int.from_bytes(row[4], "little"),
        row[5],
        _restored_text(shown),
        _restored_text(reference),
        None if choices is None else _restored_text(choices),
        _restored_text(output),
        tuple((role, _restored_text(text)) for role, *text in messages),
        {name: SourceScore(*score) for name, score in scores.items()},
        SourceScore(*default),
    )


def _restored_text(packed: list[Any]) -> Text:
    return Text(tuple(packed[0]), packed[1])
