"""INS216: events of the scores of a sample, and of their edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.inspect.results import RECORDED_SINCE
from evalstream.formats.inspect.values import same, score_value
from evalstream.formats.inspect.views import SampleView
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import declare_rule

_NAMED_SINCE: Final = (0, 3, 218)
"""The release of inspect_ai from which on each event of a score names its scorer."""

_MOST_UNNAMED: Final = 1_000
"""Most events of unnamed scores in a sample that are compared with its scores."""

_UNCHANGED: Final = "UNCHANGED"
"""The text in an edit in place of a value that it keeps."""


def _check_recorded(sample: SampleView) -> Iterator[Violation]:
    yield from _unrecorded_scores(sample)
    yield from _unrecorded_edits(sample)


def _unrecorded_edits(sample: SampleView) -> Iterator[Violation]:
    """Look for an event of each edit, and compare a score with what its edits end with.

    An edit leaves what is not in it as it was. The first entry is the score that was edited; of a
    score without an event of its scorer, which an edit added, it is that edit. Source: edit_score
    in log/_score.py of inspect_ai, from its first release on.
    """
    edits = [event for _, event in sample.events("score_edit")]
    last = (one for _, one in sample.events("score") if not one.get("intermediate"))
    scored = {text_or_none(one.get("scorer")) for one in last}
    for name, score in sample.scores.items():
        history = [object_or_empty(one) for one in list_or_empty(score.get("history"))]
        if not history and not edits:
            continue
        values = [one.get("value", _UNCHANGED) for one in history]
        changed = [one for one in values if one != _UNCHANGED]
        found = score.get("value")
        if changed and not same(score_value({"value": changed[-1]}), score_value(score)):
            message = f"the edits of the score of {name} end with another value"
            place = sample.at("scores", name, "value")
            yield INS216.violation(message, place, expected=changed[-1], found=found)
        told = [object_or_empty(one.get("edit")) for one in edits if one.get("score_name") == name]
        known = [one.get("value", _UNCHANGED) for one in told]
        later = values[1:] or ([] if name in scored else values)
        if len(told) == len(later):
            is_other = not _are_recorded(sample, told, history)
        else:
            is_other = any(not any(same(one, other) for other in known) for one in later)
        if sample.value.get("events") and (is_other or (values and not later)):
            message = f"no event records an edit of the score of {name}"
            yield INS216.violation(message, sample.at("scores", name, "history"), found=found)


def _are_recorded(
    sample: SampleView, told: Sequence[Mapping[str, Any]], history: Sequence[Mapping[str, Any]]
) -> bool:
    """Tell whether the history of a score ends with the edits that events record."""
    last = history[len(history) - len(told) :]
    return all(_is_edit(sample, *one) for one in zip(told, last, strict=True))


def _is_edit(sample: SampleView, told: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    author = [member(one.get("provenance"), "author") for one in (told, entry)]
    return author[0] == author[1] and all(
        same(*(sample.resolved_within(one.get(name)) for one in (told, entry)))
        for name in ("value", "answer", "explanation")
    )


def _unrecorded_scores(sample: SampleView) -> Iterator[Violation]:
    """Look for an event of each score.

    An edit that adds a score makes none; it is the only entry of the score's history. Earlier
    releases named no scorer in events, and recorded no score that was added after the run.
    """
    events = [one for _, one in sample.events("score") if not one.get("intermediate")]
    named = {text_or_none(one.get("scorer")) for one in events} - {None}
    if sample.scores.keys() <= named:
        return
    scores = {
        name: list_or_empty(score.get("history")) or [score]
        for name, score in sample.scores.items()
        if name in named or not _is_added(sample, name, list_or_empty(score.get("history")))
    }
    # `inspect score` of a later release adds events with names to those without.
    events = [one for one in events if text_or_none(one.get("scorer")) is None]
    scores = {name: history for name, history in scores.items() if name not in named}
    is_mixed = bool(events) and sample.is_before(_NAMED_SINCE)
    is_recent = sample.release >= _NAMED_SINCE
    if (named and not is_mixed) or (is_recent and sample.events("sample_init")):
        for name in scores:
            place, found = sample.at("scores", name, "value"), sample.scores[name].get("value")
            yield INS216.violation(f"no event records the score of {name}", place, found=found)
    elif len(scores) <= len(events) <= _MOST_UNNAMED:
        told = [object_or_empty(one.get("score")) for one in events]
        for name, (first, *later) in scores.items():
            others = [_other_part(sample, first, one, edited=bool(later)) for one in told]
            if None not in others:
                # Where an event has the value, only a text is another one.
                part = next((one for one in others if one != "value"), "value")
                path = ("history", 0) if later else ()
                is_undeclared = sample.log is None or name not in sample.log.declared_scorers
                is_later = is_undeclared and sample.is_before(RECORDED_SINCE)
                yield INS216.violation(
                    f"no event records this score of {name}",
                    sample.at("scores", name, *path, part),
                    expected=_part(sample, told[0], str(part)) if len(told) == 1 else None,
                    found=member(first, str(part)),
                    severity=Severity.WARNING if is_later else None,
                )


def _is_added(sample: SampleView, name: str, history: Sequence[Any]) -> bool:
    """Tell whether an edit added a score: further edits have events, one each, beside its own."""
    edits = (one for _, one in sample.events("score_edit") if one.get("score_name") == name)
    return len(history) == 1 or 1 < len(history) == sum(1 for _ in edits)


def _other_part(
    sample: SampleView, score: Any, told: Mapping[str, Any], *, edited: bool
) -> str | None:
    """Return the first part of a score that is not that of an event, None if it is the event's.

    An edit may leave the texts out.
    """
    for part in ("value", "answer", "explanation"):
        here, there = (_part(sample, one, part) for one in (score, told))
        if not same(here, there) and not (edited and here is None):
            return part
    return None


def _part(sample: SampleView, score: Any, name: str) -> Any:
    """Return a part of a score as it is compared."""
    if name == "value":
        return score_value(score)
    return sample.resolve_attachment(member(score, name))


INS216: Final = declare_rule("INS216", record=_check_recorded)


RULES: Final = (INS216,)
"""Rules that check one sample."""
