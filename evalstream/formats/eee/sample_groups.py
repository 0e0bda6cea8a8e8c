"""Results over the same dataset, and the samples that their rows score together."""

from __future__ import annotations

from evalstream.formats.eee.aggregate import Result
from evalstream.formats.eee.facts import RunFacts
from evalstream.stats.duplicates import ResultCoverage


def samples_beside(facts: RunFacts, result: Result) -> int:
    """Return the least number of samples that the results over a result's dataset score."""
    covers = _covers_beside(facts, result)
    largest = max((cover.samples for cover in covers), default=0)
    return max(largest, sum(cover.firsts for cover in covers))


def is_even(facts: RunFacts, result: Result) -> bool:
    """Return whether the results over a result's dataset all score the same or disjoint samples.

    Disjoint ones are those over the splits of a dataset. Otherwise some results lack samples.
    """
    covers = _covers_beside(facts, result)
    sets = {(cover.samples, cover.digest) for cover in covers if cover.samples}
    return len(sets) < 2 or sum(samples for samples, _ in sets) == sum(
        cover.firsts for cover in covers
    )


def _covers_beside(facts: RunFacts, result: Result) -> list[ResultCoverage]:
    """Return the coverage of all results over a result's dataset, itself included."""
    return [
        facts.coverage.of(other.place)
        for other in facts.context.results
        if (other.name, other.dataset) == (result.name, result.dataset)
    ]
