"""Holds a check of a large run against the bare hashing of its bytes and fails past budgets."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.generate import Run, generate, parse_size
from benchmarks.measure import Measurement, measure

MEGABYTE = 10**6
EXIT_SOUND = 0
EXIT_FAULTY = 1
SUMMARY_BYTES = 1_000_000


@dataclass(frozen=True)
class Budgets:
    """What a check may take; past the aim it is told, past a budget it fails."""

    aimed_ratio: float = 4.5
    ratio: float = 10.0
    memory_megabytes: float = 400.0
    faulty_megabytes_per_second: float = 20.0


@dataclass(frozen=True)
class Options:
    """What to measure and how often."""

    size: int
    pairs: int
    jobs: int
    command: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class Workload:
    """A run to check, and the exit code that a right answer has."""

    name: str
    run: Run
    expected_exit_code: int


@dataclass(frozen=True)
class Measured:
    """One check for the memory, the timed checks, and the floors measured in turn with them."""

    sampled: Measurement
    checks: list[Measurement]
    floors: list[Measurement]
    is_complete: bool = True

    def ratios(self) -> tuple[float, ...]:
        """Divide each check by its own floor; there are none without floors."""
        if not self.floors:
            return ()
        pairs = zip(self.checks, self.floors, strict=True)
        return tuple(check.seconds / floor.seconds for check, floor in pairs)


@dataclass(frozen=True)
class Outcome:
    """The numbers of one workload; seconds is the median, ratios are to the floor by pair."""

    workload: str
    rows: int
    megabytes: float
    seconds: float
    megabytes_per_second: float
    peak_megabytes: float | None
    ratios: tuple[float, ...]
    floor_seconds: tuple[float, ...]
    exit_codes: tuple[int, ...]
    expected_exit_code: int
    is_complete: bool
    stderr: str


def check_command(options: Options, run: Run, *extra: str) -> list[str]:
    """Spell the check of a run."""
    paths = [str(run.rows_path), "--aggregate", str(run.aggregate_path)]
    return [*options.command, "check", *paths, "--jobs", str(options.jobs), *extra]


def measure_sound(options: Options, run: Run) -> Outcome:
    """Take turns between the floor and the check; memory has a run of its own before."""
    floor_command = ["openssl", "dgst", "-sha256", str(run.rows_path)]
    command = check_command(options, run)
    warm(run)
    sampled = measure(command)
    floors, checks = [], []
    for _ in range(options.pairs):
        floors.append(measure(floor_command, samples_memory=False))
        checks.append(measure(command, samples_memory=False))
    if any(floor.exit_code for floor in floors):
        message = f"the floor failed: {floors[0].stderr}"
        raise RuntimeError(message)
    return outcome(Workload("sound", run, EXIT_SOUND), Measured(sampled, checks, floors))


def measure_faulty(options: Options, run: Run, name: str, *extra: str) -> Outcome:
    """Check a run in which every row is faulty, once for the memory and once for the time."""
    output = run.rows_path.with_name("findings.jsonl")
    command = check_command(options, run, "--format", "jsonl", "--output", str(output), *extra)
    warm(run)
    sampled = measure(command)
    output.unlink(missing_ok=True)
    timed = measure(command, samples_memory=False)
    is_complete = is_complete_report(output)
    output.unlink(missing_ok=True)
    measured = Measured(sampled, [timed], [], is_complete=is_complete)
    return outcome(Workload(name, run, EXIT_FAULTY), measured)


def is_complete_report(path: Path) -> bool:
    """Tell whether the findings end in their summary: a crash has the exit code of faults."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - SUMMARY_BYTES, 0))
        return file.read().rstrip().rpartition(b"\n")[2].startswith(b'{"summary"')


def outcome(workload: Workload, measured: Measured) -> Outcome:
    """Put the measurements of one workload together."""
    run, floors, checks = workload.run, measured.floors, measured.checks
    everything = [measured.sampled, *checks]
    seconds = median(check.seconds for check in checks)
    peak = measured.sampled.peak_bytes
    expected = workload.expected_exit_code
    unexpected = [
        one.stderr for one in everything if one.exit_code != expected or not measured.is_complete
    ]
    return Outcome(
        workload=workload.name,
        rows=run.rows,
        megabytes=run.bytes / MEGABYTE,
        seconds=seconds,
        megabytes_per_second=run.bytes / MEGABYTE / seconds,
        peak_megabytes=None if peak is None else peak / MEGABYTE,
        ratios=measured.ratios(),
        floor_seconds=tuple(floor.seconds for floor in floors),
        exit_codes=tuple(measurement.exit_code for measurement in everything),
        expected_exit_code=expected,
        is_complete=measured.is_complete,
        stderr=unexpected[0] if unexpected else "",
    )


def warm(run: Run) -> None:
    """Read the rows once, so that every contender finds them in the page cache."""
    with run.rows_path.open("rb", buffering=0) as file:
        while file.read(8 * 1024 * 1024):
            pass


def measure_all(options: Options, folder: Path) -> list[Outcome]:
    """Make both workloads below the folder and measure them."""
    sound, faulty = (
        generate(
            folder / name,
            size=options.size,
            mix="mixed",
            version="0.2.0",
            faulty=name == "faulty",
            seed=options.seed,
        )
        for name in ("sound", "faulty")
    )
    return [
        measure_sound(options, sound),
        measure_faulty(options, faulty, "faulty, all findings", "--max-findings", "0"),
        measure_faulty(options, faulty, "faulty, default caps"),
    ]


def missed(outcomes: list[Outcome], budgets: Budgets) -> list[str]:
    """Say which budgets and expectations an outcome does not hold, one line each."""
    lines = []
    for one in outcomes:
        wrong = sorted(set(one.exit_codes) - {one.expected_exit_code})
        if wrong:
            codes = ", ".join(map(str, wrong))
            lines.append(f"{one.workload}: exit code {codes}, not {one.expected_exit_code}")
        if not one.is_complete:
            lines.append(f"{one.workload}: the findings do not end in a summary")
        if one.ratios and median(one.ratios) > budgets.ratio:
            lines.append(f"{one.workload}: ratio {median(one.ratios):.2f} > {budgets.ratio}")
        if one.peak_megabytes is not None and one.peak_megabytes >= budgets.memory_megabytes:
            peak, limit = one.peak_megabytes, budgets.memory_megabytes
            lines.append(f"{one.workload}: peak memory {peak:.0f} MB, not below {limit:.0f} MB")
        speed, least = one.megabytes_per_second, budgets.faulty_megabytes_per_second
        if one.expected_exit_code == EXIT_FAULTY and speed < least:
            lines.append(f"{one.workload}: {speed:.1f} MB/s < {least:.0f} MB/s")
    return lines


def table(outcomes: list[Outcome]) -> str:
    """Lay the outcomes out as a Markdown table."""
    lines = [
        "| workload | rows | MB | seconds | MB/s | ratio to openssl (min to max) | peak MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in outcomes:
        ratio, peak = "", "not measured"
        if one.ratios:
            ratio = f"{median(one.ratios):.2f} ({min(one.ratios):.2f} to {max(one.ratios):.2f})"
        if one.peak_megabytes is not None:
            peak = f"{one.peak_megabytes:.0f}"
        lines.append(
            f"| {one.workload} | {one.rows} | {one.megabytes:.0f} | {one.seconds:.2f} "
            f"| {one.megabytes_per_second:.0f} | {ratio} | {peak} |"
        )
    return "\n".join(lines)


def machine() -> dict[str, str | int | None]:
    """State the facts of the machine that the numbers depend on."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu_count": os.cpu_count(),
        "cpu_model": models[0] if models else platform.processor(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def document(
    options: Options, outcomes: list[Outcome], budgets: Budgets, lines: list[str]
) -> dict[str, object]:
    """Give all numbers as one JSON document."""
    return {
        "machine": machine(),
        "options": asdict(options),
        "budgets": asdict(budgets),
        "outcomes": [asdict(one) for one in outcomes],
        "missed": lines,
    }


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spine", description=__doc__)
    parser.add_argument("--size", type=parse_size, default=parse_size("300M"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--command", default=shlex.join([sys.executable, "-m", "evalstream"]))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the workloads in DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error("--pairs must be at least 1")
    if shutil.which("openssl") is None:
        parser.error("the floor is measured with openssl, which is not on the PATH")
    return arguments


def main() -> int:
    """Measure, print the table, and return 1 if a budget is missed."""
    arguments = parse_arguments()
    command = tuple(shlex.split(arguments.command))
    options = Options(arguments.size, arguments.pairs, arguments.jobs, command, arguments.seed)
    with tempfile.TemporaryDirectory(prefix="evalstream-spine-") as temporary:
        outcomes = measure_all(options, arguments.keep or Path(temporary))
    budgets = Budgets()
    lines = missed(outcomes, budgets)
    print(table(outcomes))
    for line in lines:
        print(f"MISSED {line}")
    for one in outcomes:
        if one.ratios and median(one.ratios) > budgets.aimed_ratio:
            print(f"aim {one.workload}: ratio {median(one.ratios):.2f} > {budgets.aimed_ratio}")
    for stderr in filter(None, (one.stderr for one in outcomes)):
        print(stderr, file=sys.stderr)
    if arguments.json:
        text = json.dumps(document(options, outcomes, budgets, lines), indent=2)
        arguments.json.write_text(text + "\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
