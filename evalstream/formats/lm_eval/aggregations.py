"""How the harness adds up the values of each metric (api/metrics.py of lm_eval 0.4.13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from evalstream.formats.lm_eval.log_tally import MetricValues
from evalstream.formats.lm_eval.views import Results
from evalstream.stats.claims import corpus_metrics, kinds
from evalstream.stats.claims.corpus_metrics import Statistic
from evalstream.stats.claims.kinds import ClaimKind, kind_named


class Aggregation(NamedTuple):
    """A way to add up a metric.

    `takes_pairs` says that values are pairs, and not numbers. `statistic` gives the figure of
    values whose standard error the harness resamples; None where it does not.
    """

    kind: ClaimKind
    takes_pairs: bool = False
    statistic: Statistic | None = None

    def fits(self, values: MetricValues) -> bool:
        """Return whether the values are what it needs."""
        odd = values.others + values.texts
        return not odd and values.pairs == (values.rows if self.takes_pairs else 0)


MEAN: Final = "mean"
BYPASS: Final = "bypass"
NOT_SCORED: Final = 999
"""What the harness writes for the metric bypass, which stands for answers without scores."""

AGGREGATIONS: Final[Mapping[str, Aggregation]] = {
    MEAN: Aggregation(kinds.MEAN),
    "nanmean": Aggregation(corpus_metrics.NAN_MEAN, statistic=corpus_metrics.nan_mean),
    "median": Aggregation(corpus_metrics.UPPER_MEDIAN, statistic=corpus_metrics.upper_median),
    "perplexity": Aggregation(corpus_metrics.PERPLEXITY, statistic=corpus_metrics.perplexity),
    "weighted_perplexity": Aggregation(corpus_metrics.WEIGHTED_PERPLEXITY, takes_pairs=True),
    "bits_per_byte": Aggregation(corpus_metrics.BITS_PER_BYTE, takes_pairs=True),
    "brier_score": Aggregation(corpus_metrics.BRIER),
    "f1": Aggregation(corpus_metrics.F1, True, corpus_metrics.binary_f1),
    "matthews_corrcoef": Aggregation(corpus_metrics.MATTHEWS, True, corpus_metrics.matthews),
    "bleu": Aggregation(corpus_metrics.BLEU, True),
    "chrf": Aggregation(corpus_metrics.CHRF, True),
    "chrf++": Aggregation(corpus_metrics.CHRF_PLUS, True),
    "ter": Aggregation(corpus_metrics.TER, True),
}
"""The aggregations of the harness by name."""

REGISTERED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match"), MEAN),
    "brier_score": "brier_score",
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    BYPASS: BYPASS,
    "mcc": "matthews_corrcoef",
    "f1": "f1",
    "bleu": "bleu",
    "chrf": "chrf",
    "chrf++": "chrf++",
    "ter": "ter",
}
"""The aggregation of each metric that the harness defines."""

LOWER_IS_BETTER: Final = frozenset(
    {"brier_score", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter"}
)
"""Metrics of the harness whose lower values are better; of all others the higher ones."""

MEANS: Final = frozenset(name for name, used in REGISTERED.items() if used == MEAN)
"""Metrics of the harness that are means."""

_AVERAGE: Final = Aggregation(kinds.AVERAGE)
_UNKNOWN: Final = Aggregation(kinds.UNKNOWN)


class Way(NamedTuple):
    """How a task adds up a metric, and whether its configuration says so.

    `is_own` says that a function of the task does.
    """

    aggregation: Aggregation
    is_sure: bool
    is_own: bool = False


def find_aggregation(results: Results, task: str, metric: str, values: MetricValues) -> Way:
    """Return how a task adds up a metric with these values.

    The declared aggregation comes first, then that of the metric in the harness. Source:
    `_compute_task_aggregations` in evaluator_utils.py of lm_eval.
    """
    listed = results.listed_metric(task, metric)
    registered = AGGREGATIONS.get(REGISTERED.get(metric, MEAN), _UNKNOWN)
    if listed is None:
        return _find_unlisted(results, task, metric, registered, values)
    if listed.aggregation is None:
        return Way(registered, True)
    declared = AGGREGATIONS.get(listed.aggregation)
    if declared is None:
        is_average = kind_named(metric) in {kinds.MEAN, kinds.AVERAGE}
        return Way(_AVERAGE if is_average else _UNKNOWN, False, is_own=True)
    is_usable = declared.fits(values) or not registered.fits(values)
    return Way(declared if is_usable else registered, True)


def _find_unlisted(
    results: Results, task: str, metric: str, registered: Aggregation, values: MetricValues
) -> Way:
    """Return how a metric is added up that the list of the task does not name.

    The metric of a function of the task is a mean; several figures of one metric are added up as
    that metric is. A task in Python may have no list.
    """
    entries = results.metric_list(task)
    if entries is None:
        is_default = metric in REGISTERED and registered.fits(values)
        return Way(registered if is_default else _UNKNOWN, metric in MEANS)
    is_mean = results.has_own_results(task) or all(
        (one.aggregation or REGISTERED.get(one.name or "", "")) == MEAN for one in entries
    )
    return Way(AGGREGATIONS[MEAN] if is_mean else _UNKNOWN, is_mean)


def ordered_metrics(results: Results, task: str) -> frozenset[str]:
    """Return the metrics of a task whose numbers are added up in their order."""
    ordered = {"nanmean", "median", "perplexity"}
    return frozenset(
        one.name
        for one in results.metric_list(task) or ()
        if one.name is not None
        and not ordered.isdisjoint({one.aggregation, REGISTERED.get(one.name)})
    ) | {"perplexity"}
