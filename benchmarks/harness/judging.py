"""Runs a contender once and believes it only with the right exit code and all rows seen."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.contenders import Contender
from benchmarks.contenders.contract import Material
from benchmarks.harness.measure import Measurement, measure


class WrongAnswer(Exception):
    """A contender ended with another exit code than it should, or did not see all rows."""


def judged(contender: Contender, material: Material, *, samples_memory: bool) -> Measurement:
    """Run a contender once; what it said is dropped when it was looked at. Raises WrongAnswer."""
    command = contender.command(material)
    taken = measure(command.words, stdin=command.stdin, samples_memory=samples_memory)
    expected = contender.expected_code(material)
    if taken.exit_code != expected:
        message = f"exit code {taken.exit_code}, not {expected}: {taken.stderr.strip()[-300:]}"
        raise WrongAnswer(message)
    if not contender.has_seen_all(material, taken):
        raise WrongAnswer("what it says does not show that it went through all rows")
    return replace(taken, stdout="")
