"""INF3: rules about the items of evaluations: their samples, verdicts and votes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evalstream.formats.infereval.views import Evaluation, Item
from evalstream.formats.infereval.votes import (
    ABSTAIN,
    VERDICTS,
    Reading,
    Vote,
    can_mean,
    has_failed,
)
from evalstream.model.claim import JudgedClaim, Reason, reasons_left_open
from evalstream.model.finding import Severity, Violation, of_length
from evalstream.model.text import count_noun
from evalstream.parsing.json import resolve
from evalstream.parsing.json_values import is_number, object_or_empty
from evalstream.rules.base import declare_rule

OK: Final = "ok"
MANY: Final = 10
MOST: Final = 9
"""Least samples, in all and for each unlike one, that show how the responses are read."""
REQUEST: Final = ":sample-"
"""The last part of the request_id that the package writes, before the index of the sample."""


FAILED: Final = "sample_failed"
CLIPPED: Final = "budget_clipped"
_BUDGET: Final = ("length", "max_tokens")
"""Reasons of providers for an answer that was cut off (BUDGET_FINISH_REASONS)."""
_OF_ANSWERS: Final = ("wall_time_ms", "usage", "finish_reason")
"""Members that the package sets to null where a call failed (`endorse`)."""


def _sample_indices(item: Item) -> Iterator[Violation]:
    samples, number = item.value.get("samples", []), item.evaluation.samples
    if not isinstance(samples, list) or number is None:
        return
    found: list[Any] = [sample.get("sample_index") for _, sample in item.numbered_samples]
    if len(found) != len(samples) or not all(map(is_number, found)):
        return
    if len(found) != number:
        yield wrong_number_of_samples(len(found), number)
        return
    strays = [index for index, one in enumerate(found) if one != index]
    is_shuffled = sorted(found) == list(range(number))
    for index in strays[:1] if is_shuffled else strays:
        yield INF303.violation(
            "the samples are out of order" if is_shuffled else "not the next index from 0",
            f"/samples/{index}/sample_index",
            expected=index,
            found=found[index],
            severity=Severity.WARNING if is_shuffled else None,
        )


def _check_samples(item: Item) -> Iterator[Violation]:
    """Report samples that are missing, and those that are of other requests than they should be."""
    yield from _sample_indices(item)
    if item.evaluation.breaks_off:
        return
    strays = [
        (index, wanted, request)
        for index, sample in item.numbered_samples
        if isinstance(request := sample.get("request_id"), str) and _OF_REQUEST.search(request)
        for wanted in [item.evaluation.name_request(item.value.get("id"), sample)]
        if request != wanted
    ]
    for index, wanted, request in strays[:1]:
        message = "the request is not that of this sample, item and evaluation"
        shown = {"expected": wanted, "found": request, "count": len(strays)}
        # A copy of an evaluation may have another id; its samples change no places.
        is_own = request.startswith(f"{item.evaluation.document.get('id')}:")
        severity = None if is_own else Severity.WARNING
        yield INF303.violation(message, f"/samples/{index}/request_id", severity=severity, **shown)


_OF_REQUEST: Final = re.compile(rf"{REQUEST}\d+\Z")


def wrong_number_of_samples(found: int, number: int) -> Violation:
    """Return the violation for an item with another number of samples than n_samples."""
    message = f"{count_noun(found, 'sample')}, but n_samples is {number:,}"
    return INF303.violation(message, "/samples", expected=of_length(number))


def open_votes(claims: Iterable[JudgedClaim]) -> Iterator[Violation]:
    """Report verdicts and votes that no samples confirm, one violation for each reason."""
    for reason, some in reasons_left_open(claims):
        if reason != Reason.UNREAD.value:
            labels = " and ".join(claim.label for claim in some)
            message = f"{labels}: open, {reason}"
            yield INF304.violation(message, some[0].pointer, severity=Severity.WARNING)


def _majority_vote(item: Item) -> Iterator[Violation]:
    claimed, verdict = item.value.get("majority_vote"), item.value.get("model_verdict")
    samples, tie_break = item.samples, item.evaluation.tie_break
    outcome = item.outcome
    knows_winner = bool(samples) and (tie_break is not None or not outcome.tie_broken)
    winner, message = object_or_empty(claimed).get("verdict"), "not the verdict of majority_vote"
    if knows_winner:
        winner, message = outcome.verdict, "not the verdict that follows from the samples"
    if winner in VERDICTS and verdict in VERDICTS and verdict != winner:
        yield INF304.violation(message, "/model_verdict", expected=winner, found=verdict)
    if samples and isinstance(claimed, dict):
        yield from _check_majority_vote(claimed, outcome, knows_winner=knows_winner)


def _check_majority_vote(
    claimed: Mapping[str, Any], outcome: Vote, *, knows_winner: bool
) -> Iterator[Violation]:
    for name in VERDICTS:
        given = claimed.get(name, 0)
        if is_number(given) and given != outcome.counts[name]:
            message = f"not the number of samples whose parsed verdict is {name}"
            place, wanted = f"/majority_vote/{name}", outcome.counts[name]
            yield INF304.violation(message, place, expected=wanted, found=given)
    given, winner = claimed.get("verdict"), outcome.verdict
    if knows_winner and given in VERDICTS and given != winner:
        message, place = "not the verdict that follows from the samples", "/majority_vote/verdict"
        yield INF304.violation(message, place, expected=winner, found=given)
    broken, is_tied = claimed.get("tie_broken", False), outcome.tie_broken
    if isinstance(broken, bool) and broken != is_tied:
        message = f"the samples are {'' if is_tied else 'not '}tied"
        yield INF304.violation(message, "/majority_vote/tie_broken", expected=is_tied, found=broken)


def _parse_status(item: Item) -> Iterator[Violation]:
    for index, sample in item.numbered_samples:
        status, verdict = sample.get("parse_status", OK), sample.get("parsed_verdict")
        if status == OK and not has_failed(sample):
            continue
        place = f"/samples/{index}/parse_status"
        if isinstance(status, str) and status != OK and verdict in VERDICTS[:2]:
            message = f"parse_status is not {OK}, but parsed_verdict is {verdict}"
            yield INF305.violation(message, place, found=status)
        if has_failed(sample) and status != FAILED:
            message = f"provider_error is set, but parse_status is not {FAILED}"
            yield INF305.violation(message, place, expected=FAILED, found=status)
        elif status == FAILED and (has_text(sample) or any(map(sample.get, _OF_ANSWERS))):
            message = f"parse_status is {FAILED}, but the sample has a response"
            yield INF305.violation(message, place, found=status)
        reason = sample.get("finish_reason")
        if status == CLIPPED and isinstance(reason, str) and reason not in _BUDGET:
            message = f"parse_status is {CLIPPED}, but finish_reason is {reason}"
            yield INF305.violation(message, place, found=status)
    yield from _misread_abstentions(item)


def _misread_abstentions(item: Item) -> Iterator[Violation]:
    """Report abstentions that a response says and parse_status does not, and the reverse."""
    read = item.evaluation.reading
    if read is None:
        return
    for index, response, verdict in item.answers:
        status = item.value["samples"][index].get("parse_status")
        if verdict != ABSTAIN or not response.strip() or status in (None, FAILED):
            continue
        said = read(response)
        if said == ABSTAIN if status != OK else said is None:
            message = f"the response says {said or 'no verdict'}, but parse_status is {status}"
            yield INF305.violation(message, f"/samples/{index}/parse_status", found=status)


def _silent_failure(item: Item) -> Iterator[Violation]:
    for index, sample in item.numbered_samples:
        if sample.get("parsed_verdict") != ABSTAIN or has_failed(sample):
            continue
        if isinstance(sample.get("raw_response"), str) and not has_text(sample):
            message = (
                "the response is empty and counts as an abstention, but provider_error is missing"
            )
        elif sample.get("wall_time_ms") in (None, 0):
            message = "the abstention took no time, but provider_error is missing"
        else:
            continue
        yield INF306.violation(message, f"/samples/{index}")


def _implausible(facts: Evaluation | Item) -> Iterator[Violation]:
    """Report what no call to a model can have: of a sample, or of the settings of all."""
    if isinstance(facts, Item):
        yield from _implausible_samples(facts)
        return
    for path, least in _LEAST:
        found = resolve(facts.document, path)
        if is_number(found) and found < least:
            details = {"expected": {"minimum": least}, "found": found}
            yield INF309.violation(f"{path[-1]} is below {least}", path, **details)


def _implausible_samples(item: Item) -> Iterator[Violation]:
    longest = item.evaluation.longest
    for index, sample in item.numbered_samples:
        time: Any = sample.get("wall_time_ms")
        if is_number(time) and not 0 <= time <= longest:
            what = "is negative" if time < 0 else "is longer than the whole evaluation"
            place = f"/samples/{index}/wall_time_ms"
            yield INF309.violation(f"wall_time_ms {what}", place, found=time)
        usage = object_or_empty(sample.get("usage"))
        tokens = [(f"usage/{name}", number) for name, number in usage.items()]
        for name, number in (*tokens, (_REASONING, sample.get(_REASONING))):
            if is_number(number) and number < 0:
                message = f"{name.rpartition('/')[2]} is negative"
            elif name == _OUTPUT and number == 0 and has_text(sample):
                message = "a response of no tokens is not empty"
            else:
                continue
            yield INF309.violation(message, f"/samples/{index}/{name}", found=number)


_LEAST: Final = (
    (("model", "params", "max_tokens"), 1),
    (("model", "params", "temperature"), 0),
    (("paraphrase_variant",), 0),
)
"""Settings that the command of the package takes from some number on, and its models from any."""
_OUTPUT: Final = "usage/output_tokens"
_REASONING: Final = "reasoning_tokens"


def _other_verdict(item: Item) -> Iterator[Violation]:
    read = item.evaluation.reading
    for index, response, verdict in item.answers:
        said = None if read is None else read(response) or ABSTAIN
        place = f"/samples/{index}/parsed_verdict"
        if said is None and not can_mean(response, verdict):
            message = f"the response says another verdict, and no word for {verdict}"
            yield INF308.violation(message, place, found=verdict)
        elif said not in (None, verdict):
            message = f"the response says {said}, and parsed_verdict is {verdict}"
            yield INF308.violation(message, place, expected=said, found=verdict)


class UsualVerdicts:
    """Counts the verdicts that responses say to an unknown prompt as they do to the usual ones."""

    def __init__(self, read: Reading | None) -> None:
        self._read, self._said, self._unlike = read, 0, 0
        self._first: tuple[str, str, str] | None = None

    def add(self, item: Item, place: str) -> None:
        """Count the verdicts of the item at a pointer."""
        if self._read is None:
            return
        for index, response, verdict in item.answers:
            said = self._read(response) or ABSTAIN
            if said == verdict:
                self._said += 1
            if said == verdict or not can_mean(response, verdict):
                continue
            self._unlike += 1
            self._first = self._first or (f"{place}/samples/{index}/parsed_verdict", said, verdict)

    def report(self) -> Iterator[Violation]:
        """Report the verdicts that are unlike those of most responses."""
        if self._first is None or self._said < max(MANY, MOST * self._unlike):
            return
        place, said, verdict = self._first
        message = (
            f"the response says {said}, and parsed_verdict is {verdict}, unlike in "
            f"{self._said:,} other samples; the prompt is not known"
        )
        shown = {"expected": said, "found": verdict, "count": self._unlike}
        yield INF308.violation(message, place, severity=Severity.WARNING, **shown)


def has_text(sample: Mapping[str, Any]) -> bool:
    """Tell whether a sample has a response that is not empty."""
    response = sample.get("raw_response")
    return isinstance(response, str) and bool(response.strip())


INF303: Final = declare_rule("INF303", record=_check_samples)
INF304: Final = declare_rule("INF304", record=_majority_vote)
INF305: Final = declare_rule("INF305", record=_parse_status)
INF306: Final = declare_rule("INF306", record=_silent_failure)
INF308: Final = declare_rule("INF308", record=_other_verdict)
INF309: Final = declare_rule("INF309", record=_implausible)

RULES: Final = (INF303, INF304, INF305, INF306, INF308, INF309)
