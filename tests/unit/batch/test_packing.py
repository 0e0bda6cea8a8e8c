"""Many small runs in one call: the same report for any number of workers, and nothing lost."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from depth import deep
from rows import bytes_of, line_of, sound_rows, write_run

import evalstream
from evalstream.batch import packing, scheduler
from evalstream.batch.packing import RunBundle, StoredResult, bundle_small_runs, check_bundle
from evalstream.batch.plan import PlannedRun
from evalstream.batch.results import load_summary
from evalstream.engine import row_pass
from evalstream.model.options import Options
from evalstream.model.report import Report
from evalstream.model.run import NoInput, Run

SOME = 7


def written(folder: Path) -> None:
    """Write a sound run into a new folder."""
    folder.mkdir()
    write_run(folder, bytes_of(sound_rows()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some runs, one of them faulty, one large, one without rows; three runs make a pack."""
    monkeypatch.setattr(packing, "BUNDLE_RUNS", 3)
    monkeypatch.setattr(scheduler, "WORTH_A_POOL_BYTES", 100_000)
    for number in range(SOME):
        written(tmp_path / f"run-{number}")
    spoilt = tmp_path / "run-2" / "spoilt.jsonl"
    spoilt.write_bytes(line_of({**sound_rows()[0], "evaluation": None}))
    (tmp_path / "run-4" / "large.jsonl").write_bytes(b" " * 100_001)
    (tmp_path / "run-6" / "lonely.json").write_text('{"evaluation_results": []}')
    return tmp_path


def as_told(report: Report) -> list[Any]:
    """Return all that a report says, but for times."""
    runs = [
        {**run.as_dict(), "seconds": 0, "trouble": run.incomplete_reason} for run in report.runs
    ]
    return [runs, list(report), report.shown, report.exit_code]


@pytest.mark.parametrize("most", [deep(0), 1])
def test_workers_change_nothing_in_the_report(folder: Path, most: int) -> None:
    alone, together, threefold = (
        evalstream.check([folder, folder / "none.jsonl"], jobs=jobs, max_findings=most)
        for jobs in (1, 2, 3)
    )
    assert len(alone.runs) == SOME + 4
    assert as_told(alone) == as_told(together) == as_told(threefold)


def is_small(planned: PlannedRun) -> bool:
    return planned.size < 100 and not planned.is_stream


def test_only_small_runs_are_packed_and_the_order_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BUNDLE_RUNS", 3)
    runs = [PlannedRun(number, Run(f"{number}.jsonl", None), 9) for number in range(SOME)]
    large = PlannedRun(10, Run("large.jsonl", None), 100)
    stream = PlannedRun(11, Run("-", None), 0, is_stream=True)
    nothing = PlannedRun(12, NoInput("x", "y"), 0)
    planned = [stream, large, *runs, nothing]
    seen = list(bundle_small_runs(iter(planned), is_small))
    assert list(_runs(seen)) == planned
    assert [len(one.runs) for one in seen if isinstance(one, RunBundle)] == [3, 3, 2]


def test_packs_that_are_too_few_for_workers_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BUNDLE_BYTES", 20)
    runs = [PlannedRun(number, Run(f"{number}.jsonl", None), 9) for number in range(SOME)]
    assert list(bundle_small_runs(iter(runs[:3]), is_small)) == runs[:3]
    seen = list(bundle_small_runs(iter(runs[:4]), is_small))
    assert [len(one.runs) for one in seen if isinstance(one, RunBundle)] == [3, 1]


def _runs(seen: list[Any]) -> Iterator[Any]:
    for one in seen:
        if isinstance(one, RunBundle):
            yield from one.runs
        else:
            yield one


def check_or_die(options: Options, pack: RunBundle) -> list[StoredResult]:
    """Check a pack, but for one with run number 4, which kills its worker."""
    if any("run-4" in (one.found.rows or "") for one in pack.runs):
        os._exit(9)
    return check_bundle(options, pack)


@pytest.mark.parametrize("ignored", [(), deep(("ES001",))])
def test_a_run_that_kills_its_worker_is_named_and_the_others_are_checked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ignored: tuple[str, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(packing, "BUNDLE_RUNS", 3)
    monkeypatch.setattr(packing, "check_bundle", check_or_die)
    for number in range(SOME):
        written(tmp_path / f"run-{number}")
    report = evalstream.check(tmp_path, jobs=2, ignore=("ES9", *ignored))
    assert [(Path(run.file or "").parent.name, run.verdict) for run in report.runs] == [
        (f"run-{number}", "incomplete" if number == 4 else "passed") for number in range(SOME)
    ]
    assert "the worker process died" in (report.runs[4].incomplete_reason or "")
    notices = [one.message for one in caplog.records]
    assert notices[0] == "evalstream: a worker process died; what it was checking is checked again"
    assert notices[-1] == f"evalstream: {report.runs[4].incomplete_reason}"
    assert [finding.code for finding in report] == ([] if ignored else ["ES001"])
    assert report.exit_code == 3


def test_what_is_small_is_what_is_checked_by_one_process() -> None:
    assert scheduler.WORTH_A_POOL_BYTES == row_pass.WORTH_A_POOL_BYTES


def test_the_bytes_of_a_summary_are_made_once_and_without_links(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows()))
    bundle = RunBundle((PlannedRun(3, Run(str(rows), str(aggregate)), rows.stat().st_size),))
    (stored,) = check_bundle(Options(links=True), bundle)
    assert stored.links is not None
    assert load_summary(stored.data).links is None
    summary = stored.summary
    assert summary.links is stored.links
    assert (summary.file, summary.aggregate) == (stored.file, stored.aggregate)
    assert (stored.number, stored.bytes) == (3, rows.stat().st_size)
    assert (stored.is_note, stored.has_failed, stored.errors) == (False, False, 0)
