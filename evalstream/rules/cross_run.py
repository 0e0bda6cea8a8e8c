"""What a format says of several runs of one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from evalstream.model.finding import Violation


class CrossRunRules(Protocol):
    """The rules over several runs of one call; a module of rules offers these functions."""

    def codes(self) -> Mapping[str, str]:
        """Return the codes by what is compared: records, files, samples, uuids and paths."""

    def repeated_record(self, earlier: str, /) -> Violation:
        """Say that an earlier aggregate is the same record."""

    def reused_uuid(self, earlier: str, /) -> Violation:
        """Say that an earlier aggregate of other content has the same UUID."""

    def repeated_claim(self, earlier: str, /) -> Violation:
        """Say that an earlier aggregate is of the same evaluation."""

    def colliding_path(self, path: str, earlier: str, /) -> Violation:
        """Say that an earlier path differs from this one in case alone."""

    def overlapping_rows(self, samples: int, earlier: str, /, *, several: bool) -> Violation:
        """Say that earlier files hold some of the samples as well."""

    def unlinked_rows(self, groups: int, /) -> Violation:
        """Say that not all rows were compared with those of other runs."""

    def drifted_sample(
        self, number: int, /, *, is_array: bool, earlier: str, earlier_number: int, was_array: bool
    ) -> Violation:
        """Say that an earlier run shows another input for a sample's id."""

    def drifted_like(self, samples: int, earlier: str, /) -> Violation:
        """Say that more samples have other inputs in an earlier run."""
