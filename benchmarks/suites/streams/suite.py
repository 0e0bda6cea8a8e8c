"""Measures rows in pipes, compressed files, JSON arrays and remote storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness.results import exit_code, parser_of, run_sections
from benchmarks.harness.tables import Section
from benchmarks.suites.streams.arrays import arrays
from benchmarks.suites.streams.compressed import bombs, compressed
from benchmarks.suites.streams.filtering import throughput
from benchmarks.suites.streams.latency import latency
from benchmarks.suites.streams.remote import remote
from benchmarks.suites.streams.runs import FULL, QUICK, Scale, mixed

ALONE = {"latency": latency, "bombs": bombs}
SHARING = {
    "throughput": throughput,
    "compressed": compressed,
    "arrays": arrays,
    "remote": remote,
}
SECTIONS = ("latency", "throughput", "compressed", "bombs", "arrays", "remote")


def sections(names: Sequence[str], scale: Scale, folder: Path) -> Iterator[Section]:
    """Measure one section after the other; those of rows in a file share one run."""
    run = mixed(folder / "run", scale.size, scale.seed) if SHARING.keys() & set(names) else None
    for name in names:
        own = folder / name
        own.mkdir()
        if name in ALONE:
            yield ALONE[name](own, scale)
        elif run is not None:
            yield SHARING[name](own, scale, run)


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    parser = parser_of("streams", __doc__)
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=SECTIONS)
    options = parser.parse_args(arguments)
    scale = QUICK if options.quick else FULL
    return exit_code(run_sections(partial(sections, options.only, scale), options))
