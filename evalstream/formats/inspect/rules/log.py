"""INS1 and INS3: rules about a log as a whole: its structure, its run and its results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from evalstream.formats.inspect.metrics import (
    NAMED_SINCE,
    OURS,
    find_declaration,
    find_unnamed_figures,
    has_params,
    list_declared,
    result_metrics,
)
from evalstream.formats.inspect.results import (
    UNREDUCED,
    read_scorer,
    result_rows,
    scorer_in_samples,
)
from evalstream.formats.inspect.scorers import OPTIONS
from evalstream.formats.inspect.values import is_count
from evalstream.formats.inspect.views import DECLARED_SINCE, LogView
from evalstream.formats.releases import is_released
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import canonical, member, short_text, text_or_none, type_name
from evalstream.parsing.json_values import object_or_empty, objects
from evalstream.rules.base import declare_rule
from evalstream.stats.claims.reducers import CannotCompute, is_missing

INS101: Final = declare_rule("INS101")
INS102: Final = declare_rule("INS102")
INS103: Final = declare_rule("INS103")
INS104: Final = declare_rule("INS104")


STATES: Final = ("started", "success", "cancelled", "error")


def _check_finished(log: LogView) -> Iterator[Violation]:
    if log.status in STATES and not log.is_finished:
        message = f"the run did not finish successfully: its status is {log.status}"
        yield INS105.violation(message, log.at("status"), expected="success", found=log.status)
    if log.is_finished:
        reason = _reason_of_failure(log)
        if reason is not None:
            message = f"the status is success, but {reason}"
            yield INS105.violation(message, log.at("status"), expected="error", found=log.status)
        yield from _invalid(log)


def _invalid(log: LogView) -> Iterator[Violation]:
    """Report a log with samples that someone invalidated, as the harness would run it again."""
    if not log.store.invalid and log.header.get("invalidated") is not True:
        return
    number = count_noun(log.store.invalid, "sample") + " of it" if log.store.invalid else "it"
    message = f"the log was invalidated: {number} must be run again"
    place, found = log.at("invalidated"), log.header.get("invalidated")
    yield INS105.violation(message, place, found=found, severity=Severity.WARNING)


def _reason_of_failure(log: LogView) -> str | None:
    """Return why a run cannot have finished successfully, None if it can.

    Source: _eval/task/error.py of inspect_ai 0.3.285.
    """
    if log.header.get("error") is not None:
        return "the log has the error of its run"
    failed, allowed = log.store.failed, log.config.get("fail_on_error")
    if not failed or allowed is False:
        return None
    stopped = f"{count_noun(failed, 'sample')} ended with an error"
    if allowed is None or allowed is True:
        return f"{stopped}, and fail_on_error does not allow one"
    if not isinstance(allowed, (int, float)):
        return None
    # Scoring again counts the samples that the log has, and not those that were to be run.
    declared = 0 if log.sample_ids is None else len(log.sample_ids) * log.epochs
    total: Any = log.results.get("total_samples")
    total = max(total, declared) if is_count(total) else None
    most = allowed if allowed >= 1 else allowed * total if is_count(total) else math.inf
    return f"{stopped}, and fail_on_error is {allowed}" if failed >= most else None


def _check_form(log: LogView) -> Iterator[Violation]:
    if log.status not in STATES:
        message, place = "status is not one of those that the harness writes", log.at("status")
        if "status" in log.header:
            yield INS107.violation(
                message, place, expected={"enum": list(STATES)}, found=log.status
            )
        else:
            yield INS107.violation("status is missing", log.base)
    parts = (("eval", dict, False), ("plan", dict, True), ("results", dict, True))
    for name, kind, may_lack in (*parts, ("stats", dict, True)):
        found = log.header.get(name)
        if not isinstance(found, kind) and not (may_lack and found is None):
            message = f"{name} must be an object"
            place = log.at(name) if name in log.header else log.base
            yield INS107.violation(message, place, expected={"type": "object"})
    scores = log.results.get("scores")
    if scores is not None and not isinstance(scores, list):
        message = f"scores must be a list, not {type_name(scores)}"
        yield INS107.violation(message, log.at("results", "scores"))
    for index, one in enumerate(scores if isinstance(scores, list) else ()):
        if not isinstance(member(one, "name"), str) or not isinstance(one.get("metrics"), dict):
            message = "a result must have a name and metrics"
            yield INS107.violation(message, log.at("results", "scores", index))
    yield from _unknown_options(log)


def _unknown_options(log: LogView) -> Iterator[Violation]:
    """Warn of options that a scorer of the harness does not have; one's own may have its name."""
    for index, one in objects(log.eval.get("scorers")):
        known = OPTIONS.get(text_or_none(one.get("name")) or "")
        if known is None:
            continue
        for name, value in object_or_empty(one.get("options")).items():
            if value not in known.get(name, ()):
                message = "the harness's scorer takes no such option, so that no score is derived"
                place = log.at("eval", "scorers", index, "options", name)
                yield INS107.violation(message, place, found=value, severity=Severity.WARNING)


def _check_release(log: LogView) -> Iterator[Violation]:
    """Report a release that is earlier than members show, but for a development version."""
    told = member(log.eval.get("packages"), "inspect_ai")
    if is_released(told) and log.stated_release < log.release:
        shown = ".".join(map(str, log.release))
        message = f"members of the log show that release {shown} or a later one ran it"
        yield INS109.violation(message, log.at("eval", "packages", "inspect_ai"), found=told)


INS105: Final = declare_rule("INS105", record=_check_finished)
INS106: Final = declare_rule("INS106")
INS107: Final = declare_rule("INS107", record=_check_form)
INS108: Final = declare_rule("INS108")
INS109: Final = declare_rule("INS109", record=_check_release)


def _contradictions(log: LogView) -> Iterator[Violation]:
    """Report results and reductions that the declarations do not have."""
    for index, result in log.results_scores:
        yield from _of_result(log, index, result)
    for index, one in objects(log.reductions):
        place = f"{log.reductions_at}/{index}/reducer"
        yield from _of_reducer(log, text_or_none(one.get("reducer")), one.get("scorer"), place)
    yield from _of_headline(log)


def _of_result(log: LogView, index: int, result: Mapping[str, Any]) -> Iterator[Violation]:
    scorer = read_scorer(result)
    metrics = list(result_metrics(result))
    kinds = {one.formula for one in metrics}
    reducer = text_or_none(result.get("reducer"))
    known, unnamed = list_declared(log, scorer), find_unnamed_figures(log, result)
    # Metrics that the harness does not define may take the scores of each epoch, too.
    ours = {one.name.removeprefix(OURS) for one in known or () if one.is_ours}
    is_unreduced = bool(kinds) and all(one in UNREDUCED or one not in ours for one in kinds)
    # Earlier releases do not declare the metrics with which `inspect score` scores again.
    is_later = log.is_before(NAMED_SINCE) and log.task_metrics is None
    if reducer is not None or not is_unreduced:
        yield from _of_reducer(log, reducer, scorer, log.place_of_score(index, "reducer"))
    yield from _of_scorer(log, result, index, scorer)
    yield from _of_names(log, result, index, scorer)
    for metric in metrics if known is not None else ():
        found = find_declaration(log, metric, scorer)
        if found is None:
            place = log.place_of_score(index, "metrics", metric.key)
            names = ", ".join(dict.fromkeys(one.name for one in known or ())) or "none"
            yield INS307.violation(
                f"the scorer {short_text(scorer)} does not declare the metric {metric.formula}",
                place,
                expected=names,
                found=metric.formula,
                severity=Severity.WARNING if is_later or metric.key in unnamed else None,
            )
        elif not _fits_declaration(log, found.params, metric.params):
            yield INS307.violation(
                f"the scorer {short_text(scorer)} declares {metric.formula} with other parameters",
                log.place_of_score(index, "metrics", metric.key, "params"),
                expected=dict(found.params),
                found=dict(metric.params),
            )


def _of_names(
    log: LogView, result: Mapping[str, Any], index: int, scorer: Any
) -> Iterator[Violation]:
    """Report a result that has neither the name of its scorer nor that of a part of its scores.

    Also metrics of other names than their keys, which have a name without its package, and what
    tells it from others. Source: compute_eval_scores in _eval/task/results.py of inspect_ai 0.3.25
    to 0.3.285.
    """
    for metric in result_metrics(result):
        if metric.name.rpartition("/")[2] not in metric.key:
            message = f"the metric {short_text(metric.key)} has the name of another"
            place = log.place_of_score(index, "metrics", metric.key, "name")
            yield INS307.violation(message, place, expected=metric.key, found=metric.name)
    name, has_scores = result.get("name"), False
    if name == scorer:
        return
    with suppress(CannotCompute):
        for row in result_rows(log, result)():
            if isinstance(row.value, dict) and text_or_none(name) in row.value:
                return
            has_scores = has_scores or not is_missing(row.value)
        if has_scores:
            message = f"no score of the scorer {short_text(scorer)} has a part of this name"
            place = log.place_of_score(index, "name")
            yield INS307.violation(message, place, expected=scorer, found=name)


def _fits_declaration(log: LogView, declared: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    """Tell whether results have the declared parameters; those of early releases may lack some."""
    is_whole = log.release >= NAMED_SINCE
    return has_params(declared, params) and (not is_whole or has_params(params, declared))


def _of_reducer(log: LogView, reducer: str | None, scorer: Any, place: str) -> Iterator[Violation]:
    declared = log.declared_reducers
    if reducer in (declared or (None, "mean")) or (reducer is None and declared == ["mean"]):
        return
    named = ", ".join(declared or ()) or "none"
    # `inspect score` appends results, and the log then declares the reducers of the last scoring.
    is_added = bool(log.derive(_list_reduced) - {canonical(scorer)})
    yield INS307.violation(
        f"the scores are reduced by {reducer or 'the mean'}, and the log declares {named}",
        place,
        expected=declared,
        found=reducer,
        severity=Severity.WARNING if is_added else None,
    )


def _list_reduced(log: LogView) -> frozenset[bytes]:
    """Return the scorers, as canonical JSON, of results by reducers that the log declares."""
    declared = log.declared_reducers or ()
    reduced = (one for _, one in log.results_scores if one.get("reducer") in declared)
    return frozenset(canonical(one.get("scorer")) for one in reduced)


def _of_headline(log: LogView) -> Iterator[Violation]:
    """Report a headline that is not the declared metric, or else the first one of all results.

    Without a declaration it may be the choice of another release if the results have it. Source:
    log/_headline.py of inspect_ai 0.3.285.
    """
    declared, stated = log.eval.get("headline_metric"), log.results.get("headline")
    results = [one for _, one in log.results_scores]
    found = _find_headline(results, object_or_empty(declared)) or _find_headline(results, {})
    if not isinstance(stated, dict) or found is None:
        return
    shown = {name: stated.get(name) for name in found}
    if shown != found:
        is_there = _find_headline(results, stated) is not None
        yield INS307.violation(
            "the headline is not the metric that the log declares for it, by default the first one"
            if is_there
            else "the headline is a metric that the results do not have",
            log.at("results", "headline"),
            expected=found,
            found=shown,
            severity=Severity.WARNING if is_there and declared is None else None,
        )


def _find_headline(
    results: list[dict[str, Any]], wanted: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the full name of the metric that the parts of a name mean, None without one."""
    for part, name in (("reducer", "reducer"), ("scorer", "scorer"), ("score", "name")):
        if wanted.get(part) is not None:
            results = [one for one in results if one.get(name) == wanted[part]]
    metric = wanted.get("metric")
    for one in results if metric is not None else results[:1]:
        metrics = object_or_empty(one.get("metrics"))
        if metrics and (metric is None or metric in [*metrics]):
            names = {"scorer": one.get("scorer"), "score": one.get("name")}
            chosen = next(iter(metrics)) if metric is None else metric
            return {**names, "metric": chosen, "reducer": one.get("reducer")}
    return None


def _of_scorer(
    log: LogView, result: Mapping[str, Any], index: int, scorer: Any
) -> Iterator[Violation]:
    """Report parameters of a result's scorer that its declaration does not have."""
    name = scorer_in_samples(log, scorer) if log.store.count else scorer
    found = log.declared_scorers.get(name) if isinstance(name, str) else None
    params, options = result.get("params"), object_or_empty(member(found, "options"))
    if found is None or not isinstance(params, dict) or _fits_declaration(log, options, params):
        return
    yield INS307.violation(
        f"the scorer {scorer} is declared with other parameters",
        log.place_of_score(index, "params"),
        expected=options,
        found=params,
        severity=Severity.WARNING if log.is_before(DECLARED_SINCE) else None,
    )


INS301: Final = declare_rule("INS301")
INS302: Final = declare_rule("INS302")
INS303: Final = declare_rule("INS303")
INS304: Final = declare_rule("INS304")
INS306: Final = declare_rule("INS306")
INS307: Final = declare_rule("INS307", record=_contradictions)


RULES: Final = (
    *(INS101, INS102, INS103, INS104, INS105, INS106, INS107, INS108, INS109),
    *(INS301, INS302, INS303, INS304, INS306, INS307),
)
OF_LOGS: Final = (INS105, INS107, INS109, INS307)
"""Rules over the part of a log without samples."""
