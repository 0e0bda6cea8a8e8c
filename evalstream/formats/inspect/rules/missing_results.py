"""INS305: results, and figures of results, that a finished log lacks."""

from __future__ import annotations

from collections.abc import Iterator, Set
from fnmatch import fnmatchcase
from typing import Any, Final

from evalstream.formats.inspect.metrics import (
    NAMED_SINCE,
    OURS,
    find_silent_metrics,
    result_metrics,
    short_name,
)
from evalstream.formats.inspect.results import is_scored_later, iterate_counted, read_scorer
from evalstream.formats.inspect.scorers import KNOWN
from evalstream.formats.inspect.views import LogView
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import canonical, member, short_text, text_or_none
from evalstream.parsing.json_values import Numbered, list_or_empty, objects
from evalstream.rules.base import declare_rule
from evalstream.stats.claims.reducers import is_missing


def _missing_results(log: LogView) -> Iterator[Violation]:
    """Report scorers whose scores do not appear in the results, and results without scores."""
    if not log.is_finished or not log.samples_known:
        return
    of_task, declared, scorers = log.task_metrics, log.declared_scorers, log.store.scorers()
    if of_task is None:
        # A scorer that is declared without metrics has no result.
        scorers = [one for one in scorers if member(declared.get(one), "metrics") != []]
    results = [one.value for one in log.results_scores]
    told = {text_or_none(read_scorer(one)) for one in results}
    if scorers and not told:
        place = log.at("results") if "results" in log.header else log.base
        yield INS305.violation("the samples have scores, but the log has no results", place or None)
        return
    untold = [name for name in scorers if name and name not in told]
    is_later = bool(untold) and any(is_scored_later(log, one) for one in (*told, *scorers))
    for name in untold:
        message = f"the samples have scores of {name}, but the results do not"
        # Of several scorers of one name the results of parts may have the name alone.
        alike = text_or_none(member(declared.get(name), "name")) or name
        is_alike = alike.rpartition("/")[2] in told
        severity = Severity.WARNING if is_later or is_alike else None
        yield INS305.violation(message, log.at("results"), severity=severity)
    yield from _unused_scorers(log)
    yield from _uneven_results(log)
    by_scorer: dict[Any, list[Numbered]] = {}
    for one in log.results_scores:
        by_scorer.setdefault(text_or_none(one.value.get("scorer")), []).append(one)
    for name, scorer in log.declared_scorers.items():
        found = by_scorer.get(name, [])
        figures = [metric for one in found for metric in result_metrics(one.value)]
        # Groups are named without the package.
        names, groups = {one.name for one in figures}, {one.formula for one in figures}
        silent = set[str]().union(*(find_silent_metrics(log, one.value) for one in found))
        of_scorer = member(scorer, "metrics")
        for metric in list_or_empty(of_scorer if of_task is None else of_task) if found else ():
            full = short_text(member(metric, "name") or "")
            short = full.removeprefix(OURS)
            is_told = short in names or full.rpartition("/")[2] in groups
            if full and not is_told and not (short in _OF_ANY_SHAPE and _may_be_empty(log, name)):
                yield INS305.violation(
                    f"the metric {short} of {name} is declared, but not in the results",
                    log.place_of_score(found[0].place, "metrics"),
                    severity=Severity.WARNING if full in silent else None,
                )
        if found and of_task is None:
            yield from _missing_parts(
                log, name, of_scorer, {text_or_none(one.value.get("name")) for one in found}
            )


def _unused_scorers(log: LogView) -> Iterator[Violation]:
    """Warn of scorers of the harness that gave no score; only one's own may do so.

    Earlier releases declare the first scorers where `inspect score` has replaced their scores. It
    declares a scorer again that a run without scoring has declared.
    """
    used = [log.declared_scorers.get(one) for one in log.store.scorers()]
    for index, one in objects(log.eval.get("scorers")) if used else ():
        name = text_or_none(one.get("name"))
        if name in KNOWN and one not in used and log.release >= NAMED_SINCE:
            message = f"the log declares the scorer {name}, and no sample has a score of it"
            place = log.at("eval", "scorers", index)
            yield INS305.violation(message, place, severity=Severity.WARNING)


_BY_VALUES: Final = "frequency"
_OF_ANY_SHAPE: Final = (_BY_VALUES, "grouped")
"""Metrics that give one value for each category, and so none without categories."""


def _may_be_empty(log: LogView, scorer: str) -> bool:
    """Tell whether a metric that gives a figure for each category may have given none.

    It gives none without scores. Earlier releases do not say which figures are those of a group.
    """
    if log.is_before(NAMED_SINCE):
        return True
    return all(is_missing(one.value) for one in iterate_counted(log, scorer))


def _missing_parts(log: LogView, scorer: str, metrics: Any, told: Set[Any]) -> Iterator[Violation]:
    """Report parts of scores for which metrics are declared, and that have no result.

    Metrics are declared by patterns of the names of parts; a part that some score lacks has none.
    Source: resolve_glob_metric_keys in _eval/task/results.py of inspect_ai 0.3.60 to 0.3.285.
    """
    maps = [one for one in [metrics, *list_or_empty(metrics)] if isinstance(one, dict)]
    patterns = [key for one in maps if not isinstance(one.get("name"), str) for key in one]
    lacking: set[str] | None = None
    scores = (one.value for one in iterate_counted(log, scorer) if isinstance(one.value, dict))
    for parts in scores if patterns else ():
        if lacking is None:
            untold = parts.keys() - told if len(patterns) * len(parts) <= _MOST_MATCHED else ()
            lacking = {key for key in untold if any(fnmatchcase(key, each) for each in patterns)}
        lacking &= parts.keys()
        if not lacking:
            return
    # Earlier releases do not declare the metrics with which `inspect score` scores again.
    severity = Severity.WARNING if log.is_before(NAMED_SINCE) else None
    for part in sorted(lacking or ()):
        message = f"the scores of {scorer} have a part {short_text(part)}, and no result is of it"
        yield INS305.violation(message, log.at("results"), severity=severity)


_MOST_MATCHED: Final = 10**6
"""Most patterns of all names that are tried."""


def _uneven_results(log: LogView) -> Iterator[Violation]:
    """Report what a scorer has by some reducers and not by others.

    The harness computes the results of a scorer with each reducer, and lists the reduced scores
    of all of them. Source: eval_results in _eval/task/results.py of inspect_ai 0.3.60 to 0.3.285.
    """
    reducers: dict[bytes, set[str]] = {}
    for _, one in (*objects(log.reductions), *log.results_scores):
        if reducer := text_or_none(one.get("reducer")):
            reducers.setdefault(canonical(one.get("scorer")), set()).add(reducer)
    for scorer, found in _group_metrics(log).items():
        for name in dict.fromkeys(name for _, name in found):
            named = set[str]().union(*(own for (_, other), own in found.items() if other == name))
            for reducer in sorted(reducers[scorer]):
                own = found.get((reducer, name))
                for what in ["result"] if own is None else sorted(named - own):
                    words = f"{short_text(name)} has no {what} by the reducer {short_text(reducer)}"
                    yield INS305.violation(words, log.at("results"))
    # Where scorers differ, `inspect score` may have added one of them with other reducers.
    declared, found_in_all = log.declared_reducers or [], set(map(frozenset, reducers.values()))
    for known in found_in_all if len(found_in_all) == 1 else ():
        for reducer in declared if known.intersection(declared) else ():
            if reducer not in known:
                words = (
                    f"the log declares the reducer {short_text(reducer)}, and has no result by it"
                )
                yield INS305.violation(words, log.at("results"))


def _group_metrics(log: LogView) -> dict[bytes, dict[tuple[str, str], set[str]]]:
    """Return the harness's metrics in results that name a reducer, by scorers.

    They are those of each reducer and name, without one whose figures depend on the scores.
    """
    found: dict[bytes, dict[tuple[str, str], set[str]]] = {}
    for _, one in log.results_scores:
        reducer, name = (text_or_none(one.get(key)) for key in ("reducer", "name"))
        if reducer is not None and name is not None:
            of_scorer = found.setdefault(canonical(read_scorer(one)), {})
            known = (short_name(None, metric) for metric in result_metrics(one))
            own = of_scorer.setdefault((reducer, name), set())
            own.update(metric for metric in known if metric not in (None, _BY_VALUES))
    return found


INS305: Final = declare_rule("INS305", record=_missing_results)

RULES: Final = (INS305,)
"""Rules over the part of a log without samples and the stored scores of its samples."""
