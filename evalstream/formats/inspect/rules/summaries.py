"""INS206: what the summaries of samples say, and the facts to keep of each sample for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from evalstream.formats.inspect.store import PERPLEXITY, KeptScore, SampleFacts, perplexity_numbers
from evalstream.formats.inspect.values import read_time, same, score_value
from evalstream.formats.inspect.views import REFERENCES, SampleView
from evalstream.model.finding import Violation
from evalstream.parsing.json import member, pointer, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import declare_rule

_SHORT: Final = 1_000
"""Longer texts are cut in summaries (log/_util.py of inspect_ai: 1,024 characters)."""


_SUMMARISED: Final = (
    *("choices", "model_usage", "role_usage", "started_at", "completed_at", "total_time"),
    *("working_time", "turn_count", "message_limit", "time_limit", "token_limit"),
    *("token_limit_type", "token_limit_usage"),
)
"""Members of a sample that its summary repeats."""


def gather_facts(view: SampleView, keys: Set[str]) -> SampleFacts:
    """Return the facts to keep of a sample, with its metadata under some keys."""
    value = view.value
    metadata = object_or_empty(value.get("metadata"))
    events = view.events("sample_init")
    begun = object_or_empty(member(events[0].value.get("sample"), "metadata") if events else None)
    # The harness groups by what a sample began with, and when it scores again by what it has now.
    kept = {
        key: metadata[key]
        for key in keys
        if key in metadata and same(metadata[key], begun.get(key, metadata[key]))
    }
    for name, score in view.scores.items():
        numbers = perplexity_numbers(score.get("metadata"))
        if numbers is not None:
            kept[PERPLEXITY + name] = numbers
    told = {name: value[name] for name in _SUMMARISED if name in value}
    told["message_count"] = len(list_or_empty(value.get("messages")))
    told["retries"] = len(list_or_empty(value.get("error_retries")))
    told["limit"] = member(value.get("limit"), "type")
    ends = member(value.get("error"), "message"), member(value.get("limit"), "reason")
    texts = _list_repeated(value, *ends)
    repeated = ((path, _digest(view.resolve_attachment(one))) for path, one in texts)
    return SampleFacts(
        str(value["id"]),
        value["epoch"],
        view.has_failed,
        text_or_none(value.get("uuid")),
        value.get("target"),
        view.place,
        {
            name: KeptScore(score_value(one), _answer(view, one))
            for name, one in view.scores.items()
        },
        kept,
        told,
        next((text_or_none(event.get("uuid")) for _, event in view.events("model")), None),
        value.get("invalidation") is not None,
        {path: one for path, one in repeated if one is not None},
    )


def _list_repeated(
    value: Mapping[str, Any], error: Any, limit_reason: Any
) -> Iterator[tuple[str, Any]]:
    """Iterate over the texts and numbers that a sample and its summary have, by JSON Pointers."""
    for path, one in (
        ("input", value.get("input")),
        ("error", error),
        ("limit_reason", limit_reason),
    ):
        yield _at("", path), one
    for name, one in object_or_empty(value.get("metadata")).items():
        yield _at("", "metadata", name), one
    for name, one in object_or_empty(value.get("scores")).items():
        yield _at("", "scores", name, _EXPLANATION), member(one, _EXPLANATION)


_EXPLANATION: Final = "explanation"


def _digest(value: Any) -> Any:
    """Return a number, or the digest of a short text with single spaces; None for all else.

    Where a log is written anew, its summaries have references to attachments.
    """
    if not isinstance(value, str):
        return value if isinstance(value, (int, float)) else None
    if len(value) > _SHORT or value.startswith(REFERENCES):
        return None
    text = " ".join(value.split()).encode(errors="surrogatepass")
    return blake2b(text, digest_size=8).hexdigest()


def _answer(view: SampleView, score: Mapping[str, Any]) -> str | None:
    """Return the answer of a score if summaries do not cut it."""
    answer = view.resolve_attachment(score.get("answer"))
    return answer if isinstance(answer, str) and len(answer) <= _SHORT else None


def compare_summary(
    value: Mapping[str, Any], known: SampleFacts, place: str
) -> Iterator[Violation]:
    """Compare a summary with the facts of its sample."""
    yield from _compare_scores(object_or_empty(value.get("scores")), known.scores, place)
    if (value.get("error") is not None) != known.failed:
        has, lacks = ("sample", "summary") if known.failed else ("summary", "sample")
        yield INS206.violation(f"the {has} has an error, and the {lacks} has none", place)
    if "uuid" in value and value["uuid"] != known.uuid:
        yield _other(place, "uuid", known.uuid, value)
    for name, expected in known.told.items():
        found = value.get(name)
        if found is not None and not _tells_same(found, expected):
            yield _other(place, name, expected, value)
    for path, found in _list_repeated(value, value.get("error"), value.get("limit_reason")):
        digest, expected = _digest(found), known.repeated.get(path)
        if None not in (digest, expected) and not same(digest, expected):
            yield INS206.violation(f"the sample has another {path[1:]}", place + path, found=found)
    targets = known.target if isinstance(known.target, list) else [known.target]
    # Of a long target a summary may hold only the beginning.
    is_cut = any(isinstance(text, str) and len(text) > _SHORT for text in targets)
    if "target" in value and not is_cut and not same(value["target"], known.target):
        yield _other(place, "target", known.target, value)


def _compare_scores(
    told: Mapping[str, Any], scores: Mapping[str, KeptScore], place: str
) -> Iterator[Violation]:
    for name in dict.fromkeys((*told, *scores)):
        where = partial(_at, place, "scores", name)
        if name not in told or name not in scores:
            has, lacks = ("summary", "sample") if name in told else ("sample", "summary")
            message = f"the {has} has a score of {name}, and the {lacks} has none"
            yield INS206.violation(message, where() if name in told else place)
            continue
        summarised, kept = object_or_empty(told[name]), scores[name]
        if not same(score_value(summarised), kept.value):
            yield INS206.violation(
                f"the sample has another value of {name}",
                where("value"),
                expected=kept.value,
                found=summarised.get("value"),
            )
        answer = summarised.get("answer")
        # Summaries have single spaces for all white space (log/_util.py of inspect_ai).
        is_text = kept.answer is not None and isinstance(answer, str)
        if is_text and answer != kept.answer and str(answer).split() != str(kept.answer).split():
            yield INS206.violation(
                f"the sample has another answer for {name}",
                where("answer"),
                expected=kept.answer,
                found=answer,
            )


def _tells_same(found: Any, expected: Any) -> bool:
    """Compare values; a later release writes a time in another zone."""
    if same(found, expected):
        return True
    moment = read_time(found)
    return moment is not None and moment == read_time(expected)


def _other(place: str, name: str, expected: Any, value: Mapping[str, Any]) -> Violation:
    message = f"the sample has another {name}"
    return INS206.violation(message, _at(place, name), expected=expected, found=value[name])


def _at(place: str, *path: str) -> str:
    return place + pointer(path)


INS206: Final = declare_rule("INS206")

RULES: Final = (INS206,)
"""Rules over the summaries of samples."""
