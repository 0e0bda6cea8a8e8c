"""The suite of batches measures what it says, and accepts no report that leaves a run out."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each

import evalstream
from benchmarks.contenders.contract import Material
from benchmarks.generate.faults import EACH, KINDS, spoil_store
from benchmarks.harness.budgets import Budget, State
from benchmarks.harness.rounds import WrongAnswer
from benchmarks.harness.tables import Section
from benchmarks.suites.batches import agreement, ledgers, stores, suite
from benchmarks.suites.batches.memory import memory
from benchmarks.suites.batches.reports import comparable, require_same, require_sound
from benchmarks.suites.batches.spread import spread
from benchmarks.suites.batches.stores import (
    FOLDERS,
    QUICK,
    USUAL,
    Scale,
    large_run,
    small_runs,
    together,
)
from benchmarks.suites.batches.throughput import throughput

RUNS = 2 * FOLDERS
TINY = Scale(RUNS, 100_000, RUNS, 100_000, RUNS, rounds=1, judges=False)


def store_of(folder: Path, rows: int = 2) -> Material:
    """Make a few small runs."""
    return small_runs(folder, RUNS, rows, seed=1)


def states(section: Section) -> set[State]:
    """Return what came of the budgets of a section."""
    return {verdict.state for verdict in section.verdicts}


def names(section: Section) -> list[str]:
    """Return the first cells of the lines of a section."""
    return [line[0] for line in section.lines]


def test_small_runs_and_a_large_one_are_sound_together(tmp_path: Path) -> None:
    small = store_of(tmp_path / "small")
    large = large_run(tmp_path / "large", 100_000, seed=1)
    batch = together(tmp_path, small, large)
    report = evalstream.check(tmp_path)
    assert [finding.as_dict() for finding in report] == []
    assert (len(report.runs), report.totals.rows) == (len(batch.runs), batch.rows)
    assert report.totals.bytes == batch.bytes
    assert len({run.rows_path.parent for run in small.runs}) == FOLDERS


def test_the_same_arguments_give_the_same_bytes_with_and_without_a_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store_of(tmp_path / "first")
    monkeypatch.setattr(stores, "ProcessPoolExecutor", Sequential)
    monkeypatch.setattr(stores, "WORTH_WORKERS", 1)
    second = store_of(tmp_path / "second")
    assert contents(first) == contents(second)


class Sequential:
    """Replaces a pool of workers by a loop."""

    def __enter__(self) -> "Sequential":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, write: Callable[[int], Any], numbers: range, chunksize: int) -> Any:
        """Do the work of the workers."""
        assert chunksize
        return map(write, numbers)


def contents(store: Material) -> dict[Path, bytes]:
    """Read all files of a store, by their names within it."""
    paths = [path for path in store.folder.rglob("*") if path.is_file()]
    return {path.relative_to(store.folder): path.read_bytes() for path in paths}


def test_each_violation_that_is_made_is_found(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    spoil(store)
    report = evalstream.check(tmp_path)
    assert {code for code, _ in KINDS} <= report.counts.keys()
    assert min(report.counts[code] for code, _ in KINDS) == EACH
    # A copy goes with the rows of its own name, and with those that it declares.
    assert len(report.runs) == RUNS + 2 * EACH


def test_a_store_that_is_too_small_is_not_spoilt(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    few = Material(tmp_path, store.runs[: len(KINDS) * EACH], store.version)
    with pytest.raises(ValueError, match="15 runs are too few"):
        spoil(few)


def spoil(store: Material) -> None:
    """Spoil some runs of a store."""
    spoil_store([(run.rows_path, run.aggregate_path) for run in store.runs])


def report_of(path: Path, runs: list[dict[str, Any]], **more: Any) -> Path:
    """Write a report as the command line does."""
    text = json.dumps({"runs": runs, **more}, separators=(",", ":"))
    path.write_text(text)
    return path


def test_times_are_all_that_reports_may_differ_in(tmp_path: Path) -> None:
    value = 'a value that holds ,"seconds":5 and ,"unchanged":7'
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    run = {"rows": 2, "found": value}
    report_of(first, [{**run, "seconds": 0.25}])
    report_of(second, [{**run, "seconds": 1e-05, "unchanged": "now"}], totals={"x": 1})
    report_of(third, [{**run, "seconds": 1e-05, "unchanged": "now"}])
    assert json.loads(comparable(third))["runs"] == [{**run, "seconds": 0}]
    require_same(comparable(first), comparable(third))
    with pytest.raises(WrongAnswer, match=r"the reports differ at byte \d+"):
        require_same(comparable(first), comparable(second))
    with pytest.raises(WrongAnswer, match="the reports differ at byte 3"):
        require_same(b"abc", b"abcd")


@each(
    ("change", "reason"),
    [
        (lambda runs: runs.pop(), "it saw 39 runs"),
        (lambda runs: runs[0].update(rows=1), "and 79 rows of 40 runs and 80 rows"),
        (lambda runs: runs[0].update(verdict="incomplete"), "a sound run did not pass"),
        (lambda runs: runs[0].update(unchanged="now"), "the ledger answered for 1 runs, not 0"),
    ],
    ids=["a run less", "a row less", "not checked", "not checked again"],
)
def test_a_report_that_leaves_something_out_is_refused(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], Any], reason: str
) -> None:
    store = store_of(tmp_path / "store")
    runs = [{"rows": run.rows, "verdict": "passed"} for run in store.runs]
    path = report_of(tmp_path / "report.json", runs)
    require_sound(store, path)
    change(runs)
    with pytest.raises(WrongAnswer, match=reason):
        require_sound(store, report_of(path, runs))
    path.write_text("{")
    with pytest.raises(WrongAnswer, match="there is no report"):
        require_sound(store, path)


@pytest.mark.deep
def test_batches_are_measured_beside_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "SETTLED_SECONDS", 0)
    own = tmp_path / "own"
    own.mkdir()
    section = throughput(own, TINY)
    assert section.errors == []
    assert names(section) == [
        "one file",
        "runs of 20 rows and the large one",
        "the runs of 20 rows alone",
        "the large one alone",
        "runs of 1000 rows and the large one",
        "the runs of 1000 rows alone",
    ]
    assert {len(line) for line in section.lines} == {len(section.columns)}
    assert section.facts["one file"]["bytes"] <= section.facts[names(section)[1]]["bytes"]
    assert section.facts[names(section)[4]]["runs"] == 2
    assert State.MISSED not in states(section)
    assert State.UNJUDGED in states(section)


@pytest.mark.deep
def test_reports_are_compared_with_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "SETTLED_SECONDS", 0)
    monkeypatch.setattr(agreement, "find_spec", lambda _name: None)
    section = agreement.agreement(tmp_path, TINY)
    assert section.errors == []
    assert names(section) == ["one process", "a pool of two", "two shards, merged", "Dask"]
    first, *others, skipped = section.lines
    assert {line[2:5] for line in others} == {first[2:5]}
    assert all(line[-1] == f"the same {first[-1]}" for line in others)
    assert skipped[1] == "skipped: distributed is not installed"


def test_a_report_without_a_violation_that_was_made_is_wrong(tmp_path: Path) -> None:
    section = Section("any", agreement.COLUMNS)
    totals = {"counts": dict.fromkeys([code for code, _ in KINDS][1:], EACH)}
    path = report_of(tmp_path / "report.json", [], totals=totals)
    with pytest.raises(WrongAnswer, match="ES501 was found 0 times in 3 runs"):
        agreement.add_report(section, "any", path, 1.0, None)


@pytest.mark.deep
def test_memory_is_measured_for_more_and_more_runs(tmp_path: Path) -> None:
    section = memory(tmp_path, TINY)
    assert section.errors == []
    assert section.columns[1:4] == ("2 runs", "10 runs", "40 runs")
    assert names(section) == ["plain", "with a new ledger", "again with that ledger"]
    assert states(section) <= {State.UNJUDGED, State.UNKNOWN}


@pytest.mark.deep
def test_a_ledger_answers_and_each_check_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_killed(command: list[str], notes: Path, runs: int) -> float:
        seconds = ledgers.seconds_of(command)
        assert notes.stat().st_size == runs
        return seconds

    monkeypatch.setattr(ledgers, "kill_half_way", not_killed)
    own = tmp_path / "own"
    own.mkdir()
    section = ledgers.ledgers(own, TINY)
    assert section.errors == []
    lines = ["again, one run changed", "killed half-way", "continued"]
    assert names(section)[-3:] == lines
    assert section.facts["killed"] == {"before": RUNS, "remembered": RUNS, "twice": 0}
    assert states(section) == {State.UNJUDGED, State.HELD}


@pytest.mark.deep
def test_each_way_to_spread_covers_all_runs(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    section = spread(tmp_path / "own", TINY)
    assert section.errors == []
    assert names(section)[::2] == ["two workers", "8 shards and their merge"]
    assert states(section) == {State.UNJUDGED}


NOTING = """
import sys, time
with open(sys.argv[1], "wb") as file:
    file.write(b"." * int(sys.argv[2]))
time.sleep(float(sys.argv[3]))
"""


def test_a_check_is_killed_when_half_of_it_is_done(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    command = [sys.executable, "-c", NOTING, str(notes)]
    assert ledgers.kill_half_way([*command, "5", "600"], notes, 10) < 600
    notes.unlink()
    with pytest.raises(WrongAnswer, match="it ended with 0 before it was killed"):
        ledgers.kill_half_way([*command, "4", "0"], notes, 10)


def test_bounds_hold_in_both_directions() -> None:
    section = Section("any", ("a", "b"))
    for found in (1.0, 3.0):
        section.hold(Budget("speed", 2, "runs/s", is_floor=True), found)
        section.hold(Budget("memory", 2, "MB"), found)
    section.hold(Budget("memory", 2, "MB"), None)
    section.hold(Budget("memory", 2, "MB"), 3.0, judges=False)
    found_states = [verdict.state for verdict in section.verdicts]
    held, missed = State.HELD, State.MISSED
    assert found_states == [missed, held, held, missed, State.UNKNOWN, State.UNJUDGED]


def scale_from(*arguments: str) -> Scale:
    """Read a command line."""
    return suite.scale_of(suite.parse_arguments(arguments))


def test_sizes_are_read_from_the_command_line() -> None:
    assert scale_from() == USUAL
    assert scale_from("--quick") == QUICK
    small = scale_from("--runs", "100", "--large", "1M", "--rounds", "2")
    assert small == Scale(100, 10**6, 100, 10**6, 100, rounds=2)
    full = scale_from("--full")
    assert (full.compared, full.compared_large) == (USUAL.runs, USUAL.large)


@pytest.mark.parametrize("arguments", [("--runs", "39"), ("--large", "9K"), ("--rounds", "0")])
def test_sizes_that_make_no_sense_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        scale_from(*arguments)
    assert f"{arguments[0]} must be at least" in capsys.readouterr().err
