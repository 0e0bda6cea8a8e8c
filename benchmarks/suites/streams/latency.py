"""Times rows one by one on their way through the filter."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from random import Random
from statistics import median, quantiles
from threading import Thread, Timer
from time import perf_counter, sleep

import orjson

from benchmarks.contenders.evalstream import CHECK
from benchmarks.generate.aggregates import Written, aggregate_of, identity_of
from benchmarks.generate.blocks import Line, Recipe, block_of
from benchmarks.generate.dialect import DIALECTS
from benchmarks.harness.budgets import MILLISECONDS
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.section import Section
from benchmarks.suites.streams.runs import CHUNK_BYTES, VERSION
from benchmarks.suites.streams.scale import PATIENCE_SECONDS, Scale
from benchmarks.suites.streams.tasks import require_exit

LATENCY_MILLISECONDS = 50
LONG_ROW_BYTES = 300_000
READY_SECONDS = 1.0
"""How long after the start of the process the first row is written."""

PAUSES = {"5 to 30": (0.005, 0.03), "5": (0.005, 0.005)}
"""The shortest and the longest time between two writes, in seconds, by name in milliseconds."""


def latency(folder: Path, scale: Scale) -> Section:
    """Time rows one by one on their way through the filter."""
    columns = ("filter", "first row", "median", "99th percentile", "maximum", "the long row")
    section = Section("Latency of the filter, ms", columns)
    data = timed_lines(scale.timed_rows, scale.seed)
    aggregate_path = sealed_lines(folder, data)
    for passing in ("all", "valid"):
        for pause, bounds in PAUSES.items():
            name = f"--pass {passing}, every {pause} ms"
            command = [*CHECK, "-", "--aggregate", str(aggregate_path), "--pass", passing]
            try:
                taken = delays(command, [line.data for line in data], bounds, scale.seed)
            except WrongAnswer as error:
                section.fail(name, error)
                continue
            tell_latency(section, name, [second * MILLISECONDS for second in taken], data)
    return section


def tell_latency(section: Section, name: str, taken: list[float], data: Sequence[Line]) -> None:
    """Lay the delays of all rows out, in milliseconds."""
    first, *others = taken
    longest = max(range(len(data)), key=lambda place: len(data[place].data))
    ninety_nine = quantiles(others, n=100, method="inclusive")[98]
    figures = (first, median(others), ninety_nine, max(others), taken[longest])
    section.lines.append((name, *(f"{figure:.1f}" for figure in figures)))
    section.facts[name] = taken
    section.hold(f"{name}: first row", first, LATENCY_MILLISECONDS, "ms")
    section.hold(f"{name}: 99th percentile", ninety_nine, LATENCY_MILLISECONDS, "ms")
    section.hold(f"{name}: maximum", max(others), LATENCY_MILLISECONDS, "ms")


def timed_lines(count: int, seed: int) -> list[Line]:
    """Make rows of 3 kB and, in their middle, one that is much longer."""
    usual = Recipe("single", VERSION, identity_of(0), is_faulty=False, seed=seed)
    # Another block, so that no row has the number of a usual one.
    candidates = block_of(replace(usual, mix="agentic"), count, 10)
    long = min(candidates, key=lambda line: abs(len(line.data) - LONG_ROW_BYTES))
    lines = block_of(usual, 0, count)
    return [*lines[: count // 2], long, *lines[count // 2 :]]


def sealed_lines(folder: Path, lines: Sequence[Line]) -> Path:
    """Write the aggregate of rows that come in a stream, and return its path."""
    data = b"".join(line.data for line in lines)
    written = Written(
        len(lines),
        len(data),
        sum(line.score for line in lines),
        sum(line.score**2 for line in lines),
        hashlib.sha256(data).hexdigest(),
    )
    path = folder / "timed.json"
    aggregate = aggregate_of(DIALECTS[VERSION], identity_of(0), "run.jsonl", written)
    path.write_bytes(orjson.dumps(aggregate))
    return path


def delays(
    command: Sequence[str], data: Sequence[bytes], bounds: tuple[float, float], seed: int
) -> list[float]:
    """Write rows to a filter one by one, with pauses whatever it does meanwhile.

    Return the seconds from before each write until the last byte of the row came out. Raises
    WrongAnswer where other bytes come out, or the exit code is not 0; one that is stuck is
    ended.
    """
    came = SimpleQueue[tuple[float, bytes]]()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        reading = Thread(target=_note_arrivals, args=(process.stdout.fileno(), came))
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
        said = errors.read().decode(errors="replace")
    require_exit(0, code, said)
    return [end - begin for begin, end in zip(begun, _ends(data, came), strict=True)]


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


def _note_arrivals(descriptor: int, came: SimpleQueue[tuple[float, bytes]]) -> None:
    """Read to the end, and note when each piece was there; the empty one at last."""
    piece = b"-"
    while piece:
        piece = os.read(descriptor, CHUNK_BYTES)
        came.put((perf_counter(), piece))


def _ends(data: Sequence[bytes], came: SimpleQueue[tuple[float, bytes]]) -> list[float]:
    """Return when the last byte of each row was there. Raises WrongAnswer for other bytes."""
    everything, got, wanted, ended = b"".join(data), 0, 0, list[float]()
    when = 0.0
    for row in data:
        wanted += len(row)
        while got < wanted:
            when, piece = came.get()
            if not piece or everything[got : got + len(piece)] != piece:
                raise WrongAnswer(f"other bytes came out from byte {got:,} on")
            got += len(piece)
        ended.append(when)
    if came.get()[1]:
        raise WrongAnswer("more bytes came out than went in")
    return ended
