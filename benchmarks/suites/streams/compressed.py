"""Checks compressed files: the same rows in every compression, and bombs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.contenders.evalstream import CHECK, REPORT
from benchmarks.generate.repack import (
    CHUNK_BYTES,
    COMPRESSORS,
    can_compress,
    compress,
    compress_run,
)
from benchmarks.harness.budgets import Budget
from benchmarks.harness.measure import Measurement, measure, warm
from benchmarks.harness.rounds import MEGABYTE, Task, WrongAnswer, megabytes, require_exit
from benchmarks.harness.tables import Section, peak_cell, speed_columns
from benchmarks.suites.streams.runs import TWO_WORKERS, Scale, check_of, mixed, sees_all

WITHOUT_ZSTANDARD = "skipped: no library for zst is installed"
TIMED_OUT = 124
"""The exit code of `timeout` when the time was up."""


def compressed(folder: Path, scale: Scale) -> Section:
    """Check a file in every compression, beside the plain one and beside decompressing alone."""
    run = mixed(folder.parent / "run", scale.size, scale.seed)
    columns = speed_columns("reading", floor="decompressing alone")
    section = Section("Compressed rows, in bytes when decompressed", columns)
    section.measure(Task("plain", check_of(run), run.bytes, proves=sees_all(run)), scale.rounds)
    for kind, (program, _, _) in COMPRESSORS.items():
        if not can_compress(kind):
            section.skip(kind, WITHOUT_ZSTANDARD)
            continue
        file = compress_run(run, kind)
        path = file.rows_path
        warm(path)
        alone = ["bash", "-c", f'{program} -dc "$1" > /dev/null', "bash", str(path)]
        floor = Task(f"{kind}, by {program} alone", alone, run.bytes)
        has_program = shutil.which(program) is not None
        task = Task(kind, check_of(file), run.bytes, floor if has_program else None, sees_all(run))
        section.measure_with_floor(task, scale.rounds)
        path.unlink()
    return section


def bombs(folder: Path, scale: Scale) -> Section:
    """Check little files that decompress to much: one endless line, or nothing but line feeds."""
    columns = ("bomb", "compressed MB", "seconds", "MB/s", "peak MB", "result")
    section = Section(f"Bombs of {scale.bomb / MEGABYTE:,.0f} MB", columns)
    for kind in ("gz", "zst"):
        for name, byte in (("zeros", b"\0"), ("newlines", b"\n")):
            path = folder / f"{name}.jsonl.{kind}"
            if not can_compress(kind):
                section.skip(path.name, WITHOUT_ZSTANDARD)
                continue
            compress(path, kind, repeated(byte, scale.bomb), level=1)
            check_bomb(section, path, scale)
            path.unlink()
    return section


def repeated(byte: bytes, size: int) -> Iterator[bytes]:
    """Yield one byte so many times, in pieces."""
    piece = byte * CHUNK_BYTES
    for start in range(0, size, CHUNK_BYTES):
        yield piece[: size - start]


def check_bomb(section: Section, path: Path, scale: Scale) -> None:
    """Check a bomb and add its line; a check that takes too long is stopped."""
    limit = ["timeout", "--foreground", str(scale.bomb_seconds)]
    taken = measure([*limit, *CHECK, str(path), *REPORT, *TWO_WORKERS])
    name, size = path.name, path.stat().st_size
    try:
        done = bytes_done(taken, scale.bomb)
    except WrongAnswer as error:
        section.fail(name, error)
        return
    left = (scale.bomb - done) / MEGABYTE
    peak = megabytes(taken.peak_bytes)
    seconds, speed = f"{taken.seconds:.1f}", f"{done / MEGABYTE / taken.seconds:.3g}"
    result = f"stopped, {left:,.0f} MB left" if left else "read to its end"
    cells = (f"{size / MEGABYTE:.2f}", seconds, speed, peak_cell(peak), result)
    section.lines.append((name, *cells))
    section.facts[name] = {"seconds": taken.seconds, "bytes": done, "peak_megabytes": peak}
    section.hold_peak(name, peak)
    section.hold(Budget(f"left of {name} after {scale.bomb_seconds} s", 0, "MB"), left)


def bytes_done(taken: Measurement, size: int) -> int:
    """Return how many bytes of a bomb the report counts: all, unless the time was up.

    A bomb is not a sound file, so that its check exits with 1. Raises WrongAnswer.
    """
    is_stopped = taken.exit_code == TIMED_OUT
    if not is_stopped:
        require_exit(1, taken.exit_code, taken.stderr)
    try:
        summary = json.loads(taken.stdout.rstrip().rpartition("\n")[2])["summary"]
        done = int(summary["totals"]["bytes"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise WrongAnswer("the report has no summary") from error
    if not is_stopped and done != size:
        raise WrongAnswer(f"it went through {done:,} bytes of {size:,}")
    return done
