"""Check a run as a comparison does, and return the samples that were collected."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sample_reference import scores_of

from evalstream.batch.comparing.compare import compare_runs
from evalstream.batch.comparing.pairs import Request
from evalstream.batch.comparing.runs import CheckedRun, checked_run, make_labels, one_run
from evalstream.formats.registry import FORMATS
from evalstream.io.progress import Progress
from evalstream.model.comparison import Answered, CompareSettings, ComparisonReport, Flip
from evalstream.model.options import Options, SampleRequest
from evalstream.model.sample_record import SampleScore


class Collected(NamedTuple):
    """A checked run, and its samples by their line and the label of their metric."""

    checked: CheckedRun
    samples: dict[tuple[int, str], SampleScore]

    def scores(self, metric: str) -> dict[int, float]:
        """Return the scores of one metric by line."""
        return {line: one.score for (line, label), one in self.samples.items() if label == metric}

    def identities(self) -> dict[int, tuple[int, int]]:
        """Return the identities of the samples by line."""
        return {line: (one.high, one.low) for (line, _), one in self.samples.items()}

    def answers(self, *places: tuple[int, int]) -> list[Answered | None]:
        """Return the answers at some places."""
        run = self.checked.run
        return list(FORMATS[run.format].answers(run, Options(), places))


def collected(path: Any, by: str = "input", cluster: str | None = None, **more: Any) -> Collected:
    """Check the one run at a path, and collect its samples."""
    options = Options(samples=SampleRequest(by, cluster), **more)
    checked = checked_run(one_run(str(path), options), "A", options, Progress(shown=False))
    samples = {}
    if checked.samples is not None:
        names = [metric.label for metric in checked.description.metrics]
        for some in checked.samples.store.samples():
            for one in scores_of(some):
                samples[one.line, names[one.group]] = one
    checked.close()
    return Collected(checked, samples)


def compared(
    *paths: Any, by: str = "input", meanwhile: Callable[[], object] = int
) -> tuple[ComparisonReport, list[Flip]]:
    """Compare the runs at some paths with the first one; return the report and the flips.

    `meanwhile` is called when all runs are checked.
    """
    options = Options(samples=SampleRequest(by))
    runs = [
        checked_run(one_run(str(path), options), label, options, Progress(shown=False))
        for path, label in zip(paths, make_labels(len(paths)), strict=True)
    ]
    meanwhile()
    result = compare_runs(runs, runs[0], Request(CompareSettings(by=by)), options)
    flips = list(result.flips())
    result.close()
    for run in runs:
        run.close()
    return result.report, flips
