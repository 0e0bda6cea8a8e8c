"""The format inspect, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from evalstream.formats.base import Detector, PairedFormat, Place, Show
from evalstream.formats.inspect import documents
from evalstream.formats.inspect.documents import LOG
from evalstream.io.beginning import Beginning
from evalstream.io.progress import Progress
from evalstream.model.comparison import Answered
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import NoInput, Run
from evalstream.model.source_log import SourceLog, Wanted
from evalstream.rules.base import Rule


class InspectFormat(PairedFormat):
    """Logs of evaluations that the harness Inspect wrote."""

    __slots__ = ()

    name = documents.NAME
    label = "Inspect"
    title = documents.TITLE
    prefix = "INS"
    noun = "sample"
    versions: Mapping[str, Sequence[str]] = {}
    places: ClassVar[Mapping[str, Place]] = {LOG: "rows"}
    compared = frozenset({"files", "answers", "paths"})
    options = frozenset()
    listing_names = frozenset({"eval-set.json", "logs.json"})

    def rules(self) -> Iterable[Rule]:
        from evalstream.formats.inspect.catalogue import RULES

        return RULES

    def detect_kind(self, file: Beginning) -> str | None:
        return documents.detect_kind(file)

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        from evalstream.formats.inspect.checker import find

        return find(path, aggregate, inputs)

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        # A log holds its results: each is a run of its own, `named` or not.
        del named
        return (Run(path, None, format=self.name) for _, path in documents())

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, _detect: Detector, /
    ) -> RunSummary:
        from evalstream.formats.inspect.checker import check

        return check(run, options, show, progress)

    def answers(
        self, run: Run, options: Options, places: Iterable[tuple[int, int]], /
    ) -> Iterator[Answered | None]:
        from evalstream.formats.inspect.compared import answers

        return answers(run.rows or "", options, places)

    def source(self, path: str, options: Options, wanted: Wanted, /) -> SourceLog | None:
        from evalstream.formats.inspect.source import open_source

        return open_source(path, options, wanted)


FORMAT: Final[PairedFormat] = InspectFormat()
"""Logs of Inspect."""
