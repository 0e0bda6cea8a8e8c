"""How the rows of a task were asked for, scored and added up, by its configuration.

The harness adds up metrics as api/metrics.py of lm_eval 0.4.13 does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from evalstream.formats.lm_eval.metric_values import MetricValues
from evalstream.formats.lm_eval.questions import FIELD, MARKUP
from evalstream.formats.lm_eval.views import Results
from evalstream.formats.lm_eval.written_values import is_function
from evalstream.model.claim import Reason
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.parsing.json import member
from evalstream.parsing.json_values import is_texts, objects
from evalstream.stats.claims import corpus_metrics, kinds
from evalstream.stats.claims.corpus_metrics import TRANSLATION, Statistic, has_translation_metrics
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
"""The figure of the metric bypass in the harness, which stands for answers without scores."""

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

TRANSLATIONS: Final = frozenset({"bleu", "chrf", "chrf++", "ter"})
"""Metrics of the harness that compare texts with translations."""

_SORTED_SINCE: Final = (0, 4, 12)
"""The release from which on the median sorts its values (`median` in api/metrics.py)."""

_MIDDLE: Final = Aggregation(corpus_metrics.MIDDLE_VALUE, statistic=corpus_metrics.middle_value)
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
    if listed.aggregation == "median" and results.is_before(_SORTED_SINCE):
        declared = _MIDDLE
    if declared is None:
        is_average = kind_named(metric) in {kinds.MEAN, kinds.AVERAGE}
        return Way(_AVERAGE if is_average else _UNKNOWN, False, is_own=True)
    is_usable = declared.fits(values) or not registered.fits(values)
    return Way(declared if is_usable else registered, True)


def left_open(way: Way) -> Reason | None:
    """Return why only the rows themselves tell whether a figure can be confirmed, or None."""
    if way.aggregation.kind.name in TRANSLATION and not has_translation_metrics():
        return Reason.PACKAGE
    return Reason.UNJOINED if way.aggregation is _UNKNOWN else None


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


CHOICE: Final = "multiple_choice"
LIKELIHOOD: Final = "loglikelihood"
ROLLING: Final = "loglikelihood_rolling"
GENERATE: Final = "generate_until"

TAKE_FIRST: Final = '[{"function": "take_first"}]'
"""The steps of the filter of tasks that declare none, as JSON."""

DEFAULT_FILTERS: Final = (("none", TAKE_FIRST),)


class ScoringPlan(DataClass, frozen=True):
    """How the rows of a task were scored, by its configuration.

    `metrics` are those that the harness itself scores, with the JSON of their options; with
    `is_own` a function of the task scored them. `filters` are the chains by name, as JSON.
    `delimiter` stands before each choice, but not `is_chat`. `ordered` names metrics whose numbers
    are added up in order. `question` is the template of the question.
    Where prompts have nothing else but `shots` examples, each has `separator` after it; one is
    missing where a doc or its equal was drawn for itself, which `draws_own` says may be.
    `generation` is the JSON of the arguments of the generation, `repeats` the number of answers.
    `openings` are texts that all prompts have, `choices` the choices that all docs share,
    `choice_field` names what may be the member of docs with theirs. `gold` is the member of docs
    that is their target, or with `is_gold_text` the target itself where docs have no such member;
    if `is_numbered`, a target is the number of a choice.
    """

    output_type: str = ""
    metrics: tuple[tuple[str, str], ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    delimiter: str = " "
    is_chat: bool = False
    ordered: frozenset[str] = frozenset()
    question: str | None = None
    shots: int | None = None
    draws_own: bool = False
    separator: str = ""
    generation: str | None = None
    repeats: int | None = None
    openings: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    choice_field: str | None = None
    gold: str | None = None
    is_gold_text: bool = False
    is_numbered: bool = False
    is_own: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether rows have nothing to be compared with."""
        return not self.metrics and not self.filters

    def list_choices(self, doc: Any) -> Sequence[str]:
        """Return the choices of a doc, none where the configuration does not name them."""
        listed = self.choices or (self.choice_field and member(doc, self.choice_field))
        return listed if isinstance(listed, tuple) or is_texts(listed) else ()

    @property
    def has_contents(self) -> bool:
        """Whether a doc has several rows, which show the same doc, requests and answers."""
        return len(self.filters) > 1

    @cached_property
    def members(self) -> Sequence[str]:
        """The members that each doc has, as templates name them and the harness found them."""
        named = FIELD.findall(self.question or "")
        named += [self.choice_field] if self.choice_field and self.has_choices else []
        named += [self.gold] if self.gold is not None and not self.is_gold_text else []
        return list(dict.fromkeys(named))

    @property
    def has_choices(self) -> bool:
        """Whether the configuration says what was asked for: the choices of a doc."""
        return self.output_type == CHOICE and bool(self.filters)

    @property
    def is_telling(self) -> bool:
        """Whether one row tells how all were asked for."""
        told = (self.question, self.generation, self.repeats)
        is_choice = self.output_type == CHOICE and not self.is_chat
        return any(one is not None for one in told) or bool(self.openings) or is_choice


def plan_scoring(results: Results, task: str | None) -> ScoringPlan:
    """Return the plan by which the rows of a task were scored."""
    if task is None:
        every = (ordered_metrics(results, name) for name in results.tasks)
        return ScoringPlan(ordered=frozenset().union(*every))
    config, listed = results.config(task), results.metric_list(task)
    is_own, output_type = results.has_own_results(task), str(config.get("output_type"))
    is_chat = results.document.get("chat_template") is not None
    given, found = config.get("generation_kwargs"), config.get("doc_to_choice")
    found = list(found.values()) if isinstance(found, dict) else found
    is_generated = listed is not None and output_type == GENERATE and isinstance(given, dict)
    is_plain = isinstance(found, list) and all(
        isinstance(one, str) and not any(mark in one for mark in MARKUP) for one in found
    )
    return ScoringPlan(
        output_type,
        () if is_own and output_type != CHOICE else tuple(_metrics(results, task)),
        tuple(filter_steps(config)) if listed is not None else (),
        str(config.get("target_delimiter", " ")),
        is_chat,
        ordered_metrics(results, task),
        _question(results, task),
        None if is_chat else _shots(results, config),
        results.is_before(_REDRAWS) and _draws_own(config),
        str(config.get("fewshot_delimiter", "\n\n")),
        json.dumps(given, ensure_ascii=False) if is_generated else None,
        None if listed is None else _count(config.get("repeats")),
        () if is_chat or listed is None else tuple(_openings(results, config)),
        tuple(found) if is_plain and isinstance(found, list) else (),
        found if isinstance(found, str) and found.isidentifier() else None,
        *((None, False) if listed is None else _find_gold(config)),
        output_type == GENERATE and bool(found),
        is_own,
    )


def _find_gold(config: Mapping[str, Any]) -> tuple[str | None, bool]:
    """Return the one member of docs that doc_to_target is, and whether it may be the target itself.

    The harness takes a text for a template if docs have no member of this name.
    """
    given = config.get("doc_to_target")
    if not isinstance(given, (str, int, list)) or config.get("use_prompt"):
        return None, False
    text = str(given)
    found = FIELD.fullmatch(text)
    if found:
        return found[1], False
    is_plain = not any(mark in text for mark in MARKUP) and not is_function(given)
    return (text, True) if is_plain else (None, False)


def _openings(results: Results, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the instruction and the description that each prompt begins with, without space."""
    if config.get("output_type") == ROLLING:
        return
    for text in (results.document.get("system_instruction"), config.get("description")):
        if isinstance(text, str) and text.strip() and not any(mark in text for mark in MARKUP):
            yield text.strip()


_REDRAWS: Final = (0, 4, 11)
"""The release from which on no prompt lacks an example, also in its development."""


def _draws_own(config: Mapping[str, Any]) -> bool:
    """Return whether a prompt may lack an example.

    The harness draws as many as are wanted, and leaves out the doc itself afterwards, also an equal
    one of another split; where both splits have one name it draws one more. Source: `get_context`
    in api/samplers.py of lm_eval 0.4.9.
    """
    has_list = bool(member(config.get("fewshot_config"), "samples"))
    return config.get("fewshot_split") != config.get("test_split") and not has_list


def _count(value: Any) -> int | None:
    return value if value.__class__ is int else None


def _metrics(results: Results, task: str) -> Iterator[tuple[str, str]]:
    for one in results.metric_list(task) or ():
        if one.name is not None and one.name in REGISTERED:
            yield one.name, json.dumps(dict(one.options), sort_keys=True)


def filter_steps(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the filters with their steps; of several with one name the harness keeps the last."""
    listed = config.get("filter_list")
    if listed is None:
        yield from DEFAULT_FILTERS
    for one in listed if isinstance(listed, list) else ():
        steps = one.get("filter") if isinstance(one, dict) else None
        if isinstance(steps, list) and isinstance(one.get("name"), str):
            yield one["name"], json.dumps(steps)


def iterate_patterns(config: Mapping[str, Any]) -> Iterator[Any]:
    """Iterate over the regular expressions in the filters and the metrics of a task."""
    for _, one in objects(config.get("filter_list")):
        for _, step in objects(one.get("filter")):
            if step.get("function") == "regex" and "regex_pattern" in step:
                yield step["regex_pattern"]
    for _, one in objects(config.get("metric_list")):
        ignored = one.get("regexes_to_ignore")
        yield from ignored if isinstance(ignored, list) else [ignored] if ignored else []


def _question(results: Results, task: str) -> str | None:
    """Return the template of the question, None if it needs more than the fields of a doc."""
    config = results.config(task)
    template = config.get("doc_to_text")
    if not isinstance(template, str) or config.get("use_prompt"):
        return None
    is_plain = not any(mark in FIELD.sub("", template) for mark in MARKUP)
    # The configuration of tasks in Python does not show how they make prompts.
    is_listed = results.metric_list(task) is not None and config.get("output_type") != ROLLING
    return template if is_plain and is_listed and not is_function(template) else None


def _shots(results: Results, config: Mapping[str, Any]) -> int | None:
    """Return the number of examples of prompts that have nothing but those and a question."""
    shots = config.get("num_fewshot")
    others = ("description", "gen_prefix", "doc_to_image", "doc_to_audio")
    has_more = any(config.get(name) for name in others)
    of_examples = member(config.get("fewshot_config"), "doc_to_text")
    is_same = shots == 0 or of_examples in (None, config.get("doc_to_text"))
    is_known = is_same and not has_more and not results.document.get("system_instruction")
    return _count(shots) if is_known else None
