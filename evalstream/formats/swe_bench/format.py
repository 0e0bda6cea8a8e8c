"""The format swe_bench, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.formats.swe_bench import documents


class SweBenchFormat(PairedFormat):
    """Run reports of SWE-bench with their logs and predictions, and submissions."""

    __slots__ = ()

    name = documents.NAME
    label = "SWE-bench"
    title = "SWE-bench: run reports, reports of instances, predictions, and submissions"
    prefix = "SWE"
    noun = "instance"
    rule_modules = ("documents", "instances")
    places: ClassVar[Mapping[str, Place]] = {
        documents.PREDICTIONS: "rows",
        documents.INSTANCE: "rows",
        documents.REPORT: "aggregate",
        documents.RESULTS: "aggregate",
        documents.DETAILS: "aggregate",
        documents.GROUPS: "aggregate",
        documents.SETTINGS: "inputs",
        documents.METADATA: "aggregate",
    }
    compared = frozenset({"answers", "paths"})
    has_answers = False
    has_yaml = True

    def kind_by_path(self, path: str, has_neighbour: Callable[[], bool], /) -> str | None:
        return documents.kind_by_path(path, has_neighbour)


FORMAT: Final[PairedFormat] = SweBenchFormat()
"""Runs and submissions of SWE-bench."""
