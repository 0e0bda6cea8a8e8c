"""List the samples that two runs were asked or scored differently, with their ids."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from typing import Final

from evalstream.batch.comparing.runs import CheckedRun
from evalstream.batch.comparing.tallies import MOST_DRIFTS, PairTally
from evalstream.formats.registry import FORMATS
from evalstream.model.comparison import ComparisonReport, Drift
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.stats.samples.drift import DriftedPair, DriftFinder, DriftKind

_KINDS: Final = {DriftKind.DRIFT: "drift", DriftKind.RELABELLED: "relabelled"}


def list_drifts(
    finder: DriftFinder,
    tally: PairTally,
    a: CheckedRun,
    b: CheckedRun,
    options: Options,
    report: ComparisonReport,
) -> None:
    """Add the first samples that drifted or were relabelled to a report, and count all.

    They are those that do not meet, and those that meet by their ids with other inputs.
    """
    report.drifts_in_all += finder.drifted + finder.relabelled + tally.drifted
    found = nsmallest(MOST_DRIFTS - len(report.drifts), [*finder.first, *tally.drifts])
    if not found:
        return
    ids_a = _ids_at(a, options, [(one.line_a, one.offset_a) for one in found])
    ids_b = _ids_at(b, options, [(one.line_b, one.offset_b) for one in found])
    labels = a.shown.label, b.shown.label
    report.drifts = [*report.drifts, *(_drift(one, labels, ids_a, ids_b) for one in found)]


def _drift(
    one: DriftedPair,
    labels: tuple[str, str],
    ids_a: dict[tuple[int, int], object],
    ids_b: dict[tuple[int, int], object],
) -> Drift:
    return Drift(
        *labels,
        _KINDS[one.kind],
        ids_a.get((one.line_a, one.offset_a)),
        ids_b.get((one.line_b, one.offset_b)),
        one.line_a,
        one.line_b,
    )


def _ids_at(
    run: CheckedRun, options: Options, places: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], object]:
    """Return the sample ids of some rows by place, as far as they can be read again."""
    wanted = sorted(set(places))
    try:
        read = FORMATS[run.run.format].answers(run.run, options, wanted)
        found = zip(wanted, read, strict=True)
        ids = {place: one.sample_id for place, one in found if one is not None}
        return {} if run.has_changed else ids
    except (OSError, CannotCheck, ValueError):
        return {}
