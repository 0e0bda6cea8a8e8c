"""Compare the numbers of rows and samples with those that the caller expects."""

from __future__ import annotations

from collections.abc import Iterator

from evalstream.formats.eee.facts import RunFacts, is_even
from evalstream.formats.eee.rules.recompute import ES802
from evalstream.formats.eee.rules.seal import ES503, LOOKED_AT, NO_ROWS
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun


def unmet_expectations(facts: RunFacts) -> Iterator[Violation]:
    """Report numbers of rows or samples that are not the expected ones, if all rows were read.

    A sample is identified by its evaluation, its evaluation_name and its id. If results score
    samples under names of their own, as metrics do, each result may have all of them.
    """
    routing, rows = facts.context.options.routing, facts.tally.rows
    if facts.layout not in (*LOOKED_AT, NO_ROWS):
        return
    if routing.expect_rows not in (None, rows):
        message = (
            f"--expect-rows is {routing.expect_rows:,}, but the file has {count_noun(rows, 'row')}"
        )
        yield ES503.violation(message, expected=routing.expect_rows, found=rows, about_rows=True)
    if routing.expect_samples is not None:
        yield from _samples(facts, routing.expect_samples)


def _samples(facts: RunFacts, expected: int) -> Iterator[Violation]:
    samples, whose = facts.coverage.distinct(), "the rows score"
    if not all(is_even(facts, result) for result in facts.context.results):
        samples, whose = min(_by_result(facts)), "the rows of a result score"
    elif expected in _by_result(facts) and len(_by_result(facts)) == 1:
        return
    if samples != expected:
        message = f"--expect-samples is {expected:,}, but {whose} {count_noun(samples, 'sample')}"
        details = {"severity": Severity.ERROR, "about_rows": True}
        yield ES802.violation(message, expected=expected, found=samples, **details)


def _by_result(facts: RunFacts) -> set[int]:
    """Return the number of samples of each result that has any."""
    covers = (facts.coverage.of(result.place) for result in facts.context.results)
    return {cover.samples for cover in covers if cover.samples}
