"""Runs a command in its own process and measures its times and the memory of its tree."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import IO

PROC = Path("/proc")
INTERVAL_SECONDS = 0.02
STDERR_SHOWN = 2_000
FEWEST_SAMPLES = 5
STDOUT_KEPT = 8_000_000


@dataclass(frozen=True)
class Measurement:
    """What one run of a command took; peak_bytes is None where memory was not sampled.

    The user and system seconds are those of all its processes that have ended. Of stdout and
    stderr the last bytes are kept.
    """

    seconds: float
    user_seconds: float
    system_seconds: float
    peak_bytes: int | None
    exit_code: int
    stdout: str
    stderr: str

    @property
    def processor_seconds(self) -> float:
        """Return the time in programs and in the kernel."""
        return self.user_seconds + self.system_seconds


def measure(
    command: Sequence[str], *, stdin: Path | None = None, samples_memory: bool = True
) -> Measurement:
    """Run the command to its end, with a file or nothing on its stdin.

    Sampling walks the page tables of every process in the tree: leave it out where time counts.
    """
    with (
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
        Path(stdin or os.devnull).open("rb") as given,
    ):
        before = getrusage(RUSAGE_CHILDREN)
        start = perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=stdout, stderr=stderr)
        sampler = MemorySampler(process.pid) if samples_memory and PROC.is_dir() else None
        try:
            exit_code = process.wait()
            seconds = perf_counter() - start
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            peak_bytes = sampler.stop() if sampler else None
        after = getrusage(RUSAGE_CHILDREN)
        return Measurement(
            seconds=seconds,
            user_seconds=after.ru_utime - before.ru_utime,
            system_seconds=after.ru_stime - before.ru_stime,
            peak_bytes=peak_bytes,
            exit_code=exit_code,
            stdout=_end(stdout, STDOUT_KEPT),
            stderr=_end(stderr, STDERR_SHOWN),
        )


def warm(path: Path) -> None:
    """Read a file once, so that every contender finds it in the page cache."""
    with path.open("rb", buffering=0) as file:
        while file.read(8 * 1024 * 1024):
            pass


def _end(file: IO[bytes], size: int) -> str:
    """Return the last bytes of a file as text."""
    file.seek(max(file.seek(0, os.SEEK_END) - size, 0))
    return file.read().decode(errors="replace")


class MemorySampler:
    """Samples the memory of a process tree in a thread until stopped, and keeps the peak."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._samples = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> int | None:
        """End the sampling and return the peak in bytes, None where it ended too early to tell."""
        self._ended.set()
        self._thread.join()
        return self._peak if self._samples >= FEWEST_SAMPLES else None

    def _sample(self) -> None:
        """Sum the tree once per interval."""
        while not self._ended.is_set():
            total = sum(process_memory(pid) for pid in process_tree(self._pid))
            self._peak = max(self._peak, total)
            self._samples += total > 0
            self._ended.wait(INTERVAL_SECONDS)


def process_tree(pid: int) -> Iterator[int]:
    """Yield the process and all its descendants that still live."""
    yield pid
    threads = PROC / str(pid) / "task"
    try:
        listed = [(threads / thread / "children").read_text() for thread in os.listdir(threads)]
    except OSError:  # it ends while it is looked at
        return
    for child in " ".join(listed).split():
        yield from process_tree(int(child))


def process_memory(pid: int) -> int:
    """Return the proportional set size in bytes, else the resident one, 0 for an ended process."""
    for name, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = (PROC / str(pid) / name).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0
