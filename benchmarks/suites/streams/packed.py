"""Checks packed files: the same rows in every compression, and bombs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.contenders.evalstream import CHECK
from benchmarks.generate.runs import Run
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import Measurement, measure, warm
from benchmarks.harness.outcomes import MEGABYTE
from benchmarks.harness.section import Section
from benchmarks.suites.streams.packing import (
    LEVELS,
    has_zstandard,
    pack,
    pack_file,
    unpacking_alone,
)
from benchmarks.suites.streams.runs import CHUNK_BYTES, REPORT, check_of, resealed, sees_all
from benchmarks.suites.streams.scale import Scale
from benchmarks.suites.streams.tasks import (
    SPEEDS,
    Task,
    hold_peak,
    peak_cell,
    require_exit,
    tell,
    tell_with_floor,
)

TIME_IS_UP = 124
"""How `timeout` exits when the time was up."""


def compressed(folder: Path, scale: Scale, run: Run) -> Section:
    """Check a file in every compression, beside the plain one and beside unpacking alone."""
    del folder
    section = Section("Packed, in unpacked bytes; the floor is unpacking alone", SPEEDS)
    plain = Task("plain", check_of(run), run.bytes, None, sees_all(run))
    tell(section, plain, scale.rounds)
    kinds = [kind for kind in LEVELS if kind != "zst" or has_zstandard()]
    with ProcessPoolExecutor(2) as pool:
        paths = list(pool.map(partial(pack_file, run.rows_path), kinds))
    for kind, path in zip(kinds, paths, strict=True):
        packed = resealed(run, path, "jsonl")
        warm(path)
        alone = ["bash", "-c", '"$@" > /dev/null', "bash", *unpacking_alone(path, kind)]
        task = Task(kind, check_of(packed), run.bytes, alone, sees_all(run))
        program = Path(unpacking_alone(path, kind)[0]).name
        tell_with_floor(section, task, scale.rounds, f"{kind}, by {program} alone")
        path.unlink()
    if "zst" not in kinds:
        section.skip("zst", "skipped: there is no library for it")
    return section


def bombs(folder: Path, scale: Scale) -> Section:
    """Check little files that unpack to much: to one endless line, and to nothing but lines."""
    columns = ("bomb", "packed MB", "seconds", "MB/s", "peak MB", "came of it")
    section = Section(f"Bombs of {scale.bomb / MEGABYTE:,.0f} MB", columns)
    for kind in ("gz", "zst"):
        for name, byte in (("zeros", b"\0"), ("newlines", b"\n")):
            path = folder / f"{name}.jsonl.{kind}"
            if kind == "zst" and not has_zstandard():
                section.skip(path.name, "skipped: there is no library for it")
                continue
            pack(path, kind, repeated(byte, scale.bomb), level=1)
            set_off(section, path, scale)
            path.unlink()
    return section


def repeated(byte: bytes, size: int) -> Iterator[bytes]:
    """Yield one byte again and again, in pieces."""
    piece = byte * CHUNK_BYTES
    for start in range(0, size, CHUNK_BYTES):
        yield piece[: size - start]


def set_off(section: Section, path: Path, scale: Scale) -> None:
    """Check a bomb and lay out what it took.

    A check that is not done in time is stopped, and says how far it came.
    """
    limit = ["timeout", "--foreground", str(scale.bomb_seconds)]
    taken = measure([*limit, *CHECK, str(path), *REPORT, "--jobs", "2"])
    name, packed = path.name, f"{path.stat().st_size / MEGABYTE:.2f}"
    try:
        done = bytes_done(taken, scale.bomb)
    except WrongAnswer as error:
        section.fail(name, error)
        return
    left = (scale.bomb - done) / MEGABYTE
    speed = f"{done / MEGABYTE / taken.seconds:.3g}"
    peak = None if taken.peak_bytes is None else taken.peak_bytes / MEGABYTE
    became = f"stopped, {left:,.0f} MB left" if left else "read to its end"
    section.lines.append((name, packed, f"{taken.seconds:.1f}", speed, peak_cell(peak), became))
    section.facts[name] = {"seconds": taken.seconds, "bytes": done, "peak_megabytes": peak}
    hold_peak(section, name, peak)
    section.hold(f"left of {name} after {scale.bomb_seconds} s", left, 0, "MB")


def bytes_done(taken: Measurement, size: int) -> int:
    """Return how much of a bomb was gone through: all of it, unless the time was up.

    A bomb is no sound file, so that its check ends with 1. Raises WrongAnswer.
    """
    is_stopped = taken.exit_code == TIME_IS_UP
    if not is_stopped:
        require_exit(1, taken.exit_code, taken.stderr)
    done = bytes_told(taken.stdout)
    if not is_stopped and done != size:
        raise WrongAnswer(f"it went through {done:,} bytes of {size:,}")
    return done


def bytes_told(report: str) -> int:
    """Return how many bytes of rows a report speaks of. Raises WrongAnswer where it does not."""
    try:
        runs = json.loads(report.rstrip().rpartition("\n")[2])["summary"]["runs"]
        return sum(run["bytes"] for run in runs)
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise WrongAnswer("the report has no summary") from error
