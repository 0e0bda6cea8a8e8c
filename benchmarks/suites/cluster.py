"""Simulates a check of many files on a cluster, from the costs measured on one machine."""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

GIGABYTE = 10**9
MICROSECOND = 1e-6


@dataclass(frozen=True)
class Costs:
    """What a check costs on one core, as measured; times are in seconds.

    `row` is what a worker needs for a row, `merge` what the driver needs for it, `hash_rate`
    the bytes a second of the checksum, `run` the fixed cost of a run, `start` that of a call.
    """

    row: float = 5.0 * MICROSECOND
    merge: float = 1.5 * MICROSECOND
    hash_rate: float = 1.25 * GIGABYTE
    run: float = 2.2e-3
    start: float = 0.15
    row_bytes: int = 3236


@dataclass(frozen=True)
class Cluster:
    """The machines: each node runs calls of `width` cores side by side, each with its files.

    `node_rate` is the bytes a second that a node can read.
    """

    nodes: int = 100
    cores: int = 64
    width: int = 4
    node_rate: float = 3.0 * GIGABYTE

    @property
    def calls_per_node(self) -> int:
        """How many calls run side by side on a node."""
        return max(1, self.cores // self.width)


@dataclass(frozen=True)
class Simulated:
    """How it came out: seconds until the first and the last node are done, and core seconds."""

    first: float
    last: float
    busy: float


def file_sizes(files: int, total: float, spread: float, seed: int) -> list[float]:
    """Draw sizes in bytes from a lognormal distribution, scaled to the total."""
    random = Random(seed)
    drawn = [random.lognormvariate(0.0, spread) for _ in range(files)]
    scale = total / sum(drawn)
    return [size * scale for size in drawn]


def shares(sizes: Sequence[float], parts: int) -> Iterator[list[float]]:
    """Give each part its files: the largest first, always to the part with the fewest bytes."""
    loads = [(0.0, part) for part in range(parts)]
    given: list[list[float]] = [[] for _ in range(parts)]
    for size in sorted(sizes, reverse=True):
        load, part = loads[0]
        given[part].append(size)
        heapq.heapreplace(loads, (load + size, part))
    yield from given


def seconds_of(size: float, costs: Costs, cores: int) -> float:
    """Tell how long a call of some cores takes for one file.

    The checksum and the merge are serial, each on a core of its own while workers check the
    rows; on few cores all share them.
    """
    rows = size / costs.row_bytes
    checksum, merge, work = size / costs.hash_rate, rows * costs.merge, rows * costs.row
    if cores == 1:
        return costs.run + checksum + merge + work
    return costs.run + max(checksum, merge, (checksum + merge + work) / cores)


def core_seconds(sizes: Sequence[float], costs: Costs) -> float:
    """Sum what all files cost on one core."""
    return sum(seconds_of(size, costs, 1) for size in sizes)


def simulate(sizes: Sequence[float], costs: Costs, cluster: Cluster) -> Simulated:
    """Give the files to all calls of all nodes, and see when each node is done.

    A node is done when its slowest call is, and not before all its bytes could be read.
    """
    calls = cluster.nodes * cluster.calls_per_node
    parts = list(shares(sizes, calls))
    ends = []
    for node in range(cluster.nodes):
        own = parts[node :: cluster.nodes]
        slowest = max(sum(seconds_of(size, costs, cluster.width) for size in part) for part in own)
        reading = sum(map(sum, own)) / cluster.node_rate
        ends.append(costs.start + max(slowest, reading))
    return Simulated(min(ends), max(ends), core_seconds(sizes, costs))


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    costs, cluster = Costs(), Cluster()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--terabytes", type=float, default=10.0)
    parser.add_argument("--nodes", type=int, default=cluster.nodes)
    parser.add_argument("--cores", type=int, default=cluster.cores)
    parser.add_argument(
        "--node-rate", type=float, default=3.0, help="GB a second that a node reads"
    )
    parser.add_argument("--spread", type=float, default=1.5, help="sigma of the lognormal sizes")
    parser.add_argument("--row", type=float, default=costs.row / MICROSECOND, help="microseconds")
    parser.add_argument("--merge", type=float, default=costs.merge / MICROSECOND)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Print a table: one line for each number of cores that a call may use."""
    given = parse_arguments()
    costs = replace(Costs(), row=given.row * MICROSECOND, merge=given.merge * MICROSECOND)
    sizes = file_sizes(given.files, given.terabytes * 1e12, given.spread, given.seed)
    busy = core_seconds(sizes, costs)
    cores = given.nodes * given.cores
    print(f"{given.files} files, largest {max(sizes) / GIGABYTE:.1f} GB; {busy:.0f} core seconds,")
    print(f"{busy / cores:.1f} s if all {cores} cores were always busy\n")
    print("| cores a call | calls a node | all done after, s | first node after, s | cores busy |")
    print("|---:|---:|---:|---:|---:|")
    for width in (1, 2, 4, 8, 16, 32, 64):
        if width > given.cores:
            continue
        cluster = Cluster(given.nodes, given.cores, width, given.node_rate * GIGABYTE)
        seen = simulate(sizes, costs, cluster)
        share = seen.busy / (seen.last * cores)
        print(
            f"| {width} | {cluster.calls_per_node} | {seen.last:.1f} | {seen.first:.1f} "
            f"| {share:.0%} |"
        )


if __name__ == "__main__":
    main()
