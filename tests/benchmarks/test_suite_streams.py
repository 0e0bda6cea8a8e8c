"""The suite of streams measures what it says, and accepts no filter that loses a byte."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import evalstream
from benchmarks.generate.repack import SPELLINGS, write_array
from benchmarks.generate.runs import generate
from benchmarks.harness.budgets import State
from benchmarks.harness.rounds import WrongAnswer
from benchmarks.harness.tables import Section
from benchmarks.suites.streams import latency
from benchmarks.suites.streams.compressed import check_bomb
from benchmarks.suites.streams.latency import delays, timed_lines
from benchmarks.suites.streams.runs import QUICK

ROWS = [b'{"row": 1}\n', b'{"row": 2}\n']
LETTING = "import os\nwhile row := os.read(0, 9999): os.write(1, {})"


def test_rows_are_timed_until_they_are_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "READY_SECONDS", 0.1)
    taken = delays([sys.executable, "-c", LETTING.format("row")], ROWS, (0.01, 0.02), 1)
    assert len(taken) == len(ROWS)
    assert all(0 < seconds < 5 for seconds in taken)
    with pytest.raises(WrongAnswer, match="other bytes came out from byte 2 on"):
        delays([sys.executable, "-c", LETTING.format("row.upper()")], ROWS, (0.01, 0.02), 1)


def test_arrays_hold_the_rows_and_are_sealed(tmp_path: Path) -> None:
    run = generate(tmp_path, size=50_000, mix="mixed", version="0.2.0", seed=1)
    rows = [json.loads(line) for line in run.rows_path.read_bytes().splitlines()]
    for spelling in SPELLINGS:
        array = write_array(run, tmp_path / "run.json", spelling)
        assert json.loads(array.rows_path.read_bytes()) == rows
        report = evalstream.check(array.rows_path, aggregate=array.aggregate_path)
        assert report.exit_code == 0
        assert report.runs[0].rows == run.rows == array.rows


def test_one_timed_row_is_long_and_no_number_comes_twice() -> None:
    data = [json.loads(line.data) for line in timed_lines(20, 1)]
    assert len({row["sample_id"] for row in data}) == len(data) == 21
    assert max(len(line.data) for line in timed_lines(20, 1)) > 200_000


def test_a_bomb_is_held_to_the_memory_of_a_check(tmp_path: Path) -> None:
    section = Section("Bombs", ("bomb", "compressed MB", "seconds", "MB/s", "peak MB", "result"))
    path = tmp_path / "zeros.jsonl"
    path.write_bytes(bytes(1_000_000))
    check_bomb(section, path, replace(QUICK, bomb=1_000_000))
    assert not section.errors
    assert section.lines[0][-1] == "read to its end"
    assert {one.state for one in section.verdicts} <= {State.HELD, State.UNKNOWN}
