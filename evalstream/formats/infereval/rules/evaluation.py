"""INF3: rules about an evaluation, alone and compared with its benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.infereval.benchmark_hash import PREFIX, ids, references
from evalstream.formats.infereval.dates import date_time
from evalstream.formats.infereval.views import (
    Evaluation,
    Item,
    is_number,
    object_or_empty,
    objects,
)
from evalstream.formats.infereval.votes import ABSTAIN, VERDICTS, Vote, vote, voting
from evalstream.model.finding import Severity, Violation, of_length
from evalstream.model.text import counted
from evalstream.parsing.json import shorten
from evalstream.rules.base import Rule

ITEMS_LISTED: Final = 20
"""The number of missing items that a message lists."""

DIGEST_DIGITS: Final = 64
OK: Final = "ok"
FAILED: Final = "sample_failed"


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
        yield INF301.violation(message, pointer="/benchmark_id", expected=wanted, found=found)
    yield from _check_field("references", document, original)


def _check_copied_fields(item: Item) -> Iterator[Violation]:
    original, name = item.original, item.value.get("id")
    if original is not None:
        for field in _NORMAL_FORMS:
            yield from _check_field(field, item.value, original)
    elif item.evaluation.benchmark is not None and isinstance(name, str):
        yield INF301.violation("no item of the benchmark has this id", pointer="/id", found=name)


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
    message = f"{len(missing):,} items of the benchmark were not evaluated: {listed}"
    return INF301.violation(message, pointer="/items", expected=missing)


def _benchmark_hash(evaluation: Evaluation) -> Iterator[Violation]:
    declared, hashes = evaluation.document.get("benchmark_hash"), evaluation.hashes
    place = "/benchmark_hash"
    if evaluation.benchmark is None:
        why = evaluation.lacking or "no benchmark was given"
        message = f"{why}: neither benchmark_hash nor the fields copied to items could be verified"
        yield INF302.violation(message, pointer=place, severity=Severity.WARNING)
    if declared is None:
        message = "benchmark_hash is missing, so later changes of the benchmark cannot be detected"
        yield INF302.violation(message, pointer=place, severity=Severity.WARNING)
    if not isinstance(declared, str):
        return
    digest = declared.removeprefix(PREFIX)
    if len(digest) != DIGEST_DIGITS or set(digest.lower()) - set("0123456789abcdef"):
        message = f"not {PREFIX} followed by {DIGEST_DIGITS} hex digits"
        yield INF302.violation(message, pointer=place, found=declared)
        return
    if hashes is not None and PREFIX + digest.lower() not in hashes:
        message = "not the hash of this benchmark, in the form before or since 0.17.0"
        yield INF302.violation(message, pointer=place, expected=hashes[0], found=declared)
    elif declared != PREFIX + digest.lower():
        message = f"not written as {PREFIX} followed by {DIGEST_DIGITS} hex digits in lower case"
        yield INF302.violation(message, pointer=place, found=declared, severity=Severity.WARNING)
    elif hashes is not None and declared != hashes[0]:
        message = "not in the form (before or since 0.17.0) that framework_version writes"
        yield INF302.violation(message, pointer=place, severity=Severity.INFO)


def _sample_indices(item: Item) -> Iterator[Violation]:
    samples, number = item.value.get("samples", []), item.evaluation.samples
    if not isinstance(samples, list) or number is None:
        return
    found: list[Any] = [sample.get("sample_index") for _, sample in objects(samples)]
    if len(found) != len(samples) or not all(map(is_number, found)):
        return
    if len(found) != number:
        message = f"{counted(len(found), 'sample')}, but n_samples is {number:,}"
        yield INF303.violation(message, pointer="/samples", expected=of_length(number))
        return
    strays = [index for index, one in enumerate(found) if one != index]
    is_shuffled = sorted(found) == list(range(number))
    for index in strays[:1] if is_shuffled else strays:
        message = "the samples are out of order" if is_shuffled else "not the next index from 0"
        yield INF303.violation(
            message,
            pointer=f"/samples/{index}/sample_index",
            expected=index,
            found=found[index],
            severity=Severity.WARNING if is_shuffled else None,
        )


def _majority_vote(item: Item) -> Iterator[Violation]:
    claimed, verdict = item.value.get("majority_vote"), item.value.get("model_verdict")
    samples, tie_break = item.samples, item.evaluation.tie_break
    winner = object_or_empty(claimed).get("verdict")
    if winner in VERDICTS and verdict in VERDICTS and verdict != winner:
        message, place = "not the verdict of majority_vote", "/model_verdict"
        yield INF304.violation(message, pointer=place, expected=winner, found=verdict)
    if not samples:
        return
    outcome = vote(voting(samples), tie_break or ABSTAIN)
    knows_winner = tie_break is not None or not outcome.tie_broken
    if isinstance(claimed, dict):
        yield from _check_majority_vote(claimed, outcome, knows_winner=knows_winner)
    elif claimed is None and knows_winner and verdict in VERDICTS and verdict != outcome.verdict:
        message = "not the verdict of most samples"
        yield INF304.violation(
            message, pointer="/model_verdict", expected=outcome.verdict, found=verdict
        )


def _check_majority_vote(
    claimed: Mapping[str, Any], outcome: Vote, *, knows_winner: bool
) -> Iterator[Violation]:
    for name in VERDICTS:
        given = claimed.get(name, 0)
        if is_number(given) and given != outcome.counts[name]:
            message = f"not the number of samples whose parsed verdict is {name}"
            place, wanted = f"/majority_vote/{name}", outcome.counts[name]
            yield INF304.violation(message, pointer=place, expected=wanted, found=given)
    given, winner = claimed.get("verdict"), outcome.verdict
    if knows_winner and given in VERDICTS and given != winner:
        message, place = "not the verdict that follows from the samples", "/majority_vote/verdict"
        yield INF304.violation(message, pointer=place, expected=winner, found=given)
    broken, is_tied = claimed.get("tie_broken", False), outcome.tie_broken
    if isinstance(broken, bool) and broken != is_tied:
        message = f"the samples are {'' if is_tied else 'not '}tied"
        place = "/majority_vote/tie_broken"
        yield INF304.violation(message, pointer=place, expected=is_tied, found=broken)


def _parse_status(item: Item) -> Iterator[Violation]:
    for index, sample in objects(item.value.get("samples")):
        status, verdict = sample.get("parse_status", OK), sample.get("parsed_verdict")
        place = f"/samples/{index}/parse_status"
        if isinstance(status, str) and status != OK and verdict in VERDICTS[:2]:
            message = f"parse_status is {status}, but parsed_verdict is {verdict}"
            yield INF305.violation(message, pointer=place, found=status)
        if sample.get("provider_error") is not None and status != FAILED:
            message = f"provider_error is set, but parse_status is not {FAILED}"
            yield INF305.violation(message, pointer=place, expected=FAILED, found=status)
        elif status == FAILED and _has_text(sample):
            message = f"parse_status is {FAILED}, but the sample has a response"
            yield INF305.violation(message, pointer=place, found=status)


def _silent_failure(item: Item) -> Iterator[Violation]:
    for index, sample in objects(item.value.get("samples")):
        if sample.get("parsed_verdict") != ABSTAIN or sample.get("provider_error") is not None:
            continue
        if isinstance(sample.get("raw_response"), str) and not _has_text(sample):
            message = (
                "the response is empty and counts as an abstention, but provider_error is missing"
            )
        elif sample.get("wall_time_ms") in (None, 0):
            message = "the abstention took no time, but provider_error is missing"
        else:
            continue
        yield INF306.violation(message, pointer=f"/samples/{index}")


def _has_text(sample: Mapping[str, Any]) -> bool:
    response = sample.get("raw_response")
    return isinstance(response, str) and bool(response.strip())


def _reversed_times(evaluation: Evaluation) -> Iterator[Violation]:
    given = [evaluation.document.get(name) for name in ("started_at", "finished_at")]
    started, finished = (date_time(one) if isinstance(one, str) else None for one in given)
    if started is not None and finished is not None and started > finished:
        yield INF307.violation(
            "finished_at is before started_at", pointer="/finished_at", found=given[1]
        )


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


INF301: Final = Rule(
    "INF301",
    "benchmark-disagreement",
    Severity.ERROR,
    "the evaluation differs from its benchmark in what it copies from it",
    """
    What it finds: another benchmark_id, items that the benchmark does not have or that are missing
    from the evaluation, and premises, conclusions, analyst_verdicts, analyst_rationales, tags or
    references that differ from those of the benchmark.

    Why it matters: agreement with the analysts is computed from the copies.

    How to fix: Pass the evaluated benchmark with `--aggregate`, or run the evaluation again on
    this benchmark. Trust the benchmark whose hash is benchmark_hash, and do not edit the copies to
    match another one.

    Bad:
        evaluation:
          {
            "items": [{"id": "open-street", "analyst_verdicts": ["bad", "bad"]}]
          }
        benchmark:
          {
            "items": [{"id": "open-street", "analyst_verdicts": ["good", "good"]}]
          }

    Good:
        evaluation:
          {
            "items": [{"id": "open-street", "analyst_verdicts": ["good", "good"]}]
          }
        benchmark:
          {
            "items": [{"id": "open-street", "analyst_verdicts": ["good", "good"]}]
          }
    """,
    record=_disagreement,
)

INF302: Final = Rule(
    "INF302",
    "benchmark-hash-mismatch",
    Severity.ERROR,
    "benchmark_hash is not the hash of the benchmark; a warning where it is unverified",
    """
    What it finds: a benchmark_hash that is not the SHA-256 of the benchmark in its normal form.
    framework_version decides the form (releases since 0.17.0 write five more empty members), and
    the other form is tried before a mismatch is reported. A warning where the hash is absent or
    not spelled as the package spells it, or where no benchmark was given.

    Why it matters: the benchmark was changed after the model was asked, or is another one.

    How to fix: Pass the evaluated benchmark with `--aggregate`, or run the evaluation again on
    this benchmark. Do not copy the expected hash into the evaluation of a changed benchmark. A
    hash in another spelling may be written as `sha256:` and 64 hex digits in lower case.

    Bad:
        benchmark:
          {"bearers": {"wet": {"expression": "the street is dry"}}}
        evaluation:
          {
            "benchmark_hash": "sha256:5e3bfd85cceda899e1d4bd4ad6a496f8650128b49fc4c777fa84b654edb61b15"
          }

    Good:
        benchmark:
          {"bearers": {"wet": {"expression": "the street is wet"}}}
        evaluation:
          {
            "benchmark_hash": "sha256:5e3bfd85cceda899e1d4bd4ad6a496f8650128b49fc4c777fa84b654edb61b15"
          }
    """,
    record=_benchmark_hash,
    former_names=("benchmark-hash",),
)

INF303: Final = Rule(
    "INF303",
    "wrong-sample-indices",
    Severity.ERROR,
    "the samples of an item are not those from 0 to n_samples - 1",
    """
    What it finds: an item with more or fewer samples than endorsement_config.n_samples, or whose
    values of sample_index are not 0, 1, 2 and so on; a warning where they are all present but out
    of order.

    Why it matters: answers were lost or counted twice.

    How to fix: Write the evaluation again from the stored samples of its run, or run the item
    again. Do not renumber samples to close a gap. Samples that are only out of order may be sorted
    by sample_index.

    Bad:
        evaluation:
          {
            "endorsement_config": {"n_samples": 3},
            "items": [{
              "samples": [{"sample_index": 0}, {"sample_index": 1}, {"sample_index": 1}]
            }]
          }

    Good:
        evaluation:
          {
            "endorsement_config": {"n_samples": 3},
            "items": [{
              "samples": [{"sample_index": 0}, {"sample_index": 1}, {"sample_index": 2}]
            }]
          }
    """,
    record=_sample_indices,
    former_names=("sample-indices",),
)

INF304: Final = Rule(
    "INF304",
    "majority-vote-mismatch",
    Severity.ERROR,
    "majority_vote or model_verdict does not follow from the samples",
    """
    What it finds: counts in majority_vote that are not those of the samples' parsed verdicts, a
    verdict that does not win, a wrong tie_broken, and a model_verdict that differs from the
    verdict. Samples with a provider_error do not vote. A tie that includes abstain gives abstain,
    a tie of good and bad is broken by tie_break.

    Why it matters: the verdict is what the evaluation is about.

    How to fix: Trust the samples: compute majority_vote and model_verdict again from their parsed
    verdicts. Do not edit samples to match the vote.

    Bad:
        evaluation:
          {
            "items": [{
              "samples": [
                {"parsed_verdict": "good"},
                {"parsed_verdict": "good"},
                {"parsed_verdict": "abstain"}
              ],
              "majority_vote": {"good": 3, "bad": 0, "abstain": 1, "verdict": "good"}
            }]
          }

    Good:
        evaluation:
          {
            "items": [{
              "samples": [
                {"parsed_verdict": "good"},
                {"parsed_verdict": "good"},
                {"parsed_verdict": "abstain"}
              ],
              "majority_vote": {"good": 2, "bad": 0, "abstain": 1, "verdict": "good"}
            }]
          }
    """,
    record=_majority_vote,
)

INF305: Final = Rule(
    "INF305",
    "parse-status-contradiction",
    Severity.WARNING,
    "parse_status contradicts the verdict or the provider_error of its sample",
    """
    What it finds: a verdict of good or bad with a parse_status other than ok, a provider_error
    without sample_failed, a sample_failed with a response.

    Why it matters: a failure of the instrument is counted as an answer, or the reverse.

    How to fix: Trust raw_response and provider_error: parse the sample again, then count the votes
    again. If the two contradict each other, run the item again.

    Bad:
        evaluation:
          {
            "items": [{
              "samples": [{
                "raw_response": "GOOD",
                "parsed_verdict": "good",
                "parse_status": "unparseable"
              }]
            }]
          }

    Good:
        evaluation:
          {
            "items": [{
              "samples": [{
                "raw_response": "GOOD",
                "parsed_verdict": "good",
                "parse_status": "ok"
              }]
            }]
          }
    """,
    record=_parse_status,
)

INF306: Final = Rule(
    "INF306",
    "silent-failure",
    Severity.WARNING,
    "an abstention that looks like a failure of the provider",
    """
    What it finds: a sample that abstains with an empty response, or with a wall_time_ms that is
    missing or 0, and without a provider_error.

    Why it matters: releases before 0.15.0 counted failed calls as abstentions.

    How to fix: Run the item again with infereval 0.15.0 or later, or find the call in the logs of
    the provider. Add a provider_error only if the call is known to have failed. If the model did
    abstain, ignore the rule for this file with `--ignore INF306`.

    Bad:
        evaluation:
          {
            "items": [{
              "samples": [{
                "raw_response": " ",
                "parsed_verdict": "abstain",
                "wall_time_ms": 512.75
              }]
            }]
          }

    Good:
        evaluation:
          {
            "items": [{
              "samples": [{
                "raw_response": "It is hard to tell: ABSTAIN",
                "parsed_verdict": "abstain",
                "wall_time_ms": 512.75
              }]
            }]
          }
    """,
    record=_silent_failure,
)

INF307: Final = Rule(
    "INF307",
    "reversed-times",
    Severity.WARNING,
    "the evaluation finished before it started",
    """
    What it finds: a finished_at before started_at. A time without a zone counts as UTC.

    Why it matters: one of the two times comes from another clock, or was written by hand.

    How to fix: Compare both times with the logs of the run, and correct the one that is wrong or
    lacks its zone. If the logs are lost, leave the times and ignore the rule with `--ignore
    INF307`.

    Bad:
        evaluation:
          {"started_at": "2026-05-31T10:00:00Z", "finished_at": "2026-05-31T09:00:00Z"}

    Good:
        evaluation:
          {"started_at": "2026-05-31T10:00:00Z", "finished_at": "2026-05-31T12:30:00+02:00"}
    """,
    record=_reversed_times,
)

OF_EVALUATIONS: Final = (INF301, INF302, INF307)
"""The rules that check the part of an evaluation outside its items."""

OF_ITEMS: Final = (INF301, INF303, INF304, INF305, INF306)
"""The rules that check an item of an evaluation."""

RULES: Final = (INF301, INF302, INF303, INF304, INF305, INF306, INF307)
