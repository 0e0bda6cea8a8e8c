"""Check the runs of a comparison, and collect their samples in the same pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Final

from evalstream.batch.single import check_any
from evalstream.discovery.inputs import find_all
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import is_remote, printable
from evalstream.io.progress import Progress
from evalstream.io.readers import FileState, file_state
from evalstream.model.comparison import ComparedRun, CompareSettings, RunDescription
from evalstream.model.data_class import DataClass
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.stats.run_samples import RunSamples

MOST_REASONS: Final = 5
"""Number of codes that a run gives as reasons."""

OTHER_DOCUMENT: Final = "benchmark"
"""`covers` of a summary whose checksum is not that of the run's file."""


class CheckedRun(DataClass):
    """A run that was checked for a comparison, with its samples.

    `samples` are None where it has no scores of single samples. `warnings` are those of its check,
    as texts, such as a claimed score that the rows do not give. `states` are those of its local
    files before the check, by path.
    """

    run: Run
    summary: RunSummary
    samples: RunSamples | None
    shown: ComparedRun
    warnings: Sequence[str]
    states: Mapping[str, FileState]

    @property
    def has_changed(self) -> bool:
        """Whether one of its files is not the one that was checked."""
        return any(file_state(path) != state for path, state in self.states.items())

    @property
    def description(self) -> RunDescription:
        """The description of the run."""
        described = None if self.samples is None else self.samples.description
        return described or RunDescription(None, None, (), (), {})

    @property
    def refusal(self) -> str | None:
        """Why the run is not compared unless that is asked for, None for a run that is."""
        if self.summary.verdict == "failed":
            return f"does not pass its check: {', '.join(self.shown.reasons)}"
        if self.summary.incomplete_reason is not None:
            return f"could not be checked in full: {self.summary.incomplete_reason}"
        return None

    def describe(self, description: RunDescription) -> None:
        """Replace what the run says of itself."""
        if self.samples is not None:
            self.samples.description = description

    def count_samples(self) -> None:
        """Set the number of samples that the report shows; they were read before, if at all."""
        if self.samples is not None:
            self.shown.samples = self.samples.store.sample_count

    def close(self) -> None:
        """Delete temporary files."""
        if self.samples is not None:
            self.samples.close()


def one_run(name: str, options: Options) -> Run:
    """Return the one run that an input stands for. Raises UsageError, and CannotCheck for none."""
    found = [*_first_ones(find_all([name], None, None, options))]
    runs = [one for one in found if isinstance(one, Run)]
    if len(runs) > 1:
        raise UsageError(f"{printable(name)} holds several runs; name one of them")
    if not runs:
        reason = found[0].reason if found and isinstance(found[0], NoInput) else "no run was found"
        raise CannotCheck(f"{printable(name)}: {reason}")
    return runs[0]


def _first_ones(found: Iterable[Run | NoInput]) -> Iterator[Run | NoInput]:
    """Return what is found up to the second run: a folder may hold a million."""
    runs = 0
    for one in found:
        yield one
        runs += isinstance(one, Run)
        if runs > 1:
            return


def checked_run(run: Run, label: str, options: Options, progress: Progress) -> CheckedRun:
    """Check a run and collect its samples. Raises Stopped."""
    warned: set[str] = set()

    def note(finding: Finding) -> None:
        if finding.severity is Severity.WARNING:
            warned.add(finding.code)

    states = _states(run)
    summary = check_any(run, options, note, progress)
    # A check that a signal stops is incomplete: it does not raise Stopped itself.
    STOPPING.check_again()
    samples: RunSamples | None = summary.samples
    if samples is not None:
        samples.store.finish()
    warnings = {code: times for code, times in summary.counts.items() if code in warned}
    shown = _describe_run(summary, samples, label)
    return CheckedRun(run, summary, samples, shown, _name_codes(warnings), states)


def reason_left_out(run: CheckedRun, settings: CompareSettings, metric: str | None) -> str | None:
    """Return why a run takes no part, None if it does."""
    if not run.description.metrics:
        return f"holds no scores of single samples (format {run.run.format})"
    if settings.verified and run.refusal is not None:
        return run.refusal
    metrics = run.description.metrics
    if metric is not None and not any(metric in (m.result, m.metric, m.label) for m in metrics):
        return f"has no result or metric named {metric}"
    return None


def split_usable(
    runs: Iterable[CheckedRun], settings: CompareSettings, metric: str | None
) -> tuple[list[CheckedRun], list[str]]:
    """Return the runs that take part, and why each other one does not."""
    reasons = [(run, reason_left_out(run, settings, metric)) for run in runs]
    used = [run for run, reason in reasons if reason is None]
    return used, [f"{run.shown.label} {reason}" for run, reason in reasons if reason is not None]


def _describe_run(summary: RunSummary, samples: RunSamples | None, label: str) -> ComparedRun:
    described = None if samples is None else samples.description
    reason = summary.incomplete_reason or summary.remark
    return ComparedRun(
        label=label,
        file=summary.file,
        aggregate=summary.aggregate,
        format=summary.format,
        version=summary.version,
        model=None if described is None else described.model,
        evaluation=None if described is None else described.evaluation,
        verdict=summary.verdict,
        # What fails it, the most frequent first; or why its verdict is open.
        reasons=[*_name_codes(summary.failing), *([reason] if reason else ())],
        rows=summary.rows,
        noun=summary.noun,
        without_identity=0 if samples is None else samples.without_identity,
        checksum=None if summary.covers == OTHER_DOCUMENT else summary.actual,
        settings={} if described is None else described.settings,
    )


def _states(run: Run) -> dict[str, FileState]:
    """Return the states of the files that a comparison reads again, as far as they are local."""
    paths = [path for path in (run.rows, run.inputs) if path and path != STDIN]
    found = {path: file_state(path) for path in paths if not is_remote(path)}
    return {path: state for path, state in found.items() if state is not None}


def make_labels(count: int) -> list[str]:
    """Return the labels of so many runs: A to Z, then A2 to Z2, and so on."""
    rounds = range(1, count // len(ascii_uppercase) + 2)
    labels = [f"{one}{'' if turn == 1 else turn}" for turn in rounds for one in ascii_uppercase]
    return labels[:count]


def _name_codes(counts: Mapping[str, int]) -> list[str]:
    texts = [
        f"{code} {CATALOGUE[code].name} ({times:,})"
        for code, times in Counter(counts).most_common(MOST_REASONS)
    ]
    if len(counts) > MOST_REASONS:
        texts.append(f"and {count_noun(len(counts) - MOST_REASONS, 'more code')}")
    return texts
