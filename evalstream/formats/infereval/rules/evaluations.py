"""INF3: rules about evaluations: their times, and their agreement with the benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.infereval.benchmark_hash import PREFIX, ids, references
from evalstream.formats.infereval.views import Evaluation, Item
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import shorten
from evalstream.rules.base import declare_rule


def _reversed_times(evaluation: Evaluation) -> Iterator[Violation]:
    started, finished = evaluation.times
    if started is not None and finished is not None and started > finished:
        yield INF307.violation(
            "finished_at is before started_at",
            "/finished_at",
            found=evaluation.document.get("finished_at"),
        )


ITEMS_LISTED: Final = 20
"""The number of missing items that a message lists."""

DIGEST_DIGITS: Final = 64


def _disagreement(facts: Evaluation | Item) -> Iterator[Violation]:
    """Compare the fields that an evaluation or its items copy from the benchmark."""
    if isinstance(facts, Item):
        yield from _check_copied_fields(facts)
        return
    if facts.benchmark is None:
        return
    document, original = facts.document, facts.benchmark.document
    found, wanted = document.get("benchmark_id"), original.get("id")
    if isinstance(found, str) and isinstance(wanted, str) and found != wanted:
        message = "the evaluation belongs to another benchmark"
        yield INF301.violation(message, "/benchmark_id", expected=wanted, found=found)
    yield from _check_field("references", document, original)


def _check_copied_fields(item: Item) -> Iterator[Violation]:
    original, name = item.original, item.value.get("id")
    if original is not None:
        for field in _NORMAL_FORMS:
            yield from _check_field(field, item.value, original)
    elif item.evaluation.benchmark is not None and isinstance(name, str):
        yield INF301.violation("no item of the benchmark has this id", "/id", found=name)


def _check_field(
    field: str, document: Mapping[str, Any], original: Mapping[str, Any]
) -> Iterator[Violation]:
    """Compare a field in its normal form; the schema reports a field that is not a list."""
    found, wanted = document.get(field), original.get(field)
    if not all(value is None or isinstance(value, list) for value in (found, wanted)):
        return
    normal = _NORMAL_FORMS[field]
    if normal(found) != normal(wanted):
        message = f"{field} differ from the benchmark's"
        # A list in `expected` would mean several allowed values. Free text is left out,
        # since `expected` is shown even where values must not be.
        expected = None if field in _PROSE else shorten(wanted)
        yield INF301.violation(message, pointer=f"/{field}", expected=expected, found=found)


def missing_items(missing: list[str]) -> Violation:
    """Return the violation for items of the benchmark that an evaluation lacks."""
    listed = ", ".join(name[:80] for name in missing[:ITEMS_LISTED])
    more = len(missing) - ITEMS_LISTED
    listed = f"{listed} and {more:,} more" if more > 0 else listed
    message = f"the evaluation lacks {count_noun(len(missing), 'item')} of the benchmark: {listed}"
    return INF301.violation(message, "/items", expected=missing)


def _benchmark_hash(evaluation: Evaluation) -> Iterator[Violation]:
    declared, hashes = evaluation.document.get("benchmark_hash"), evaluation.hashes
    place = "/benchmark_hash"
    if evaluation.benchmark is None:
        why = evaluation.lacking or "no benchmark was given"
        message = f"{why}: neither benchmark_hash nor the fields copied to items could be verified"
        yield INF302.violation(message, place, severity=Severity.WARNING)
    if declared is None:
        message = "benchmark_hash is missing, so later changes of the benchmark cannot be detected"
        yield INF302.violation(message, place, severity=Severity.WARNING)
    if not isinstance(declared, str):
        return
    digest = declared.removeprefix(PREFIX)
    if len(digest) != DIGEST_DIGITS or set(digest.lower()) - set("0123456789abcdef"):
        message = f"not {PREFIX} followed by {DIGEST_DIGITS} hex digits"
        yield INF302.violation(message, place, found=declared)
        return
    if hashes is not None and PREFIX + digest.lower() not in hashes:
        message = "not the hash of this benchmark, in the form before or since 0.17.0"
        yield INF302.violation(message, place, expected=hashes[0], found=declared)
    elif declared != PREFIX + digest.lower():
        message = f"not written as {PREFIX} followed by {DIGEST_DIGITS} hex digits in lower case"
        yield INF302.violation(message, place, found=declared, severity=Severity.WARNING)
    elif hashes is not None and declared != hashes[0]:
        message = "not in the form (before or since 0.17.0) that framework_version writes"
        yield INF302.violation(message, place, severity=Severity.INFO)


def _as_set(value: Any) -> list[str]:
    return ids(value or [])


def _as_list(value: Any) -> list[Any]:
    return list(value or [])


_PROSE: Final = frozenset({"analyst_rationales", "references"})


_NORMAL_FORMS: Final = {
    "premises": _as_set,
    "conclusions": _as_set,
    "analyst_verdicts": _as_list,
    "analyst_rationales": lambda value: value,
    "tags": _as_list,
    "references": references,
}
"""The normal form in which each copied field is compared."""


INF301: Final = declare_rule("INF301", record=_disagreement)
INF302: Final = declare_rule("INF302", record=_benchmark_hash)
INF307: Final = declare_rule("INF307", record=_reversed_times)

RULES: Final = (INF301, INF302, INF307)
