"""ES6: rules about how the rows cover the results of their aggregate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from evalstream.formats.eee.aggregate import RESULTS, SOURCE_DATA, Result
from evalstream.formats.eee.facts import RunFacts, count_samples_beside
from evalstream.formats.eee.row_view import mark_digest, repeat_mark
from evalstream.model.finding import Violation
from evalstream.model.text import count_noun
from evalstream.rules.base import Where, declare_rule
from evalstream.stats.coverage import MOST_MARKS, ResultCoverage
from evalstream.stats.duplicates import DuplicateKind, DuplicateMatch


def _result_without_rows(facts: RunFacts) -> Iterator[Violation]:
    yield from _rows_without_result(facts)
    identified = [result for result in facts.context.results if result.id is not None]
    if not identified or not facts.tally.is_whole:
        return
    lacking = facts.tally.without_result.total()
    if lacking:
        first = next(line for _, _, line in facts.tally.without_result.entries())
        message = (
            "evaluation_result_id is missing from rows, though the results have ids "
            f"(first {facts.at(first)})"
        )
        yield ES604.violation(message, count=lacking)
    for result in identified:
        if result.place in facts.rowless:
            pointer = f"{RESULTS}/{result.place}/evaluation_result_id"
            yield ES604.violation("no row scores this result", pointer=pointer, found=result.id)


def _rows_without_result(facts: RunFacts) -> Iterator[Violation]:
    """Report rows that count in no claim; if no row joins any result, ES804 reports it."""
    if facts.aggregate is None or (facts.context.results and not facts.has_joined_rows):
        return
    for _, count, line in facts.tally.unjoined.entries():
        if facts.context.results:
            message = "rows join no result by their evaluation_name, though other rows join one"
        else:
            message = "rows join no result, since the aggregate has no results"
        message += f"; they count in no claim (first {facts.at(line)})"
        yield ES604.violation(message, count=count, about_rows=True)


def _uneven_fan_out(facts: RunFacts) -> Iterator[Violation]:
    """Compare the sets of samples under the results of one evaluation.

    Results over different splits of a dataset share no sample; they are not uneven.
    """
    for results in _together(facts).values() if facts.tally.is_whole else ():
        covers = {result.place: facts.coverage.of(result.place) for result in results}
        sets = {(cover.samples, cover.digest) for cover in covers.values()}
        distinct = sum(cover.firsts for cover in covers.values())
        if len(sets) < 2 or sum(samples for samples, _ in sets) == distinct:
            continue
        widest = max(results, key=lambda result: covers[result.place].samples)
        for result in results:
            mine, most = covers[result.place], covers[widest.place]
            if (mine.samples, mine.digest) == (most.samples, most.digest):
                continue
            message = (
                f"the rows of this result score {mine.samples:,} samples and those of result "
                f"{widest.place} score {most.samples:,}; the samples differ"
            )
            yield ES607.violation(message, pointer=f"{RESULTS}/{result.place}")


def _uneven_repeats(facts: RunFacts) -> Iterator[Violation]:
    for result in facts.context.results if facts.tally.is_whole else ():
        cover = facts.coverage.of(result.place)
        if result.place in facts.tally.scores and not cover.is_even:
            message = (
                f"{count_noun(cover.samples, 'sample')} of this result have {cover.repeats:,} repeats, "
                "not all equally many; a sample with more repeats counts more"
            )
            yield ES610.violation(message, pointer=f"{RESULTS}/{result.place}")
        elif result.place in facts.tally.scores and _are_judged(cover):
            chosen = _chosen_repeats(cover.samples, cover.marks or {})
            if chosen:
                yield ES610.violation(chosen, pointer=f"{RESULTS}/{result.place}")


def _are_judged(cover: ResultCoverage) -> bool:
    """Tell whether rows are marked as repeats, and no repeat of a sample comes twice."""
    marks = cover.marks or {}
    return any(marks) and sum(marks.values()) == cover.repeats


def _chosen_repeats(samples: int, marks: Mapping[int, int]) -> str | None:
    """Say how repeats are missing that equally many other repeats stand for; None if none is.

    Only numbered repeats are judged: seeds may differ from sample to sample.
    """
    known, total = numbered_repeats(FEW_MARKS), sum(marks.values())
    if 0 in marks:
        # Rows without a mark may be first repeats, if there are no others.
        is_first = len(marks) == 2 and {known.get(mark, ("", 0))[1] for mark in marks} <= {0, 1}
        text = f"no repeat mark in {marks[0]:,} of {total:,} rows of this result, unlike the others"
        return None if is_first else text
    if not marks.keys() <= known.keys():
        known = numbered_repeats(MOST_MARKS)
    others = sum(marks[mark] for mark in marks.keys() - known.keys())
    if others == total:
        return None
    if others:
        return (
            f"the repeat marks of {others:,} of {total:,} rows of this result are no epoch, repeat or"
            f" trial below {MOST_MARKS}, as those of the others are"
        )
    numbers = sorted(known[mark] for mark in marks)
    for mark, rows in marks.items():
        if rows != samples:
            name, number = known[mark]
            return (
                f"{rows:,} of {count_noun(samples, 'sample')} of this result have the {name} {number},"
                " and the others have other repeats; perhaps the best ones were chosen"
            )
    name, first = numbers[0]
    if first > 1 or numbers != [(name, first + place) for place in range(len(numbers))]:
        listed = ", ".join(f"{number}" for _, number in numbers[:5])
        return (
            f"the samples of this result have {name} {listed} alone; the repeats before or between"
            " are missing"
        )
    return None


@cache
def numbered_repeats(most: int) -> Mapping[int, tuple[str, int]]:
    """Return name and number of the first repeats by the digest of their mark."""
    return {
        mark_digest(repeat_mark({name: number})): (name, number)
        for name in _NUMBERED
        for number in range(most)
    }


_NUMBERED: Final = ("epoch", "repeat", "trial")

FEW_MARKS: Final = 16
"""Repeats are mostly numbered below this; to digest all numbers takes half a millisecond."""


def _together(facts: RunFacts) -> Mapping[tuple[str | None, str | None], list[Result]]:
    """Group the results that have rows by evaluation and dataset."""
    groups: dict[tuple[str | None, str | None], list[Result]] = defaultdict(list)
    for result in facts.context.results:
        if result.place in facts.tally.scores:
            groups[result.name, result.dataset].append(result)
    return groups


def _other_output(notice: DuplicateMatch, where: Where) -> Violation:
    message = f"choices or output differ from those of the same sample {where(notice.earlier)}"
    return ES608.violation(message)


def _sample_list(facts: RunFacts) -> Iterator[Violation]:
    for result in facts.context.results:
        if not result.lists_evenly:
            message = "sample_ids lists some ids more often than others"
            pointer = f"{RESULTS}/{result.place}/{result.data_in}/sample_ids"
            yield ES609.violation(message, pointer=pointer)
        if facts.tally.is_whole and result.place in facts.tally.scores:
            yield from _samples_number(facts, result)
            yield from _sample_ids(facts, result)


def _samples_number(facts: RunFacts, result: Result) -> Iterator[Violation]:
    """Compare the size of the dataset with the number of samples that the rows score.

    A num_samples that the rows confirm shows that the run covers a part of the dataset.
    """
    declared, claims = result.samples_number, facts.aggregate.claims if facts.aggregate else {}
    samples, joined = _samples(facts, result), facts.tally.scores[result.place].joined_rows
    if declared is None or declared in (samples, joined, count_samples_beside(facts, result)):
        return
    if samples < declared and claims[result.place].num_samples in (samples, joined):
        return
    message = f"samples_number is {declared:,}, but the rows score {count_noun(samples, 'sample')}"
    pointer = f"{RESULTS}/{result.place}/{result.data_in}/samples_number"
    shown = int if result.data_in == SOURCE_DATA else str
    yield ES609.violation(message, pointer=pointer, expected=shown(samples), found=shown(declared))


def _sample_ids(facts: RunFacts, result: Result) -> Iterator[Violation]:
    if result.sample_ids is None:
        return
    pointer = f"{RESULTS}/{result.place}/{result.data_in}/sample_ids"
    samples, listed = _samples(facts, result), len(result.sample_ids)
    unlisted = [
        (count, line)
        for place, count, line in facts.tally.unlisted.entries()
        if place == result.place
    ]
    for count, line in unlisted:
        message = f"rows score samples that sample_ids does not list (first {facts.at(line)})"
        yield ES609.violation(message, pointer=pointer, count=count)
    if not unlisted and samples < listed != count_samples_beside(facts, result):
        message = f"sample_ids lists {listed:,} samples, but the rows score {samples:,} of them"
        yield ES609.violation(message, pointer=pointer)


def _samples(facts: RunFacts, result: Result) -> int:
    return facts.coverage.of(result.place).samples


ES604: Final = declare_rule("ES604", run=_result_without_rows, about_aggregate=True)
ES607: Final = declare_rule("ES607", run=_uneven_fan_out, about_aggregate=True)
ES608: Final = declare_rule("ES608")
ES609: Final = declare_rule("ES609", run=_sample_list, about_aggregate=True)
ES610: Final = declare_rule("ES610", run=_uneven_repeats, about_aggregate=True)

RULES: Final = (ES604, ES607, ES608, ES609, ES610)

DUPLICATE_RULES: Final[Mapping[DuplicateKind, Callable[[DuplicateMatch, Where], Violation]]] = {
    DuplicateKind.OTHER_OUTPUT: _other_output
}
