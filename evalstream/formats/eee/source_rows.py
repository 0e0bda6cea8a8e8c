"""Compare a row with the sample of the log that it was converted from.

What converters are known to change is in the spellings of the sample; what their earlier versions
got wrong is told apart here by the version that a row declares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.eee.rules.source import ES652, ES653, ES654, ES655
from evalstream.formats.eee.source_store import Known, State, Text
from evalstream.model.finding import Severity, Violation
from evalstream.model.source_log import SourceScore
from evalstream.parsing.json import member

MATCHING_VERSIONS: Final = frozenset({"0.2.0", "0.2.1"})
"""Versions whose converter of Inspect logs scored 1 where the answer is a reference, else 0."""

_NEAR: Final = 1e-9

INPUTS: Final = "inputs"
OUTPUTS: Final = "outputs"
SCORES: Final = "scores"
PARTS: Final = (INPUTS, OUTPUTS, SCORES)
"""What is compared of rows, in the order of reports."""


class Compared(NamedTuple):
    """What a row differs in: violations, each with its condition, and the state of its sample."""

    violations: list[tuple[Violation, int]]
    state: int
    is_foreign: bool = False


def compared(
    row: Mapping[str, Any], sample: Known, score: SourceScore, *, was_matched: bool
) -> Compared:
    """Compare a row with a sample and with the score that it should have.

    `is_foreign` says that its score is not that of a scorer of the log. With `was_matched` early
    converters of such logs replaced scores.
    """
    violations = [*_inputs(row, sample), *_outputs(row, sample)]
    violations.sort(key=Violation.order)
    is_open = not sample.input.digests
    state = (State.DIFFERS if violations else 0) | (State.OPEN if is_open else 0)
    graded = [(one, 0) for one in violations]
    scored = _scored(row, score, was_matched=was_matched)
    graded += scored.violations
    return Compared(graded, state | scored.state, scored.is_foreign)


def compared_parts(row: Mapping[str, Any], sample: Known, score: SourceScore) -> Iterator[str]:
    """Yield the names of the parts of a row that a log has, too."""
    if sample.input.digests:
        yield INPUTS
    messages = row.get("messages") or row.get("interactions")
    if messages or member(row.get("output"), "raw") is not None:
        yield OUTPUTS
    if score.own is not None or score.reduced is not None:
        yield SCORES


def _inputs(row: Mapping[str, Any], sample: Known) -> Iterator[Violation]:
    shown = row.get("input")
    raw, reference, choices = (member(shown, name) for name in ("raw", "reference", "choices"))
    if sample.input.digests and not sample.input.has(raw):
        yield _input(ES652.code, "input", "/input/raw", sample.input, raw)
    given = [reference] if isinstance(reference, str) else reference
    if not sample.reference.has(given):
        yield _input(ES652.code, "reference", "/input/reference", sample.reference, reference)
    # An absent list says the same as an empty one.
    if sample.choices is None:
        if choices:
            message = "the log has no choices for this sample"
            yield ES652.violation(message, pointer="/input/choices", found=choices)
    elif not sample.choices.has(choices):
        yield _input(ES652.code, "choices", "/input/choices", sample.choices, choices)


def _input(code: str, what: str, pointer: str, text: Text, found: Any) -> Violation:
    verb = "differ" if what == "choices" else "differs"
    message = f"the {what} {verb} from the log's"
    return Violation(code, message, pointer, expected=text.beginning, found=found)


def _outputs(row: Mapping[str, Any], sample: Known) -> Iterator[Violation]:
    messages = row.get("messages")
    if messages is None:
        messages = row.get("interactions")  # their name in version 0.2.0
    if isinstance(messages, list) and messages:
        yield from _messages(messages, sample, "messages" if "messages" in row else "interactions")
    raw = member(row.get("output"), "raw")
    if raw is None:
        if not messages and sample.output.beginning:
            message = "the row has no output, but the log has one"
            yield ES653.violation(message, pointer="/output", expected=sample.output.beginning)
        return
    for index, text in enumerate(raw if isinstance(raw, list) else [raw]):
        if not sample.output.has(text):
            pointer = f"/output/raw/{index}" if isinstance(raw, list) else "/output/raw"
            message = "the output differs from the log's"
            expected = sample.output.beginning
            yield ES653.violation(message, pointer=pointer, expected=expected, found=text)


def _messages(messages: list[Any], sample: Known, name: str) -> Iterator[Violation]:
    """Compare the messages of a conversation, up to the first one that differs."""
    for index, (message, (role, text)) in enumerate(zip(messages, sample.messages, strict=False)):
        if member(message, "role") != role:
            found = member(message, "role")
            pointer = f"/{name}/{index}/role"
            text_said = "the role differs from the log's"
            yield ES653.violation(text_said, pointer=pointer, expected=role, found=found)
            return
        if not text.has(member(message, "content")):
            pointer, found = f"/{name}/{index}/content", member(message, "content")
            text_said = "the message differs from the log's"
            yield ES653.violation(text_said, pointer=pointer, expected=text.beginning, found=found)
            return
    if len(messages) != len(sample.messages):
        text_said = f"the log has {len(sample.messages):,} messages, the row {len(messages):,}"
        yield ES653.violation(text_said, pointer=f"/{name}")


def _scored(row: Mapping[str, Any], score: SourceScore, *, was_matched: bool) -> Compared:
    given = member(row.get("evaluation"), "score")
    found = None if isinstance(given, bool) or not isinstance(given, (int, float)) else float(given)
    is_own, is_reduced = is_same(found, score.own), is_same(found, score.reduced)
    if score.own is None and score.reduced is None:
        return _unscored(row, found, given)
    if is_own or is_reduced:
        if is_own and (is_reduced or score.reduced is None):
            return Compared([], 0)
        if is_reduced and score.own is None:
            return Compared([], 0)
        bit = State.REDUCED_DIFFERS if is_own else State.OWN_DIFFERS
        expected = score.reduced if is_own else score.own
        return Compared([(_differs(expected, given), bit)], bit)
    expected = score.own if score.reduced is None else score.reduced
    is_early = was_matched and row.get("schema_version") in MATCHING_VERSIONS
    if is_early and found == matched(row):
        message = "the score compares the output with the reference, and is not that of the log"
        violation = ES655.violation(
            message, pointer="/evaluation/score", expected=expected, found=given
        )
        return Compared([(violation, 0)], State.DIFFERS, is_foreign=True)
    return Compared([(_differs(expected, given), 0)], State.DIFFERS)


def _differs(expected: float | None, given: Any) -> Violation:
    message = "the score differs from the log's"
    return ES654.violation(message, pointer="/evaluation/score", expected=expected, found=given)


def _unscored(row: Mapping[str, Any], found: float | None, given: Any) -> Compared:
    """Report a score where the log has no number: converters then write 0 or 1."""
    place = {"pointer": "/evaluation/score", "found": given}
    if found in (matched(row), 0.0):
        message = f"the log has no number as score of this sample; converters write {found:g}"
        return Compared([(ES655.violation(message, severity=Severity.INFO, **place), 0)], 0)
    message = "the log has no number as score of this sample"
    return Compared([(ES654.violation(message, **place), 0)], State.DIFFERS)


def matched(row: Mapping[str, Any]) -> float:
    """Return 1 where the output of a row is one of its references, else 0."""
    shown, output = row.get("input"), row.get("output")
    reference, raw = member(shown, "reference"), member(output, "raw")
    references = [reference] if isinstance(reference, str) else reference
    texts = [raw] if isinstance(raw, str) else raw
    if not isinstance(references, list) or not isinstance(texts, list):
        return 0.0
    return float(any(text in references for text in texts))


def is_same(one: float | None, other: float | None) -> bool:
    """Tell whether two figures are equal up to the rounding of floats; NaN equals NaN."""
    if one is None or other is None:
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=_NEAR, abs_tol=_NEAR)
