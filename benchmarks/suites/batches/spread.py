"""Spreads small runs over processes, machines and shards, beside one process that checks all."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.contenders.evalstream import CHECK
from benchmarks.harness.budgets import Budget
from benchmarks.harness.rounds import Task
from benchmarks.harness.tables import Section
from benchmarks.suites.batches import stores
from benchmarks.suites.batches.reports import check_into, sees_all

COLUMNS = ("way to spread", "user + system", "to one process")
SHARDS = 8
MOST_SHARE = 1.2
"""How many times the processor time of one process a way to spread work may take."""


def spread(folder: Path, scale: stores.Scale) -> Section:
    """Check small runs in one process and in other ways, and hold their processor time."""
    section = Section(f"Ways to spread runs of {stores.ROWS} rows: processor time", COLUMNS)
    small = stores.shared_runs(folder.parent / "batch" / "small", scale.runs, scale.seed)
    stores.settle()
    report = folder / "report.json"
    proves = sees_all(small, report)
    one = Task(
        "one process", check_into(report, small.folder, "--jobs", "1"), small.bytes, None, proves
    )
    for name, command in spread_commands(folder, small.folder, report):
        task = Task(name, command, small.bytes, one, proves)
        ratio = section.measure_processor(task, scale.rounds)
        budget = Budget(f"processor time, {name}, to one process", MOST_SHARE, "times")
        section.hold(budget, ratio, judges=scale.judges)
    return section


def spread_commands(folder: Path, store: Path, report: Path) -> Iterator[tuple[str, list[str]]]:
    """Spell each way to check a store and to write one report."""
    yield "two workers", check_into(report, store, "--jobs", "2")
    if find_spec("distributed") is not None:
        cluster = ("--executor", "dask", "--jobs", "2")
        yield "a cluster of Dask", check_into(report, store, *cluster)
    part = f"{folder}/part-$number.jsonl"
    shard = [*CHECK, str(store), "--jobs", "1", "--quiet"]
    merge = [*CHECK[:-1], "merge", "--format", "json", "--output", str(report)]
    numbers = " ".join(map(str, range(1, SHARDS + 1)))
    script = (
        f"for number in {numbers}; do {shlex.join(shard)} --shard $number/{SHARDS} "
        f"--output {part} || exit; done; {shlex.join(merge)} {folder}/part-*.jsonl"
    )
    yield f"{SHARDS} shards and their merge", ["bash", "-c", script]
