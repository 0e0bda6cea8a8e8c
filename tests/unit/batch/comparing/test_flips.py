"""The flips between two runs, and what they cost."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.batch.comparing import flips
from evalstream.io.spill_table import SpillTable

RUNS = EXAMPLES / "compare/data/tiny_sums/acme"


@pytest.mark.parametrize(("other", "opened"), [("acorn-7b", 0), ("acorn-3b", 1)])
def test_a_pair_without_flips_opens_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, opened: int
) -> None:
    """The flips of all pairs of runs are in one table, as one of its own takes 230 kB."""
    tables: list[SpillTable] = []

    def make(statements: str) -> SpillTable:
        tables.append(SpillTable(statements))
        return tables[-1]

    monkeypatch.setattr(flips, "SpillTable", make)
    second = shutil.copytree(RUNS / other, tmp_path / "second")
    found: Any = evalstream.compare([str(RUNS / "acorn-7b"), str(second)], verify=False)
    assert bool(found.flips) == bool(opened)
    shown, own = tables
    assert "_base" in vars(shown)
    assert ("_base" in vars(own)) == bool(opened)
