"""The violations of the files of a run, and the numbers of rows and samples that users expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.facts import RunFacts, is_even
from evalstream.formats.eee.rules.recompute import ES802
from evalstream.formats.eee.rules.seal import ES503, LOOKED_AT, NO_ROWS
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import PlacedViolation, Severity, Violation
from evalstream.model.text import count_noun

Key = tuple[str, str | None]


class FileViolations(NamedTuple):
    """The violations of the rows file, and those of the aggregate with their lines."""

    rows: list[Violation]
    aggregate: list[PlacedViolation]

    def keys(self) -> set[Key]:
        """Return the keys of all violations."""
        return {violation_key(violation) for violation in self._all()}

    def failing(self, context: RowContext) -> list[Violation]:
        """Return the violations that fail a run."""
        selection, threshold = context.selection, context.options.threshold
        return [
            violation
            for violation in self._all()
            if violation.code in context.enabled_codes
            and selection.fails(violation.code, selection.severity(violation), threshold)
        ]

    def with_those(self, violations: Iterable[Violation]) -> FileViolations:
        """Return the violations with others, which replace those at the same places."""
        added = list(violations)
        keys = {violation_key(violation) for violation in added}
        rows = [violation for violation in self.rows if violation_key(violation) not in keys]
        aggregate = [
            placed for placed in self.aggregate if violation_key(placed.violation) not in keys
        ]
        rows += [violation for violation in added if violation.about_rows]
        aggregate += [PlacedViolation(violation) for violation in added if not violation.about_rows]
        return FileViolations(rows, aggregate)

    def _all(self) -> list[Violation]:
        return [*self.rows, *(placed.violation for placed in self.aggregate)]


def violation_key(violation: Violation) -> Key:
    """Return the key of a violation: its code and its place."""
    return violation.code, violation.pointer


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
