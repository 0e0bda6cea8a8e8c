"""Times rows one by one on their way through the filter."""

from __future__ import annotations

import os
import subprocess
import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median, quantiles
from threading import Thread, Timer
from time import perf_counter, sleep

from benchmarks.contenders.evalstream import CHECK
from benchmarks.generate.aggregates import identity_of
from benchmarks.generate.blocks import Line, Plan, block_of
from benchmarks.generate.repack import CHUNK_BYTES
from benchmarks.generate.runs import write_run
from benchmarks.harness.budgets import Budget
from benchmarks.harness.rounds import MILLISECONDS, WrongAnswer, first_difference, require_exit
from benchmarks.harness.tables import Section
from benchmarks.suites.streams.runs import VERSION, Scale

LATENCY_MILLISECONDS = 50
LONG_ROW_BYTES = 300_000
READY_SECONDS = 1.0
"""How long after the start of the process the first row is written."""

PATIENCE_SECONDS = 60.0
"""How much longer a filter may take than its rows take to be written."""

PAUSES = {"5 to 30": (0.005, 0.03), "5": (0.005, 0.005)}
"""The shortest and the longest time between two writes, in seconds, by name in milliseconds."""

USUAL = Plan("single", VERSION, identity_of(0), seed=1)


def latency(folder: Path, scale: Scale) -> Section:
    """Time rows one by one on their way through the filter."""
    columns = ("filter", "first row", "median", "99th percentile", "maximum", "the long row")
    section = Section("Latency of the filter, ms", columns)
    data = timed_lines(scale.timed_rows, scale.seed)
    run = write_run(folder, USUAL, ("run.jsonl", "timed.json"), data, option=0)
    for passing in ("all", "valid"):
        for pause, bounds in PAUSES.items():
            name = f"--pass {passing}, every {pause} ms"
            command = [*CHECK, "-", "--aggregate", str(run.aggregate_path), "--pass", passing]
            try:
                taken = delays(command, [line.data for line in data], bounds, scale.seed)
            except WrongAnswer as error:
                section.fail(name, error)
                continue
            add_line(section, name, [second * MILLISECONDS for second in taken], data)
    return section


def add_line(section: Section, name: str, taken: list[float], data: Sequence[Line]) -> None:
    """Lay the delays of all rows out, in milliseconds, and hold the worst."""
    first, *others = taken
    longest = max(range(len(data)), key=lambda place: len(data[place].data))
    ninety_nine = quantiles(others, n=100, method="inclusive")[98]
    figures = (first, median(others), ninety_nine, max(others), taken[longest])
    section.lines.append((name, *(f"{figure:.1f}" for figure in figures)))
    section.facts[name] = taken
    held = {"first row": first, "99th percentile": ninety_nine, "maximum": max(others)}
    for figure, found in held.items():
        section.hold(Budget(f"{name}: {figure}", LATENCY_MILLISECONDS, "ms"), found)


def timed_lines(count: int, seed: int) -> list[Line]:
    """Make rows of 3 kB and, in their middle, one that is much longer."""
    usual = replace(USUAL, seed=seed)
    # Another block, so that no row has the number of a usual one.
    candidates = block_of(replace(usual, mix="agentic"), count, 10)
    long = min(candidates, key=lambda line: abs(len(line.data) - LONG_ROW_BYTES))
    lines = block_of(usual, 0, count)
    return [*lines[: count // 2], long, *lines[count // 2 :]]


def delays(
    command: Sequence[str], data: Sequence[bytes], bounds: tuple[float, float], seed: int
) -> list[float]:
    """Write rows to a filter one by one, with pauses that do not depend on its output.

    Return the seconds from before each write until the last byte of the row came out. Raises
    WrongAnswer where other bytes come out, or the exit code is not 0; a filter that hangs is
    killed.
    """
    arrivals = list[tuple[float, bytes]]()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        reading = Thread(target=_note_arrivals, args=(process.stdout.fileno(), arrivals))
        begun = list[float]()
        ending = Timer(PATIENCE_SECONDS + len(data) * bounds[1], process.kill)
        reading.start()
        ending.start()
        try:
            with suppress(BrokenPipeError):
                begun = _write_rows(process.stdin.fileno(), data, bounds, Random(seed))
            process.stdin.close()
            code = process.wait()
        finally:
            ending.cancel()
            process.kill()
            reading.join()
        errors.seek(0)
        output = errors.read().decode(errors="replace")
    require_exit(0, code, output)
    return [end - begin for begin, end in zip(begun, _ends(data, arrivals), strict=True)]


def _write_rows(
    descriptor: int, data: Sequence[bytes], bounds: tuple[float, float], pause: Random
) -> list[float]:
    """Write rows with pauses, and return when each began to be written."""
    begun = []
    sleep(READY_SECONDS)
    for row in data:
        view = memoryview(row)
        begun.append(perf_counter())
        while view:
            view = view[os.write(descriptor, view) :]
        sleep(pause.uniform(*bounds))
    return begun


def _note_arrivals(descriptor: int, arrivals: list[tuple[float, bytes]]) -> None:
    """Read to the end, and note when each piece came."""
    while piece := os.read(descriptor, CHUNK_BYTES):
        arrivals.append((perf_counter(), piece))


def _ends(data: Sequence[bytes], arrivals: Sequence[tuple[float, bytes]]) -> list[float]:
    """Return when the last byte of each row came. Raises WrongAnswer for other bytes."""
    expected, found = b"".join(data), b"".join(piece for _, piece in arrivals)
    if expected != found:
        place = first_difference(expected, found)
        raise WrongAnswer(f"other bytes came out from byte {place:,} on")
    totals = list(accumulate(len(piece) for _, piece in arrivals))
    return [arrivals[bisect_left(totals, end)][0] for end in accumulate(map(len, data))]
