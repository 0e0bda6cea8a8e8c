"""ES6: rules about the ids that link rows to their aggregate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS, Aggregate, tasks_in_name
from evalstream.formats.eee.context import RowContext
from evalstream.model.finding import Violation, expect_one
from evalstream.parsing.json_values import object_or_empty
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import Repair, RepairAction, RowCheck, Rule, declare_rule


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
        pointer = "/evaluation_result_id"
        return (ES603.violation(message, pointer=pointer, expected=expected, found=found),)

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
    return (ES605.violation(message, pointer="/evaluation_name", expected=name, found=found),)


def _is_subtask(name: str, result_name: str | None) -> bool:
    """Return whether a name is that of a subtask of the result that its row joins by id.

    The id is needed: by name alone `mmlu-pro` would be a part of `mmlu`.
    """
    if not result_name or not name.startswith(result_name):
        return False
    return not name[len(result_name) :][:1].isalnum()


def _repeated_result(aggregate: Aggregate) -> Iterator[Violation]:
    first: dict[str, int] = {}
    for place, result in aggregate.indexed_results():
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
            yield ES606.violation(message, pointer=pointer, found=identity)


REDUCERS: Final = (
    "the converter of Inspect logs (every-eval-ever 0.3.0) writes one for each reducer of the epochs; "
    "convert a log with one reducer, or leave one result and its rows"
)


def _check_member(
    rule: Rule, member: str, valid: Set[str], message: str
) -> Callable[[Mapping[str, Any]], tuple[Violation, ...]]:
    """Return a check that a member, if it is a string, has one of the valid values."""
    expected: Any = expect_one(sorted(valid)) if len(valid) > 1 else next(iter(valid))

    def check(row: Mapping[str, Any]) -> tuple[Violation, ...]:
        found = row.get(member)
        if found.__class__ is not str or found in valid:
            return ()
        return (rule.violation(message, pointer=f"/{member}", expected=expected, found=found),)

    return check


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

ES605: Final = declare_rule(
    "ES605", row=_unknown_evaluation_name, reads=("/evaluation_name",), by_ids=True
)

ES606: Final = declare_rule("ES606", aggregate=_repeated_result)

_WITHOUT_RESULT_IDS: Final = ("0.2.0", "0.2.0+list", "0.2.1")
_PATH_MARK: Final = LazyPattern("[/:]")

RULES: Final = (ES601, ES602, ES603, ES605, ES606)
