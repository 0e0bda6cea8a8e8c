"""The facts that are kept of a sample, the comparison of its summary with them, and their sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from datetime import datetime
from typing import Any, Final

from evalstream.formats.inspect.rules.coverage import INS206
from evalstream.formats.inspect.store import (
    PERPLEXITY,
    KeptScore,
    SampleFacts,
    StoredSample,
    perplexity_numbers,
)
from evalstream.formats.inspect.values import is_count, read_time, same, score_value
from evalstream.formats.inspect.views import SampleView
from evalstream.model.finding import Violation
from evalstream.parsing.json import pointer, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty

MOST_MODELS: Final = 1_000
"""Most models, and most numbers of each, whose usage is summed."""

_SUMMARISED: Final = ("model_usage", "started_at", "completed_at", "total_time", "working_time")
"""What a summary repeats of a sample as it is."""

_SHORT: Final = 1_000
"""Longer texts are cut in summaries (log/_util.py of inspect_ai: 1,024 characters)."""


def gather_facts(view: SampleView, keys: Set[str]) -> SampleFacts:
    """Return the facts to keep of a sample, with its metadata under some keys."""
    value = view.value
    metadata = object_or_empty(value.get("metadata"))
    kept = {key: metadata[key] for key in keys if key in metadata}
    for name, score in view.scores.items():
        numbers = perplexity_numbers(score.get("metadata"))
        if numbers is not None:
            kept[PERPLEXITY + name] = numbers
    told = {name: value[name] for name in _SUMMARISED if name in value}
    told["message_count"] = len(list_or_empty(value.get("messages")))
    told["retries"] = len(list_or_empty(value.get("error_retries")))
    return SampleFacts(
        str(value["id"]),
        value["epoch"],
        view.has_failed,
        text_or_none(value.get("uuid")),
        value.get("target"),
        view.place,
        {name: KeptScore(score_value(one), _answer(one)) for name, one in view.scores.items()},
        kept,
        told,
        _first_call(view),
        value.get("invalidation") is not None,
    )


def _first_call(view: SampleView) -> str | None:
    """Return the id of the event of the first call of a model."""
    return next((text_or_none(event.get("uuid")) for _, event in view.events("model")), None)


def _answer(score: Mapping[str, Any]) -> str | None:
    """Return the answer of a score if summaries do not cut it."""
    answer = score.get("answer")
    return answer if isinstance(answer, str) and len(answer) <= _SHORT else None


def compare_summary(
    value: Mapping[str, Any], known: StoredSample, place: str
) -> Iterator[Violation]:
    """Compare a summary with the facts of its sample."""
    told, scores = object_or_empty(value.get("scores")), known.scores
    for name in dict.fromkeys((*told, *scores)):
        where = place + pointer(("scores", name))
        if name not in told or name not in scores:
            has, lacks = ("summary", "sample") if name in told else ("sample", "summary")
            message = f"the {has} has a score of {name}, and the {lacks} has none"
            yield INS206.violation(message, where if name in told else place)
            continue
        summarised, kept = object_or_empty(told[name]), scores[name]
        if not same(score_value(summarised), kept.value):
            yield INS206.violation(
                f"the sample has another value of {name}",
                f"{where}/value",
                expected=kept.value,
                found=summarised.get("value"),
            )
        answer = summarised.get("answer")
        # Summaries have single spaces for all white space (log/_util.py of inspect_ai).
        is_text = kept.answer is not None and isinstance(answer, str)
        if is_text and answer != kept.answer and str(answer).split() != str(kept.answer).split():
            yield INS206.violation(
                f"the sample has another answer for {name}",
                f"{where}/answer",
                expected=kept.answer,
                found=answer,
            )
    if (value.get("error") is not None) != known.failed:
        has, lacks = ("sample", "summary") if known.failed else ("summary", "sample")
        yield INS206.violation(f"the {has} has an error, and the {lacks} has none", place)
    if "uuid" in value and value["uuid"] != known.uuid:
        yield _other(place, "uuid", known.uuid, value)
    for name, expected in known.told.items():
        found = value.get(name)
        # A later release writes a time in another zone.
        moment = read_time(found)
        is_same = same(found, expected) or (moment is not None and moment == read_time(expected))
        if found is not None and not is_same:
            yield _other(place, name, expected, value)
    if "target" in value and not _is_cut(known.target) and not same(value["target"], known.target):
        yield _other(place, "target", known.target, value)


def _other(place: str, name: str, expected: Any, value: Mapping[str, Any]) -> Violation:
    message = f"the sample has another {name}"
    where = place + pointer((name,))
    return INS206.violation(message, where, expected=expected, found=value[name])


def _is_cut(target: Any) -> bool:
    """Tell whether a summary may hold only the beginning of a target."""
    texts = target if isinstance(target, list) else [target]
    return any(isinstance(text, str) and len(text) > _SHORT for text in texts)


class PartTotals:
    """Sums over some members and samples of a log.

    `samples` counts samples, `loaded` those that the harness loads, `members` the members of an
    archive, `sound_members` those whose bytes are the declared ones. `samples_known` is False where
    samples could not be read, `latest` the time of the sample that was completed last, and
    `missing` says why the harness's own reader was not asked.
    """

    def __init__(self) -> None:
        self.samples = self.loaded = self.members = self.sound_members = 0
        self.attachments = self.sound_attachments = 0
        self.usage: dict[str, dict[str, int]] = {}
        self.latest: datetime | None = None
        self.samples_known = True
        self.missing = ""

    def add_usage(self, usage: Any) -> None:
        """Add the token usage of models."""
        for model, numbers in object_or_empty(usage).items():
            if model not in self.usage and len(self.usage) >= MOST_MODELS:
                continue
            sums = self.usage.setdefault(model, {})
            for name, number in object_or_empty(numbers).items():
                if is_count(number) and (name in sums or len(sums) < MOST_MODELS):
                    sums[name] = sums.get(name, 0) + number

    def add_end(self, ended: datetime | None) -> None:
        """Add the time at which a sample was completed."""
        if ended is not None and (self.latest is None or ended > self.latest):
            self.latest = ended

    def merge(self, later: PartTotals) -> None:
        """Add those of later members."""
        self.samples += later.samples
        self.loaded += later.loaded
        self.members += later.members
        self.sound_members += later.sound_members
        self.attachments += later.attachments
        self.sound_attachments += later.sound_attachments
        self.add_usage(later.usage)
        self.add_end(later.latest)
        self.samples_known = self.samples_known and later.samples_known
        self.missing = self.missing or later.missing
