"""The runs of a report are a sequence as any other, and leave nothing behind."""

import gc
import sqlite3
from pathlib import Path

import pytest
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.batch.results import Runs
from evalstream.io.spill_table import SpillTable


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Check three runs, and return their summaries."""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        write_run(tmp_path / name, bytes_of(sound_rows()))
    found = evalstream.check(tmp_path, jobs=1).runs
    assert isinstance(found, Runs)
    return found


def test_runs_are_found_by_any_index_and_slice(runs: Runs) -> None:
    names = [run.file for run in runs]
    assert len(runs) == len(set(names)) == 3
    for index in range(-6, 6):
        if -3 <= index < 3:
            assert runs[index].file == names[index]
        else:
            with pytest.raises(IndexError):
                _ = runs[index]
    for chosen in (
        slice(None),
        slice(1, None),
        slice(-2, None),
        slice(None, None, -1),
        slice(9, 12),
    ):
        assert [run.file for run in runs[chosen]] == names[chosen]


def test_the_database_is_closed_when_the_runs_are_gone() -> None:
    table = SpillTable("CREATE TABLE runs (number INTEGER PRIMARY KEY)")
    base, runs = table._base, Runs(table)
    del runs, table
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        base.execute("SELECT 1")
