"""The tally of a log of HarpIA Lab: which metrics were applied to which instances, and sums."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from evalstream.formats.harpia.documents import Member, find_member, read_member
from evalstream.formats.harpia.values import (
    LONGEST_IDENTIFIER,
    NO_MEAN_WORDS,
    ODD,
    choose_kind,
    count_decimals,
    identifier,
    iterate_numbers,
    iterate_scores,
    metric_words,
)
from evalstream.formats.harpia.views import Input, InputInstance, InputMetric, Score, view_metric
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import short_text
from evalstream.parsing.json_values import is_texts
from evalstream.stats.tally import MOST_VALUES, ScoreSums

Path = tuple[str, ...]
"""The keys on the way to a number inside a score or result."""

PAGE_BITS: Final = 10
"""Pairs of a row that share one number as their bits, as a power of two."""

DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Known:
    """The facts that the documents next to a log give about its records.

    `instances` are the ids of the input, each with its number, or None without an input. `metrics`
    are those of the input by name, else of the output (`source` says which), or None without
    either. `claims` are the unambiguous ones of the output, by metric and parameters, and `digits`
    is the output with its numbers as written. `matches` tells which responses are expected ones;
    it is empty where no metric is an exact match.
    """

    instances: Mapping[str, int] | None = None
    metrics: Mapping[str, tuple[InputMetric, ...]] | None = None
    source: str = "input"
    claims: Mapping[tuple[str, bytes], Score] = field(default_factory=dict)
    digits: Any = None
    matches: Mapping[str, Match] = field(default_factory=dict)

    def is_known(self, metric: InputMetric) -> bool:
        """Return whether a metric with these parameters is known, if any are."""
        if self.metrics is None or metric.id is None:
            return True
        keys = {known.key for known in self.metrics.get(metric.id, ())}
        return metric.key in keys or (bool(keys) and None in keys | {metric.key})


class Record(NamedTuple):
    """A log record: its metric, instance and result, and the known facts."""

    value: Mapping[str, Any]
    metric: InputMetric
    instance: Member | None
    instance_id: str | None
    result: Member | None
    known: Known
    is_repeated: bool = False

    @property
    def claim(self) -> Score | None:
        """The output's claim for the metric, or None if there is no unambiguous one."""
        if self.metric.id is None or self.metric.key is None:
            return None
        return self.known.claims.get((self.metric.id, self.metric.key))

    @property
    def is_placed(self) -> bool:
        """Whether metric, parameters and instance are known, so that the record counts."""
        if self.metric.id is None or self.metric.key is None or self.instance_id is None:
            return False
        known = self.known.instances
        return self.known.is_known(self.metric) and (known is None or self.instance_id in known)


@dataclass(slots=True)
class Amount:
    """The totals over the records of one metric and its parameters.

    `name` is short enough for messages. `records` counts the records, `repeated` those whose
    instance came before. `sums` adds up the numbers that the output claims, and
    `decimals` holds the most decimals of a result there.
    """

    name: str
    row: int
    claim: Score | None
    records: int = 0
    repeated: int = 0
    sums: dict[Path, ScoreSums] = field(default_factory=dict)
    decimals: dict[Path, int] = field(default_factory=dict)

    @property
    def instances(self) -> int:
        """The number of instances that the metric was applied to."""
        return self.records - self.repeated


class Pairs:
    """Pairs of whole numbers: one bit each if they are close together, one page each otherwise."""

    def __init__(self) -> None:
        self._pages: dict[tuple[int, int], int] = {}

    def add(self, row: int, column: int) -> bool:
        """Add a pair, and return whether it is new."""
        page, bit = (row, column >> PAGE_BITS), 1 << (column & ((1 << PAGE_BITS) - 1))
        before = self._pages.get(page, 0)
        self._pages[page] = before | bit
        return not before & bit

    def __contains__(self, pair: tuple[int, int]) -> bool:
        """Return whether a pair was added."""
        row, column = pair
        bits = self._pages.get((row, column >> PAGE_BITS), 0)
        return bool(bits >> (column & ((1 << PAGE_BITS) - 1)) & 1)


class LogTally:
    """The totals over the records of a log, the same for any cut of its bytes.

    It needs about 200 bytes for each instance that is not in the input and for each metric with its
    parameters, and between one bit and about 200 bytes for each pair of them. `unplaced` counts
    records that cannot be assigned; `doubtful` holds the metrics that such a record may belong to.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        self.unplaced = 0
        self.doubtful: set[str] = set()
        self._columns = dict(known.instances or {})
        self._pairs = Pairs()
        self._amounts: dict[bytes, Amount] = {}

    def record(self, value: Mapping[str, Any], *, certain: bool) -> Record:
        """Add a record; the numbers of one that is not `certain` are not summed up."""
        instance = find_member(value, "instance_id")
        text = None if instance is None else identifier(instance.value)
        result = find_member(value, "result")
        record = Record(value, view_metric(value), instance, text, result, self.known)
        if not record.is_placed or text is None:
            name = record.metric.id
            if name is None:
                self.unplaced += 1
            elif self.known.metrics is None or name in self.known.metrics:
                self.doubtful.add(short_text(name))
            return record
        amount = self._amount(record)
        short = _bound_text(text) if self.known.instances is None else text
        column = self._columns.setdefault(short, len(self._columns))
        is_new = self._pairs.add(amount.row, column)
        amount.records += 1
        amount.repeated += not is_new
        numbers = dict(iterate_scores(result.value)) if result is not None and certain else {}
        for path, sums in amount.sums.items():
            number = numbers.get(path)
            sums.add(None, number, None, failed=False, times=1)
            if isinstance(number, float):
                amount.decimals[path] = max(amount.decimals.get(path, 0), count_decimals(number))
        return record._replace(is_repeated=not is_new)

    def amounts(self) -> Iterator[Amount]:
        """Iterate over the applied metrics in the order of their first records."""
        return iter(self._amounts.values())

    def silent(self) -> Iterator[InputMetric]:
        """Iterate over the metrics to be applied that have no record, if the log has any at all."""
        if self.unplaced or not self._amounts or self.known.metrics is None:
            return
        for metric in chain.from_iterable(self.known.metrics.values()):
            is_sure = metric.key is not None and short_text(metric.id) not in self.doubtful
            if metric.enabled is not False and is_sure and _digest(metric) not in self._amounts:
                yield metric

    @property
    def instances(self) -> int:
        """The number of instances: those of the input, else all that the log names."""
        return len(self._columns)

    def missing(self, amount: Amount) -> Iterable[str]:
        """Iterate over the instances that a metric was not applied to."""
        columns, pairs = self._columns.items(), self._pairs
        return (text for text, column in columns if (amount.row, column) not in pairs)

    def is_settled(self, amount: Amount) -> bool:
        """Return whether no unassigned record may belong to a metric."""
        return not self.unplaced and amount.name not in self.doubtful

    def _amount(self, record: Record) -> Amount:
        name, digest = record.metric.id or "", _digest(record.metric)
        amount = self._amounts.get(digest)
        if amount is None:
            claim = record.claim
            amount = Amount(short_text(name), len(self._amounts), claim)
            score = None if claim is None or claim.score is None else claim.score.value
            amount.sums = {path: _make_sums(name, path) for path, _ in iterate_numbers(score)}
            self._amounts[digest] = amount
        return amount


def _digest(metric: InputMetric) -> bytes:
    digest = hashlib.blake2b(metric.key or b"", digest_size=DIGEST_BYTES)
    digest.update(b"\0" + (metric.id or "").encode(errors="surrogatepass"))
    return digest.digest()


def _make_sums(metric: str, path: Path) -> ScoreSums:
    """Return sums that count different results only where the formula of the score needs them."""
    needs_values = choose_kind(metric, path).needs_values
    return ScoreSums(subtasks=None, values={} if needs_values else None, most_values=MOST_VALUES)


def collect_known(read: Input | None, claims: Iterable[Score] | None, digits: Any) -> Known:
    """Return the facts that an input and the claims of an output give about log records."""
    instances: Mapping[str, int] | None = None
    metrics: list[InputMetric] | None = None
    source = "input"
    if read is not None and read.instances and all(one.id is not None for one in read.instances):
        ids = dict.fromkeys(one.id for one in read.instances if one.id is not None)
        instances = {text: number for number, text in enumerate(ids)}
    if read is not None and read.metrics is not None and all(one.id for one in read.metrics):
        metrics = read.metrics
    output_claims = list(claims or ())
    if read is None and claims is not None and all(claim.metric.id for claim in output_claims):
        metrics, source = [claim.metric for claim in output_claims], "output"
    by_metric: dict[tuple[str, bytes], Score | None] = {}
    for claim in output_claims:
        if claim.metric.id is not None and claim.metric.key is not None:
            key = (claim.metric.id, claim.metric.key)
            by_metric[key] = None if key in by_metric else claim
    sole = {key: claim for key, claim in by_metric.items() if claim is not None}
    matches: Mapping[str, Match] = {}
    if instances is not None and any(is_exact_match(one) for one in metrics or ()):
        matches = collect_matches(read.instances if read is not None else ())
    named = None if metrics is None else _by_name(metrics)
    return Known(instances, named, source, sole, digits, matches)


def _by_name(metrics: Iterable[InputMetric]) -> Mapping[str, tuple[InputMetric, ...]]:
    named: dict[str, list[InputMetric]] = {}
    for metric in metrics:
        named.setdefault(metric.id or "", []).append(metric)
    return {name: tuple(some) for name, some in named.items()}


def _bound_text(text: str) -> str:
    if len(text) <= LONGEST_IDENTIFIER:
        return text
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES)
    return f"{text[: LONGEST_IDENTIFIER - 40]}… ({digest.hexdigest()})"


EXACT_MATCH: Final = "exactmatch"
_IGNORED: Final = re.compile(r"\b(?:a|an|the)\b|[\W_\d]+")
"""The texts that options of exact matches ignore: articles, punctuation, spaces and digits."""


class Match(NamedTuple):
    """Whether a response is an expected one to the letter, and whether it is one at all.

    Without case, articles, punctuation, spaces and digits more responses are.
    """

    is_literal: bool
    is_loose: bool


def is_exact_match(metric: InputMetric) -> bool:
    """Return whether a metric compares whole responses, and no parameter says what it ignores."""
    name = metric.id or ""
    is_plain = all(
        isinstance(one, (bool, int, float, type(None))) for one in metric.values.values()
    )
    is_named = EXACT_MATCH in ODD.sub("", name.lower())
    return is_named and is_plain and metric_words(name).isdisjoint(NO_MEAN_WORDS)


def collect_matches(instances: Iterable[InputInstance] | None) -> Mapping[str, Match]:
    """Return how the one response of each instance matches what was expected, by the ids."""
    found: dict[str, Match] = {}
    for one in instances or ():
        response = read_member(one.value, "actual-output")
        expected = read_member(one.value, "expected-output")
        if one.id in found:
            found[one.id] = Match(is_literal=False, is_loose=True)
        elif one.id is not None and isinstance(response, str) and expected and is_texts(expected):
            is_loose = _reduce(response) in map(_reduce, expected)
            found[one.id] = Match(response in expected, is_loose)
    return found


def _reduce(text: str) -> str:
    return _IGNORED.sub("", text.casefold())
