"""ES6: rules about the ids that link rows to their aggregate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS, Aggregate, object_in, tasks_in_name
from evalstream.formats.eee.context import RowContext
from evalstream.model.finding import Severity, Violation, one_of
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import Repair, RowCheck, Rule


def _foreign_evaluation(context: RowContext) -> RowCheck | None:
    if context.evaluation_id is None:
        return None
    message = "evaluation_id differs from that of the aggregate"
    return _check_member(ES601, "evaluation_id", {context.evaluation_id}, message)


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
    expected = one_of(sorted(ids))

    def check(row: Mapping[str, Any]) -> tuple[Violation, ...]:
        found = row.get("evaluation_result_id")
        if found.__class__ is not str or found in ids:
            return ()
        # Before 0.2.2 the format does not define the key, and rows may have any keys.
        if not ids and context.version_of(row) in _WITHOUT_RESULT_IDS:
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
        if found.rpartition("/")[2] in datasets or _is_below(found, names):
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


def _is_below(name: str, names: Set[str]) -> bool:
    """Return whether a name is one of the names followed by a path."""
    return any(name[: mark.start()] in names for mark in _PATH_MARK.finditer(name))


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
            if _is_of_reducers(aggregate, identity):
                message = f"{message}: {REDUCERS}"
            pointer = f"{RESULTS}/{place}/evaluation_result_id"
            yield ES606.violation(message, pointer=pointer, found=identity)


REDUCERS: Final = (
    "the converter of Inspect logs (every-eval-ever 0.3.0) writes one for each reducer of the epochs; "
    "convert a log with one reducer, or leave one result and its rows"
)


def _is_of_reducers(aggregate: Aggregate, identity: str) -> bool:
    """Tell whether an id is that of a scorer and its metric, as converted from Inspect."""
    source = object_in(aggregate.document, "source_metadata").get("source_name")
    return source == "inspect_ai" and ":" in identity


def _check_member(rule: Rule, member: str, valid: Set[str], message: str) -> RowCheck:
    """Return a check that a member, if it is a string, has one of the valid values."""
    expected: Any = one_of(sorted(valid)) if len(valid) > 1 else next(iter(valid))

    def check(row: Mapping[str, Any]) -> tuple[Violation, ...]:
        found = row.get(member)
        if found.__class__ is not str or found in valid:
            return ()
        return (rule.violation(message, pointer=f"/{member}", expected=expected, found=found),)

    return check


ES601: Final = Rule(
    "ES601",
    "foreign-evaluation",
    Severity.ERROR,
    "evaluation_id differs from that of the aggregate",
    """
    What it finds: a row whose evaluation_id is not the evaluation_id of the aggregate.

    Why it matters: the row belongs to another run, or the converter wrote another key; in both
    cases the rows cannot be joined with the claims that they are meant to support.

    How to fix: Name the aggregate of these rows with `--aggregate FILE`, or convert the source log
    again. Some older converters write another key into the rows: a current one writes the same
    evaluation_id into both files.

    Bad:
        row 2:
          {"evaluation_id": "another-run/1700000000"}
        aggregate:
          {"evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000"}

    Good:
        row 2:
          {"evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000"}
        aggregate:
          {"evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000"}
    """,
    row=_foreign_evaluation,
    reads=("/evaluation_id",),
    by_ids=True,
    repair=Repair("writes the evaluation_id of the aggregate", is_safe=False),
)

ES602: Final = Rule(
    "ES602",
    "foreign-model",
    Severity.ERROR,
    "model_id differs from model_info.id of the aggregate",
    """
    What it finds: a row whose model_id is not the model_info.id of the aggregate.

    Why it matters: scores of one model would be published under the name of another.

    How to fix: Find out from the source log which model was evaluated, and correct the side that
    is wrong. If the rows belong to another run, name their aggregate with `--aggregate FILE`.

    Bad:
        row 2:
          {"model_id": "another/model"}
        aggregate:
          {"model_info": {"id": "acme/acorn-7b"}}

    Good:
        row 2:
          {"model_id": "acme/acorn-7b"}
        aggregate:
          {"model_info": {"id": "acme/acorn-7b"}}
    """,
    row=_foreign_model,
    reads=("/model_id",),
    by_ids=True,
)

ES603: Final = Rule(
    "ES603",
    "unknown-result",
    Severity.ERROR,
    "evaluation_result_id is not the id of a result in the aggregate",
    """
    What it finds: a row whose evaluation_result_id is not the id of any result in the aggregate.
    Before 0.2.2 the format does not define the key, and it counts only where results have ids.

    Why it matters: from 0.2.2 on the id joins rows with results; such a row supports no claim.

    How to fix: Convert rows and aggregate together from one source log, so that their
    evaluation_result_ids agree. If the result was left out of the aggregate, add it with figures
    computed from its rows.

    Bad:
        row 2:
          {"evaluation_result_id": "another-metric"}
        aggregate:
          {"evaluation_results": [{"evaluation_result_id": "accuracy"}]}

    Good:
        row 2:
          {"evaluation_result_id": "accuracy"}
        aggregate:
          {"evaluation_results": [{"evaluation_result_id": "accuracy"}]}
    """,
    row=_unknown_result,
    reads=("/evaluation_result_id",),
    by_ids=True,
)

ES605: Final = Rule(
    "ES605",
    "unknown-evaluation-name",
    Severity.WARNING,
    "evaluation_name is not one of the aggregate's, or belongs to another result than the id",
    """
    What it finds: a row whose evaluation_name is that of another result than the one that its
    evaluation_result_id names, or is neither the name nor the dataset of a result in the
    aggregate, nor the task in a name such as `accuracy on arc_easy for scorer choice`. The dataset
    may include its organisation, and a subtask may follow the name of the whole after a slash or
    colon; rows that join a result by id may name its subtasks in other ways.

    Why it matters: before 0.2.2 the name is the only key that joins rows with results; a row that
    joins no result supports no claim.

    How to fix: Write the evaluation_name of the result that the row belongs to, the same in rows
    and aggregate. Take it from the source log, and correct the converter. If the rows belong to
    another run, name their aggregate with `--aggregate FILE`.

    Bad:
        row 2:
          {"evaluation_name": "another-benchmark"}
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "source_data": {"dataset_name": "tiny-arithmetic"}
            }]
          }

    Good:
        row 2:
          {"evaluation_name": "tiny-arithmetic"}
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "source_data": {"dataset_name": "tiny-arithmetic"}
            }]
          }
    """,
    row=_unknown_evaluation_name,
    reads=("/evaluation_name",),
    by_ids=True,
)

ES606: Final = Rule(
    "ES606",
    "repeated-result",
    Severity.ERROR,
    "two results have the same evaluation_result_id",
    """
    What it finds: an evaluation_result_id that more than one result of the aggregate has.

    Why it matters: it is not possible to see which rows belong to which result, so neither claim
    can be checked.

    How to fix: Give each result its own evaluation_result_id, in the aggregate and in its rows. If
    the same result was written twice, keep one of them.

    Bad:
        aggregate:
          {
            "evaluation_results": [
              {"evaluation_result_id": "accuracy", "evaluation_name": "tiny-arithmetic"},
              {"evaluation_result_id": "accuracy", "evaluation_name": "tiny-arithmetic"}
            ]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [
              {"evaluation_result_id": "accuracy", "evaluation_name": "tiny-arithmetic"},
              {"evaluation_result_id": "f1", "evaluation_name": "tiny-arithmetic"}
            ]
          }
    """,
    aggregate=_repeated_result,
    about_aggregate=True,
)

_WITHOUT_RESULT_IDS: Final = ("0.2.0", "0.2.0+list", "0.2.1")
_PATH_MARK: Final = LazyPattern("[/:]")

RULES: Final = (ES601, ES602, ES603, ES605, ES606)
