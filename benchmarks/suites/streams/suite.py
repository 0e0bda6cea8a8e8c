"""Measures rows in pipes, compressed files, JSON arrays and remote storage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.harness.results import exit_code, parser_of, run_sections
from benchmarks.suites.streams.arrays import arrays
from benchmarks.suites.streams.compressed import bombs, compressed
from benchmarks.suites.streams.filtering import throughput
from benchmarks.suites.streams.latency import latency
from benchmarks.suites.streams.remote import remote
from benchmarks.suites.streams.runs import FULL, QUICK

ALL = (latency, throughput, compressed, bombs, arrays, remote)
SECTIONS = {section.__name__: section for section in ALL}


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    options = parser_of("streams", __doc__, SECTIONS).parse_args(arguments)
    scale = QUICK if options.quick else FULL
    sections = {name: partial(section, scale=scale) for name, section in SECTIONS.items()}
    return exit_code(run_sections(sections, options))
