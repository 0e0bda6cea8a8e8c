"""The violations that a format reports about several runs of one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from evalstream.model.finding import Violation


class CrossRunRules(Protocol):
    """The rules over several runs of one call; a module of rules offers these functions."""

    def codes(self) -> Mapping[str, str]:
        """Return the codes by what is compared: records, files, samples, uuids, paths and answers."""

    def repeated_record(self, earlier: str, /) -> Violation:
        """Return the violation for an aggregate with the same record as an earlier one."""

    def reused_uuid(self, earlier: str, /) -> Violation:
        """Return the violation for an aggregate with the UUID of an earlier, different one."""

    def repeated_claim(self, earlier: str, /) -> Violation:
        """Return the violation for a second aggregate of an evaluation, if not both have rows."""

    def colliding_path(self, path: str, earlier: str, /) -> Violation:
        """Return the violation for a path that differs from an earlier one only in case."""

    def overlapping_rows(self, samples: int, earlier: str, /, *, several: bool) -> Violation:
        """Return the violation for samples that earlier files also have."""

    def unlinked_rows(self, groups: int, /) -> Violation:
        """Return the violation for rows that were not compared with other runs."""

    def repeated_answers(self, earlier: str, /) -> Violation:
        """Return the violation for a log with the answers of an earlier one of another model."""

    def shared_answers(self, answers: int, earlier: str, /) -> Violation:
        """Return the violation for a log with many answers of an earlier one of another model."""

    def drifted_sample(
        self, number: int, /, *, is_array: bool, earlier: str, earlier_number: int, was_array: bool
    ) -> Violation:
        """Return the violation for a sample whose input differs in an earlier run."""

    def drifted_log(self, samples: int, earlier: str, /) -> Violation:
        """Return the violation for a log of which samples have other inputs in an earlier one."""

    def drifted_like(self, samples: int, earlier: str, /) -> Violation:
        """Return the violation for more samples with inputs that differ in an earlier run."""
