"""The format infereval, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.formats.infereval import documents
from evalstream.formats.infereval.documents import BENCHMARK, EVALUATION, ITEMS
from evalstream.io.beginning import OBJECT, Beginning
from evalstream.model.changes import SealedText
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run


class InferevalFormat(PairedFormat):
    """A benchmark of inferences, and the evaluations of models on it."""

    __slots__ = ()

    name = documents.NAME
    label = "infereval"
    title = documents.TITLE
    prefix = "INF"
    noun = "item"
    rule_modules = ("benchmarks", "evaluations")
    versions: Mapping[str, Sequence[str]] = {documents.VERSION: (BENCHMARK, EVALUATION)}
    places: ClassVar[Mapping[str, Place]] = {EVALUATION: "rows", BENCHMARK: "aggregate"}
    compared = frozenset({"files", "answers", "paths"})
    seals_itself = True
    event_members = frozenset({"event"})

    def detect_late(self, file: Beginning, /) -> str | None:
        # Evaluations may have all that tells them behind their items.
        if ITEMS not in file.seen.keys or file.seen.kind != OBJECT or file.seen.is_whole:
            return None
        if file.document is None:
            return documents.UNSURE
        is_object = isinstance(file.document, dict)
        return documents.kind_by_signs(frozenset(file.document) if is_object else frozenset())

    def claims_line(self, keys: Set[str], /) -> bool:
        return documents.kind_by_signs(keys) is not None

    def is_like(self, keys: Set[str], /) -> bool:
        return ITEMS in keys

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        from evalstream.formats.infereval.pairs import pair_runs

        return pair_runs(documents, named=named)

    def make_seal(self, run: Run, options: Options, /) -> SealedText:
        from evalstream.formats.infereval.benchmark_hash import sealed_evaluation

        return sealed_evaluation(run, options)


FORMAT: Final[PairedFormat] = InferevalFormat()
