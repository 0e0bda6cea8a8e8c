"""The format swe_bench, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from evalstream.formats.base import Detector, PairedFormat, Place, Show
from evalstream.formats.swe_bench import documents
from evalstream.formats.swe_bench.documents import (
    DETAILS,
    GROUPS,
    INSTANCE,
    PREDICTIONS,
    REPORT,
    RESULTS,
    SETTINGS,
)
from evalstream.io.beginning import Beginning
from evalstream.io.progress import Progress
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import NoInput, Run
from evalstream.rules.base import Rule


class SweBenchFormat(PairedFormat):
    """Run reports of SWE-bench with their logs and predictions, and submissions."""

    __slots__ = ()

    name = documents.NAME
    label = "SWE-bench"
    title = "SWE-bench: run reports, reports of instances, predictions, and submissions"
    prefix = "SWE"
    noun = "instance"
    versions: Mapping[str, Sequence[str]] = {}
    places: ClassVar[Mapping[str, Place]] = {
        PREDICTIONS: "rows",
        INSTANCE: "rows",
        REPORT: "aggregate",
        RESULTS: "aggregate",
        DETAILS: "aggregate",
        GROUPS: "aggregate",
        SETTINGS: "inputs",
    }
    options = frozenset()

    def rules(self) -> Iterable[Rule]:
        from evalstream.formats.swe_bench.catalogue import RULES

        return RULES

    def detect_kind(self, file: Beginning) -> str | None:
        return documents.detect_kind(file)

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        from evalstream.formats.swe_bench.files import find_runs

        return find_runs(path, aggregate, inputs)

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        from evalstream.formats.swe_bench.files import pair_documents

        return pair_documents(documents, named=named)

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, _detect: Detector, /
    ) -> RunSummary:
        from evalstream.formats.swe_bench.checker import check

        return check(run, options, show, progress)


FORMAT: Final[PairedFormat] = SweBenchFormat()
"""Runs and submissions of SWE-bench."""
