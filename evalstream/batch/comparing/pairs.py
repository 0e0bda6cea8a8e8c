"""Join the samples of two runs: matches, drifted ones and flips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from heapq import nsmallest
from typing import Final

from evalstream.batch.comparing.flips import FlipStore, ShownFlips
from evalstream.batch.comparing.metrics import (
    SCORE,
    UNIT,
    MetricMatch,
    match_metrics,
    scale_conflict,
)
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.batch.comparing.tallies import MOST_DRIFTS, PairTally
from evalstream.formats.registry import FORMATS
from evalstream.model.comparison import Alignment, CompareSettings, ComparisonReport, Drift
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.text import count_noun
from evalstream.stats.inference.clusters import CopyFinder
from evalstream.stats.samples.joining import DriftFinder, DriftKind, join_runs
from evalstream.stats.samples.sample_store import SampleStore

FEW_ANSWERS: Final = 5
"""Fewer equal answers do not show that two runs are one."""


class Request(NamedTuple):
    """The compared result, and how much to show; `flips` is 0 for all of them."""

    settings: CompareSettings
    metric: str | None = None
    flips: int = 20

    def match(self, a: CheckedRun, b: CheckedRun) -> MetricMatch:
        """Match the metrics of two runs that are compared."""
        allowed = self.settings.allow_different
        return match_metrics(a.description, b.description, self.metric, allowed)


class JoinedPair(NamedTuple):
    """Two runs that were joined; `a` is the reference.

    `conflicts` say by the number of the metric why its scores do not mean one thing, as far as the
    samples show it and --allow-different does not let it pass.
    """

    a: CheckedRun
    b: CheckedRun
    match: MetricMatch
    tally: PairTally
    alignments: Sequence[Alignment]
    conflicts: Mapping[int, str]


def joined_pair(
    a: CheckedRun,
    b: CheckedRun,
    request: Request,
    options: Options,
    report: ComparisonReport,
    shown: ShownFlips,
) -> JoinedPair:
    """Join the samples of two runs, list their drift, and add their flips to those shown.

    Drifts, warnings and results without a counterpart are added to the report.
    """
    allow_different = request.settings.allow_different
    match = request.match(a, b)
    labels = a.shown.label, b.shown.label
    only = ((labels[0], match.only_a), (labels[1], match.only_b))
    named = [f"{name} (only in {label})" for label, names in only for name in names]
    report.unmatched_results = [*dict.fromkeys([*report.unmatched_results, *named])]
    flips = FlipStore(request.flips)
    is_clustered = request.settings.cluster is not None
    tally = PairTally(match.metrics, flips, is_clustered=is_clustered)
    groups = match.groups_a, match.groups_b
    with closing(DriftFinder(*groups, MOST_DRIFTS)) as finder, closing(CopyFinder()) as copies:
        for joined in join_runs(open_samples(a), open_samples(b), *groups):
            tally.add(joined, *groups)
            finder.add(joined)
            if not is_clustered:
                copies.add(joined.pairs)
        finder.finish()
        tally.add_copies(copies.groups())
        alignments = [
            one.alignment(drifts[DriftKind.DRIFT], drifts[DriftKind.RELABELLED])
            for one, drifts in zip(tally.metrics, finder.by_metric, strict=False)  # one where none
        ]
        list_drifts(finder, tally, a, b, options, report)
    unread = [*flips.read_answers(a, b, options), *_under_two_names(a, b, tally, options)]
    judged, same = _same_answers(match, flips, labels)
    names = [metric.label for metric in match.metrics]
    shown.add(flips.flips(*labels, names, show_values=options.show_values))
    flips.close()
    found = {UNIT: scale_conflicts(match, tally, labels), SCORE: same}
    allowed = [name for name, texts in found.items() if texts and name in allow_different]
    report.allowed = [*dict.fromkeys([*report.allowed, *match.allowed, *allowed])]
    report.warnings = [
        *report.warnings,
        *_describe_failures(match, tally, labels),
        *judged,
        *unread,
        *_describe_copies(match, tally, labels),
    ]
    conflicts = {
        number: text
        for name in (SCORE, UNIT)
        if name not in allowed
        for number, text in found[name].items()
    }
    return JoinedPair(a, b, match, tally, alignments, conflicts)


def _describe_copies(
    match: MetricMatch, tally: PairTally, labels: tuple[str, str]
) -> Iterator[str]:
    for metric, one in zip(match.metrics, tally.metrics, strict=True):
        found = one.copies
        if found.copies:
            yield (
                f"{' and '.join(labels)}, {metric.label}: {found.copies:,} of"
                f" {count_noun(one.matched, 'matched sample')} have the input of another one under"
                " another id, but for white space, case and forms of letters (the first in line"
                f" {found.line:,} of {labels[0]}, as in line {found.original:,}); copies are one"
                " cluster where that is more cautious"
            )


def _same_answers(
    match: MetricMatch, flips: FlipStore, labels: tuple[str, str]
) -> tuple[list[str], dict[int, str]]:
    """Return findings about equal answers with different scores: warnings, conflicts by metric.

    A judge may score one answer in two ways; of other scorers no verdict is given.
    """
    warnings, conflicts = [], {}
    for number, found in flips.same_answers().items():
        text = (
            f"{found.same:,} of {count_noun(found.compared, 'flip')} whose answers were compared "
            f"have the same answer in both runs (the first in line {found.line:,} of {labels[0]})"
        )
        if number in match.judged:
            name = match.metrics[number].label
            warnings.append(f"{' and '.join(labels)}, {name}: {text}; a judge scored them")
        else:
            conflicts[number] = (
                f"{text}, so that the scores were not made in one way; --allow-different"
                f" {SCORE} compares them"
            )
    return warnings, conflicts


def _under_two_names(
    a: CheckedRun, b: CheckedRun, tally: PairTally, options: Options
) -> Iterator[str]:
    """Say that the first samples of runs of two models have equal scores and equal answers."""
    models = a.shown.model, b.shown.model
    scored = [one.paired for one in tally.metrics if one.paired.n]
    if None in models or models[0] == models[1] or not scored:
        return
    if not all(one.is_equal for one in scored) or len(tally.first) < FEW_ANSWERS:
        return
    store = FlipStore(0)
    with closing(store):
        store.add(tally.first, is_loss=False)
        store.read_answers(a, b, options)
        found = [*store.same_answers().values()]
    compared = max((one.compared for one in found), default=0)
    if compared >= FEW_ANSWERS and all(one.same == one.compared for one in found):
        yield (
            f"{a.shown.label} and {b.shown.label} name two models, but all their scores are equal,"
            f" and so are all {compared:,} answers that were compared: this may be one run under"
            " two names"
        )


def scale_conflicts(
    match: MetricMatch, tally: PairTally, labels: tuple[str, str]
) -> dict[int, str]:
    """Return by metric why its scores look like shares and percent."""
    found = {
        number: scale_conflict(tally.metrics[number].paired.ranges, labels)
        for number in sorted(match.unbounded)
        if tally.metrics[number].paired.n
    }
    return {number: conflict for number, conflict in found.items() if conflict is not None}


def _describe_failures(
    match: MetricMatch, tally: PairTally, labels: tuple[str, str]
) -> Iterator[str]:
    for metric, one in zip(match.metrics, tally.metrics, strict=True):
        if one.failed:
            pairs = count_noun(one.failed, "matched sample")
            yield (
                f"{' and '.join(labels)}, {metric.label}: {pairs} with an error in the rows of one "
                "run alone, or ended by time; the scores count all the same"
            )


def open_samples(run: CheckedRun) -> SampleStore:
    """Return the samples of a run, which may be none."""
    return SampleStore() if run.samples is None else run.samples.store


_KINDS: Final = {DriftKind.DRIFT: "drift", DriftKind.RELABELLED: "relabelled"}


def list_drifts(
    finder: DriftFinder,
    tally: PairTally,
    a: CheckedRun,
    b: CheckedRun,
    options: Options,
    report: ComparisonReport,
) -> None:
    """Add to a report the first samples that drifted or were relabelled, and count all."""
    report.drifts_in_all += finder.drifted + finder.relabelled + tally.drifted
    found = nsmallest(MOST_DRIFTS - len(report.drifts), [*finder.first, *tally.drifts])
    if not found:
        return
    ids_a = _ids_at(a, options, [(one.line_a, one.offset_a) for one in found])
    ids_b = _ids_at(b, options, [(one.line_b, one.offset_b) for one in found])
    labels = a.shown.label, b.shown.label
    drifts = [
        Drift(
            *labels,
            _KINDS[one.kind],
            ids_a.get((one.line_a, one.offset_a)),
            ids_b.get((one.line_b, one.offset_b)),
            one.line_a,
            one.line_b,
        )
        for one in found
    ]
    report.drifts = [*report.drifts, *drifts]


def _ids_at(
    run: CheckedRun, options: Options, places: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], object]:
    wanted = sorted(set(places))
    try:
        read = FORMATS[run.run.format].answers(run.run, options, wanted)
        found = zip(wanted, read, strict=True)
        ids = {place: one.sample_id for place, one in found if one is not None}
        return {} if run.has_changed else ids
    except (OSError, CannotCheck, ValueError):
        return {}
