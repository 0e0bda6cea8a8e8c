"""The instances of a run on disk: those that have requests, and those that have statistics."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from evalstream.formats.helm.statistics import Name
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.finding import Position

_BATCH: Final = 1000

_TABLES: Final = """
    CREATE TABLE request (
        id BLOB, perturbation BLOB, trial INTEGER, split BLOB, sub_split BLOB, number INTEGER,
        place INTEGER, line INTEGER, column INTEGER, scores BLOB, input BLOB,
        PRIMARY KEY (id, perturbation, trial)
    ) WITHOUT ROWID;
    CREATE TABLE entry (
        id BLOB, perturbation BLOB, trial INTEGER, metric BLOB, split BLOB, sub_split BLOB,
        number INTEGER, cluster INTEGER, place INTEGER, line INTEGER, column INTEGER, scores BLOB,
        probability REAL, is_right INTEGER, PRIMARY KEY (id, perturbation, trial, metric)
    ) WITHOUT ROWID;
    CREATE VIEW known AS SELECT
        entry.id AS id, entry.perturbation AS perturbation, entry.trial AS trial,
        entry.metric AS metric, entry.place AS place, entry.line AS line, entry.column AS column,
        entry.split AS split, entry.number AS number, entry.scores AS scores,
        request.split AS its_split, request.number AS requests, request.scores AS again
        FROM entry JOIN request USING (id, perturbation, trial);
"""
_ADD_REQUEST: Final = (
    "INSERT INTO request VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET number = number + 1"
)
_ADD_ENTRY: Final = (
    "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET number = number + 1, place = excluded.place, "
    "line = excluded.line, column = excluded.column, "
    "probability = COALESCE(probability, excluded.probability), "
    "is_right = COALESCE(is_right, excluded.is_right)"
)
_PAGE: Final = "(id, perturbation, trial, metric) > (?, ?, ?, ?) ORDER BY 1, 2, 3, 4 LIMIT 5000"
_FIRST: Final[tuple[Any, ...]] = (b"", b"", -1, b"")


class Instance(NamedTuple):
    """One instance, or a perturbed copy of it, in one trial; `perturbation` is "" for none."""

    id: str
    perturbation: str
    trial: int

    def __str__(self) -> str:
        """Return the instance as people read it."""
        name = json.loads(self.perturbation).get("name") if self.perturbation else None
        copy = "" if name is None else f" under {name}"
        return f"{self.id}{copy}" + (f" in trial {self.trial:,}" if self.trial else "")


class Placed(NamedTuple):
    """An instance, the index of its item in the list, and the position of that."""

    instance: Instance
    place: int
    start: Position
    more: Any = None


class InstanceStore:
    """The instances of a run; their scores come in the order of `score_again`.

    All methods raise CannotCheck where the disk is full.
    """

    def __init__(self) -> None:
        self._table = SpillTable(_TABLES)
        self._requests: list[tuple[Any, ...]] = []
        self._entries: list[tuple[Any, ...]] = []

    def close(self) -> None:
        """Delete what is kept."""
        self._table.close()

    def add_request(
        self, one: Placed, name: Name, scores: array[float] | None, inputs: bytes | None
    ) -> None:
        """Keep a request; `name` has the split of its instance, `inputs` digests what it asks."""
        split, sub_split = map(_encode, (name.split, name.sub_split))
        row = (*instance_key(one.instance), split, sub_split, *_where(one), _pack(scores), inputs)
        self._requests.append(row)
        if len(self._requests) >= _BATCH:
            self.flush()

    def add_entry(
        self,
        one: Placed,
        first: Name | None,
        cluster: int,
        scores: array[float] | None,
        confidence: tuple[float, int] | None,
    ) -> None:
        """Keep an entry by the name of its first statistic, and the cluster of copies it is in."""
        metric = b"" if first is None else encode_name(first.name)
        splits = (None, None) if first is None else (_encode(first.split), _encode(first.sub_split))
        key, last = instance_key(one.instance), confidence or (None, None)
        row = (*key, metric, *splits, cluster, *_where(one), _pack(scores), *last)
        self._entries.append(row)
        if len(self._entries) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        self._table.change(_ADD_REQUEST, self._requests)
        self._table.change(_ADD_ENTRY, self._entries)
        self._requests, self._entries = [], []

    def inputs(self, instance: Instance) -> bytes | None:
        """Return the digests of what was asked of an instance, None where it is not known."""
        found = self._table.rows(
            "SELECT input FROM request WHERE id = ? AND perturbation = ? AND trial = ?",
            *instance_key(instance),
        )
        return found[0][0] if found else None

    def count_scored(self) -> int:
        """Return how many entries have scores that follow from their requests."""
        ((number,),) = self._table.rows(
            "SELECT COUNT(*) FROM known "
            "WHERE scores IS NOT NULL AND again IS NOT NULL AND requests = 1"
        )
        return int(number)

    def count_ids(self) -> tuple[int, int]:
        """Return how many different ids have requests, and how many have statistics."""
        ((requests,),) = self._table.rows("SELECT COUNT(DISTINCT id) FROM request")
        ((entries,),) = self._table.rows("SELECT COUNT(DISTINCT id) FROM entry")
        return requests, entries

    def count_instances(self) -> Iterator[tuple[int, Name, int]]:
        """Iterate over the number of instances with requests by trial, split and perturbation."""
        for trial, split, sub_split, perturbation, number in self._table.rows(
            "SELECT trial, split, sub_split, perturbation, COUNT(*) FROM request "
            "GROUP BY 1, 2, 3, 4"
        ):
            parts = (_decode(split), _decode(sub_split), decode_name(perturbation))
            yield trial, Name("num_instances", *parts), number

    def count_entries(self) -> Iterator[tuple[tuple[str | None, str | None, str], int]]:
        """Iterate over the number of instances with statistics, by split and perturbation."""
        for split, sub_split, perturbation, number in self._table.rows(
            "SELECT split, sub_split, perturbation, COUNT(*) FROM "
            "(SELECT DISTINCT id, perturbation, trial, split, sub_split FROM entry) "
            "GROUP BY 1, 2, 3"
        ):
            yield (_decode(split), _decode(sub_split), decode_name(perturbation)), number

    def find_confidences(self, trial: int, name: Name) -> list[tuple[float, int]]:
        """Return the confidences in the answers of a trial, by split and perturbation of a name."""
        return self._table.rows(
            "SELECT probability, is_right FROM entry WHERE probability IS NOT NULL "
            "AND (trial, perturbation) = (?, ?) AND split IS ? AND sub_split IS ?",
            *(trial, encode_name(name.perturbation), _encode(name.split), _encode(name.sub_split)),
        )

    def without_entry(self) -> Iterator[Placed]:
        """Iterate over the instances with requests and without statistics."""
        return self._placed(
            "SELECT id, perturbation, trial, x'' AS metric, place, line, column, 0 FROM request "
            "WHERE NOT EXISTS (SELECT 1 FROM entry WHERE (entry.id, entry.perturbation, "
            "entry.trial) = (request.id, request.perturbation, request.trial)) AND "
        )

    def without_request(self) -> Iterator[Placed]:
        """Iterate over the instances with statistics and without requests."""
        return self._placed(
            "SELECT id, perturbation, trial, metric, place, line, column, 0 FROM entry "
            "WHERE NOT EXISTS (SELECT 1 FROM request WHERE (entry.id, entry.perturbation, "
            "entry.trial) = (request.id, request.perturbation, request.trial)) AND "
        )

    def repeated(self) -> Iterator[Placed]:
        """Iterate over the entries that begin with the same metric as another: that metric."""
        return self._placed(
            "SELECT id, perturbation, trial, metric, place, line, column, metric FROM entry "
            "WHERE number > 1 AND "
        )

    def other_numbers(self) -> Iterator[Placed]:
        """Iterate over the entries that are more or fewer than the requests of their instance."""
        return self._placed(
            "SELECT id, perturbation, trial, metric, place, line, column, requests FROM known "
            "WHERE number != requests AND "
        )

    def other_splits(self) -> Iterator[Placed]:
        """Iterate over the entries that are of another split than their instance: that split."""
        return self._placed(
            "SELECT id, perturbation, trial, metric, place, line, column, its_split FROM known "
            "WHERE split != its_split AND "
        )

    def scored_otherwise(self) -> Iterator[tuple[Placed, array[float], array[float]]]:
        """Iterate over entries whose requests give other scores: their scores, and the others."""
        for row in self._pages(
            "SELECT id, perturbation, trial, metric, place, line, column, scores, again FROM known "
            "WHERE scores != substr(again, 1, length(scores)) AND requests = 1 AND "
        ):
            yield _make_placed((*row[:7], None)), array("d", row[-2]), array("d", row[-1])

    @property
    def are_copies_together(self) -> bool:
        """Whether the copies of each instance follow each other among the statistics."""
        return not self._table.rows(
            "SELECT 1 FROM entry GROUP BY id, trial, metric HAVING MIN(cluster) < MAX(cluster) "
            "LIMIT 1"
        )

    def _placed(self, query: str) -> Iterator[Placed]:
        return map(_make_placed, self._pages(query))

    def _pages(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows of a query, which begin with the four members of the key."""
        last = _FIRST
        while found := self._table.rows(query + _PAGE, *last):
            yield from found
            last = found[-1][:4]


def _make_placed(row: tuple[Any, ...]) -> Placed:
    id_, perturbation, trial, _, place, line, column, more = row[:8]
    instance = Instance(decode_name(id_), decode_name(perturbation), trial)
    shown = decode_name(more) if isinstance(more, bytes) else more
    return Placed(instance, place, Position(line, column), shown)


def instance_key(one: Instance) -> tuple[bytes, bytes, int]:
    """Return an instance as it is kept in tables."""
    return encode_name(one.id), encode_name(one.perturbation), one.trial


def _where(one: Placed) -> tuple[int, int, int | None]:
    return one.place, one.start.line, one.start.column


def _encode(text: str | None) -> bytes | None:
    return None if text is None else encode_name(text)


def _decode(data: bytes | None) -> str | None:
    return None if data is None else decode_name(data)


def _pack(scores: array[float] | None) -> bytes | None:
    return None if scores is None else scores.tobytes()
