"""Typed views of infereval's documents for its rules; they accept any JSON value."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from evalstream.formats.infereval import votes
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json_values import is_number, numbered_texts, object_or_empty, objects

TIE_BREAKS: Final = (*votes.VERDICTS, votes.FIRST)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: the document as it is, and its parts that have the expected types."""

    document: Mapping[str, Any]

    @cached_property
    def analysts(self) -> list[tuple[int, dict[str, Any]]]:
        """The analysts that are objects, by their index."""
        return list(objects(self.document.get("analysts")))

    @cached_property
    def items(self) -> Collection[tuple[int, dict[str, Any]]]:
        """The items that are objects, by their index."""
        return list(objects(self.document.get("items")))

    @cached_property
    def panel_size(self) -> int | None:
        """The number of analysts, or None if it is unknown or 0."""
        analysts = self.document.get("analysts")
        return len(analysts) or None if isinstance(analysts, list) else None

    @cached_property
    def bearers(self) -> frozenset[str] | None:
        """The ids of the bearers, or None if they are not a map."""
        bearers = self.document.get("bearers")
        return frozenset(bearers) if isinstance(bearers, dict) else None

    @cached_property
    def factors(self) -> dict[str, dict[str, int]]:
        """The levels of each factor, with their places."""
        return places_by_name(self.document.get("factors"))

    @cached_property
    def families(self) -> dict[str, dict[str, int]]:
        """The tiers of each ordinal family, lowest first, with their places."""
        return places_by_name(self.document.get("ordinal_families"))

    @cached_property
    def targets(self) -> Collection[str]:
        """The labels that items may aim at, each once."""
        return dict.fromkeys(text for _, text in numbered_texts(self.document.get("targets")))

    @property
    def item_ids(self) -> Iterator[tuple[int, str]]:
        """The ids of the items that have one, by index."""
        given = ((index, item.get("id")) for index, item in self.items)
        return ((index, one) for index, one in given if isinstance(one, str))

    @cached_property
    def by_id(self) -> Mapping[str, dict[str, Any]]:
        """The items by id; the first of several with the same id."""
        found: dict[str, dict[str, Any]] = {}
        for _, item in self.items:
            if isinstance(item.get("id"), str):
                found.setdefault(item["id"], item)
        return found


class BenchmarkItem(NamedTuple):
    """One item of a benchmark, with its number from 0."""

    number: int
    value: Mapping[str, Any]
    benchmark: Benchmark


@dataclass(frozen=True)
class Evaluation:
    """An evaluation without its items, and its benchmark.

    `hashes` are the benchmark's, in the form of the declared framework_version first, or None if
    they could not be computed. An evaluation that `breaks_off` may lack members after the break.
    `lacking` gives the reason if a benchmark was searched and not found.
    """

    document: Mapping[str, Any]
    benchmark: Benchmark | None = None
    hashes: tuple[str, str] | None = None
    breaks_off: bool = False
    lacking: str | None = None

    @cached_property
    def config(self) -> Mapping[str, Any] | None:
        """The settings under which the model was asked, or None if unknown."""
        given = self.document.get("endorsement_config", None if self.breaks_off else {})
        return given if isinstance(given, dict) else None

    @cached_property
    def samples(self) -> int | None:
        """The number of samples of each item, or None if unknown."""
        number = (self.config or {}).get("n_samples", votes.DEFAULT_SAMPLES)
        if self.config is None or not is_number(number) or number != int(number) or number < 1:
            return None
        return int(number)

    @cached_property
    def reading(self) -> votes.Reading | None:
        """How a verdict is read from a response, or None if the prompt is not known."""
        if self.config is None:
            return None
        asked = {} if self.benchmark is None else self.benchmark.document
        version, prompt = self.document.get("framework_version"), asked.get("verification_prompt")
        return votes.choose_reading(self.config, version, asked.get("template_id"), prompt)

    @cached_property
    def usual_reading(self) -> votes.Reading | None:
        """How verdicts are mostly read from responses, where the prompt is not known."""
        if self.config is None or self.reading is not None:
            return None
        asked = {} if self.benchmark is None else self.benchmark.document
        version, prompt = self.document.get("framework_version"), asked.get("verification_prompt")
        return votes.choose_usual_reading(self.config, version, prompt)

    def name_request(self, item: Any, sample: Mapping[str, Any]) -> str:
        """Return the request_id that the package gives to a sample of an item."""
        return f"{self.document.get('id')}:{item}:sample-{sample.get('sample_index')}"

    @cached_property
    def times(self) -> tuple[datetime | None, datetime | None]:
        """When the evaluation started and finished, None where it does not say it."""
        given = (self.document.get(name) for name in ("started_at", "finished_at"))
        started, finished = (date_time(one) if isinstance(one, str) else None for one in given)
        return started, finished

    @cached_property
    def longest(self) -> float:
        """The most milliseconds that a sample can have taken: those of the whole evaluation."""
        started, finished = self.times
        if started is None or finished is None or finished < started:
            return math.inf
        # Times are written in whole seconds.
        return (finished - started).total_seconds() * 1000 + 2000

    @cached_property
    def tie_break(self) -> str | None:
        """The verdict that wins a tie of good and bad, or None if unknown."""
        given = (self.config or {}).get("tie_break", votes.DEFAULT_TIE_BREAK)
        return given if self.config is not None and given in TIE_BREAKS else None


@dataclass(frozen=True)
class Item:
    """One item of an evaluation, with its number from 0.

    `verdicts` is the number of analyst verdicts of the first item; without a benchmark, later items
    must have as many.
    """

    number: int
    value: Mapping[str, Any]
    evaluation: Evaluation
    verdicts: int | None = None

    @cached_property
    def samples(self) -> list[dict[str, Any]] | None:
        """The samples, or None if one of them cannot be counted as a vote."""
        given = self.value.get("samples", [])
        if not isinstance(given, list) or not all(map(_is_vote, given)):
            return None
        return given

    @cached_property
    def numbered_samples(self) -> list[tuple[int, dict[str, Any]]]:
        """The samples that are objects, by their index."""
        return list(objects(self.value.get("samples")))

    @cached_property
    def answers(self) -> list[tuple[int, str, str]]:
        """The index, response and verdict of each sample whose call did not fail."""
        answers = []
        for index, sample in self.numbered_samples:
            response, verdict = sample.get("raw_response"), sample.get("parsed_verdict")
            if isinstance(response, str) and _is_vote(sample) and not votes.has_failed(sample):
                answers.append((index, response, str(verdict)))
        return answers

    @cached_property
    def outcome(self) -> votes.Vote:
        """The outcome of the vote of its samples."""
        tie_break = self.evaluation.tie_break or votes.ABSTAIN
        return votes.vote(votes.voting(self.samples or []), tie_break)

    @cached_property
    def original(self) -> dict[str, Any] | None:
        """The item of the benchmark with the same id."""
        benchmark, name = self.evaluation.benchmark, self.value.get("id")
        if benchmark is None or not isinstance(name, str):
            return None
        return benchmark.by_id.get(name)


def places_by_name(value: Any) -> dict[str, dict[str, int]]:
    """Return the strings in the lists of a map, each with its first place; others have none."""
    found: dict[str, dict[str, int]] = {}
    for name, given in object_or_empty(value).items():
        places = found[name] = {}
        for place, (_, text) in enumerate(numbered_texts(given)):
            places.setdefault(text, place)
    return found


def _is_vote(sample: Any) -> bool:
    # No `in` on a set: the value may have any type.
    return isinstance(sample, dict) and sample.get("parsed_verdict") in votes.VERDICTS


_DATE: Final = r"(\d{4}-\d{2}-\d{2})"
_TIME: Final = r"((?!24)\d{2}:\d{2}(?::\d{2})?)(?:(?<=:\d{2}:\d{2})[.,](\d{1,9})\d*)?"
_ZONE: Final = r"(Z|[+-]\d{2}:?\d{2})?"
_DATE_TIME: Final = re.compile(rf"{_DATE}(?:[T _]{_TIME}{_ZONE})?", re.IGNORECASE | re.ASCII)


def date_time(text: str) -> datetime | None:
    """Return the moment that a string names, or None if it is not a date or time.

    A date alone means midnight, and a time without a zone is in UTC.
    """
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return None
    date, time, fraction, zone = found.groups()
    written = f"{date}T{time or '00:00'}"
    if fraction:
        written += f".{fraction[:6]:0<6}"
    try:
        moment = datetime.fromisoformat(written + (zone or "").upper())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_date(text: str) -> bool:
    """Return whether a string is a date; midnight of that date is allowed, too."""
    moment = date_time(text)
    return moment is not None and not (
        moment.hour or moment.minute or moment.second or moment.microsecond
    )
