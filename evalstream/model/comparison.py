"""The result of a comparison of runs: the contract between those who make it and its reports.

A difference is always that of the reference minus the other run, on the scale of the scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.estimate import Estimate, Interval
from evalstream.model.run_summary import NOUN, Verdict


class CompareVerdict(StrEnum):
    """The verdict of one comparison, as reports write it."""

    SIGNIFICANT = "significant"
    DEPENDS = "depends on missing samples"
    WITHIN_NOISE = "within noise"
    UNINFORMATIVE = "uninformative"
    NOT_COMPARABLE = "not comparable"


MetricKey = tuple[str, str | None]
"""The names of a result and of its metric, by which two runs have the same metric."""


class MetricName(NamedTuple):
    """A result by its evaluation_name, and a metric, if named; bounds are None if unknown."""

    result: str
    metric: str | None = None
    lower_is_better: bool = False
    minimum: float | None = None
    maximum: float | None = None
    unit: str | None = None

    @property
    def label(self) -> str:
        """The name of both."""
        return self.result if self.metric is None else f"{self.result} / {self.metric}"

    @property
    def key(self) -> MetricKey:
        """The names of both."""
        return self.result, self.metric


class RunDescription(NamedTuple):
    """The description of a run in a comparison.

    `metrics` and `generation` are those of its groups of samples, by their numbers: what is
    measured, and the settings under which the model answered, as texts by name. `settings` are
    those of the whole run. `scoring` are those of its groups that decide what a score means, such
    as the judge; scores made under different ones are not compared.
    """

    model: str | None
    evaluation: str | None
    metrics: Sequence[MetricName]
    generation: Sequence[Mapping[str, str]]
    settings: Mapping[str, str]
    scoring: Sequence[Mapping[str, str]] = ()


class ComparedRun(DataClass):
    """One run of a comparison.

    Attributes:
        label: The label of the run: A, B, C, …
        file: The rows file as reports name it.
        aggregate: The aggregate as reports name it.
        format: The name of the format.
        version: The version of the format.
        model: The id of the model.
        evaluation: The name of the evaluation.
        verdict: The verdict of its check.
        reasons: The findings that fail the run, as texts such as `ES501 checksum-mismatch (1)`.
        rows: The number of rows, or of what the format has instead.
        noun: What the format counts as `rows`, in singular.
        samples: The number of distinct identities with their sample ids.
        without_identity: The number of rows that cannot be paired.
        checksum: The checksum of the rows, in hex digits.
        settings: What may explain a difference besides the model: harness, generation arguments,
            version of the format.

    """

    label: str
    file: str | None
    aggregate: str | None
    format: str
    version: str | None = None
    model: str | None = None
    evaluation: str | None = None
    verdict: Verdict = "incomplete"
    reasons: Sequence[str] = ()
    rows: int = 0
    noun: str = NOUN
    samples: int = 0
    without_identity: int = 0
    checksum: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


class Alignment(NamedTuple):
    """How the samples of two runs meet under one result and metric.

    `unscored` counts matched samples that one side has no score for; they are not in the
    statistics. `drifted` have the same sample_id and another input, `relabelled` the same question
    and another reference; `ambiguous` counts unmatched samples whose identity is that of several
    sample ids. `other_prompts` counts matched samples that were asked in another prompt,
    `one_prompt` those whose prompt one run alone shows, and `same_input` those with the input of
    another one under another id, but for white space, case and forms of letters. A sample that a
    run scores in several results of this name is unmatched, and counts once for each.
    """

    samples_a: int = 0
    samples_b: int = 0
    matched: int = 0
    only_a: int = 0
    only_b: int = 0
    drifted: int = 0
    relabelled: int = 0
    ambiguous: int = 0
    other_prompts: int = 0
    other_clusters: int = 0
    unscored: int = 0
    repeated_a: int = 0
    repeated_b: int = 0
    same_input: int = 0
    one_prompt: int = 0

    @property
    def overlap(self) -> float:
        """The share of the samples of either run that both have; 0 without samples."""
        union = self.matched + self.only_a + self.only_b
        return self.matched / union if union else 0.0


class Comparison(DataClass):
    """Two runs under one result and metric.

    Attributes:
        a: The label of the reference.
        b: The label of the other run.
        metric: The result and the metric.
        alignment: How the samples of the runs meet.
        estimate: The statistics, None where no matched sample has scores on both sides.
        verdict: The verdict.
        sentence: The verdict in words.
        better: The label of the better run where the verdict is significant.
        right_to_wrong: The number of samples that the reference has right and the other run wrong:
            by their scores where both are 0 or 1, else by is_correct.
        wrong_to_right: The number of samples that the reference has wrong and the other run right.
        failed_changes: The number of samples with an error in the rows of one run alone.

    """

    a: str
    b: str
    metric: MetricName
    alignment: Alignment
    estimate: Estimate | None = None
    verdict: CompareVerdict = CompareVerdict.NOT_COMPARABLE
    sentence: str = ""
    better: str | None = None
    right_to_wrong: int = 0
    wrong_to_right: int = 0
    failed_changes: int = 0


class Average(NamedTuple):
    """The means of several results of two runs with equal weights, on the common scale.

    `results` is their number. The errors are those of independent results; None where one result
    has no error.
    """

    a: str
    b: str
    results: int
    mean_a: float
    standard_error_a: float | None
    mean_b: float
    standard_error_b: float | None
    difference: float
    standard_error: float | None
    interval: Interval | None


class Answered(NamedTuple):
    """The sample_id and the answer of a row that is read again.

    `is_whole` says that a scorer saw no more of the model than the answer, such as no tool calls.
    `record` is all that the row or the record says of the sample: input, answer, extracted values,
    scores, usage, times, errors, metadata.
    """

    sample_id: Any
    answer: Any
    is_whole: bool
    record: Any


class Flip(NamedTuple):
    """A sample that the two runs judge differently.

    Attributes:
        a: The label of the reference.
        b: The label of the other run.
        metric: The name of the result and the metric.
        direction: `right to wrong` or `wrong to right`, from the reference to the other run.
        sample_id: The id of the sample.
        line_a: The line of the row in the reference, from 1.
        line_b: The line of the row in the other run, from 1.
        score_a: The score in the reference, in the unit of the metric.
        score_b: The score in the other run, in the unit of the metric.
        answer_a: The answer in the reference, None if values are hidden or there is no answer.
        answer_b: The answer in the other run, None as above.

    """

    a: str
    b: str
    metric: str
    direction: str
    sample_id: Any
    line_a: int
    line_b: int
    score_a: float
    score_b: float
    answer_a: Any = None
    answer_b: Any = None


class Drift(NamedTuple):
    """A sample that two runs were asked or scored differently.

    `kind` is `drift` (same sample_id, another input) or `relabelled` (another reference).
    """

    a: str
    b: str
    kind: str
    sample_id_a: Any
    sample_id_b: Any
    line_a: int
    line_b: int


class Confounder(NamedTuple):
    """A setting that differs between runs, with its value in each run by label."""

    name: str
    values: Mapping[str, str]


class Matrix(NamedTuple):
    """A figure for each pair of runs: `cells[row][column]`, None where there is none."""

    title: str
    labels: Sequence[str]
    cells: Sequence[Sequence[float | int | None]]


class Rank(NamedTuple):
    """The rank of a run by its mean over the samples that all runs share.

    `share` is the share of resamples in which it has this rank. `groups` are numbers from 1: two
    runs share one if they do not differ significantly, and only then; without any unless each two
    runs were compared. `standard_error` is that of the mean, None below two samples or clusters.
    """

    label: str
    mean: float
    rank: int
    share: float
    groups: Sequence[int] = ()
    standard_error: float | None = None


class Ranking(NamedTuple):
    """The ranks of all runs under one result and metric, over `n` shared samples."""

    metric: str
    n: int
    ranks: Sequence[Rank]


REFERENCE: Final = "reference"
ALL_PAIRS: Final = "all"
"""Which runs are compared: each with the reference, or each two."""

REGRESSION: Final = "regression"
DRIFT: Final = "drift"
OVERLAP: Final = "overlap"
CONDITIONS: Final = (REGRESSION, DRIFT, OVERLAP)
"""The conditions of --fail-if."""


class CompareSettings(NamedTuple):
    """The options that a comparison was made with."""

    by: str = "input"
    cluster: str | None = None
    level: float = 0.95
    resamples: int = 10_000
    min_delta: float = 0.005
    min_overlap: float = 0.95
    fail_if: Sequence[str] = ()
    verified: bool = True
    allow_different: Sequence[str] = ()
    pairs: str = REFERENCE
    effect: float | None = None


class ComparisonReport(DataClass):
    """The data of a comparison; `evalstream.ComparisonReport` says what its fields are."""

    runs: Sequence[ComparedRun]
    reference: str
    settings: CompareSettings
    first_line: str = ""
    refused: str | None = None
    comparisons: Sequence[Comparison] = ()
    averages: Sequence[Average] = ()
    confounders: Sequence[Confounder] = ()
    drifts: Sequence[Drift] = ()
    drifts_in_all: int = 0
    unmatched_results: Sequence[str] = ()
    differences: Sequence[Matrix] = ()
    overlaps: Sequence[Matrix] = ()
    drift_counts: Sequence[Matrix] = ()
    rankings: Sequence[Ranking] = ()
    failed_on: Sequence[str] = ()
    allowed: Sequence[str] = ()
    warnings: Sequence[str] = ()
    exit_code: int = 0
    flips: Sequence[Flip] = ()
