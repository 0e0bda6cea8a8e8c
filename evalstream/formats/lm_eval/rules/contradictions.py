"""A rule over facts that results state twice: model, metrics, examples and limits."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from evalstream.formats.lm_eval.format import results_time
from evalstream.formats.lm_eval.harness_tasks import list_plain_members
from evalstream.formats.lm_eval.response_filters import needs_code
from evalstream.formats.lm_eval.row import text_hash
from evalstream.formats.lm_eval.scoring_plan import (
    AGGREGATIONS,
    CHOICE,
    GENERATE,
    LIKELIHOOD,
    LOWER_IS_BETTER,
    MEAN,
    MEANS,
    REGISTERED,
    ROLLING,
)
from evalstream.formats.lm_eval.views import ListedMetric, Results
from evalstream.formats.lm_eval.written_values import (
    MODEL_ARGUMENTS,
    as_decimal,
    is_function,
    list_arguments,
    parse_argument,
)
from evalstream.formats.releases import is_released
from evalstream.model.finding import Severity, Violation
from evalstream.parsing import json, json_values
from evalstream.parsing.json import text_or_none
from evalstream.parsing.json_values import holds_double, object_or_empty
from evalstream.rules.base import declare_rule
from evalstream.stats.claims.rounding import agrees

_SEPARATOR: Final = "__"
_FORBIDDEN: Final = re.compile(r"[\"<>:/|\\?*\[\]]+")
"""Characters of model names that folder names lack (`sanitize_model_name` in utils.py of lm_eval)."""

LIKELIHOODS: Final = frozenset({CHOICE, LIKELIHOOD, ROLLING})
"""Kinds of tasks that have no other metrics than those that they list."""

_OBJECT: Final = re.compile(r"CUSTOM|<.*>", flags=re.DOTALL)
"""The source of a model that a call from Python gave as an object; early releases show the object."""

_PLAIN_NAME: Final = re.compile(r"[^(<]+")
"""Texts that are not the source or name of a function."""


def find_contradictions(
    results: Results, path: str, task: str | None = None
) -> Iterator[Violation]:
    """Yield contradictions about the model and about a task, by default about all tasks."""
    yield from (*_names(results, path), *_digests(results), *_times(results, path))
    yield from _release(results)
    for name in results.tasks if task is None else [task]:
        for find in _OF_TASKS:
            yield from find(results, name)
    if task is None:
        for name, members in results.groups:
            yield from _group(results, name, members)
        known = set(results.tasks)
        for name in object_or_empty(results.document.get("groups")):
            if name not in known:
                message = f"groups has {name}, and results have no such entry"
                yield contradiction(message, ("groups", name))


def _names(results: Results, path: str) -> Iterator[Violation]:
    """Report names of the model that differ from each other."""
    name, document = results.model, results.document
    expected = None if name is None else _FORBIDDEN.sub(_SEPARATOR, name)
    folder = os.path.basename(os.path.dirname(path))
    if expected and _SEPARATOR in expected and _SEPARATOR in folder and expected not in folder:
        message = f"the results are in the folder of another model, {folder!r}"
        other = contradiction(message, ("model_name",), None, name)
        # One who publishes results of a local model gives their folder its public name.
        is_local = str(name).startswith((".", "/", "~"))
        yield other._replace(severity=Severity.WARNING) if is_local else other
    yield from _repeated_arguments(results)
    revision, loaded = results.argument("revision"), text_or_none(results.setting("model_revision"))
    if not f"{loaded}/".startswith(f"{revision}/"):
        message = "model_revision is not the revision of model_args"
        yield from _compare(message, ("config", "model_revision"), revision, loaded)
    source, stated = (
        text_or_none(document.get(one)) for one in ("model_source", "model_name_sanitized")
    )
    is_object = source is not None and _OBJECT.fullmatch(source)
    model = None if is_object else text_or_none(results.setting("model"))
    for key, origin, wanted, found in (
        ("model_name_sanitized", "that of model_name", expected, stated),
        ("model_name", "the model of model_args", results.named_model, name),
        ("model_source", "the model of config", model, source),
    ):
        yield from _compare(f"{key} is not {origin}", (key,), wanted, found)


def _times(results: Results, path: str) -> Iterator[Violation]:
    """Report a time of the call that does not fit the time in the name of the results.

    The name has the local time at which the call ended; zones are up to 14 hours from UTC.
    """
    named, date = results_time(path), results.document.get("date")
    duration = results.document.get("total_evaluation_time_seconds")
    if named is None or not holds_double(date):
        return
    day, _, clock = named.partition("T")
    try:
        ended = datetime.fromisoformat(f"{day}T{clock.replace('-', ':')}+00:00").timestamp()
        lasted = None if duration is None else float(duration)
    except (ValueError, TypeError, OverflowError):
        return
    is_late = lasted is not None and date + lasted < ended - _ZONES
    if date > ended + _ZONES or is_late:
        message = "date and total_evaluation_time_seconds do not fit the time in the file's name"
        yield contradiction(message, ("date",), None, date)


_ZONES: Final = 15 * 3600
"""The seconds by which a local time is at most from UTC, and an hour more."""


def _release(results: Results) -> Iterator[Violation]:
    """Warn of a release that is earlier than members show, but for a development version."""
    told, shown = results.document.get("lm_eval_version"), ".".join(map(str, results.release))
    if is_released(told) and results.stated_release < results.release:
        message = f"members of the results show that release {shown} or a later one wrote them"
        found = contradiction(message, ("lm_eval_version",), None, told)
        yield found._replace(severity=Severity.WARNING)


def _repeated_arguments(results: Results) -> Iterator[Violation]:
    """Report an argument of the model that stands twice: the harness loads the last one."""
    given = results.setting("model_args")
    found: dict[str, str] = {}
    for part in given.split(",") if isinstance(given, str) else ():
        name, _, value = part.partition("=")
        name = name.strip()
        if name in {*MODEL_ARGUMENTS, "revision"} and found.setdefault(name, value) != value:
            message = f"model_args has {name} twice, with different values"
            yield contradiction(message, ("config", "model_args"), found[name], given)


def _identity(results: Results, task: str) -> Iterator[Violation]:
    """Report names of a task that differ, and a task that has no configuration."""
    config, entry, is_group = results.config(task), results.entry(task), results.is_group(task)
    # Early releases do not tell groups from tasks.
    tells_groups = "group_subtasks" in results.document and results.document.get("configs")
    if not config and not is_group:
        if tells_groups and any(results.figures(task)):
            message = f"results have figures of {task}, and configs has no such task"
            yield contradiction(message, ("results", task))
        return
    alias = text_or_none(config.get("task_alias")) or task
    names = (
        (("configs", task, "task"), config.get("task"), task),
        (("results", task, "name"), entry.get("name"), task),
        (("results", task, "alias"), entry.get("alias"), alias),
    )
    for path, found, expected in names:
        if is_group or not isinstance(found, str):
            continue
        if found.strip(" -") not in (expected.strip(" -"), task):
            message = f"{path[-1]} of {task} is another task's"
            yield contradiction(message, path, expected, found)


def _arguments(results: Results, task: str) -> Iterator[Violation]:
    """Report arguments of the generation that the call gave, and the task does not have.

    The harness adds them to those of tasks that generate texts.
    """
    given, config = results.setting("gen_kwargs"), results.config(task)
    own = config.get("generation_kwargs")
    if not (isinstance(given, dict) and isinstance(own, dict)):
        return
    is_told = config.get("output_type") == GENERATE
    for name, value in given.items():
        if own.get(name, value) != value or (is_told and name not in own):
            message = f"{name} of {task} is not that of gen_kwargs of the call"
            path = ("configs", task, "generation_kwargs", *([name] if name in own else []))
            yield contradiction(message, path, value, own.get(name))


def _digests(results: Results) -> Iterator[Violation]:
    """Report digests of texts that are in the results, too (`log_experiment_args`)."""
    for name in ("chat_template", "system_instruction"):
        text, key = results.document.get(name), f"{name}_sha"
        declared = results.document.get(key)
        expected = text_hash(text) if isinstance(text, str) and text else None
        is_text = text is None or isinstance(text, str)
        if key in results.document and is_text and declared != expected:
            yield contradiction(f"{key} is not that of {name}", (key,), expected, declared)


def _metadata(results: Results, task: str) -> Iterator[Violation]:
    """Report a version that is not the one of the metadata, and warn of arguments of the model.

    Up to 0.4.0 the harness writes "Yaml" for the versions of tasks. From 0.4.9 on it adds the
    arguments of the call; `--metadata` may give others.
    """
    metadata = object_or_empty(results.config(task).get("metadata"))
    declared = metadata.get("version")
    found = json.member(results.document.get("versions"), task)
    is_unsaid = found is None or (found == "Yaml" and results.is_before((0, 4, 1)))
    if declared is not None and not is_unsaid and str(declared) != str(found):
        message = f"versions has another version of {task} than its configuration"
        yield contradiction(message, ("versions", task), declared, found)
    for name, given in list_arguments(results.setting("model_args")).items():
        is_name = name in {*MODEL_ARGUMENTS, "tokenizer"}
        if not is_name and metadata.get(name) not in (None, given, parse_argument(given)):
            message = f"{name} in the metadata of {task} is not that of model_args"
            path = "configs", task, "metadata", name
            found = contradiction(message, path, given, metadata[name])
            yield found._replace(severity=Severity.WARNING)


def _check_limit(results: Results, task: str) -> Iterator[Violation]:
    """Report more samples than the limit picks."""
    effective, wanted = results.samples(task).get("effective"), results.count_limited(task)
    if effective.__class__ is int and wanted is not None and effective > wanted:
        message = f"effective is more than the limit picks for {task}"
        path = ("n-samples", task, "effective")
        yield contradiction(message, path, {"maximum": wanted}, effective)


def _group(results: Results, group: str, members: Sequence[str]) -> Iterator[Violation]:
    """Report members of a group that differ from those of its tasks; its figures are claims.

    Up to 0.4.3 the harness gives a group the n-shot of its first member: 0 of a group that follows.
    """
    table, directions = (results.document.get(name) for name in ("n-shot", "higher_is_better"))
    shots = json.member(table, group)
    stated: list[tuple[tuple[str, ...], str, Any, Any, type]] = []
    is_early = shots == 0 and results.is_before((0, 4, 4))
    if not (is_early and any(map(results.is_group, members[:1]))):
        stated.append((("n-shot", group), "n-shot", table, shots, int))
    for metric, better in object_or_empty(json.member(directions, group)).items():
        of_tasks = {one: json.member(json.member(directions, one), metric) for one in members}
        where = "higher_is_better", group, metric
        stated.append((where, f"higher_is_better of {metric}", of_tasks, better, bool))
    for path, noun, of_members, found, kind in stated:
        if found.__class__ is kind or (kind is int and isinstance(found, float)):
            message = f"{noun} of the group {group} is not that of its tasks"
            yield from _compare(message, path, _common(of_members, members, kind), found)


def _common(table: Any, names: Sequence[str], kind: type) -> Any:
    """Return the value of a type that all names have which have any, else None."""
    found = [one for one in (json.member(table, name) for name in names) if one is not None]
    is_same = all(one.__class__ is kind and one == found[0] for one in found)
    return found[0] if found and is_same else None


def _metrics(results: Results, task: str) -> Iterator[Violation]:
    directions = json.member(results.document.get("higher_is_better"), task)
    listed = results.metric_list(task)
    if listed is None:
        return
    known = {one.name: one for one in listed if one.name and _PLAIN_NAME.fullmatch(one.name)}
    for name, one in known.items():
        path = "configs", task, "metric_list", one.place
        yield from _aggregation(results, task, one)
        if isinstance(directions, dict) and name not in directions:
            message = f"higher_is_better has no metric {name!r} of {task}, and metric_list has one"
            yield contradiction(message, (*path, "metric"), None, name)
    for name, found in directions.items() if isinstance(directions, dict) else ():
        if name in known:
            yield from _direction(results, task, known[name], found)
        elif all(one.name in REGISTERED for one in listed):
            message = f"metric_list of {task} has no metric {name!r}"
            yield contradiction(message, ("higher_is_better", task, name), None, found)


def _direction(
    results: Results, task: str, listed: ListedMetric, found: Any
) -> Iterator[Violation]:
    usual = listed.name not in LOWER_IS_BETTER
    is_registered = listed.name in REGISTERED
    is_said = listed.higher_is_better is not None
    # Up to 0.4.12, also in its last development, the harness took higher values for better ones.
    is_either = listed.name == "ter" and not is_said and results.is_before((0, 4, 13))
    expected = listed.higher_is_better if is_said else usual
    if is_registered and is_said and expected.__class__ is bool and expected != usual:
        message = f"{listed.name} of {task} counts as better where it is worse for the harness"
        at = "configs", task, "metric_list", listed.place, "higher_is_better"
        yield contradiction(message, at, usual, expected)._replace(severity=Severity.WARNING)
    is_known = is_said or is_registered
    if is_known and found != expected and not (is_either and found is True):
        message = f"higher_is_better of {listed.name} of {task} is not that of metric_list"
        path = "higher_is_better", task, str(listed.name)
        yield contradiction(message, path, expected, found)


def _aggregation(results: Results, task: str, one: ListedMetric) -> Iterator[Violation]:
    """Report an aggregation of the harness that it does not use for a metric of its own.

    A function of the task may give a metric of any name other values; means stay means.
    """
    registered, declared = REGISTERED.get(one.name or ""), one.aggregation
    is_own = results.has_own_results(task) or bool(one.options.get("hf_evaluate"))
    if registered is None or declared is None or declared not in AGGREGATIONS:
        return
    is_mean = one.name in MEANS and declared in {MEAN, "nanmean"}
    if declared != registered and not is_mean and (one.name in MEANS or not is_own):
        message = f"the harness does not add up {one.name} as {declared}"
        path = "configs", task, "metric_list", one.place, "aggregation"
        yield contradiction(message, path, registered, declared)


def _shots(results: Results, task: str) -> Iterator[Violation]:
    shots = json.member(results.document.get("n-shot"), task)
    config = results.config(task)
    declared = config.get("num_fewshot")
    others = (declared, json.member(config.get("metadata"), "num_fewshot"))
    if shots.__class__ is int and declared.__class__ is int and shots not in others:
        message = f"n-shot of {task} is not num_fewshot of its configuration"
        yield contradiction(message, ("n-shot", task), declared, shots)


def _bound_figures(results: Results, task: str) -> Iterator[Violation]:
    """Report bits per byte that are not the binary logarithm of the perplexity of bytes."""
    if results.has_own_results(task):
        return
    figures = {figure.key: figure for figure in results.figures(task)}
    for key, figure in figures.items():
        other = figures.get(f"byte_perplexity,{figure.filter}")
        if key != f"bits_per_byte,{figure.filter}" or other is None:
            continue
        bits, perplexity = as_decimal(figure.value), as_decimal(other.value)
        if bits is None or perplexity is None or perplexity <= 0:
            continue
        expected = math.log2(perplexity)
        power = math.pow(2.0, bits) if bits < 1024 else math.inf
        if not agrees(bits, expected) and not agrees(perplexity, power):
            message = f"{figure.label} is not the binary logarithm of {other.key}"
            yield contradiction(message, ("results", task, key), expected, figure.value)


def _functions(results: Results, task: str) -> Iterator[Violation]:
    """Report functions that a task of the harness does not have: no score is derived beside them."""
    config = results.config(task)
    for name in list_plain_members(task):
        found = config.get(name)
        steps = [
            step
            for _, one in json_values.objects(found)
            for step in json_values.list_or_empty(one.get("filter"))
        ]
        metrics = [one.get("metric") for _, one in json_values.objects(found)]
        if any(map(is_function, [found, *metrics])) or any(map(needs_code, steps)):
            message = f"{name} of {task} has a function, and that task has none in the harness"
            yield contradiction(message, ("configs", task, name), None, found)


_OF_TASKS: Final = (
    *(_metrics, _shots, _metadata, _identity, _arguments, _check_limit, _bound_figures),
    _functions,
)
"""Checks of the members of one task."""


def _compare(
    message: str, path: tuple[str | int, ...], expected: Any, found: Any
) -> Iterator[Violation]:
    """Report a member that differs from another one; null is absent."""
    if expected is not None and found is not None and found != expected:
        yield contradiction(message, path, expected, found)


def contradiction(
    message: str, path: tuple[str | int, ...], expected: Any = None, found: Any = None
) -> Violation:
    """Return a violation about a member of the results."""
    return LME306.violation(message, path, expected=expected, found=found)


LME306: Final = declare_rule("LME306")

RULES: Final = (LME306,)
