"""ES6: rules about how rows join the results of their aggregate, and cover them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS, SOURCE_DATA, Aggregate, Result, tasks_in_name
from evalstream.formats.eee.facts import RowContext, RunFacts
from evalstream.formats.eee.row_view import mark_digest, repeat_mark
from evalstream.model.finding import Violation, expect_one
from evalstream.model.text import count_noun
from evalstream.parsing.json_values import object_or_empty
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import Repair, RepairAction, RowCheck, Rule, declare_rule
from evalstream.stats.coverage import MOST_MARKS


def _result_without_rows(facts: RunFacts) -> Iterator[Violation]:
    yield from _rows_without_result(facts)
    identified = [result for result in facts.context.results if result.id is not None]
    if not identified or not facts.tally.is_whole:
        return
    lacking = facts.tally.without_result.total()
    if lacking:
        first = facts.at(facts.tally.without_result.first(None))
        message = f"evaluation_result_id is missing from rows, though the results have ids (first {first})"
        yield ES604.violation(message, count=lacking)
    for result in identified:
        if result.place in facts.rowless:
            pointer = f"{RESULTS}/{result.place}/evaluation_result_id"
            yield ES604.violation("no row scores this result", pointer, found=result.id)


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

    Splits of a dataset share no sample; they are not uneven. Of filters numbers are compared.
    """
    groups = _together(facts) if facts.tally.is_whole and len(facts.context.results) > 1 else {}
    for results in (*groups.values(), *_tasks(groups)):
        is_one = len({result.name for result in results}) == 1
        covers = [facts.coverage.of(result.place) for result in results]
        sets = [(cover.samples, cover.digest if is_one else 0) for cover in covers]
        distinct = sum(cover.firsts for cover in covers) if is_one else 0
        if len(set(sets)) < 2 or sum(samples for samples, _ in set(sets)) == distinct:
            continue
        most = max(sets, key=lambda found: found[0])
        widest = results[sets.index(most)]
        for result, mine in zip(results, sets, strict=True):
            if mine != most and (is_one or result.name != widest.name):
                number = count_noun(mine[0], "sample")
                rest = f"those of result {widest.place} score {most[0]:,}; the samples differ"
                message = f"the rows of this result score {number} and {rest}"
                yield ES607.violation(message, f"{RESULTS}/{result.place}")


def _uneven_repeats(facts: RunFacts) -> Iterator[Violation]:
    for result in facts.context.results if facts.tally.is_whole else ():
        cover = facts.coverage.of(result.place)
        marks, message = cover.marks or {}, None
        # No repeat of a sample may come twice.
        if cover.is_even and any(marks) and sum(marks.values()) == cover.repeats:
            message = _chosen_repeats(cover.samples, marks)
        elif not cover.is_even:
            message = (
                f"{count_noun(cover.samples, 'sample')} of this result have {cover.repeats:,} repeats, "
                "not all equally many; a sample with more repeats counts more"
            )
        if message and result.place in facts.tally.scores:
            yield ES610.violation(message, f"{RESULTS}/{result.place}")


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
    others = sum(rows for mark, rows in marks.items() if mark not in known)
    if others == total:
        return None
    if others:
        return (
            f"the repeat marks of {others:,} of {total:,} rows of this result do not name an epoch,"
            f" repeat or trial below {MOST_MARKS}, as those of the others do"
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


def _tasks(groups: Mapping[tuple[str | None, str | None], list[Result]]) -> list[list[Result]]:
    """Group results of lm-eval by task: TASK/FILTER is their name, and METRIC:FILTER their id."""
    tasks: dict[tuple[str, str | None], list[Result]] = defaultdict(list)
    for (name, dataset), results in groups.items():
        task, slash, of_filter = (name or "").rpartition("/")
        if slash and all((one.id or "").endswith(f":{of_filter}") for one in results):
            tasks[task, dataset] += results
    return [some for some in tasks.values() if len({one.name for one in some}) > 1]


def _sample_list(facts: RunFacts) -> Iterator[Violation]:
    for result in facts.context.results:
        if not result.lists_evenly:
            pointer = f"{RESULTS}/{result.place}/{result.data_in}/sample_ids"
            yield ES609.violation("sample_ids lists some ids more often than others", pointer)
        if facts.tally.is_whole and result.place in facts.tally.scores:
            yield from _samples_number(facts, result)
            yield from _sample_ids(facts, result)


def _samples_number(facts: RunFacts, result: Result) -> Iterator[Violation]:
    """Compare the size of the dataset with the number of samples that the rows score.

    A num_samples that the rows confirm shows that the run covers a part of the dataset.
    """
    declared, claims = result.samples_number, facts.aggregate.claims if facts.aggregate else {}
    samples = facts.coverage.of(result.place).samples
    joined = facts.tally.scores[result.place].joined_rows
    if declared is None or declared in (samples, joined, facts.coverage_beside(result).samples):
        return
    if samples < declared and claims[result.place].num_samples in (samples, joined):
        return
    message = f"samples_number is {declared:,}, but the rows score {count_noun(samples, 'sample')}"
    pointer = f"{RESULTS}/{result.place}/{result.data_in}/samples_number"
    shown = int if result.data_in == SOURCE_DATA else str
    yield ES609.violation(message, pointer, expected=shown(samples), found=shown(declared))


def _sample_ids(facts: RunFacts, result: Result) -> Iterator[Violation]:
    if result.sample_ids is None:
        return
    pointer = f"{RESULTS}/{result.place}/{result.data_in}/sample_ids"
    samples, listed = facts.coverage.of(result.place).samples, len(result.sample_ids)
    unlisted = [
        (count, line)
        for place, count, line in facts.tally.unlisted.entries()
        if place == result.place
    ]
    for count, line in unlisted:
        message = f"rows score samples that sample_ids does not list (first {facts.at(line)})"
        yield ES609.violation(message, pointer, count=count)
    if not unlisted and samples < listed != facts.coverage_beside(result).samples:
        number = count_noun(listed, "sample")
        message = f"sample_ids lists {number}, but the rows score {samples:,} of them"
        yield ES609.violation(message, pointer)


def _foreign_evaluation(context: RowContext) -> RowCheck | None:
    if context.evaluation_id is None:
        return None
    message = "evaluation_id differs from that of the aggregate"
    check = _check_member(ES601, "evaluation_id", {context.evaluation_id}, message)

    def check_id(row: Mapping[str, Any]) -> tuple[Violation, ...]:
        found = check(row)
        if found and row["evaluation_id"] == context.foreign_id:
            return (found[0]._replace(is_fixable=True),)
        return found

    return check_id


def _foreign_model(context: RowContext) -> RowCheck | None:
    if context.model_id is None:
        return None
    message = "model_id differs from model_info.id of the aggregate"
    return _check_member(ES602, "model_id", {context.model_id}, message)


def _unknown_result(context: RowContext) -> RowCheck | None:
    if not context.results and context.evaluation_id is None and context.model_id is None:
        # There is no aggregate. If there were one without results, every row's result is unknown.
        return None
    ids = {result.id for result in context.results if result.id is not None}
    expected = expect_one(sorted(ids))

    def check(row: Mapping[str, Any]) -> tuple[Violation, ...]:
        found = row.get("evaluation_result_id")
        if found.__class__ is not str or found in ids:
            return ()
        # Before 0.2.2 the format does not define the key, and rows may have any keys.
        if not ids and context.choose_version(row) in _WITHOUT_RESULT_IDS:
            return ()
        message = "evaluation_result_id is not the id of a result in the aggregate"
        return (ES603.violation(message, "/evaluation_result_id", expected=expected, found=found),)

    return check


def _unknown_evaluation_name(context: RowContext) -> RowCheck | None:
    """Check evaluation_name against the names that converters are known to write.

    Converters before 0.3.0 name results after metric and scorer, and rows after the dataset, with
    or without its organisation, or after the task. Rows of a subtask have its name after that of
    the whole task.
    """
    if context.evaluation_names is None:
        return None
    datasets = {result.dataset for result in context.results if result.dataset}
    repositories = {result.repository for result in context.results if result.repository}
    names = context.evaluation_names.union(
        datasets, repositories, *(tasks_in_name(name) for name in context.evaluation_names)
    )
    joined = {result.id: result.name for result in context.results if result.id is not None}
    ids = {result.name: result.id for result in context.results}
    message = "evaluation_name is not the name of a result in the aggregate"
    check = _check_member(ES605, "evaluation_name", context.evaluation_names, message)

    def check_name(row: Mapping[str, Any]) -> Iterable[Violation]:
        found = row.get("evaluation_name")
        if found.__class__ is not str:
            return ()
        if found in ids:
            return _result_mismatch(row, joined, ids)
        if found in names:
            return ()
        if found.rpartition("/")[2] in datasets or any(
            found[: mark.start()] in names for mark in _PATH_MARK.finditer(found)
        ):
            return ()
        identity = row.get("evaluation_result_id")
        if identity.__class__ is str and _is_subtask(found, joined.get(identity)):
            return ()
        return check(row)

    return check_name


def _result_mismatch(
    row: Mapping[str, Any], joined: Mapping[str, str | None], ids: Mapping[str | None, str | None]
) -> Iterable[Violation]:
    """Report a row with the name of one result and the id of another, except for subtasks."""
    identity, found = row.get("evaluation_result_id"), row["evaluation_name"]
    name = joined.get(identity) if identity.__class__ is str else None
    if name is None or name == found or _is_subtask(found, name):
        return ()
    message = f"evaluation_name is the name of result {ids[found]}, not of the result in evaluation_result_id"
    return (ES605.violation(message, "/evaluation_name", expected=name, found=found),)


def _is_subtask(name: str, result_name: str | None) -> bool:
    """Return whether a name is that of a subtask of the result that its row joins by id.

    The id is needed: by name alone `mmlu-pro` would be a part of `mmlu`.
    """
    if not result_name or not name.startswith(result_name):
        return False
    return not name[len(result_name) :][:1].isalnum()


def _repeated_result(aggregate: Aggregate) -> Iterator[Violation]:
    first: dict[str, int] = {}
    for place, result in aggregate.indexed_results:
        identity = result.get("evaluation_result_id")
        if not isinstance(identity, str):
            continue
        earlier = first.setdefault(identity, place)
        if earlier != place:
            message = f"the same evaluation_result_id as result {earlier}; rows join neither"
            source = object_or_empty(aggregate.document.get("source_metadata")).get("source_name")
            if source == "inspect_ai" and ":" in identity:
                message = f"{message}: {REDUCERS}"
            pointer = f"{RESULTS}/{place}/evaluation_result_id"
            yield ES606.violation(message, pointer, found=identity)


REDUCERS: Final = (
    "the converter of Inspect logs (every-eval-ever 0.3.0) writes one for each reducer of the epochs; "
    "convert a log with one reducer, or leave one result and its rows"
)


def _check_member(
    rule: Rule, member: str, valid: Set[str], message: str
) -> Callable[[Mapping[str, Any]], tuple[Violation, ...]]:
    expected: Any = expect_one(sorted(valid)) if len(valid) > 1 else next(iter(valid))

    def check(row: Mapping[str, Any]) -> tuple[Violation, ...]:
        found = row.get(member)
        if found.__class__ is not str or found in valid:
            return ()
        return (rule.violation(message, f"/{member}", expected=expected, found=found),)

    return check


_WITHOUT_RESULT_IDS: Final = ("0.2.0", "0.2.0+list", "0.2.1")

_PATH_MARK: Final = LazyPattern("[/:]")

ES601: Final = declare_rule(
    "ES601",
    row=_foreign_evaluation,
    reads=("/evaluation_id",),
    by_ids=True,
    repair=Repair(
        RepairAction.WRITE_EVALUATION_ID,
        "writes the evaluation_id of the aggregate",
        is_safe=False,
        limit="where all other ids are that of the first row",
    ),
)

ES602: Final = declare_rule("ES602", row=_foreign_model, reads=("/model_id",), by_ids=True)

ES603: Final = declare_rule(
    "ES603", row=_unknown_result, reads=("/evaluation_result_id",), by_ids=True
)

ES604: Final = declare_rule("ES604", run=_result_without_rows, about_aggregate=True)

ES605: Final = declare_rule(
    "ES605", row=_unknown_evaluation_name, reads=("/evaluation_name",), by_ids=True
)

ES606: Final = declare_rule("ES606", aggregate=_repeated_result)

ES607: Final = declare_rule("ES607", run=_uneven_fan_out, about_aggregate=True)

ES608: Final = declare_rule("ES608")

ES609: Final = declare_rule("ES609", run=_sample_list, about_aggregate=True)

ES610: Final = declare_rule("ES610", run=_uneven_repeats, about_aggregate=True)

RULES: Final = (ES601, ES602, ES603, ES604, ES605, ES606, ES607, ES608, ES609, ES610)
