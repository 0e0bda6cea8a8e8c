"""The words and figures of a comparison, for all reports that people read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from evalstream.model import comparison, estimate
from evalstream.model.text import count_noun, p_value
from evalstream.parsing import json

MOST_DETAILED: Final = 6
"""Number of comparisons up to which each has its figures; more have a line each."""


def count_flips(report: comparison.ComparisonReport) -> int:
    """Return the number of samples that two runs judge differently, also those not shown."""
    return sum(one.right_to_wrong + one.wrong_to_right for one in report.comparisons)


def iterate_figures(one: comparison.Comparison) -> Iterator[tuple[str, str]]:
    """Iterate over the figures of a comparison, with their names."""
    yield "samples", _samples(one, one.alignment)
    found = one.estimate
    if found is None:
        return
    error = found.standard_error
    yield "difference", f"{one.a} - {one.b} = {difference_text(found)}"
    error_a, error_b = (own and own.standard_error for own in (found.own_a, found.own_b))
    means = _means((one.a, found.mean_a, error_a), (one.b, found.mean_b, error_b))
    yield "means", f"{means}, over {count_noun(found.n, 'sample')}"
    for interval in found.others:
        yield "interval", interval_text(interval, found)
    if error is not None:
        gain = _pairing(found)
        kind = "paired" if found.clustered is None else "paired and clustered"
        yield "error", f"{show_number(error, error)} {kind}{gain}"
    known = [one for one in (found.test, *found.tests) if one is not None]
    if known:
        tests = [f"{one.method} {p_value(one.p)}" for one in known]
        if found.adjusted_p is not None:
            tests.append(f"after Holm {p_value(found.adjusted_p)}")
        yield "tests", "; ".join(tests)
    if found.clustered is not None:
        few = ", too few for a reliable error" if found.clustered.is_few else ""
        yield "clusters", f"{found.clustered.clusters:,}{few}"
    square = found.square
    if square is not None:
        yield (
            "right",
            (
                f"both {square.both:,}, only {one.a} {square.only_a:,}, only {one.b} "
                f"{square.only_b:,}, neither {square.neither:,}"
            ),
        )
    yield from _limits(one, found)


def _limits(one: comparison.Comparison, found: estimate.Estimate) -> Iterator[tuple[str, str]]:
    error = found.standard_error
    left = one.failed_changes
    errors = f"; {count_noun(left, 'change')} left out for errors in the rows" if left else ""
    if one.right_to_wrong or one.wrong_to_right or left:
        yield (
            "flips",
            f"{one.right_to_wrong:,} right to wrong, {one.wrong_to_right:,} wrong to right{errors}",
        )
    alignment = one.alignment
    if alignment.only_a or alignment.only_b or alignment.unscored or found.failed:
        yield from _bounds(one, found)
    if found.detectable is not None:
        point = found.needed_for_point
        needed = "" if point is None else f"; 0.01 would need {count_noun(point, 'sample')}"
        yield "detectable", f"{show_number(found.detectable, error)} with a power of 80 %{needed}"
    if found.noise_floor is not None:
        share = (
            f", {percent((found.noise_floor / error) ** 2)} of the variance"
            if error and found.clustered is None
            else ""
        )
        yield (
            "noise",
            f"repeats alone explain an error of {show_number(found.noise_floor, error)}{share}",
        )
    if found.effect is not None:
        yield "effect", _effect(found.effect)


def _effect(effect: estimate.EffectPower) -> str:
    endless = effect.needed_without_noise
    more = "" if endless is None else f", {endless:,} if each were repeated without end"
    return (
        f"{effect.size:g} is found with a power of {percent(effect.power)} by as many samples;"
        f" 80 % need {count_noun(effect.needed, 'sample')}{more}"
    )


def _bounds(one: comparison.Comparison, found: estimate.Estimate) -> Iterator[tuple[str, str]]:
    if found.bounds is not None:
        first, second = (show_number(bound, found.standard_error) for bound in found.bounds)
        missing = "unmatched and failed" if found.failed else "unmatched"
        yield (
            "bounds",
            f"{first} with all {missing} samples counted against {one.a}, {second} against {one.b}",
        )
    elif found.bounds_reason is not None:
        yield "bounds", found.bounds_reason


def _samples(one: comparison.Comparison, found: comparison.Alignment) -> str:
    counts = f"{found.samples_a:,} in {one.a} and {found.samples_b:,} in {one.b}"
    texts = [
        f"{found.matched:,} matched of {counts} (overlap {percent(found.overlap)})",
        f"{found.only_a:,} only in {one.a}, {found.only_b:,} only in {one.b}",
    ]
    optional = (
        (found.drifted, "with another input (drift)"),
        (found.relabelled, "with other references (relabelled)"),
        (found.ambiguous, "with an ambiguous input, unmatched"),
        (found.unscored, "without a score on both sides"),
        (found.other_prompts, "asked in another prompt"),
        (found.one_prompt, "with a prompt that one run alone shows"),
        (found.other_clusters, "in another cluster, or in none of one run"),
        (found.repeated_a, f"repeated in {one.a}"),
        (found.repeated_b, f"repeated in {one.b}"),
        (found.same_input, "with the input of another one"),
    )
    return "; ".join([*texts, *(f"{count:,} {text}" for count, text in optional if count)])


def iterate_lists(report: comparison.ComparisonReport) -> Iterator[tuple[str, Sequence[str]]]:
    """Iterate over the lists of a report with their titles: settings, results, drifts, warnings."""
    settings = [
        f"{one.name}: {', '.join(f'{label} {text}' for label, text in one.values.items())}"
        for one in report.confounders
    ]
    yield "settings that differ, and may explain a difference", settings
    yield "results that are not compared", report.unmatched_results
    title = "averages with equal weights; errors hold if each result has samples of its own"
    yield title, [_average(one) for one in report.averages]
    drifts = [
        f"{one.kind}: sample {json_text(one.sample_id_a)} in line {one.line_a:,} of {one.a}, "
        f"sample {json_text(one.sample_id_b)} in line {one.line_b:,} of {one.b}"
        for one in report.drifts
    ]
    title = "samples with another input (drift) or other references (relabelled)"
    yield f"{title}; {report.drifts_in_all:,} in all", drifts
    yield "warnings", report.warnings


def _average(one: comparison.Average) -> str:
    means = _means(
        (one.a, one.mean_a, one.standard_error_a), (one.b, one.mean_b, one.standard_error_b)
    )
    is_sure = one.standard_error is not None
    reason = "" if is_sure else "; no error, as the results share samples or have none"
    difference = f"{one.a} - {one.b} = {difference_text(one)}{reason}"
    return f"{count_noun(one.results, 'result')}: {means}; {difference}"


def difference_text(found: estimate.Estimate | comparison.Average) -> str:
    """Write a difference with its interval."""
    text = show_number(found.difference, found.standard_error)
    interval = found.interval
    return text if interval is None else f"{text} ({interval_text(interval, found)})"


def figures_text(found: estimate.Estimate) -> str:
    """Write a difference with its interval and the p value of its verdict."""
    text = difference_text(found)
    return text if found.p is None else f"{text}, {p_value(found.p)}"


def interval_text(
    interval: estimate.Interval, found: estimate.Estimate | comparison.Average
) -> str:
    """Write an interval with its method."""
    low, high = (show_number(end, found.standard_error) for end in interval[:2])
    return f"{low} to {high}, {interval.method}"


def _means(*means: tuple[str, float, float | None]) -> str:
    return ", ".join(f"{label} {mean_text(mean, error)}" for label, mean, error in means)


def mean_text(mean: float, error: float | None) -> str:
    """Write a mean, with its standard error if it has one."""
    return show_number(mean, error) + ("" if error is None else f" ({show_number(error, error)})")


def count_verdicts(
    comparisons: Sequence[comparison.Comparison],
) -> list[tuple[comparison.CompareVerdict, int]]:
    """Return how many comparisons have each verdict that one has."""
    counts = Counter(one.verdict for one in comparisons)
    return [(verdict, counts[verdict]) for verdict in comparison.CompareVerdict if counts[verdict]]


def iterate_matrices(
    report: comparison.ComparisonReport,
) -> Iterator[tuple[str, comparison.Matrix]]:
    """Iterate over the matrices of many runs, each with the title of its kind."""
    kinds = {
        "Difference (row - column)": report.differences,
        "Overlap": report.overlaps,
        "Number": report.drift_counts,
    }
    return ((title, one) for title, matrices in kinds.items() for one in matrices)


def run_names(report: comparison.ComparisonReport) -> dict[str, str]:
    """Return the names of runs by label: the label, with the model if it is known."""
    return {
        run.label: f"{run.label} ({run.model})" if run.model else run.label for run in report.runs
    }


def _pairing(found: estimate.Estimate) -> str:
    if found.unpaired_error is None:
        return ""
    text = f", {show_number(found.unpaired_error, found.standard_error)} unpaired"
    if found.correlation is not None:
        text += f", correlation {found.correlation:.2f}"
    return text


def cell_text(value: float | int | None) -> str:
    """Write a cell of a matrix; what is not 0 or 1 does not look so."""
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    if 0 < abs(value) < 0.0005:
        return f"{value:.0e}"
    if 0.9995 <= value < 1:
        return "0.999"
    return f"{value + 0.0:.3f}"


def json_text(value: Any) -> str:
    """Write a JSON value on one line."""
    return "unknown" if value is None else json.dumps(value).decode()


def show_number(value: float | None, error: float | None = None) -> str:
    """Write a number with digits enough to show a tenth of an error."""
    if value is None:
        return "unknown"
    digits = 4
    if error is not None and error > 0 and math.isfinite(error):
        digits = min(12, max(0, 2 - math.floor(math.log10(error))))
    text = f"{value:.{digits}f}" if abs(value) < 1e12 else f"{value:.6g}"
    return text.removeprefix("-") if float(text) == 0 else text


def join_groups(rank: comparison.Rank) -> str:
    """Write the groups that a rank has."""
    return ", ".join(map(str, rank.groups))


def percent(share: float) -> str:
    """Write a share in percent."""
    text = f"{100 * share:.1f}"
    # A share below 100 % is not shown as 100 %.
    if text == "100.0" and share < 1:
        text = "99.9"
    return f"{text.removesuffix('.0')} %"
