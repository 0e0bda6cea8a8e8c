"""The format helm, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from evalstream.formats.base import Detector, PairedFormat, Place, Show
from evalstream.formats.helm import documents
from evalstream.formats.helm.documents import (
    ENTRIES,
    RUN_SPEC,
    SCENARIO,
    STATE,
    STATISTICS,
    SUMMARY,
)
from evalstream.io.beginning import Beginning
from evalstream.io.progress import Progress
from evalstream.model.comparison import Answered
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import NoInput, Run
from evalstream.model.source_log import SourceLog, Wanted
from evalstream.rules.base import Rule


class HelmFormat(PairedFormat):
    """Runs of HELM: statistics with those of instances, requests and specification."""

    __slots__ = ()

    name = documents.NAME
    label = "HELM"
    title = "HELM: the statistics of a run, its instances, and its requests"
    prefix = "HLM"
    noun = "instance"
    versions: Mapping[str, Sequence[str]] = {}
    places: ClassVar[Mapping[str, Place]] = {
        ENTRIES: "rows",
        STATISTICS: "aggregate",
        STATE: "inputs",
        RUN_SPEC: "inputs",
        SCENARIO: "inputs",
        SUMMARY: "inputs",
    }
    options = frozenset()
    listing_names = documents.SUMMARIES

    def rules(self) -> Iterable[Rule]:
        from evalstream.formats.helm.catalogue import RULES

        return RULES

    def detect_kind(self, file: Beginning) -> str | None:
        return documents.detect_kind(file)

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        from evalstream.formats.helm.files import find_runs

        return find_runs(path, aggregate, inputs)

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        from evalstream.formats.helm.files import pair_documents

        return pair_documents(documents, named=named)

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, _detect: Detector, /
    ) -> RunSummary:
        from evalstream.formats.helm.checker import check

        return check(run, options, show, progress)

    def answers(
        self, run: Run, options: Options, places: Iterable[tuple[int, int]], /
    ) -> Iterator[Answered | None]:
        from evalstream.formats.helm.compared import answers

        return answers(run, options, places)

    def source(self, path: str, options: Options, wanted: Wanted, /) -> SourceLog | None:
        from evalstream.formats.helm.source import open_source

        return open_source(path, options, wanted)


FORMAT: Final[PairedFormat] = HelmFormat()
"""Runs of HELM."""
