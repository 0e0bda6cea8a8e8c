"""Checks a store again with a ledger, and goes on where a check was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import measure, process_memory, process_tree
from benchmarks.harness.section import Section
from benchmarks.suites.batches import witness
from benchmarks.suites.batches.holding import Bound, hold
from benchmarks.suites.batches.reports import check_into, require_same, require_sound, said
from benchmarks.suites.batches.scale import Scale
from benchmarks.suites.batches.stores import settle
from benchmarks.suites.streams.scale import PATIENCE_SECONDS
from benchmarks.suites.streams.tasks import require_exit

COLUMNS = ("check", "seconds", "runs/s", "runs checked", "runs from the ledger", "report")
JOBS = ("--jobs", "2")
LEAST_SPEED = 1_000
MOST_TWICE = 320
MOST_SECONDS_A_RUN = 0.1
"""A check that takes longer than that is taken to hang."""


@dataclass(frozen=True)
class Place:
    """The folder that ledgers and reports go to, the store, and how to check it."""

    folder: Path
    store: Material

    @property
    def report(self) -> Path:
        """Return where reports go."""
        return self.folder / "report.json"

    @property
    def notes(self) -> Path:
        """Return where a byte is noted for each run that was checked."""
        return self.folder / "notes"

    def check(self, *more: str) -> list[str]:
        """Spell a check of the store."""
        return check_into(self.report, self.store.folder, *JOBS, *more)

    def witnessed(self, ledger: Path) -> list[str]:
        """Spell a check with a ledger that notes each run."""
        arguments = self.check("--ledger", str(ledger))[len(CHECK) :]
        watched = [sys.executable, "-P", witness.__file__, "check"]
        return ["env", f"{witness.VARIABLE}={self.notes}", *watched, *arguments]


def ledgers(folder: Path, scale: Scale, small: Material) -> Section:
    """Check small runs with a ledger, again, and again after a check that was killed half-way."""
    section = Section("A ledger: checked again, and gone on after kill -9", COLUMNS)
    place = Place(folder, small)
    settle()
    try:
        expected = compared(section, place, scale)
        killed(section, place, expected)
    except WrongAnswer as error:
        section.fail("with a ledger", error)
    return section


def compared(section: Section, place: Place, scale: Scale) -> bytes:
    """Check without a ledger, with a new one and again; return what each of the reports says."""
    runs, ledger = len(place.store.runs), place.folder / "whole.ledger"
    first = Line(section, place, "without a ledger")
    expected = first.take(seconds_of(place.check()), answered=0)
    remembering = place.check("--ledger", str(ledger))
    line = Line(section, place, "with a new ledger", expected)
    line.take(seconds_of(remembering), answered=0)
    seconds = median(seconds_of(remembering) for _ in range(scale.rounds))
    line = Line(section, place, "again, nothing changed", expected)
    line.take(seconds, answered=runs)
    bound = Bound("checked again with a ledger", LEAST_SPEED, "runs/s", is_floor=True)
    hold(section, bound, runs / seconds, judges=scale.judges)
    return expected


def killed(section: Section, place: Place, expected: bytes) -> None:
    """Kill a check half-way, go on, and hold how many runs were checked twice."""
    runs, ledger = len(place.store.runs), place.folder / "torn.ledger"
    command = place.witnessed(ledger)
    seconds = kill_half_way(command, place.notes, runs)
    before = place.notes.stat().st_size
    remembered = len(listed(ledger))
    cells = (f"{seconds:.2f}", "", f"{before:,}", "", f"{remembered:,} runs in the ledger")
    section.lines.append(("killed half-way", *cells))
    line = Line(section, place, "gone on", expected)
    line.take(seconds_of(command), answered=remembered)
    twice = place.notes.stat().st_size - runs
    section.facts["killed"] = {"before": before, "remembered": remembered, "twice": twice}
    hold(section, Bound("checked twice after kill -9", MOST_TWICE, "runs"), twice)


@dataclass(frozen=True)
class Line:
    """A line of the table: a check whose report is to say what the undisturbed one says."""

    section: Section
    place: Place
    name: str
    expected: bytes | None = None

    def take(self, seconds: float, *, answered: int) -> bytes:
        """Lay out what a check took, and return what its report says besides times.

        Raises WrongAnswer where that differs, or the ledger did not answer for so many runs.
        """
        require_sound(self.place.store, self.place.report, answered)
        found, runs = said(self.place.report), len(self.place.store.runs)
        self.place.report.unlink()
        if self.expected is not None:
            require_same(self.expected, found)
        same = f"{'' if self.expected is None else 'the same '}{len(found):,} bytes"
        speed, checked = f"{runs / seconds:,.0f}", f"{runs - answered:,}"
        cells = (f"{seconds:.2f}", speed, checked, f"{answered:,}", same)
        self.section.lines.append((self.name, *cells))
        self.section.facts[self.name] = {"seconds": seconds, "runs": runs, "answered": answered}
        return found


def seconds_of(command: Sequence[str]) -> float:
    """Return how long a check of sound runs takes. Raises WrongAnswer where it ends otherwise."""
    taken = measure(command, samples_memory=False)
    require_exit(0, taken.exit_code, taken.stderr or taken.stdout)
    return taken.seconds


def kill_half_way(command: Sequence[str], notes: Path, runs: int) -> float:
    """Kill a check when half of its runs were noted; return how long it had run.

    Its workers are gone, too, when this returns. Raises WrongAnswer where it was done before, or
    takes too long.
    """
    begin = time.perf_counter()
    most = PATIENCE_SECONDS + runs * MOST_SECONDS_A_RUN
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while noted(notes) < runs // 2:
            if process.poll() is not None:
                raise WrongAnswer(f"it ended with {process.returncode} before it was killed")
            if time.perf_counter() - begin > most:
                raise WrongAnswer(f"it took more than {most:.0f} s for half of its runs")
            time.sleep(0.001)
        everybody = list(process_tree(process.pid))
    finally:
        process.kill()
        process.wait()
    seconds = time.perf_counter() - begin
    while any(process_memory(one) for one in everybody):
        if time.perf_counter() - begin - seconds > PATIENCE_SECONDS:
            raise WrongAnswer("its workers outlive it")
        time.sleep(0.01)
    return seconds


def noted(notes: Path) -> int:
    """Return how many runs were noted so far."""
    try:
        return os.stat(notes).st_size
    except FileNotFoundError:
        return 0


def listed(ledger: Path) -> list[str]:
    """Return what the command line lists of a ledger, a line for each run."""
    command = [*CHECK[:-1], "ledger", str(ledger), "--format", "jsonl"]
    taken = subprocess.run(command, check=False, capture_output=True, text=True)
    require_exit(0, taken.returncode, taken.stderr)
    return taken.stdout.splitlines()
