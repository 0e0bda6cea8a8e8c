"""The Python API of comparisons."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NoReturn

from evalstream.api.arguments import Input, require_paths
from evalstream.api.reports import FRAME, MOST_LINES, Text
from evalstream.api.tables import (
    COMPARED_COLUMNS,
    ComparedTable,
    Record,
    iterate_compared,
    pandas_frame,
    polars_frame,
)
from evalstream.batch.comparing.metrics import with_one_name
from evalstream.batch.comparing.runs import (
    CheckedRun,
    checked_run,
    make_labels,
    one_run,
    split_usable,
)
from evalstream.discovery.inputs import find_all, without_overlap
from evalstream.io.names import printable
from evalstream.io.overwriting import Outputs
from evalstream.io.progress import Progress
from evalstream.model.comparison import (
    ALL_PAIRS,
    CONDITIONS,
    REFERENCE,
    REGRESSION,
    CompareSettings,
    Flip,
)
from evalstream.model.comparison import ComparisonReport as Outcome
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, MissingExtra, UsageError, install_command
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.model.text import count_noun, describe_unknown, on_one_line, split_codes
from evalstream.reporters.base import ComparisonReporter
from evalstream.settings.options import kept_options, usual_value

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ComparisonReport(Outcome):
    """The outcome of a comparison: its verdicts, and the samples that flip.

    `len` counts the comparisons. `bool` raises TypeError. As the last expression of a notebook's
    cell it shows itself as a page.

    Attributes:
        runs: The runs that are compared.
        reference: The label of the reference.
        settings: The options of the comparison.
        first_line: What was compared, and whether all runs passed their check.
        refused: Why nothing is compared, None if it is.
        comparisons: One comparison for each two runs, result and metric.
        averages: The means of several results of each two runs, with equal weights.
        confounders: Settings that differ between the runs.
        drifts: The first samples that were asked or scored differently.
        drifts_in_all: The number of all such samples.
        unmatched_results: Results that only some runs have, as texts.
        differences: Tables of the differences of each two of many runs, in the unit of the metric.
        overlaps: Tables of the shares of samples that each two of many runs have in common.
        drift_counts: Tables of the numbers of drifted and relabelled samples of each two of many
            runs.
        rankings: The ranks of the runs, for each metric.
        failed_on: The conditions of `fail_if` that hold.
        allowed: The settings of scoring that differ, and that `allow_different` names.
        warnings: What limits the comparison, in sentences.
        exit_code: The exit code of the same comparison on the command line.
        flips: The samples that flip; empty where a reporter takes them one by one.

    """

    def __len__(self) -> int:
        return len(self.comparisons)

    def __bool__(self) -> NoReturn:
        raise TypeError("a comparison is neither true nor false: use exit_code or len(report)")

    def __repr__(self) -> str:
        lines = [self.first_line, *([self.refused] if self.refused else [])]
        lines += [
            f"{one.a} and {one.b}, {one.metric.label}: {one.sentence or one.verdict.value}"
            for one in self.comparisons[:MOST_LINES]
        ]
        if len(self) > MOST_LINES:
            lines.append(f"… and {count_noun(len(self) - MOST_LINES, 'more comparison')}")
        return "\n".join(map(on_one_line, filter(None, lines)))

    def _repr_html_(self) -> str:
        # Only notebooks need pages.
        from evalstream.reporters.comparison.html import HtmlComparison

        page = Text()
        HtmlComparison(page).write(self, self.flips)
        return FRAME.format(escape(page.text()), "comparison of evalstream")

    def to_dicts(self, table: ComparedTable = "comparisons") -> list[Record]:
        """Return the comparisons, or the `flips`, `drifts` or `runs`, as plain values.

        `difference` is that of the means `mean_a` and `mean_b`, with its interval from `low` to
        `high`, in the unit of the metric; `error_a`, `error_b` and `standard_error` are the
        standard errors of the three. Answers have their JSON text beside them.
        """
        return list(iterate_compared(self, table))

    def to_pandas(self, table: ComparedTable = "comparisons") -> pd.DataFrame:
        """Return `to_dicts` as a DataFrame of pandas. Raises MissingExtra without pandas."""
        return pandas_frame(iterate_compared(self, table), COMPARED_COLUMNS[table])

    def to_polars(self, table: ComparedTable = "comparisons") -> pl.DataFrame:
        """Return `to_dicts` as a DataFrame of polars. Raises MissingExtra without polars."""
        return polars_frame(iterate_compared(self, table), COMPARED_COLUMNS[table])


IDENTITIES: Final = ("input", "sample_hash", "sample_id")
"""The ways to identify a sample across runs."""

PAIRS: Final = (REFERENCE, ALL_PAIRS)
FORMER_PAIRS: Final = "baseline"
"""The former name of REFERENCE."""

FLIPS: Final = 20
"""Number of flips that are shown unless another one is asked for."""

FEWEST_RESAMPLES: Final = 100
"""Fewer resamples give no percentiles."""

SMALLEST_EFFECT: Final = 1e-9
"""No number of samples finds a smaller difference of scores."""


def compare(
    inputs: Input | Iterable[Input],
    *,
    reference: str | None = None,
    metric: str | None = None,
    by: str = "input",
    cluster: str | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    min_delta: float = 0.005,
    min_overlap: float = 0.95,
    fail_if: str | Sequence[str] = (),
    flips: int = FLIPS,
    verify: bool = True,
    allow_different: str | Sequence[str] = (),
    same_result: str | Sequence[str] = (),
    pairs: str = REFERENCE,
    leaderboard: bool = False,
    matrix: bool = False,
    effect: float | None = None,
    outputs: Iterable[Input] = (),
    options: Options | None = None,
    reporter: ComparisonReporter | None = None,
    progress: bool = False,
    baseline: str | None = None,
    overlap: float | None = None,
    fail_on: str | Sequence[str] | None = None,
) -> ComparisonReport:
    """Check runs, align their samples, and compare their scores with paired statistics.

    Each input is one run: a rows file, an aggregate, a folder with one run, or a URL. With `matrix`
    the inputs may hold any number of runs, and only their samples are compared. With `leaderboard`,
    too, they may; each two of those that pass their check are compared, and ranks that the data do
    not separate share a group. `reference` is a label (A, B, …) or an input as it is named; the
    first run without it. `by` is what identifies a sample: `input`, `sample_hash` or `sample_id`;
    `cluster` is the JSON Pointer to the value by which samples are clustered. `min_delta` is a
    share of the range of the metric, `min_overlap` that of samples which both have. `fail_if` are
    conditions: `regression`, `drift`, `overlap`. `flips` is how many samples are shown that two
    runs judge differently, 0 for all. Without `verify`, runs that fail their check are compared,
    too. `allow_different` are settings of scoring (`metric_config/metric_parameters`, `scorer`,
    `filter`) that may differ, each with all below it; `unit` lets shares meet percent, `score` one
    answer have two scores. `same_result` are texts A=B: the result, or result / metric, that is
    named B in some runs is A in others. `pairs` is `reference`, to compare each run with the
    reference, or `all`. `effect` is a difference on the scale of the scores whose power is wanted.
    `outputs` are files that the caller writes meanwhile; no input may be one of them. `options`
    sets workers and limits. The report goes to `reporter`, flip by flip; without one the flips are
    in the report. `baseline`, `overlap` and `fail_on` are former names of `reference`,
    `min_overlap` and `fail_if`.

    Raises UsageError for a call that makes no sense, MissingExtra without the extra `compare`,
    CannotCheck for an input without a run, and OSError where temporary files cannot be written.
    """
    reference = usual_value("reference", reference, "baseline", baseline)
    min_overlap = usual_value("min_overlap", min_overlap, "overlap", overlap)
    fail_if = usual_value("fail_if", fail_if, "fail_on", fail_on)
    if pairs == FORMER_PAIRS:
        pairs = usual_value(REFERENCE, pairs, FORMER_PAIRS, REFERENCE)
    settings = CompareSettings(
        by, cluster, level, resamples, min_delta, min_overlap, split_codes(fail_if), verify,
        split_codes(allow_different), ALL_PAIRS if leaderboard else pairs, effect,
    )  # fmt: skip
    _check(settings, flips)
    names = list(require_paths(inputs))
    finds_runs = matrix or leaderboard
    _check_inputs(names, finds_runs=finds_runs)
    if matrix and leaderboard:
        raise UsageError("--matrix compares samples, and --leaderboard scores: choose one")
    if matrix:
        _check_matrix(settings, reference, same_result, flips)
    _check_libraries()
    # These import numpy.
    from evalstream.batch.comparing.compare import compare_runs, lacks_clusters
    from evalstream.batch.comparing.many_runs import compare_samples
    from evalstream.batch.comparing.pairs import Request

    chosen = replace(
        kept_options(options), max_findings=1, samples=SampleRequest(settings.by, settings.cluster)
    )
    with ExitStack() as stack:
        runs = _all_runs(names, chosen) if finds_runs else [one_run(name, chosen) for name in names]
        written = Outputs([os.fspath(name) for name in outputs])
        apart = without_overlap(runs, written, chosen.routing)
        runs = [run for run in apart if isinstance(run, Run)]
        bar = stack.enter_context(Progress(shown=progress))
        checked = []
        for run, label in zip(runs, make_labels(len(runs)), strict=True):
            checked.append(checked_run(run, label, chosen, bar))
            stack.callback(checked[-1].close)
        if matrix:
            report = compare_samples(checked, settings, metric)
            _write(report, (), reporter)
            return ComparisonReport(**vars(report))
        named = [same_result] if isinstance(same_result, str) else same_result
        _join_names(checked, named)
        _check_metric(checked, metric)
        request = Request(settings, metric, flips)
        used, left = split_usable(checked, settings, metric) if leaderboard else (checked, [])
        compared = compare_runs(used, _reference(used, names, reference), request, chosen)
        stack.callback(compared.close)
        if left:
            _add_left_out(compared.report, checked, left)
        for text in named:
            compared.report.first_line += f"; {text} is one result (--same-result)"
        if settings.cluster is not None and lacks_clusters(compared):
            raise UsageError(
                f"--cluster {settings.cluster}: no sample that both runs score has one value there"
            )
        if reporter is None:
            compared.report.flips = tuple(compared.flips())
        _write(compared.report, compared.flips(), reporter)
        return ComparisonReport(**vars(compared.report))


def _write(report: Outcome, flips: Iterable[Flip], reporter: ComparisonReporter | None) -> None:
    if reporter is not None:
        reporter.write(report, flips)


def _join_names(runs: Sequence[CheckedRun], texts: Sequence[str]) -> None:
    """Give results that have two names one of them. Raises UsageError."""
    for text in texts:
        name, _, other = text.partition("=")
        if not (name and other):
            raise UsageError(f"--same-result {printable(text)}: it has the form A=B")
        try:
            known = [run for run in runs if run.samples is not None]
            described = with_one_name([run.description for run in known], name, other)
        except ValueError as error:
            raise UsageError(f"--same-result {printable(text)}: {error}") from error
        for run, description in zip(known, described, strict=True):
            run.describe(description)


def _add_left_out(report: Outcome, runs: Sequence[CheckedRun], left: Sequence[str]) -> None:
    report.runs = [run.shown for run in runs]
    report.first_line += f"; {count_noun(len(left), 'run')} left out"
    report.warnings = [*(f"left out: {reason}" for reason in left), *report.warnings]
    report.exit_code = int(ExitCode.UNCHECKED)


def _check_libraries() -> None:
    """Raise MissingExtra where numpy is not installed."""
    if find_spec("numpy") is None:
        raise MissingExtra(f"compare needs numpy; install it with: {install_command('compare')}")


def _check(settings: CompareSettings, flips: int) -> None:
    """Raise UsageError for values that make no sense."""
    _check_choices("identity", [settings.by], IDENTITIES)
    _check_choices("choice of pairs", [settings.pairs], PAIRS)
    _check_choices("condition", settings.fail_if, CONDITIONS)
    if settings.cluster is not None and not settings.cluster.startswith("/"):
        raise UsageError("--cluster is a JSON Pointer, such as /metadata/subject")
    if not 0 < settings.level < 1:
        raise UsageError("--level must be between 0 and 1, such as 0.95")
    if not FEWEST_RESAMPLES <= settings.resamples < math.inf:
        raise UsageError(f"--resamples must be at least {FEWEST_RESAMPLES}")
    if not 0 <= settings.min_delta < math.inf:
        raise UsageError("--min-delta must be a number of at least 0")
    if settings.effect is not None and not SMALLEST_EFFECT <= settings.effect < math.inf:
        raise UsageError("--effect must be a number from 1e-9 on, on the scale of the scores")
    if not 0 <= settings.min_overlap <= 1:
        raise UsageError("--min-overlap must be between 0 and 1")
    if not 0 <= flips < math.inf:
        raise UsageError("--flips must not be negative; 0 shows all")


def _check_choices(noun: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(describe_unknown(noun, name, known))


def _check_inputs(names: Sequence[str], *, finds_runs: bool) -> None:
    """Raise UsageError for inputs that cannot be compared."""
    if names.count(STDIN) > 1:
        raise UsageError("standard input can be one run only")
    if not finds_runs and len(names) < 2:
        raise UsageError(
            "two runs or more are compared; --leaderboard and --matrix compare all runs in a folder"
        )
    if not names:
        raise UsageError("no input given; evalstream compare DIR --matrix compares a folder")


def _check_matrix(
    settings: CompareSettings, reference: str | None, same_result: str | Sequence[str], flips: int
) -> None:
    """Raise UsageError for an option that has no effect on a matrix."""
    usual = CompareSettings()
    given = {
        "--reference": reference is not None,
        "--cluster": settings.cluster is not None,
        "--level": settings.level != usual.level,
        "--resamples": settings.resamples != usual.resamples,
        "--min-delta": settings.min_delta != usual.min_delta,
        "--allow-different": bool(settings.allow_different),
        "--same-result": bool(same_result),
        "--pairs": settings.pairs != usual.pairs,
        "--effect": settings.effect is not None,
        "--flips": flips != FLIPS,
        f"--fail-if {REGRESSION}": REGRESSION in settings.fail_if,
    }
    names = [name for name, is_given in given.items() if is_given]
    if names:
        raise UsageError(
            f"--matrix compares samples, not scores: {', '.join(names)} cannot be combined with it"
        )


def _all_runs(names: Sequence[str], options: Options) -> list[Run]:
    """Return all runs among the inputs. Raises CannotCheck for an input that has none."""
    found = [*find_all(names, None, None, options)]
    runs = [one for one in found if isinstance(one, Run) and one.rows is not None]
    if not runs:
        reasons = [one.reason for one in found if isinstance(one, NoInput)]
        raise CannotCheck(reasons[0] if reasons else "no run with rows was found")
    return runs


def _reference(runs: Sequence[CheckedRun], names: Sequence[str], wanted: str | None) -> CheckedRun:
    """Return the run that a label or an input names, the first one for None; of two or more."""
    if len(runs) < 2:
        raise CannotCheck("fewer than two runs can be compared")
    if wanted is None:
        return runs[0]
    for run, name in zip(runs, names, strict=True):
        if wanted in (run.shown.label, name):
            return run
    known = ", ".join(run.shown.label for run in runs)
    raise UsageError(f"--reference {printable(wanted)} names no run; the runs are {known}")


def _check_metric(runs: Sequence[CheckedRun], wanted: str | None) -> None:
    known = [metric for run in runs for metric in run.description.metrics]
    if wanted is None or not known:
        return
    if not any(wanted in (one.result, one.metric, one.label) for one in known):
        labels = ", ".join(dict.fromkeys(one.label for one in known))
        raise UsageError(f"--metric {wanted}: no run has it; they have {labels}")
