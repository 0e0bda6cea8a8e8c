"""Facts of a log's samples on disk, so that memory does not grow with their number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import loads_exactly
from evalstream.parsing.json_values import holds_double

_BATCH: Final = 500

NAMED: Final = 5
"""How many missing samples are named."""

MOST_NAMED: Final = 10_000
"""How many samples without a summary, or with several, are named."""

_TABLES: Final = """
    CREATE TABLE sample (
        number INTEGER PRIMARY KEY, id BLOB, epoch INTEGER, failed INTEGER, uuid BLOB,
        target TEXT, place BLOB, told TEXT, event BLOB
    );
    CREATE TABLE score (sample INTEGER, scorer BLOB, value TEXT, answer BLOB);
    CREATE TABLE meta (sample INTEGER, key BLOB, value TEXT);
    CREATE TABLE expected (number INTEGER PRIMARY KEY, id BLOB);
"""
_INDEXES: Final = (
    *("by_id ON sample (id, epoch)", "by_key ON meta (key, sample)"),
    *("by_scorer ON score (scorer, sample)", "by_sample ON score (sample)"),
    "by_expected ON expected (id)",
)
"""Indexes that are made after the last sample."""


PERPLEXITY: Final = "perplexity of "
"""The prefix of a scorer's name in the key of the numbers behind its perplexity."""


class KeptScore(NamedTuple):
    """A score of a sample: its value, and its answer if it is a short text."""

    value: Any
    answer: str | None = None


class SampleFacts(NamedTuple):
    """The facts of one sample: `scores` and `metadata` by name, `place` is its JSON Pointer.

    `told` are further members that its summary repeats, `repeated` numbers and digests of texts by
    their JSON Pointers in the summary, and `event` is the id of an event of a model.
    """

    id: str
    epoch: int
    failed: bool
    uuid: str | None
    target: Any
    place: str
    scores: Mapping[str, KeptScore]
    metadata: Mapping[str, Any]
    told: Mapping[str, Any]
    event: str | None = None
    is_invalid: bool = False
    repeated: Mapping[str, Any] = MappingProxyType({})


class FactRows(NamedTuple):
    """The facts of one sample as its rows of the tables, without its number."""

    sample: tuple[Any, ...]
    scores: list[tuple[Any, ...]]
    metadata: list[tuple[Any, ...]]
    is_invalid: bool


def make_rows(facts: SampleFacts) -> FactRows:
    """Return the rows that hold the facts of a sample."""
    uuid = None if facts.uuid is None else encode_name(facts.uuid)
    event = None if facts.event is None else encode_name(facts.event)
    key, place = (encode_name(facts.id), facts.epoch), encode_name(facts.place)
    target, told = _text(facts.target), _text([facts.told, {**facts.repeated}])
    scores = [
        (encode_name(name), _text(one.value), one.answer and encode_name(one.answer))
        for name, one in facts.scores.items()
    ]
    metadata = [(encode_name(name), _text(value)) for name, value in facts.metadata.items()]
    sample = (*key, facts.failed, uuid, target, place, told, event)
    return FactRows(sample, scores, metadata, facts.is_invalid)


class Scored(NamedTuple):
    """One value of a scorer, with the number, the id and the epoch of its sample.

    `answer` is the answer if it is a short text.
    """

    sample: int
    id: str
    epoch: int
    value: Any
    answer: str | None


class LogStore:
    """The samples of a log, on disk. All methods raise CannotCheck where the disk is full."""

    def __init__(self) -> None:
        self._table = SpillTable(_TABLES)
        self.close = self._table.close
        self.count = 0
        self.failed = self.invalid = 0
        self._summarised = bytearray()
        self._ahead: Iterator[tuple[int, SampleFacts]] = iter(())
        self._has_repeated = self._is_indexed = False

    def add_rows(self, rows: FactRows) -> None:
        """Keep a sample."""
        self.count = number = self.count + 1
        self.failed += rows.sample[2]
        self.invalid += rows.is_invalid
        add = self._table.add
        add("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [(number, *rows.sample)])
        add("INSERT INTO score VALUES (?, ?, ?, ?)", [(number, *one) for one in rows.scores])
        add("INSERT INTO meta VALUES (?, ?, ?)", [(number, *one) for one in rows.metadata])

    def flush(self) -> None:
        """Index the samples, as all of them are there."""
        if self._is_indexed:
            return
        self._is_indexed = True
        for index in _INDEXES:
            self._table.rows(f"CREATE INDEX {index}")
        self._summarised = bytearray(self.count)
        repeated = "SELECT 1 FROM sample GROUP BY id, epoch HAVING COUNT(*) > 1 LIMIT 1"
        self._has_repeated = bool(self._table.rows(repeated))

    def iterate_repeated(self) -> Iterator[tuple[str, int, str]]:
        """Iterate over the samples whose id and epoch an earlier one has: id, epoch, place."""
        if not self._has_repeated:
            return
        yield from self._named(
            "SELECT id, epoch, place FROM sample AS later WHERE EXISTS (SELECT 1 FROM sample "
            "AS first WHERE first.id = later.id AND first.epoch = later.epoch "
            "AND first.number < later.number) ORDER BY number LIMIT 10000"
        )

    def _named(self, query: str, *values: Any) -> Iterator[tuple[str, int, str]]:
        """Iterate over the id, the epoch and the place of the samples that a query finds."""
        for id_, epoch, place in self._table.rows(query, *values):
            yield decode_name(id_), epoch, decode_name(place)

    def iterate_copied(self) -> Iterator[tuple[str, int, str, str, int]]:
        """Iterate over the samples that have an event of an earlier one.

        Each is an id, epoch and place, with id and epoch of the earlier one.
        """
        for id_, epoch, place, of, of_epoch in self._table.rows(
            "SELECT later.id, later.epoch, later.place, first.id, first.epoch "
            "FROM sample AS later CROSS JOIN (SELECT event, MIN(number) AS least FROM sample "
            "WHERE event IS NOT NULL GROUP BY event HAVING COUNT(*) > 1) AS known "
            "ON known.event = later.event AND known.least < later.number "
            "CROSS JOIN sample AS first ON first.number = known.least "
            "WHERE later.id != first.id OR later.epoch != first.epoch "
            "ORDER BY later.number LIMIT 10000"
        ):
            yield decode_name(id_), epoch, decode_name(place), decode_name(of), of_epoch

    def iterate_drifted(self) -> Iterator[tuple[str, int, str, Any, Any]]:
        """Iterate over the samples that have another target than the first one of their id.

        Each is an id, epoch, place, and both targets, the first one first.
        """
        for id_, epoch, place, first, target in self._table.rows(
            "SELECT later.id, later.epoch, later.place, first.target, later.target FROM "
            "(SELECT id, MIN(number) AS least FROM sample GROUP BY id "
            "HAVING MIN(target) != MAX(target)) AS known "
            "JOIN sample AS first ON first.number = known.least "
            "JOIN sample AS later ON later.id = known.id AND later.epoch != first.epoch "
            "WHERE later.target != first.target "
            "ORDER BY later.number LIMIT 10000"
        ):
            yield decode_name(id_), epoch, decode_name(place), _value(first), _value(target)

    def expect(self, ids: Iterable[str]) -> None:
        """Keep the ids that the log declares."""
        self._table.change(
            "INSERT INTO expected (id) VALUES (?)", ((encode_name(one),) for one in ids)
        )

    def missing(self, epochs: int) -> tuple[int, list[tuple[str, int]]]:
        """Return how many declared ids and epochs have no sample, and the first of them."""
        ((ids,),) = self._table.rows("SELECT COUNT(DISTINCT id) FROM expected")
        ((there,),) = self._table.rows(
            "SELECT COUNT(*) FROM (SELECT DISTINCT id, epoch FROM sample "
            "WHERE epoch BETWEEN 1 AND ? AND id IN (SELECT id FROM expected))",
            epochs,
        )
        number = ids * epochs - there
        first: list[tuple[str, int]] = []
        # Among the first epochs, one more than there are samples, some sample is missing.
        for epoch in range(1, min(epochs, self.count + 1) + 1 if number else 0):
            found = self._table.rows(
                "SELECT id FROM expected WHERE NOT EXISTS (SELECT 1 FROM sample WHERE "
                "sample.id = expected.id AND sample.epoch = ?) ORDER BY number LIMIT 5",
                epoch,
            )
            first += [(decode_name(id_), epoch) for (id_,) in found]
            if len(first) >= NAMED:
                break
        return number, first[:NAMED]

    def iterate_undeclared(self, epochs: int) -> Iterator[tuple[str, int, str]]:
        """Iterate over the samples of ids or epochs that are not declared: id, epoch, place."""
        return self._named(
            "SELECT id, epoch, place FROM sample WHERE epoch > ? OR epoch < 1 OR id NOT IN "
            "(SELECT id FROM expected) ORDER BY number LIMIT 10000",
            epochs,
        )

    def without_score(self, scorer: str) -> int:
        """Return the number of samples without an error that a scorer gave no score."""
        ((number,),) = self._table.rows(
            "SELECT COUNT(*) FROM sample WHERE NOT failed AND NOT EXISTS (SELECT 1 FROM score "
            "WHERE score.sample = sample.number AND score.scorer = ?)",
            encode_name(scorer),
        )
        return int(number)

    def find(self, id_: str, epoch: int) -> SampleFacts | None:
        """Return the last sample of an id and epoch, and note that a summary has it.

        Its place and its metadata are left out.

        Summaries follow each other as the samples do, so that the next one is tried first.
        """
        number, found = next(self._ahead, (0, None))
        if found is None or (found.id, found.epoch) != (id_, epoch):
            number, found = self._look_up(id_, epoch)
        if found is not None:
            most = 1 if self._has_repeated else 2
            self._summarised[number - 1] = min(self._summarised[number - 1] + 1, most)
        return found

    def forget_summaries(self) -> None:
        """Forget which samples a summary has."""
        self._summarised, self._ahead = bytearray(self.count), iter(())

    def _look_up(self, id_: str, epoch: int) -> tuple[int, SampleFacts | None]:
        numbers = self._table.rows(
            "SELECT number FROM sample WHERE id = ? AND epoch = ? ORDER BY number",
            encode_name(id_),
            epoch,
        )
        for (number,) in numbers[:-1]:
            self._summarised[number - 1] = 1
        if not numbers:
            return 0, None
        following = self._iterate_from(numbers[-1][0])
        # Of repeated samples the last one counts, which is not the next.
        self._ahead = iter(()) if self._has_repeated else following
        return next(following)

    def _iterate_from(self, number: int) -> Iterator[tuple[int, SampleFacts]]:
        """Iterate over the samples from a number on, read in growing batches."""
        batch = 1
        while found := self._table.rows(
            "SELECT number, id, epoch, failed, uuid, target, told FROM sample "
            "WHERE number BETWEEN ? AND ? ORDER BY number",
            number,
            number + batch - 1,
        ):
            scores: dict[int, dict[str, KeptScore]] = {}
            for sample, scorer, value, answer in self._table.rows(
                "SELECT * FROM score WHERE sample BETWEEN ? AND ?", number, number + batch - 1
            ):
                kept = KeptScore(_value(value), answer and decode_name(answer))
                scores.setdefault(sample, {})[decode_name(scorer)] = kept
            for one, name, epoch, failed, uuid, target, told in found:
                known = None if uuid is None else decode_name(uuid)
                own, shown = scores.get(one, {}), (_value(target), "")
                key = decode_name(name), epoch, bool(failed), known
                members, repeated = loads_exactly(told)
                facts = SampleFacts(*key, *shown, own, {}, members, repeated=repeated)
                yield one, facts
            number += batch
            batch = min(2 * batch, _BATCH)

    def summarised(self, times: int) -> Iterator[tuple[str, int, str]]:
        """Iterate over the samples that so many summaries have: id, epoch, place.

        Two stand for all above one.
        """
        at = self._summarised.find(times)
        for _ in range(MOST_NAMED):
            if at < 0:
                return
            yield from self._named("SELECT id, epoch, place FROM sample WHERE number = ?", at + 1)
            at = self._summarised.find(times, at + 1)

    def scorers(self) -> Sequence[str]:
        """Return the names of all scorers, in the order of their first score."""
        found = self._table.rows(
            "SELECT scorer, MIN(rowid) AS first FROM score GROUP BY scorer ORDER BY first"
        )
        return [decode_name(scorer) for scorer, _ in found]

    def has_failed_scores(self, scorer: str) -> bool:
        """Tell whether a sample that ended with an error has a score of a scorer."""
        return bool(self.failed) and bool(
            self._table.rows(
                "SELECT 1 FROM score JOIN sample ON sample.number = score.sample "
                "WHERE score.scorer = ? AND failed LIMIT 1",
                encode_name(scorer),
            )
        )

    def iterate_scored(self, scorer: str, *, with_failed: bool = True) -> Iterator[Scored]:
        """Iterate over the values of a scorer, those of one id together, in the log's order.

        Those of samples that ended with an error are left out if not `with_failed`.
        """
        last, number = b"", 0
        while found := self._table.rows(
            "SELECT sample.number, sample.id, sample.epoch, value, answer FROM score "
            "JOIN sample ON sample.number = score.sample WHERE score.scorer = ? "
            "AND (? OR NOT failed) AND (sample.id, sample.number) > (?, ?) "
            "ORDER BY sample.id, sample.number LIMIT 5000",
            encode_name(scorer),
            with_failed,
            last,
            number,
        ):
            for number, last, epoch, value, answer in found:
                given = answer and decode_name(answer)
                yield Scored(number, decode_name(last), epoch, _value(value), given)

    def meta(self, key: str, sample: int) -> Any:
        """Return the metadata of a sample under a key; KeyError where it has none."""
        found = self._table.rows(
            "SELECT value FROM meta WHERE key = ? AND sample = ?", encode_name(key), sample
        )
        if not found:
            raise KeyError(key)
        return loads_exactly(found[0][0])


def _value(text: str) -> Any:
    """Return the value of a JSON text; most scores have one of few values."""
    return loads_exactly(text) if text[0] in "[{" else _scalar(text)


_scalar = lru_cache(maxsize=1024)(loads_exactly)


def perplexity_numbers(metadata: Any) -> tuple[int, float] | None:
    """Return the number of tokens and the log-probability in the metadata of a score."""
    found = metadata if isinstance(metadata, dict) else {}
    tokens: Any = found.get("num_tokens")
    probability: Any = found.get("sum_log_probs")
    if not holds_double(tokens) or not holds_double(probability):
        return None
    return int(tokens), float(probability)


def _text(value: Any) -> str:
    """Return a value as JSON in ASCII, with NaN as Python writes it."""
    return _short_text(value) if value.__class__ is str and len(value) < _SHORT else _dump(value)


_SHORT: Final = 32
_dump: Final = json.JSONEncoder().encode
_short_text = lru_cache(maxsize=4096)(_dump)
