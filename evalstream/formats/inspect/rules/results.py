"""INS3: rules about the results of a log, recomputed from the scores of its samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from evalstream.formats.inspect.views import LogView, list_or_empty
from evalstream.model.finding import Severity, Violation
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
    majority, max, at_least_k, pass_at_k, pass_k_k, collect). Scores that are NaN do not count. Of
    epochs that are tied the first one gives the mode.

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
    What it finds: a metric of the harness that is not the one recomputed from the samples:
    accuracy, mean, std, var, stderr, ci and ci_wilson (also with clusters), grouped, aggregate,
    frequency, krippendorff_alpha, perplexity_per_token and perplexity_per_seq. The declaration of
    the scorer gives the parameters. bootstrap_stderr and the bootstrapped ci are compared with the
    closed forms: an error may differ by 4/√draws and 10 %, the end of an interval by a third of its
    width. Of a metric of one's own that is called an accuracy, a mean or the like, only a value is
    found that no such figure of these scores can have. Of a log without samples, the reductions
    give the scores.

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
    "figure-open",
    Severity.WARNING,
    "claims of a log that its scores neither confirm nor refute",
    """
    What it finds: figures for which there is no formula here (metrics and reducers of other
    packages, metrics that turn scores into numbers in a way of their own), a bootstrap of fewer
    than 100 draws, and figures that need what the log does not have. One finding for each reason;
    it names the first figures.

    Why it matters: the verdict says nothing about these figures. `--strict` fails.

    How to fix: Compute them again with the code that defines them: `inspect score` does so.

    Bad:
        log:
          {
            "eval": {"scorers": [{"metrics": [{"name": "acorn/elo", "options": {}}]}]},
            "results": {"scores": [{"metrics": {"acorn/elo": {
              "name": "acorn/elo", "value": 1200.5, "params": {}
            }}}]}
          }

    Good:
        log:
          {"results": {"scores": [{"metrics": {"stderr": {"value": 0.25}}}]}}
    """,
    former_names=("not-recomputed",),
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
          {
            "eval": {"scorers": [{"metrics": [{"name": "inspect_ai/std"}]}]},
            "results": {"scores": [{"metrics": {"accuracy": {"value": 0.75}}}]}
          }

    Good:
        log:
          {
            "eval": {"scorers": [{"metrics": [{"name": "inspect_ai/accuracy"}]}]},
            "results": {"scores": [{"metrics": {"accuracy": {"value": 0.75}}}]}
          }
    """,
    record=_missing_results,
)


INS306: Final = Rule(
    "INS306",
    "rounded-figure",
    Severity.INFO,
    "a figure of a log was rounded",
    """
    What it finds: a metric that the recomputed one rounds to, and that has one or two digits. The
    harness writes all digits.

    Why it matters: two digits show little of a figure, and someone has edited the log.

    How to fix: Compute the results again with `inspect_ai.log.recompute_metrics`.

    Bad:
        log:
          {"results": {"scores": [{"metrics": {"accuracy": {"value": 0.8}}}]}}

    Good:
        log:
          {"results": {"scores": [{"metrics": {"accuracy": {"value": 0.75}}}]}}
    """,
)


INS307: Final = Rule(
    "INS307",
    "undeclared-result",
    Severity.ERROR,
    "a result is computed in another way than the log declares",
    """
    What it finds: a reducer that eval.config.epochs_reducer does not name, a metric that the scorer
    does not declare, and parameters of a metric or a scorer that its declaration in eval.scorers
    does not have. It is a warning for a reducer where another result has a declared one, because
    `inspect score` may have added that result with other reducers.

    Why it matters: another reducer or parameter gives another figure from the same scores.

    How to fix: Trust the declaration. Compute the results again with
    `inspect_ai.log.recompute_metrics`, or `inspect score --epochs-reducer`, which writes both.

    Bad:
        log:
          {"results": {"scores": [{"reducer": "max"}]}}

    Good:
        log:
          {"results": {"scores": [{"reducer": "mean"}]}}
    """,
)


RULES: Final = (INS301, INS302, INS303, INS304, INS305, INS306, INS307)
