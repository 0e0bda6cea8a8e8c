"""Checks many small runs and a large one together, beside the same bytes in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.batches.reports import check_into, sees_all
from benchmarks.batches.scale import Scale
from benchmarks.batches.stores import (
    ROWS,
    WIDE_ROWS,
    Shape,
    hold,
    large_run,
    settle,
    small_runs,
    together,
)
from benchmarks.contenders.contract import Material
from benchmarks.outcomes import MEGABYTE, Numbers
from benchmarks.streams.section import Section
from benchmarks.streams.tasks import Task, measured, peak_cell

LEAST_SHARE = 0.85
JOBS = ("--jobs", "2")
COLUMNS = (
    "checked by two workers",
)
