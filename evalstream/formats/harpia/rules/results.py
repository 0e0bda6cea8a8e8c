"""HAR2 and HAR3: rules about the output and the log of an evaluation of HarpIA Lab."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from evalstream.formats.harpia import requirements as demands
from evalstream.formats.harpia.claims import JudgedScores
from evalstream.formats.harpia.documents import find_member, find_metric
from evalstream.formats.harpia.log_tally import LogTally, Record, is_exact_match
from evalstream.formats.harpia.requirements import at, is_empty
from evalstream.formats.harpia.values import (
    choose_bounded_kind,
    iterate_numbers,
    iterate_scores,
    shape_text,
    value_difference,
    value_shape,
)
from evalstream.formats.harpia.views import MetricOutcome, Score
from evalstream.model.claim import Reason
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer, short_text
from evalstream.parsing.json_values import is_number
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted, find_rounded
from evalstream.stats.claims.judge import describe_excess

IDS_SHOWN: Final = 3
"""The number of missing instances, or of open scores, that a message lists."""

REPORTED: Final = tuple(
    one.value for one in (Reason.EMPTY, Reason.UNASSIGNED, Reason.UNEVEN, Reason.MISSING)
)
"""Reasons for open scores that HAR201, HAR301 and HAR302 report."""


def _faulty_output(outcome: MetricOutcome) -> Iterator[Violation]:
    if not outcome.claims and not outcome.is_compared:
        yield HAR201.violation("no object with a metric and its score was found", "")
    for claim in outcome.claims:
        yield from _faulty_claim(claim)
    yield from _compare_with_input(outcome)


def _faulty_claim(claim: Score) -> Iterator[Violation]:
    metric = claim.metric
    place, value = metric.pointer, metric.value
    if not isinstance(value, dict):
        yield demands.no_object(HAR201, "the output of a metric", place, value)
        return
    yield from demands.require_one_spelling(HAR201, place, value, demands.OUTPUT_MEMBERS)
    yield from demands.require_name(HAR201, metric)
    yield from demands.require_member(HAR201, place, value, "parameters", "an object")
    yield from demands.require_score(HAR201, metric, claim.score, "score")
    yield from demands.require_member(HAR201, place, value, "elapsed time", "a number")
    elapsed = find_member(value, "elapsed time")
    if elapsed is not None and is_number(elapsed.value) and elapsed.value < 0:
        yield HAR201.violation("elapsed time is negative", at(place, elapsed), found=elapsed.value)


def _compare_with_input(outcome: MetricOutcome) -> Iterator[Violation]:
    for metric in outcome.missing:
        message = f"the output of an enabled metric is missing: {short_text(metric.id)}"
        yield HAR201.violation(message, expected=metric.values)
    for metric, other in outcome.unlike:
        if metric.key is not None and other.key is not None and other.parameters is not None:
            message = (
                f"parameters differ from the input: {value_difference(metric.values, other.values)}"
            )
            place = at(other.pointer, other.parameters)
            yield HAR201.violation(message, place, expected=metric.values, found=other.values)
    for one in outcome.repeated:
        yield HAR201.violation("a second output of the same metric", one.pointer, found=one.value)


def _unrequested_output(outcome: MetricOutcome) -> Iterator[Violation]:
    for one, reason in outcome.unrequested:
        message = f"the output of a metric that {reason}"
        yield HAR202.violation(message, one.pointer, found=one.value)


def _faulty_record(record: Record) -> Iterator[Violation]:
    yield from demands.require_one_spelling(HAR301, "", record.value, demands.RECORD_MEMBERS)
    yield from demands.require_name(HAR301, record.metric)
    yield from demands.require_member(HAR301, "", record.value, "parameters", "an object")
    yield from demands.require_score(HAR301, record.metric, record.result, "result")
    wanted = "a string or an integer"
    yield from demands.require_member(HAR301, "", record.value, "instance_id", wanted)
    found, known, id_ = record.instance, record.known.instances, record.instance_id
    if found is not None and id_ is not None and known is not None and id_ not in known:
        message = f"{found.key} is not the id of an instance in the input"
        yield HAR301.violation(message, at("", found), found=found.value)
    yield from _unknown_metric(record)


def _unknown_metric(record: Record) -> Iterator[Violation]:
    metric, known = record.metric, record.known
    if known.metrics is None or metric.id is None:
        return
    named, source = known.metrics.get(metric.id, ()), known.source
    member_ = find_metric(record.value)
    place = "" if member_ is None else at("", member_)
    if not named:
        yield HAR301.violation(f"not a metric of the {source}", place, found=metric.id)
    elif not known.is_known(metric) and metric.parameters is not None:
        unlike = value_difference(named[0].values, metric.values)
        message = f"parameters differ from the {source}: {unlike}"
        place, wanted = at("", metric.parameters), named[0].values
        yield HAR301.violation(message, place, expected=wanted, found=metric.values)
    else:
        same = [one for one in named if one.key == metric.key] or named
        if all(one.enabled is False for one in same):
            message = "the metric is not enabled in the input"
            yield HAR301.violation(message, place, found=metric.id, severity=Severity.WARNING)


def _uneven_log(seen: Record | LogTally) -> Iterator[Violation]:
    if isinstance(seen, Record):
        if seen.is_repeated:
            yield HAR302.violation("the same metric, parameters and instance as an earlier record")
        return
    for amount in seen.amounts():
        missing = seen.instances - amount.instances
        if missing and seen.is_settled(amount):
            shown = ", ".join(map(short_text, islice(seen.missing(amount), IDS_SHOWN)))
            more = "" if missing <= IDS_SHOWN else ", …"
            message = (
                f"{amount.name} was applied to {amount.instances:,} of "
                f"{count_noun(seen.instances, 'instance')}; missing: {shown}{more}"
            )
            yield HAR302.violation(message, expected=seen.instances, found=amount.instances)


def _result_versus_score(seen: Record | JudgedScores) -> Iterator[Violation]:
    if isinstance(seen, Record):
        yield from _shape_mismatch(seen)
        yield from _impossible_result(seen)
        yield from _wrong_match(seen)
        return
    yield from find_refuted(HAR303, seen.judgements)
    yield from find_rounded(HAR303, seen.claims)
    if seen.has_log:
        # Other rules report these reasons.
        yield from find_open(HAR303, (one for one in seen.claims if one.reason not in REPORTED))


def _shape_mismatch(record: Record) -> Iterator[Violation]:
    claim, result = record.claim, record.result
    if claim is None or claim.score is None or result is None:
        return
    if is_empty(claim.score.value) or is_empty(result.value):
        return
    shape = value_shape(result.value)
    if shape != claim.shape:
        score, found = shape_text(claim.shape), shape_text(shape)
        message = f"the result is {found}, but the score in the output is {score}"
        if score == found:
            message = f"the members of the result have other types than in the output: {found}"
        yield HAR303.violation(message, at("", result), severity=Severity.WARNING)


def _impossible_result(record: Record) -> Iterator[Violation]:
    """Report results that no metric of this name has."""
    metric, result = record.metric.id, record.result
    if metric is None or result is None:
        return
    for path, score in iterate_numbers(result.value):
        range_ = describe_excess(choose_bounded_kind(metric, path), score)
        if range_ is not None:
            place = at("", result) + pointer(path)
            yield HAR303.violation(f"the result is outside {range_}", place, found=score)


def _wrong_match(record: Record) -> Iterator[Violation]:
    """Report an exact match of other texts, and none of the same text."""
    match, result = record.known.matches.get(record.instance_id or ""), record.result
    if match is None or result is None or not is_exact_match(record.metric):
        return
    scores = [score for _, score in iterate_scores(result.value)]
    if len(scores) != 1 or scores[0] is None:
        return
    if scores[0] if not match.is_loose else scores[0] == 0 and match.is_literal:
        verb = "is" if match.is_literal else "is not"
        message = f"the actual-output of the instance {verb} one of its expected-output"
        place = at("", result)
        yield HAR303.violation(message, place, found=result.value, severity=Severity.WARNING)


HAR201: Final = declare_rule("HAR201", record=_faulty_output)
HAR202: Final = declare_rule("HAR202", record=_unrequested_output)
HAR301: Final = declare_rule("HAR301", record=_faulty_record)
HAR302: Final = declare_rule("HAR302", record=_uneven_log)
HAR303: Final = declare_rule("HAR303", record=_result_versus_score)


def _unlogged_metric(log: LogTally) -> Iterator[Violation]:
    of = "an enabled metric" if log.known.source == "input" else "a metric of the output"
    for metric in log.silent():
        message = f"the log has no record of {of}: {short_text(metric.id)}"
        yield HAR304.violation(message, expected=metric.values)


HAR304: Final = declare_rule("HAR304", record=_unlogged_metric)
HAR305: Final = declare_rule("HAR305")

RULES: Final = (HAR201, HAR202, HAR301, HAR302, HAR303, HAR304, HAR305)
