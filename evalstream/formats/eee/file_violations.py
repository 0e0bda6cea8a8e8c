"""The violations of whole files: rules over an aggregate and a run, and expected numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS
from evalstream.formats.eee.catalogue import CATALOGUE
from evalstream.formats.eee.facts import LOOKED_AT, NO_ROWS, UNREAD, RowContext, RunFacts
from evalstream.formats.eee.rules.datastore import ES902, are_undeclared
from evalstream.formats.eee.rules.recompute import ES802
from evalstream.formats.eee.rules.seal import ES503, ES506
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import PlacedViolation, Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.limits import limit_findings
from evalstream.rules.base import position_namer
from evalstream.rules.claims import find_nothing_confirmed
from evalstream.rules.syntax import ES108

Key = tuple[str, str | None]

Check = Callable[[Any], Iterable[Violation]]

ROWLESS: Final = (NO_ROWS, UNREAD)
"""The layouts of runs whose rows no rule has looked at."""

JOINING: Final = ("ES6", "ES8")
"""The families of rules that compare rows with their aggregate."""


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
    if not all(facts.coverage_beside(result).is_even for result in facts.context.results):
        samples, whose = min(_by_result(facts)), "the rows of a result score"
    elif expected in _by_result(facts) and len(_by_result(facts)) == 1:
        return
    if samples != expected:
        message = f"--expect-samples is {expected:,}, but {whose} {count_noun(samples, 'sample')}"
        yield ES802.violation(
            message, expected=expected, found=samples, severity=Severity.ERROR, about_rows=True
        )


def _by_result(facts: RunFacts) -> set[int]:
    covers = (facts.coverage.of(result.place) for result in facts.context.results)
    return {cover.samples for cover in covers if cover.samples}


@lru_cache(maxsize=16)
def _aggregate_checks(enabled: frozenset[str]) -> list[Check]:
    rules = (rule for rule in CATALOGUE.values() if rule.code in enabled)
    return [rule.aggregate for rule in rules if rule.aggregate is not None]


@lru_cache(maxsize=64)
def _run_checks(
    enabled: frozenset[str], is_looked_at: bool, is_joined: bool, may_lack_seal: bool
) -> list[tuple[Check, Callable[[Any], Any] | None]]:
    """Return the checks of a run by enabled rules, each with what returns a fact that it needs.

    Of rows that were not looked at only paths are checked. Of an aggregate that came late nothing
    is compared, and where another rule says more, a missing seal is not reported.
    """
    return [
        (rule.run, attrgetter(rule.needed_fact) if rule.needed_fact else None)
        for rule in CATALOGUE.values()
        if rule.code in enabled
        and rule.run is not None
        and (is_looked_at or rule.about_paths)
        and (is_joined or not rule.code.startswith(JOINING))
        and (may_lack_seal or rule is not ES506)
    ]


def find_file_violations(
    facts: RunFacts,
    rows: Sequence[Violation],
    aggregate: Sequence[PlacedViolation],
    *,
    is_incomplete: bool,
) -> FileViolations:
    """Return the violations of a rows file and of its aggregate, after those found while reading.

    For a run that is incomplete, unconfirmed claims are not reported.
    """
    about_rows = [*rows, *unmet_expectations(facts)]
    about_aggregate = [
        *aggregate,
        *map(PlacedViolation, limit_findings(_aggregate_violations(facts, aggregate))),
    ]
    orphan = is_orphan(facts)
    for violation in limit_findings(_run_violations(facts, is_orphan=orphan)):
        about = CATALOGUE[violation.code].about_aggregate and not violation.about_rows
        if about and facts.aggregate is not None:
            about_aggregate.append(PlacedViolation(violation))
        else:
            about_rows.append(violation)
    if not (is_incomplete or facts.tally.unread or facts.changed or orphan):
        found = find_nothing_confirmed(
            facts.claims,
            is_info=facts.is_documentation and facts.context.options.threshold > Severity.WARNING,
            pointer=None if facts.aggregate is None else RESULTS,
        )
        if facts.aggregate is None:
            about_rows.extend(found)
        else:
            about_aggregate.extend(map(PlacedViolation, found))
    return FileViolations(about_rows, about_aggregate)


def is_orphan(facts: RunFacts) -> bool:
    """Return whether a rule reports that the rows have no aggregate."""
    return ES902.code in facts.context.enabled_codes and are_undeclared(facts)


def _aggregate_violations(facts: RunFacts, noted: Sequence[PlacedViolation]) -> Iterable[Violation]:
    """Check the aggregate alone, except results whose number is not a number (ES108)."""
    if facts.aggregate is None:
        return ()
    checks = [check(facts.aggregate) for check in _aggregate_checks(facts.context.enabled_codes)]
    found = chain.from_iterable(checks)
    numberless = {
        _name_result(placed.violation) for placed in noted if placed.violation.code == ES108.code
    }
    if not numberless:
        return found
    return (violation for violation in found if _name_result(violation) not in numberless)


def _name_result(violation: Violation) -> str:
    return "/".join((violation.pointer or "").split("/")[:3])


def _run_violations(facts: RunFacts, *, is_orphan: bool) -> Iterable[Violation]:
    """Check the run as a whole, after its rows and its notices."""
    unreadable = facts.aggregate is None and facts.aggregate_path is not None
    # Another rule explains why the rows are not sealed.
    seals = facts.context.options.routing.seal_to is not None
    checks = _run_checks(
        facts.context.enabled_codes,
        facts.layout not in ROWLESS,
        not facts.is_late,
        not (unreadable or seals or is_orphan),
    )
    found = [check(facts) for check, needs in checks if needs is None or needs(facts)]
    return chain(_report_notices(facts), *found)


def _report_notices(facts: RunFacts) -> Iterator[Violation]:
    """Report that there are no rows, and what many rows have in common, as infos."""
    if facts.layout == NO_ROWS and facts.aggregate is not None and not facts.is_documentation:
        message = "no rows were checked, only the aggregate itself"
        yield ES506.violation(message, severity=Severity.INFO)
    for (code, message, pointer), count, line in facts.tally.notices.entries():
        text = f"{message} (first {position_namer(facts.layout)(line)})"
        yield Violation(code, text, pointer, severity=Severity.INFO, count=count, about_rows=True)
