"""Compare runs: check them, align their samples, estimate the differences and judge them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from itertools import combinations
from typing import Final

from evalstream.batch.comparing.flips import ShownFlips
from evalstream.batch.comparing.many_runs import add_matrices, group_ranks, rank_runs
from evalstream.batch.comparing.pairs import JoinedPair, Request, joined_pair
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.model.comparison import (
    ALL_PAIRS,
    DRIFT,
    REGRESSION,
    CompareSettings,
    CompareVerdict,
    Comparison,
    ComparisonReport,
    Confounder,
    Flip,
    MetricKey,
)
from evalstream.model.data_class import DataClass, field, replace
from evalstream.model.errors import internal_error
from evalstream.model.estimate import Estimate
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options
from evalstream.model.text import count_noun
from evalstream.stats.inference.average import average_results
from evalstream.stats.inference.estimate import choose_cautious, estimate, with_adjusted
from evalstream.stats.inference.verdict import judge_estimate


class ComparedRuns(DataClass):
    """A comparison of runs: its report, and its flips, which `close` deletes."""

    report: ComparisonReport
    shown: ShownFlips = field(default_factory=ShownFlips)
    pairs: list[JoinedPair] = field(default_factory=list)

    def flips(self) -> Iterator[Flip]:
        """Iterate over the flips, of one pair of runs after the other."""
        return iter(self.shown)

    def close(self) -> None:
        """Delete temporary files."""
        self.shown.close()


def compare_runs(
    runs: Sequence[CheckedRun], reference: CheckedRun, request: Request, options: Options
) -> ComparedRuns:
    """Compare checked runs with the reference. Raises OSError where temporary files fail."""
    settings = request.settings
    report = ComparisonReport([run.shown for run in runs], reference.shown.label, settings)
    result = ComparedRuns(report)
    report.refused = _refusal(runs, settings)
    if report.refused is None:
        try:
            _compare(runs, reference, request, options, result)
        except BaseException as error:  # noqa: BLE001 - whatever is wrong with the samples of these runs
            fault = str(internal_error(error))
            report = ComparisonReport([run.shown for run in runs], reference.shown.label, settings)
            report.refused, result = fault, ComparedRuns(report)
        else:
            return result
    finished_report(report, runs)
    return result


def _compare(
    runs: Sequence[CheckedRun],
    reference: CheckedRun,
    request: Request,
    options: Options,
    result: ComparedRuns,
) -> None:
    """Add the comparison of the runs to the result, which is closed if an error ends it."""
    report, settings = result.report, request.settings
    with ExitStack() as stack:
        stack.callback(result.close)
        pairs = result.pairs
        for a, b in _couples(runs, reference, settings):
            pairs.append(joined_pair(a, b, request, options, report, result.shown))
        report.comparisons = _comparisons(pairs, settings, _derive_seed(runs))
        results = {one.metric.result for one in report.comparisons}
        report.confounders = find_confounders(runs, results)
        is_ranked = settings.pairs == ALL_PAIRS
        if len(runs) > 2:
            add_matrices(runs, pairs, request, report)
        if len(runs) > 2 or is_ranked:
            report.rankings = rank_runs(runs, request, _derive_seed(runs), report.comparisons)
        if is_ranked:
            report.rankings = [group_ranks(one, report.comparisons) for one in report.rankings]
        finished_report(report, runs)
        stack.pop_all()


def _couples(
    runs: Sequence[CheckedRun], reference: CheckedRun, settings: CompareSettings
) -> Iterator[tuple[CheckedRun, CheckedRun]]:
    """Iterate over the runs that are compared, those with the reference first."""
    others = [run for run in runs if run is not reference]
    yield from ((reference, run) for run in others)
    if settings.pairs == ALL_PAIRS:
        yield from combinations(others, 2)


def _refusal(runs: Sequence[CheckedRun], settings: CompareSettings) -> str | None:
    for run in runs:
        if not run.description.metrics:
            reason = run.refusal or f"holds no scores of single samples (format {run.run.format})"
            return f"{run.shown.label} {reason}"
    if settings.verified:
        refused = [f"{run.shown.label} {run.refusal}" for run in runs if run.refusal]
        if refused:
            return "; ".join(refused)
    return None


def _comparisons(
    pairs: Sequence[JoinedPair], settings: CompareSettings, seed: int
) -> list[Comparison]:
    """Estimate and judge each metric of each pair; Holm's method counts those with a verdict."""
    entries = [
        (pair, number, _estimate(pair, number, settings, seed))
        for pair in pairs
        for number in range(len(pair.match.metrics))
    ]
    adjusted = with_adjusted([one for _, _, one in entries])
    return [
        _comparison(pair, number, one, settings)
        for (pair, number, _), one in zip(entries, adjusted, strict=True)
    ]


def _estimate(
    pair: JoinedPair, number: int, settings: CompareSettings, seed: int
) -> Estimate | None:
    """Return the statistics of a metric, without a test where few samples meet, or None."""
    tally, alignment = pair.tally.metrics[number], pair.alignments[number]
    if _conflict(pair, number, settings) is not None:
        return None
    paired, metric = tally.paired, pair.match.metrics[number]
    clusters = tally.clusters
    clustered = None if clusters is None else clusters.cluster_statistics(paired, settings.level)
    found = estimate(paired, metric, settings, seed, clustered)
    if tally.copies.copies:
        clustered = tally.copies.cluster_statistics(paired, settings.level)
        other = estimate(paired, metric, settings, seed, clustered)
        found = choose_cautious(found, other, settings.level)
    if found is None or alignment.overlap >= settings.min_overlap:
        return found
    return replace(
        found, interval=None, test=None, others=(), tests=(), clustered=None, detectable=None,
        needed_for_point=None, effect=None,
    )  # fmt: skip


def _comparison(
    pair: JoinedPair, number: int, found: Estimate | None, settings: CompareSettings
) -> Comparison:
    metric, tally = pair.match.metrics[number], pair.tally.metrics[number]
    labels = pair.a.shown.label, pair.b.shown.label
    comparison = Comparison(
        *labels,
        metric,
        pair.alignments[number],
        found,
        right_to_wrong=tally.losses,
        wrong_to_right=tally.gains,
        failed_changes=tally.failed_changes,
    )
    conflict = _conflict(pair, number, settings)
    if conflict is not None:
        comparison.verdict = CompareVerdict.NOT_COMPARABLE
        comparison.sentence = f"not comparable: {conflict}"
        return comparison
    judgement = judge_estimate(found, comparison.alignment, settings, metric, labels)
    comparison.verdict, comparison.sentence, comparison.better = judgement
    return comparison


def _conflict(pair: JoinedPair, number: int, settings: CompareSettings) -> str | None:
    conflict = pair.match.conflicts.get(number) or _lacking(pair, settings)
    lacking = pair.tally.metrics[number].unclustered
    if conflict is None and lacking:
        samples = count_noun(lacking, "matched sample")
        conflict = f"no value at {settings.cluster} that both runs have in {samples}"
    return conflict or pair.conflicts.get(number)


def lacks_clusters(compared: ComparedRuns) -> bool:
    """Tell whether no sample that two runs score has a value to be clustered by in either."""
    tallies = [tally for pair in compared.pairs for tally in pair.tally.metrics if tally.paired.n]
    return bool(tallies) and all(tally.clusterless == tally.paired.n for tally in tallies)


def _lacking(pair: JoinedPair, settings: CompareSettings) -> str | None:
    """Return why too many rows of a run have no identity, so that no overlap counts them."""
    for run in (pair.a.shown, pair.b.shown):
        if run.without_identity > (1 - settings.min_overlap) * run.rows:
            of = f"{count_noun(run.rows, run.noun)} in {run.label}"
            return f"{run.without_identity:,} of {of} lack what samples meet by ({settings.by})"
    return None


def _derive_seed(runs: Sequence[CheckedRun]) -> int:
    """Return the seed of random numbers: it follows from the files alone."""
    digests = sorted(run.shown.checksum or "" for run in runs)
    return int.from_bytes(hashlib.sha256("\n".join(digests).encode()).digest()[:8])


ABSENT: Final = "not given"
MOST_VALUES: Final = 3
"""Number of values of one setting that are shown of a run with many results."""


def find_confounders(runs: Sequence[CheckedRun], results: Iterable[str]) -> list[Confounder]:
    """Return the settings that differ, of whole runs and of the results that are compared.

    The settings of a result are compared with those of the same result and metric in the others.
    """
    wanted = set(results)
    by_label = {run.shown.label: _settings(run, wanted) for run in runs}
    names = dict.fromkeys(name for settings in by_label.values() for name in settings)
    metrics = {
        run.shown.label: {None, *(one.key for one in run.description.metrics)} for run in runs
    }
    found = []
    for name in names:
        held = {label: settings.get(name, {}) for label, settings in by_label.items()}
        differing = _find_differing(metrics, held)
        if differing:
            found.append(Confounder(name, {run: _join(held[run], differing) for run in held}))
    return found


_Measured = MetricKey | None
"""The metric that a setting is of; None for one of the whole run."""


def _settings(run: CheckedRun, results: set[str]) -> Mapping[str, Mapping[_Measured, str]]:
    """Return the settings of a run by name, with a value for each result that has them."""
    described = run.description
    found: dict[str, dict[_Measured, str]] = {
        name: {None: text} for name, text in described.settings.items()
    }
    for held in (described.generation, described.scoring):
        for metric, settings in zip(described.metrics, held, strict=False):
            if metric.result in results:
                for name, text in settings.items():
                    found.setdefault(name, {})[metric.key] = text
    return found


def _find_differing(
    metrics: Mapping[str, Set[_Measured]], held: Mapping[str, Mapping[_Measured, str]]
) -> list[_Measured]:
    """Return the metrics with different values of a setting in the runs that have them."""
    places = dict.fromkeys(place for values in held.values() for place in values)
    return [
        place
        for place in places
        if len({held[run].get(place) for run in held if place in metrics[run]}) > 1
    ]


def _join(held: Mapping[_Measured, str], places: Iterable[_Measured]) -> str:
    """Return the values of a setting at some places as one text."""
    texts = list(dict.fromkeys(held.get(place, ABSENT) for place in places))
    more = f"; and {len(texts) - MOST_VALUES} more" if len(texts) > MOST_VALUES else ""
    return "; ".join(texts[:MOST_VALUES]) + more


def finished_report(report: ComparisonReport, runs: Sequence[CheckedRun]) -> None:
    """Set what follows from the comparisons of a report."""
    for run in runs:
        run.count_samples()
    counts = {run.shown.label: run.shown.samples for run in runs}
    report.averages = average_results(report.comparisons, counts, report.settings.level)
    if report.refused is None and not report.comparisons:
        report.refused = "the runs share no result and metric"
    report.first_line = _first_line(report, runs)
    if report.allowed:
        report.first_line += f"; different {', '.join(report.allowed)} (--allow-different)"
    same = [
        f"{first.label} and {second.label} have the same bytes"
        for first, second in combinations(report.runs, 2)
        if first.checksum is not None and first.checksum == second.checksum
    ]
    report.warnings = [*report.warnings, *_describe_unpaired(report), *same]
    report.failed_on = [name for name in report.settings.fail_if if _holds(name, report)]
    verdicts = {one.verdict for one in report.comparisons}
    if report.refused is not None or CompareVerdict.NOT_COMPARABLE in verdicts:
        report.exit_code = int(ExitCode.UNCHECKED)
    else:
        report.exit_code = int(ExitCode.FAILED if report.failed_on else ExitCode.PASSED)


def _describe_unpaired(report: ComparisonReport) -> Iterator[str]:
    """Say of which runs records cannot be paired, and what else samples may be paired by."""
    by = report.settings.by
    advice = "" if by == "sample_id" else "; --by sample_id pairs them by their ids"
    for run in report.runs:
        if run.without_identity:
            of = count_noun(run.rows, run.noun)
            some = f"{run.without_identity:,} of {of} lack" if run.samples else f"no {run.noun} has"
            yield f"{run.label}: {some} what samples are paired by ({by}){advice}"


def _first_line(report: ComparisonReport, runs: Sequence[CheckedRun]) -> str:
    labels = [run.shown.label for run in runs]
    joined = f"{', '.join(labels[:-1])} and {labels[-1]}" if len(labels) > 1 else labels[0]
    if report.refused is not None:
        return f"not compared: {report.refused}"
    refused = [f"{run.shown.label} {run.refusal}" for run in runs if run.refusal]
    if refused:
        return f"compared without verification (--no-verify): {'; '.join(refused)}"
    opened = []
    for one in report.runs:
        if one.verdict != "passed":
            no_seal = "its aggregate does not seal its rows"
            open_ = "no aggregate confirms its rows" if one.aggregate is None else no_seal
            opened.append(f"{one.label} has an open verdict ({'; '.join(one.reasons) or open_})")
    warned = "".join(
        f"; {run.shown.label} with warnings: {', '.join(run.warnings)}"
        for run in runs
        if run.warnings
    )
    if opened:
        return f"{joined} have no errors in their checks, but {'; '.join(opened)}{warned}"
    return f"{joined} pass their checks{warned}"


def _holds(name: str, report: ComparisonReport) -> bool:
    if name == REGRESSION:
        return any(
            one.verdict is CompareVerdict.SIGNIFICANT and one.better == report.reference
            for one in report.comparisons
        )
    if name == DRIFT:
        aligned = (one.alignment for one in report.comparisons)
        return bool(report.drifts_in_all) or any(one.drifted + one.relabelled for one in aligned)
    return bool(report.unmatched_results) or any(
        one.alignment.overlap < report.settings.min_overlap for one in report.comparisons
    )
