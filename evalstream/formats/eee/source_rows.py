"""Compare a row with the sample of the log that it was converted from.

Each member is compared, or named as not compared. Known changes of converters are among the
spellings of the sample; faults of their earlier versions are recognised here by the version that a
row declares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee.rules.source import ES652, ES653, ES654, ES655, ES660, ES661, ES662
from evalstream.formats.eee.source_store import Known, KnownSample, SampleState, Spellings
from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.model.source_log import SourceScore
from evalstream.model.text import count_noun, join_words
from evalstream.parsing.json import member, pointer
from evalstream.parsing.json_values import holds_double, to_float
from evalstream.rules.base import Rule
from evalstream.stats.claims.reducers import is_missing

MATCHING_VERSIONS: Final = frozenset({"0.2.0", "0.2.1"})
"""Versions whose converter of Inspect logs scored 1 where the answer is a reference, else 0."""

_NEAR: Final = 1e-9

_Path = tuple[str | int, ...]

INPUTS: Final = "inputs"
OUTPUTS: Final = "outputs"
SCORES: Final = "scores"
PARTS: Final = (INPUTS, OUTPUTS, SCORES, "usage", "times", "errors", "metadata")
"""The compared parts of rows, in the order of reports."""


class RowMember(NamedTuple):
    """A member of rows that is compared: its name for people, its part, and the rule about it.

    With `is_required` a row that lacks it differs from a log that has it.
    """

    name: str
    part: str
    rule: Rule
    is_required: bool = False
    verb: str = "is"


ROW_MEMBERS: Final[Mapping[str, RowMember]] = {
    "input/raw": RowMember("input", INPUTS, ES652, is_required=True),
    "input/formatted": RowMember("formatted input", INPUTS, ES652),
    "input/reference": RowMember("reference", INPUTS, ES652, is_required=True),
    "input/choices": RowMember("choices", INPUTS, ES652, is_required=True, verb="are"),
    "output/raw/*": RowMember("output", OUTPUTS, ES653, is_required=True),
    "output/reasoning_trace/*": RowMember("reasoning", OUTPUTS, ES653),
    "answer_attribution/*/extracted_value": RowMember("extracted value", OUTPUTS, ES653),
    "answer_attribution/*/extraction_method": RowMember("extraction", OUTPUTS, ES653),
    "token_usage/*": RowMember("usage", "usage", ES661),
    "performance/*": RowMember("time", "times", ES661),
    "error": RowMember("error", "errors", ES661, is_required=True),
    "metadata/*": RowMember("metadata", "metadata", ES661),
    "evaluation_name": RowMember("name of the evaluation", "", ES661),
}
"""The members of rows that a log may state, by their places; a star stands for any."""

_OF_MESSAGES: Final[Mapping[str, str]] = {
    "role": "role",
    "content": "message",
    "reasoning_trace": "reasoning",
    "tool_calls": "tool calls",
    "tool_call_id": "tool call",
}
"""The members of messages, with their names for people."""

_REQUIRED: Final = frozenset({"role", "content", "tool_calls"})
"""The members of messages that a row must have where the log has them."""

_ELSEWHERE: Final = frozenset(
    {
        *("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id"),
        *("evaluation_result_id", "sample_hash", "interaction_type", "messages", "interactions"),
        *("evaluation/score", "evaluation/is_correct", "evaluation/num_turns"),
        *("evaluation/tool_calls_count", "metrics/num_turns", "metrics/tool_calls_count"),
        *("answer_attribution/*/turn_idx", "answer_attribution/*/source"),
        "answer_attribution/*/is_terminal",
    }
)
"""Members that say which sample it is, or that other rules compare with the rest of the row.

They are compared where the log states them.
"""

_ADDED: Final = (
    *("source_metadata/", "source_data/source_type"),
    *("model_info/developer", "model_info/inference_engine/version"),
    "model_info/additional_details/deployment_type",
    "model_info/additional_details/model_availability",
    *("metric_config/metric_id", "metric_config/metric_kind", "metric_config/metric_unit"),
    *("metric_config/lower_is_better", "metric_config/score_type", "metric_config/min_score"),
    *("metric_config/max_score", "metric_config/additional_details/"),
    "score_details/uncertainty/standard_error/method",
    "score_details/uncertainty/num_bootstrap_samples",
)
"""Beginnings of members of aggregates that converters write from what they know themselves."""

_NOT_STATED: Final = "the log does not state it in a known form"


def _is_added(place: str) -> bool:
    """Tell whether converters add a member; of a row that is an empty list of answers."""
    return place == "answer_attribution" or place.startswith(_ADDED)


def report_uncompared(
    left: Mapping[str, int], holder: str = "", at: str | None = None
) -> Iterator[Violation]:
    """Report members that the log does not state, with their numbers of rows or results.

    `at` is where they are, the aggregate itself without a `holder`. Those that converters add are
    one violation.
    """
    added = [printable(one) for one in left if _is_added(one)]
    for place, times in left.items():
        if not _is_added(place):
            where = f" of {count_noun(times, holder)}" if holder else ""
            message = f"{printable(place)}{where} cannot be compared: {_NOT_STATED}"
            yield ES660.violation(message, at if holder else pointer(place.split("/")), count=times)
    if added:
        message = f"{join_words(added)} cannot be compared: converters add this"
        yield ES662.violation(message, at, count=len(added))


class ComparedScore(NamedTuple):
    """The differences of a row's score; `is_foreign` says that no scorer of the log gave it."""

    violations: list[tuple[Violation, int]]
    state: int
    is_foreign: bool = False


class ComparedRow(NamedTuple):
    """The differences of a row: violations, each with its condition, and the state of its sample.

    `parts` names the compared parts, `uncompared` holds the members that the log does not state, or
    not in a form that can be compared.
    """

    violations: list[tuple[Violation, int]]
    state: int
    parts: frozenset[str]
    uncompared: tuple[str, ...]
    is_foreign: bool


def compare_row(
    row: Mapping[str, Any], sample: KnownSample, score: SourceScore, *, was_matched: bool
) -> ComparedRow:
    """Compare a row with a sample and with the score that it should have.

    `is_foreign` says that its score is not that of a scorer of the log. With `was_matched` early
    converters of such logs replaced scores.
    """
    violations: list[Violation] = []
    parts, uncompared = set[str](), []
    has_messages, own = bool(row.get("messages") or row.get("interactions")), _row_members(row)
    for place in {**sample.members, **own}:
        about, known = _member_at(place), sample.members.get(place)
        if about is None or known is None or not known.digests:
            uncompared += [place] if place in own and place not in _ELSEWHERE else []
        elif place in own or not (has_messages and about.part == OUTPUTS):
            parts.update({about.part} if place in own or about.is_required else ())
            violations += _compare_member(place, own.get(place, []), about, known)
    if has_messages:
        parts.add(OUTPUTS)
        violations += _compare_messages(row, sample.messages)
    is_open = any(place in sample.members for place in uncompared)
    parts -= {ROW_MEMBERS[place].part for place in uncompared if place in sample.members}
    scored = _compare_score(row, score, was_matched=was_matched)
    if score.own is not None or score.reduced is not None:
        parts.add(SCORES)
    state = (SampleState.DIFFERS if violations else 0) | (SampleState.OPEN if is_open else 0)
    violations.sort(key=Violation.order)
    return ComparedRow(
        [*((one, 0) for one in violations), *scored.violations],
        state | scored.state,
        frozenset(parts),
        tuple(uncompared),
        is_foreign=scored.is_foreign,
    )


@lru_cache(maxsize=1024)
def _member_at(place: str) -> RowMember | None:
    """Return what a member is in the table: itself, or a member of one of its objects."""
    return ROW_MEMBERS.get(place) or ROW_MEMBERS.get(f"{place.partition('/')[0]}/*")


def _row_members(row: Mapping[str, Any]) -> dict[str, list[tuple[_Path, Any]]]:
    """Return the members of a row that are to be compared, by place: paths and values."""
    found: dict[str, list[tuple[_Path, Any]]] = {}
    for place, path, value in _leaves(row):
        if value is not None:
            found.setdefault(place, []).append((path, value))
    return found


def _leaves(row: Mapping[str, Any]) -> Iterator[tuple[str, _Path, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            for key, one in value.items():
                if f"{name}/{key}/*" not in ROW_MEMBERS:
                    yield f"{name}/{key}", (name, key), one
                elif isinstance(one, list):
                    yield from ((f"{name}/{key}/*", (name, key, at), x) for at, x in enumerate(one))
                else:
                    yield f"{name}/{key}/*", (name, key), one
        elif name == "answer_attribution" and isinstance(value, list) and value:
            for at, item in enumerate(value):
                for key, one in item.items() if isinstance(item, dict) else ():
                    yield f"{name}/*/{key}", (name, at, key), one
        else:
            yield name, (name,), value


def _compare_member(
    place: str, found: Sequence[tuple[_Path, Any]], about: RowMember, known: Spellings
) -> Iterator[Violation]:
    expected = known.beginning
    for at, value in found:
        if not known.has(value):
            message = f"the {about.name} {about.verb} not that of the log"
            if expected is None:
                message = f"the log has no {about.name} for this sample"
            yield about.rule.violation(message, at, expected=expected, found=value)
    if not found and about.is_required and not (known.has(None) or known.has("")):
        message = f"the row has no {about.name}, and the log has one"
        yield about.rule.violation(message, f"/{place.removesuffix('/*')}", expected=expected)


def _compare_messages(row: Mapping[str, Any], known: Sequence[Known]) -> Iterator[Violation]:
    """Compare the messages of a conversation, up to the first one that differs."""
    name = "messages" if row.get("messages") else "interactions"  # their name in version 0.2.0
    messages = row[name] if isinstance(row[name], list) else []
    for index, (message, own) in enumerate(zip(messages, known, strict=False)):
        for key, noun in _OF_MESSAGES.items():
            found = member(message, key)
            if key in own and not own[key].has(found) and (found or key in _REQUIRED):
                yield ES653.violation(
                    f"the {noun} is not that of the log",
                    (name, index, key),
                    expected=own[key].beginning,
                    found=found,
                )
                return
    if len(messages) != len(known):
        message = f"the log has {count_noun(len(known), 'message')}, the row {len(messages):,}"
        yield ES653.violation(message, f"/{name}")


def _compare_score(
    row: Mapping[str, Any], score: SourceScore, *, was_matched: bool
) -> ComparedScore:
    given = member(row.get("evaluation"), "score")
    found = to_float(given)
    is_own, is_reduced = is_same_figure(found, score.own), is_same_figure(found, score.reduced)
    if score.own is None and score.reduced is None:
        return _report_unscored(row, found, given)
    if (is_own or score.own is None) and (is_reduced or score.reduced is None):
        return ComparedScore([], 0)
    if is_own or is_reduced:
        bit = SampleState.REDUCED_DIFFERS if is_own else SampleState.OWN_DIFFERS
        expected = score.reduced if is_own else score.own
        return ComparedScore([(_differs(expected, given), bit)], bit)
    expected = score.own if score.reduced is None else score.reduced
    is_early = was_matched and row.get("schema_version") in MATCHING_VERSIONS
    if is_early and found == match_output(row):
        message = "the score compares the output with the reference, and is not that of the log"
        violation = ES655.violation(message, "/evaluation/score", expected=expected, found=given)
        return ComparedScore([(violation, 0)], SampleState.DIFFERS, is_foreign=True)
    return ComparedScore([(_differs(expected, given), 0)], SampleState.DIFFERS)


def _differs(expected: float | None, given: Any) -> Violation:
    message = "the score differs from the log's"
    return ES654.violation(message, "/evaluation/score", expected=expected, found=given)


def _report_unscored(row: Mapping[str, Any], found: float | None, given: Any) -> ComparedScore:
    """Report a score where the log has no number: converters then write 0 or 1."""
    place = {"pointer": "/evaluation/score", "found": given}
    if found in (match_output(row), 0.0):
        message = f"the log has no number as score of this sample; converters write {found:g}"
        return ComparedScore([(ES655.violation(message, severity=Severity.INFO, **place), 0)], 0)
    message = "the log has no number as score of this sample"
    return ComparedScore([(ES654.violation(message, **place), 0)], SampleState.DIFFERS)


def match_output(row: Mapping[str, Any]) -> float:
    """Return 1 where the output of a row is one of its references, else 0."""
    shown, output = row.get("input"), row.get("output")
    reference, raw = member(shown, "reference"), member(output, "raw")
    references = [reference] if isinstance(reference, str) else reference
    texts = [raw] if isinstance(raw, str) else raw
    if not isinstance(references, list) or not isinstance(texts, list):
        return 0.0
    return float(any(text in references for text in texts))


def is_same_figure(one: float | None, other: float | None) -> bool:
    """Tell whether two figures are equal up to the rounding of floats; NaN equals NaN."""
    if one is None or other is None:
        return False
    if holds_double(one) and holds_double(other):
        return math.isclose(one, other, rel_tol=_NEAR, abs_tol=_NEAR)
    return one == other or (is_missing(one) and is_missing(other))
