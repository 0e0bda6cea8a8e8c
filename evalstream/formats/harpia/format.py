"""The format harpia, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from evalstream.formats.base import Detector, PairedFormat, Place, Show
from evalstream.formats.harpia import documents
from evalstream.formats.harpia.documents import INPUT, LOG, OUTPUT, UNSURE
from evalstream.io.beginning import Beginning
from evalstream.io.progress import Progress
from evalstream.model.comparison import Answered
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import NoInput, Run
from evalstream.rules.base import Rule


class HarpiaFormat(PairedFormat):
    """The input of an evaluation, its output and its log."""

    __slots__ = ()

    name = documents.NAME
    label = "HarpIA Lab"
    title = documents.TITLE
    prefix = "HAR"
    noun = "log line"
    versions: Mapping[str, Sequence[str]] = {}
    places: ClassVar[Mapping[str, Place]] = {
        LOG: "rows",
        OUTPUT: "aggregate",
        INPUT: "inputs",
        UNSURE: "inputs",
    }
    options = frozenset({"routing", "skip_noise"})
    is_sure = False
    companions: ClassVar[Mapping[str, Sequence[str]]] = {UNSURE: (LOG, OUTPUT)}

    def rules(self) -> Iterable[Rule]:
        from evalstream.formats.harpia.catalogue import RULES

        return RULES

    def detect_kind(self, file: Beginning) -> str | None:
        kind = documents.detect_kind(file)
        is_unsure = kind == INPUT and not documents.is_surely_input(file.document)
        return UNSURE if is_unsure else kind

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        from evalstream.formats.harpia.files import find_runs

        return find_runs(path, aggregate, inputs)

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        from evalstream.formats.harpia.files import pair_documents

        return pair_documents(documents, named=named)

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, _detect: Detector, /
    ) -> RunSummary:
        from evalstream.formats.harpia.checker import check

        return check(run, options, show, progress)

    def answers(
        self, run: Run, options: Options, places: Iterable[tuple[int, int]], /
    ) -> Iterator[Answered | None]:
        from evalstream.formats.harpia.compared import answers

        return answers(run, options, places)


FORMAT: Final[PairedFormat] = HarpiaFormat()
