"""INS3: rules about the results of a log, recomputed from the scores of its samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from evalstream.formats.inspect.views import LogView, list_or_empty
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import counted
from evalstream.parsing.json import member, text_or_none
from evalstream.rules.base import Rule


def _missing_results(log: LogView) -> Iterator[Violation]:
    """Report scorers whose scores do not appear in the results, and results without scores."""
    if not log.is_finished or not log.samples_known:
        return
    scorers = log.store.scorers()
    results = [one.value for one in log.results_scores]
    told = {text_or_none(one.get("scorer", one.get("name"))) for one in results}
    if scorers and not told:
        message = "the samples have scores, but the log has no results"
        place = log.at("results") if "results" in log.header else log.base
        yield INS305.violation(message, pointer=place or None)
        return
    for name in scorers:
        if name and name not in told:
            message = f"the samples have scores of {name}, but the results do not"
            yield INS305.violation(message, pointer=log.at("results"))
    yield from _missing_metrics(log)


def _missing_metrics(log: LogView) -> Iterator[Violation]:
    """Report declared metrics of the harness that no result of their scorer has."""
    for scorer in list_or_empty(log.eval.get("scorers")):
        name = member(scorer, "name")
        found = [one for one in log.results_scores if name and one.value.get("scorer") == name]
        told = set(_told_in(one.value.get("metrics") for one in found))
        for metric in list_or_empty(member(scorer, "metrics")) if found else ():
            full = str(member(metric, "name") or "")
            short = full.removeprefix("inspect_ai/")
            if full and short not in told and short not in _OF_ANY_SHAPE:
                message = f"the metric {short} of {name} is declared, but not in the results"
                place = log.place_of_score(found[0].place, "metrics")
                yield INS305.violation(message, pointer=place)


_OF_ANY_SHAPE: Final = ("frequency", "grouped")
"""Metrics that give one value for each category, and so none without categories."""


def _told_in(results: Iterable[Any]) -> Iterator[str | None]:
    """Iterate over the names and groups of the metrics in some results."""
    for metrics in results:
        for one in metrics.values() if isinstance(metrics, dict) else ():
            yield from (text_or_none(member(one, key)) for key in ("name", "group"))


INS301: Final = Rule(
    "INS301",
    "reduction-mismatch",
    Severity.ERROR,
    "a reduced score is not the one that follows from the epochs of its sample",
    """
    What it finds: reductions of a scorer that lack a sample, have one that the log does not have,
    or whose value differs from the one that the reducer gives over the epochs (mean, median, mode,
    max, at_least_k, pass_at_k, pass_k_k). NaN is left out first. Where epochs are tied, each of
    their values counts as the mode.

    Why it matters: the metrics are computed from these values.

    How to fix: Compute the results again with `inspect_ai.log.recompute_metrics`, or `inspect
    score`.

    Bad:
        log:
          {"reductions": [{"scorer": "match", "samples": [{"sample_id": 2, "value": 0.75}]}]}

    Good:
        log:
          {"reductions": [{"scorer": "match", "samples": [{"sample_id": 2, "value": 0.5}]}]}
    """,
)


INS302: Final = Rule(
    "INS302",
    "metric-mismatch",
    Severity.ERROR,
    "a metric is not the one that follows from the scores of the samples",
    """
    What it finds: accuracy, mean, std, var, stderr (also with clusters) and grouped metrics that
    differ by more than 1e-9 from those recomputed from the samples; a warning in logs that do not
    declare their metrics, where the name alone says what was computed.

    Why it matters: this is the figure that gets published.

    How to fix: Trust the samples, if nothing else is wrong with the log: compute the results again
    with `inspect_ai.log.recompute_metrics`.

    Bad:
        log:
          {"results": {"scores": [{"metrics": {"accuracy": {"value": 0.95}}}]}}

    Good:
        log:
          {"results": {"scores": [{"metrics": {"accuracy": {"value": 0.75}}}]}}
    """,
)


INS303: Final = Rule(
    "INS303",
    "scored-count-mismatch",
    Severity.ERROR,
    "scored_samples or unscored_samples is not the number of samples with, or without, a score",
    """
    What it finds: a scored_samples that is not the number of reduced scores of the result that are
    not NaN, and an unscored_samples that is not the number of the others.

    Why it matters: a result over few samples looks like one over many.

    How to fix: Compute the results again with `inspect_ai.log.recompute_metrics`.

    Bad:
        log:
          {"results": {"scores": [{"scored_samples": 20}]}}

    Good:
        log:
          {"results": {"scores": [{"scored_samples": 2}]}}
    """,
)


INS304: Final = Rule(
    "INS304",
    "not-recomputed",
    Severity.INFO,
    "figures of a log that could not be recomputed",
    """
    What it finds: metrics and reductions for which there is no formula here: those of other
    packages, those that draw random numbers (bootstrap_stderr), those with parameters of their own,
    and scores whose shape the formula does not know. The message names them.

    Why it matters: a verdict says nothing about these figures.

    How to fix: Compute them again with the code that defines them: `inspect score` does so.

    Bad:
        log:
          {"results": {"scores": [{"metrics": {"bootstrap_stderr": {"value": 0.2}}}]}}

    Good:
        log:
          {"results": {"scores": [{"metrics": {"stderr": {"value": 0.25}}}]}}
    """,
)


INS305: Final = Rule(
    "INS305",
    "missing-result",
    Severity.ERROR,
    "a finished log lacks a result that its samples have scores for",
    """
    What it finds: a scorer whose scores the samples have and the results do not, and a metric that
    the log declares for a scorer and its result lacks.

    Why it matters: results that did not please were removed.

    How to fix: Compute the results again with `inspect_ai.log.recompute_metrics`.

    Bad:
        log:
          {"results": {"scores": []}}

    Good:
        log:
          {"results": {"scores": [{"name": "match", "scorer": "match"}]}}
    """,
    record=_missing_results,
)


RULES: Final = (INS301, INS302, INS303, INS304, INS305)


def not_recomputed(log: LogView, reasons: dict[tuple[str, str], int]) -> Iterator[Violation]:
    """Report figures that were not recomputed, by name and reason."""
    for (name, reason), number in sorted(reasons.items()):
        message = f"{counted(number, 'figure')} of {name} not recomputed: {reason}"
        yield INS304.violation(message, pointer=log.at("results"))


def comparable(value: Any) -> bool:
    """Tell whether a claimed figure is a number, or null for NaN."""
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
