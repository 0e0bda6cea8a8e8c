"""Simulates a check of many files on a cluster, from the costs measured on one machine."""

from __future__ import annotations

import heapq
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

GIGABYTE = 10**9
MICROSECOND = 1e-6
HASH_RATE = 1.25 * GIGABYTE
"""Bytes a second of the checksum."""

RUN_SECONDS = 2.2e-3
"""The fixed cost of a run."""

START_SECONDS = 0.15
"""The fixed cost of a call."""

ROW_BYTES = 3236


@dataclass(frozen=True)
class Costs:
    """The seconds of one core for a row: in a worker, and in the driver."""

    row: float
    merge: float


def file_sizes(files: int, total: float, spread: float, seed: int) -> list[float]:
    """Draw sizes in bytes from a lognormal distribution, scaled to the total."""
    random = Random(seed)
    drawn = [random.lognormvariate(0.0, spread) for _ in range(files)]
    scale = total / sum(drawn)
    return [size * scale for size in drawn]


def shares(sizes: Sequence[float], parts: int) -> list[list[float]]:
    """Give each part its files: the largest first, always to the part with the fewest bytes."""
    loads = [(0.0, part) for part in range(parts)]
    given: list[list[float]] = [[] for _ in range(parts)]
    for size in sorted(sizes, reverse=True):
        load, part = loads[0]
        given[part].append(size)
        heapq.heapreplace(loads, (load + size, part))
    return given


def seconds_of(size: float, costs: Costs, cores: int) -> float:
    """Return the seconds that a call of some cores takes for one file.

    The checksum and the merge are serial, each on a core of its own while workers check the
    rows; on few cores all share them.
    """
    rows = size / ROW_BYTES
    checksum, merge, work = size / HASH_RATE, rows * costs.merge, rows * costs.row
    if cores == 1:
        return RUN_SECONDS + checksum + merge + work
    return RUN_SECONDS + max(checksum, merge, (checksum + merge + work) / cores)


def node_ends(
    sizes: Sequence[float], costs: Costs, nodes: int, calls: int, width: int, node_rate: float
) -> list[float]:
    """Return when each node is done, if each runs so many calls of `width` cores side by side.

    A node is done when its slowest call is, and not before it could read all its bytes.
    """
    parts = shares(sizes, nodes * calls)
    ends = []
    for node in range(nodes):
        own = parts[node::nodes]
        slowest = max(sum(seconds_of(size, costs, width) for size in part) for part in own)
        ends.append(START_SECONDS + max(slowest, sum(map(sum, own)) / node_rate))
    return ends


def main(arguments: Sequence[str]) -> int:
    """Print a table: one line for each number of cores that a call may use."""
    parser = ArgumentParser(prog="python -m benchmarks cluster", description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--terabytes", type=float, default=10.0)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("--node-rate", type=float, default=3.0, help="GB a second a node reads")
    parser.add_argument("--spread", type=float, default=1.5, help="sigma of the lognormal sizes")
    parser.add_argument("--row", type=float, default=5.0, help="microseconds in a worker")
    parser.add_argument("--merge", type=float, default=1.5, help="microseconds in the driver")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    costs = Costs(given.row * MICROSECOND, given.merge * MICROSECOND)
    sizes = file_sizes(given.files, given.terabytes * 1e12, given.spread, given.seed)
    busy, cores = sum(seconds_of(size, costs, 1) for size in sizes), given.nodes * given.cores
    print(f"{given.files} files, largest {max(sizes) / GIGABYTE:.1f} GB; {busy:.0f} core seconds,")
    print(f"{busy / cores:.1f} s if all {cores} cores were always busy\n")
    print("| cores a call | calls a node | all done after, s | first node after, s | cores busy |")
    print("|---:|---:|---:|---:|---:|")
    for width in (1, 2, 4, 8, 16, 32, 64):
        if width <= given.cores:
            calls, rate = given.cores // width, given.node_rate * GIGABYTE
            ends = node_ends(sizes, costs, given.nodes, calls, width, rate)
            first, last = min(ends), max(ends)
            share = busy / (last * cores)
            print(f"| {width} | {calls} | {last:.1f} | {first:.1f} | {share:.0%} |")
    return 0
