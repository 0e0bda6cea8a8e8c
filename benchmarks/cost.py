"""Holds a check with every rule against the first version that had the spine alone."""

from __future__ import annotations

import argparse
import io
import shlex
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.generate import Run, generate, parse_size
from benchmarks.measure import measure, warm

SPINE = "3ced7be9eb8a69e3caa3f4ebeabecbb03ab4da27"
"""The last commit before the rules about rows, links and claims came."""

BUDGET = 1.25
"""How many times as long as the spine a check may take."""

WORKLOADS = (("mixed", "0.2.0"), ("mixed", "0.3.0"), ("unicode", "0.3.0"), ("agentic", "0.3.0"))


@dataclass(frozen=True)
class Cost:
    """The times of both, in seconds, pair by pair, and exit codes other than 0."""

    workload: str
    spine: list[float]
    now: list[float]
    failures: list[str]

    def ratio(self) -> float:
        """Return the median of the pairs' ratios."""
        return median(now / spine for now, spine in zip(self.now, self.spine, strict=True))


def spine_command(folder: Path, root: Path) -> list[str]:
    """Take the spine out of the history, and spell the command that runs it.

    It runs in this environment, so that nothing but evalstream itself differs. Raises
    CalledProcessError where there is no history, as in an unpacked archive.
    """
    archive = subprocess.run(
        ["git", "archive", SPINE, "evalstream", "schemas"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return command_of(folder)


def command_of(folder: Path) -> list[str]:
    """Spell the command that runs the evalstream in a folder, and no other.

    Raises RuntimeError where Python finds another one.
    """
    python = ["env", f"PYTHONPATH={folder}", sys.executable, "-P"]
    where = [*python, "-c", "import evalstream; print(evalstream.__file__)"]
    found = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
    if not Path(found).is_relative_to(folder):
        message = f"{found} would be measured, not {folder}"
        raise RuntimeError(message)
    return [*python, "-m", "evalstream"]


def cost_of(run: Run, name: str, spine: list[str], now: list[str], pairs: int, jobs: int) -> Cost:
    """Let both check a run in turn."""
    warm(run.rows_path)
    paths = [str(run.rows_path), "--aggregate", str(run.aggregate_path), "--jobs", str(jobs)]
    cost = Cost(name, [], [], [])
    for _ in range(pairs):
        for command, seconds in ((spine, cost.spine), (now, cost.now)):
            taken = measure([*command, "check", *paths], samples_memory=False)
            seconds.append(taken.seconds)
            if taken.exit_code:
                cost.failures.append(f"{shlex.join(command)}: {taken.exit_code} {taken.stderr}")
    return cost


def table(costs: list[Cost]) -> str:
    """Lay the costs out as a Markdown table."""
    lines = ["| workload | spine, seconds | now, seconds | ratio |", "|---|---:|---:|---:|"]
    lines += [
        f"| {cost.workload} | {median(cost.spine):.2f} | {median(cost.now):.2f} "
        f"| {cost.ratio():.2f} |"
        for cost in costs
    ]
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("--size", type=parse_size, default=parse_size("300M"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    """Measure, print the table, and return 1 if the budget is missed or a check failed."""
    arguments = parse_arguments()
    root = Path(__file__).resolve().parent.parent
    now = command_of(root)
    costs = []
    with tempfile.TemporaryDirectory(prefix="evalstream-cost-") as temporary:
        spine = spine_command(Path(temporary) / "spine", root)
        for mix, version in WORKLOADS:
            name = f"{mix} {version}"
            folder = Path(temporary) / name.replace(" ", "-")
            run = generate(
                folder,
                size=arguments.size,
                mix=mix,
                version=version,
                faulty=False,
                seed=arguments.seed,
            )
            costs.append(cost_of(run, name, spine, now, arguments.pairs, arguments.jobs))
            run.rows_path.unlink()
    print(table(costs))
    missed = [cost for cost in costs if cost.ratio() > BUDGET or cost.failures]
    for cost in missed:
        print(f"MISSED {cost.workload}: ratio {cost.ratio():.2f} > {BUDGET}", *cost.failures[:1])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
