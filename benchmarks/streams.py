"""Measures rows that come any other way than from a plain file: piped, packed, in arrays, afar."""

from __future__ import annotations

import argparse
import bz2
import hashlib
import http.client
import json
import logging
import lzma
import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from random import Random
from statistics import median, quantiles
from threading import Thread, Timer
from time import perf_counter, sleep
from typing import Any, Protocol

import orjson

from benchmarks.aggregate import Written, aggregate_of, identity_of
from benchmarks.blocks import Line, Recipe, block_of
from benchmarks.budgets import MILLISECONDS, Board, Budget, State, Verdict
from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK, sums_up
from benchmarks.dialect import DIALECTS
from benchmarks.generate import Run, generate
from benchmarks.judging import WrongAnswer
from benchmarks.machine import machine
from benchmarks.measure import Measurement, measure, warm
from benchmarks.outcomes import MEGABYTE, Numbers
from benchmarks.tables import budget_table, in_cell, machine_line, spread

VERSION = "0.2.0"
REPORT = ["--format", "jsonl"]
CHUNK_BYTES = 1 << 20

LATENCY_MILLISECONDS = 50
PEAK_MEGABYTES = 300
APART_PERCENT = 5

LONG_ROW_BYTES = 300_000
READY_SECONDS = 1.0
"""How long after the start of the process the first row is written."""

PAUSES = {"5 to 30": (0.005, 0.03), "5": (0.005, 0.005)}
"""The shortest and the longest time between two writes, in seconds, by name in milliseconds."""

PATIENCE_SECONDS = 60.0
"""How much longer than its rows take to be written a filter, or a server to start, may take."""

SAID_CHARACTERS = 500
"""How much is shown of what a command said that failed."""

TIME_IS_UP = 124
"""How `timeout` exits when the time was up."""

LEVELS = {"gz": 6, "zst": 3, "xz": 2, "bz2": 9}
UNPACKERS = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bzip2"}
"""The programs that unpack alone with -dc, and say so."""

BUCKET = "results"
SIGNED = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, Signature=0"
CREDENTIALS = (
    "AWS_ACCESS_KEY_ID=benchmark",
    "AWS_SECRET_ACCESS_KEY=benchmark",
    "AWS_DEFAULT_REGION=us-east-1",
    "AWS_EC2_METADATA_DISABLED=true",
)
FETCH = """
import sys
from evalstream.sources.remote import RemoteReader
reader = RemoteReader(sys.argv[1])
while reader.read():
    pass
"""
"""Has an object as a check does, and drops it."""


@dataclass(frozen=True)
class Scale:
    """How large everything is: bytes of rows, bytes of a bomb, rows that are timed one by one.

    `large` is the larger of two arrays, None where it is left out.
    """

    size: int
    large: int | None
    bomb: int
    bomb_seconds: int
    timed_rows: int
    rounds: int
    seed: int = 1


FULL = Scale(300 * 10**6, 1_200 * 10**6, 4 * 10**9, 120, 500, 3)
QUICK = Scale(60 * 10**6, None, 200 * 10**6, 10, 100, 1)


@dataclass
class Section:
    """A table: its title, its columns, and what was found; errors fail the benchmark."""

    title: str
    columns: tuple[str, ...]
    lines: list[tuple[str, ...]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def hold(self, name: str, found: float | None, bound: float, unit: str) -> None:
        """Hold what was found against a bound that it must not pass."""

        def figure(board: Board) -> float | None:
            del board
            return found

        self.verdicts.append(Verdict(Budget(name, figure, bound, unit), found))

    def fail(self, name: str, error: WrongAnswer) -> None:
        """Note a wrong answer: there are no numbers then."""
        self.errors.append(f"{name}: {error}")
        self.skip(name, f"error: {error}")

    def skip(self, name: str, why: str) -> None:
        """Leave a line without numbers."""
        self.lines.append((name, in_cell(why), *[""] * (len(self.columns) - 2)))

    def markdown(self) -> str:
        """Lay the table out."""
        head = [f"**{self.title}**", "", _line(self.columns)]
        rule = _line(["---", *["---:"] * (len(self.columns) - 1)])
        return "\n".join([*head, rule, *map(_line, self.lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True)
class Task:
    """A command to measure beside a floor, and what tells its right answer."""

    name: str
    command: Sequence[str]
    size: int
    floor: Sequence[str] | None = None
    proves: Callable[[Measurement], None] | None = None
    proof: Sequence[str] | None = None
    """A command that does the same and fails where what came out is not what went in."""


SPEEDS = ("reading", "seconds", "MB/s", "to the floor (min, max)", "peak MB")


def measured(task: Task, rounds: int) -> Numbers:
    """Run a task once for its memory, then in turn with its floor. Raises WrongAnswer."""
    if task.proof is not None:
        trusted(task, measure(task.proof, samples_memory=False))
    sampled = trusted(task, measure(task.command))
    timed, floors = [], []
    for _ in range(rounds):
        if task.floor is not None:
            floor = measure(task.floor, samples_memory=False)
            floors.append(trusted(replace(task, proves=None), floor))
        timed.append(trusted(task, measure(task.command, samples_memory=False)))
    return Numbers(tuple(timed), tuple(floors), sampled)


def trusted(task: Task, taken: Measurement) -> Measurement:
    """Return a measurement with exit code 0 and the right answer. Raises WrongAnswer."""
    if taken.exit_code:
        said = (taken.stderr or taken.stdout).strip()[-SAID_CHARACTERS:]
        raise WrongAnswer(f"exit code {taken.exit_code}, not 0: {said}")
    if task.proves is not None:
        task.proves(taken)
    return replace(taken, stdout="", stderr="")


def tell(section: Section, task: Task, rounds: int) -> Numbers | None:
    """Measure a task and lay it out as a line, None where the answer is wrong."""
    try:
        numbers = measured(task, rounds)
    except WrongAnswer as error:
        section.fail(task.name, error)
        return None
    peak = numbers.peak_megabytes
    section.lines.append(
        (
            task.name,
            f"{numbers.seconds:.2f}",
            f"{task.size / MEGABYTE / numbers.seconds:.0f}",
            spread(numbers),
            "not measured" if peak is None else f"{peak:.0f}",
        )
    )
    section.facts[task.name] = {
        "bytes": task.size,
        "round_seconds": [one.seconds for one in numbers.rounds],
        "floor_seconds": [one.seconds for one in numbers.floors],
        "peak_megabytes": peak,
    }
    return numbers


def sees_all(run: Run) -> Callable[[Measurement], None]:
    """Return what raises WrongAnswer unless the report counts all rows of a run."""
    material = Material(run.rows_path.parent, (run,), VERSION)

    def proves(taken: Measurement) -> None:
        if not sums_up(material, taken.stdout or taken.stderr):
            raise WrongAnswer("what it says does not show that it went through all rows")

    return proves


def piped(source: Path, *programs: Sequence[str]) -> list[str]:
    """Spell a pipe that begins with a file and ends with the exit code that failed in it."""
    quoted = [" ".join(_quoted(word) for word in program) for program in programs]
    return ["bash", "-c", " | ".join([f"set -o pipefail; cat {_quoted(str(source))}", *quoted])]


def _quoted(word: str) -> str:
    """Quote a word for the shell, unless it sends output somewhere."""
    return word if word == ">" else shlex.quote(word)


def check_of(run: Run, *extra: str) -> list[str]:
    """Spell the check of a run's file by two workers."""
    paths = [str(run.rows_path), "--aggregate", str(run.aggregate_path)]
    return [*CHECK, *paths, *REPORT, "--jobs", "2", *extra]


def resealed(run: Run, path: Path, layout: str) -> Run:
    """Write an aggregate that seals the rows of a run as another file holds them."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
    aggregate = orjson.loads(run.aggregate_path.read_bytes())
    aggregate["detailed_evaluation_results"] |= {
        "format": layout,
        "file_path": path.name,
        "checksum": digest.hexdigest(),
        "total_rows": run.rows,
    }
    aggregate_path = path.with_name(f"{path.name}.aggregate.json")
    aggregate_path.write_bytes(orjson.dumps(aggregate))
    return Run(path, aggregate_path, run.rows, path.stat().st_size)


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
        said = errors.read().decode(errors="replace").strip()[-SAID_CHARACTERS:]
    if code:
        raise WrongAnswer(f"exit code {code}, not 0: {said}")
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


def throughput(folder: Path, scale: Scale, run: Run) -> Section:
    """Let a file through the filter in all ways."""
    section = Section("Through the filter; the floor is cat FILE | openssl dgst -sha256", SPEEDS)
    floor = piped(run.rows_path, ["openssl", "dgst", "-sha256"])
    check = [*CHECK, "-", "--aggregate", str(run.aggregate_path), *REPORT]
    plain = Task("check -", piped(run.rows_path, check), run.bytes, floor, sees_all(run))
    tasks = [plain]
    for passing in ("all", "valid"):
        words = [*check, "--pass", passing]
        silent = piped(run.rows_path, [*words, ">", os.devnull])
        compared = piped(run.rows_path, words, ["cmp", "-", str(run.rows_path)])
        task = replace(plain, name=f"--pass {passing}", command=silent, proof=compared)
        tasks.append(task)
    copy, refused = str(folder / "copy.jsonl"), str(folder / "refused.jsonl")
    apart = ["--accepted", copy, "--rejected", refused]
    for name, more in (("--tee", ["--tee", copy]), ("--accepted, --rejected", apart)):
        command = piped(run.rows_path, [*check, *more])
        task = replace(plain, name=name, command=command, proves=copies(run, copy))
        tasks.append(task)
    for task in tasks:
        tell_peak(section, task, scale.rounds)
    return section


def tell_peak(section: Section, task: Task, rounds: int) -> Numbers | None:
    """Measure and lay out a task, and hold its memory against what a check may use."""
    numbers = tell(section, task, rounds)
    if numbers is not None:
        name = f"peak memory, {task.name}"
        section.hold(name, numbers.peak_megabytes, PEAK_MEGABYTES, "MB")
    return numbers


def tell_with_floor(section: Section, task: Task, rounds: int, floor: str) -> None:
    """Measure and lay out a task, and what its floor took under its own name."""
    numbers = tell_peak(section, task, rounds)
    if numbers is not None:
        seconds = median(one.seconds for one in numbers.floors)
        speed = f"{task.size / MEGABYTE / seconds:.0f}"
        section.lines.append((floor, f"{seconds:.2f}", speed, "", ""))


def copies(run: Run, path: str) -> Callable[[Measurement], None]:
    """Return what raises WrongAnswer unless a file was written anew with all bytes of a run."""
    sees = sees_all(run)

    def proves(taken: Measurement) -> None:
        sees(taken)
        if subprocess.run(["cmp", "--", str(run.rows_path), path], check=False).returncode:
            raise WrongAnswer(f"{path} does not hold the rows that went in")
        os.unlink(path)

    return proves


class Packer(Protocol):
    """What packs bytes piece by piece."""

    def compress(self, data: bytes, /) -> bytes:
        """Take a piece and return what is packed by now."""

    def flush(self) -> bytes:
        """Return the rest."""


def packer(kind: str, *, level: int | None = None) -> Packer:
    """Return what packs in a kind, by its ending. Raises ImportError for zst without a library."""
    chosen = LEVELS[kind] if level is None else level
    if kind == "gz":
        return zlib.compressobj(chosen, wbits=31)
    if kind == "xz":
        return lzma.LZMACompressor(preset=chosen)
    if kind == "bz2":
        return bz2.BZ2Compressor(chosen)
    compressor: Packer = zstandard().ZstdCompressor(level=chosen)
    return compressor


def zstandard() -> Any:
    """Return the library of zst. Raises ImportError where there is none."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def pack(path: Path, kind: str, pieces: Iterable[bytes], *, level: int | None = None) -> Path:
    """Write pieces packed, as one member, and return the path."""
    packing = packer(kind, level=level)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(packing.compress(piece))
        file.write(packing.flush())
    return path


def pack_file(rows_path: Path, kind: str) -> Path:
    """Pack a file beside itself."""
    with rows_path.open("rb") as file:
        pieces = iter(partial(file.read, CHUNK_BYTES), b"")
        return pack(rows_path.with_name(f"packed.jsonl.{kind}"), kind, pieces)


def unpacking_alone(path: Path, kind: str) -> list[str]:
    """Spell what unpacks a file and drops it: a program, or Python where there is none."""
    program = UNPACKERS[kind]
    if shutil.which(program):
        return [program, "-dc", str(path)]
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    library = {"gz": "gzip", "xz": "lzma", "bz2": "bz2", "zst": module}[kind]
    code = f"import sys, {library} as library\nwith library.open(sys.argv[1]) as file:\n"
    return [sys.executable, "-c", f"{code} while file.read(1 << 20): pass", str(path)]


def compressed(folder: Path, scale: Scale, run: Run) -> Section:
    """Check a file in every compression, beside the plain one and beside unpacking alone."""
    del folder
    section = Section("Packed, in unpacked bytes; the floor is unpacking alone", SPEEDS)
    plain = Task("plain", check_of(run), run.bytes, None, sees_all(run))
    tell_peak(section, plain, scale.rounds)
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


def has_zstandard() -> bool:
    """Tell whether zst can be packed here."""
    try:
        zstandard()
    except ImportError:
        return False
    return True


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
    shown = "not measured" if peak is None else f"{peak:.0f}"
    became = f"stopped, {left:,.0f} MB left" if left else "read to its end"
    section.lines.append((name, packed, f"{taken.seconds:.1f}", speed, shown, became))
    section.facts[name] = {"seconds": taken.seconds, "bytes": done, "peak_megabytes": peak}
    section.hold(f"peak memory, {name}", peak, PEAK_MEGABYTES, "MB")
    section.hold(f"left of {name} after {scale.bomb_seconds} s", left, 0, "MB")


def bytes_done(taken: Measurement, size: int) -> int:
    """Return how much of a bomb was gone through: all of it, unless the time was up.

    A bomb is no sound file, so that its check ends with 1. Raises WrongAnswer.
    """
    is_stopped = taken.exit_code == TIME_IS_UP
    if not is_stopped and taken.exit_code != 1:
        raise WrongAnswer(
            f"exit code {taken.exit_code}, not 1: {taken.stderr.strip()[-SAID_CHARACTERS:]}"
        )
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


def arrays(folder: Path, scale: Scale, run: Run) -> Section:
    """Check the same rows as one JSON array, in two spellings and two sizes."""
    section = Section("As one array; the floor is the check of the same rows, one a line", SPEEDS)
    found = dict[str, list[float]]()
    for size in (scale.size, scale.large):
        if size is None:
            section.skip("the larger arrays", "skipped: not with --quick")
            continue
        own = run if size == scale.size else mixed(folder / "large", size, scale.seed)
        rounds = scale.rounds if own is run else 1
        for spelling in SPELLINGS:
            array = write_array(own, folder / "run.json", spelling)
            name = f"{spelling}, {array.bytes / MEGABYTE:,.0f} MB"
            task = Task(name, check_of(array), array.bytes, check_of(own), sees_all(array))
            numbers = tell_peak(section, task, rounds)
            if numbers is not None and numbers.peak_megabytes:
                found.setdefault(spelling, []).append(numbers.peak_megabytes)
            array.rows_path.unlink()
        if own is not run:
            own.rows_path.unlink()
    for spelling, peaks in found.items():
        apart = 100 * (max(peaks) / min(peaks) - 1) if len(peaks) > 1 else None
        section.hold(f"peaks of the {spelling} arrays apart", apart, APART_PERCENT, "%")
    return section


SPELLINGS = ("compact", "indented")


def write_array(run: Run, path: Path, spelling: str) -> Run:
    """Write the rows of a run as one array, and an aggregate that seals it."""
    with run.rows_path.open("rb") as rows, path.open("wb", buffering=CHUNK_BYTES) as file:
        before = b"["
        for row in rows:
            file.write(before)
            file.write(row.rstrip(b"\n") if spelling == "compact" else indented(row))
            before = b","
        file.write(b"]" if spelling == "compact" else b"\n]\n")
    return resealed(run, path, "json")


def indented(row: bytes) -> bytes:
    """Spell a row over many lines, as an element of an array."""
    text = orjson.dumps(orjson.loads(row), option=orjson.OPT_INDENT_2)
    return b"\n  " + text.replace(b"\n", b"\n  ")


def remote(folder: Path, scale: Scale, run: Run) -> Section:
    """Check an object in a store and behind a web server, both on this machine."""
    del folder
    title = "From afar, by loopback; the floor is having the bytes alone"
    section = Section(title, SPEEDS)
    stores = {"s3": ("moto", "s3fs", "flask"), "http": ("aiohttp", "fsspec")}
    for name, needed in stores.items():
        missing = [package for package in needed if find_spec(package) is None]
        if missing:
            section.skip(name, f"skipped: {', '.join(missing)} is not installed")
            continue
        with store_of(name, run) as (prefix, environment):
            prepared = ["env", *environment]
            paths = (run.rows_path, run.aggregate_path)
            rows, aggregate = (f"{prefix}/{path.name}" for path in paths)
            check = [*prepared, *CHECK, rows, "--aggregate", aggregate, *REPORT, "--jobs", "2"]
            alone = [*prepared, sys.executable, "-c", FETCH, rows]
            task = Task(name, check, run.bytes, alone, sees_all(run))
            tell_with_floor(section, task, scale.rounds, f"{name}, the bytes alone")
    return section


@contextmanager
def store_of(name: str, run: Run) -> Iterator[tuple[str, list[str]]]:
    """Serve a run's files in a process of its own; give what URLs and environments begin with."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    serve = serve_bucket if name == "s3" else serve_files
    process = context.Process(target=serve, args=(there, str(run.rows_path.parent)), daemon=True)
    process.start()
    try:
        if not here.poll(PATIENCE_SECONDS):
            raise WrongAnswer(f"the server of {name} does not start")
        address = here.recv()
        if name == "http":
            yield f"http://{address}", []
        else:
            put(address, f"/{BUCKET}")
            for path in (run.rows_path, run.aggregate_path):
                put(address, f"/{BUCKET}/{path.name}", path)
            yield f"s3://{BUCKET}", [f"AWS_ENDPOINT_URL=http://{address}", *CREDENTIALS]
    finally:
        process.terminate()
        process.join()


def put(address: str, path: str, source: Path | None = None) -> None:
    """Store a file as an object, or make a bucket, in a store that is open."""
    connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
    with Path(source or os.devnull).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        headers = {"Authorization": SIGNED, "Content-Length": str(size)}
        connection.request("PUT", path, file, headers)
        answer = connection.getresponse()
        answer.read()
    connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise WrongAnswer(f"the store answered {answer.status} to an object")


def serve_bucket(connection: Connection, folder: str) -> None:
    """Serve a store that speaks S3 until the process is ended."""
    del folder
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = import_module("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address, port = server.get_host_and_port()
    connection.send(f"{address}:{port}")
    while True:
        sleep(PATIENCE_SECONDS)


def serve_files(connection: Connection, folder: str) -> None:
    """Serve a folder with ranges until the process is ended."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(FilesHandler, directory=folder))
    connection.send(f"127.0.0.1:{server.server_address[1]}")
    server.serve_forever()


class FilesHandler(SimpleHTTPRequestHandler):
    """Answers with files and with parts of them, from the page cache."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        """Answer until whoever asks is gone."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer with a file, or with the part that is asked for."""
        with open(self.translate_path(self.path), "rb") as file:
            facts = os.fstat(file.fileno())
            start, end = 0, facts.st_size
            asked = self.headers.get("Range", "").removeprefix("bytes=")
            if asked:
                first, _, last = asked.partition("-")
                start, end = int(first), min(int(last or end) + 1, end)
            self.send_response(http.HTTPStatus.PARTIAL_CONTENT if asked else http.HTTPStatus.OK)
            if asked:
                told = f"bytes {start}-{end - 1}/{facts.st_size}"
                self.send_header("Content-Range", told)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(end - start))
            self.send_header("ETag", f'"{facts.st_size:x}-{facts.st_mtime_ns:x}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.flush()
                self.connection.sendfile(file, start, end - start)

    do_HEAD = do_GET  # noqa: N815 - theirs

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - theirs
        """Say nothing."""


def mixed(folder: Path, size: int, seed: int) -> Run:
    """Make the mixed workload."""
    run = generate(folder, size=size, mix="mixed", version=VERSION, faulty=False, seed=seed)
    warm(run.rows_path)
    return run


SECTIONS = ("latency", "throughput", "compressed", "bombs", "arrays", "remote")


def sections(names: Sequence[str], scale: Scale, folder: Path) -> Iterator[Section]:
    """Measure one section after the other; those of rows in a file share one run."""
    alone = {"latency": latency, "bombs": bombs}
    sharing = {
        "throughput": throughput,
        "compressed": compressed,
        "arrays": arrays,
        "remote": remote,
    }
    run = mixed(folder / "run", scale.size, scale.seed) if sharing.keys() & set(names) else None
    for name in names:
        own = folder / name
        own.mkdir()
        if name in alone:
            yield alone[name](own, scale)
        elif run is not None:
            yield sharing[name](own, scale, run)


def document(facts: dict[str, Any], done: Sequence[Section]) -> dict[str, Any]:
    """Give everything as one JSON document."""
    return {
        "machine": facts,
        "sections": [{"title": one.title, "found": one.facts} for one in done],
        "budgets": [
            {
                "name": verdict.budget.name,
                "limit": verdict.limit,
                "found": verdict.found,
                "state": verdict.state,
            }
            for one in done
            for verdict in one.verdicts
        ],
        "errors": [error for one in done for error in one.errors],
    }


def complaints(done: Sequence[Section]) -> Iterator[str]:
    """Say what fails the benchmark, a line each: wrong answers, and missed budgets."""
    for one in done:
        for error in one.errors:
            yield f"ERROR {one.title}: {error}"
        for verdict in one.verdicts:
            if verdict.state is State.MISSED:
                yield f"MISSED {verdict.budget.name}: {verdict.figure}, {verdict.limit}"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all of it, small")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=SECTIONS)
    parser.add_argument("--folder", type=Path, help="where files are made, then deleted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    return parser.parse_args()


def main() -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    arguments = parse_arguments()
    scale, facts, done = QUICK if arguments.quick else FULL, machine(), list[Section]()
    print(machine_line(facts), flush=True)
    with tempfile.TemporaryDirectory(prefix="evalstream-streams-", dir=arguments.folder) as folder:
        for section in sections(arguments.only, scale, Path(folder)):
            print(f"\n{section.markdown()}", flush=True)
            done.append(section)
    print(f"\n{budget_table([verdict for one in done for verdict in one.verdicts])}\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(document(facts, done), indent=2) + "\n")
    failures = list(complaints(done))
    for line in failures:
        print(line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
