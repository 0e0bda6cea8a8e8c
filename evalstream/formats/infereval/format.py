"""The documents of infereval: a model's verdicts on the inferences of a benchmark.

The facts come from the documentation and the released package infereval, up to 0.17.7.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place, other_formats
from evalstream.io.beginning import LINES, OBJECT, Beginning
from evalstream.io.names import is_rows_name, printable
from evalstream.model.changes import SealedText
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.model.run import STDIN, NoInput, Run

NAME: Final = "infereval"
VERSION: Final = "1.0"
"""The only schema_version; it does not depend on the version of the framework."""

BENCHMARK: Final = "benchmark"
EVALUATION: Final = "evaluation"
ITEMS: Final = "items"
NOT_OURS: Final = f"not a benchmark or an evaluation of {NAME}"
UNSURE: Final = "unsure"
"""The kind of a document that has to be read to its end to tell what it is."""

_OF_EVALUATION: Final = frozenset(
    {
        *("benchmark_id", "benchmark_hash", "model", "endorsement_config", "framework_version"),
        *("started_at", "finished_at", "paraphrase_variant"),
    }
)
_OF_BENCHMARK: Final = frozenset(
    {
        "bearers",
        "analysts",
        "context_builders",
        "factors",
        "factor_constraints",
        "factor_kinds",
        "primary_panel",
        "verification_prompt",
        "ordinal_families",
        ITEMS,
    }
)
_SIGNS: Final = (
    (EVALUATION, frozenset({"benchmark_id", "benchmark_hash"})),
    (EVALUATION, frozenset({"benchmark_id", "endorsement_config"})),
    (EVALUATION, frozenset({"benchmark_id", "framework_version"})),
    (EVALUATION, frozenset({"benchmark_id", ITEMS})),
    (EVALUATION, frozenset({"endorsement_config", ITEMS})),
    (BENCHMARK, frozenset({"bearers", "analysts"})),
    (BENCHMARK, frozenset({"bearers", ITEMS})),
    (BENCHMARK, frozenset({"analysts", ITEMS})),
)
"""Members that no document of another format has together."""


def kind_by_signs(keys: Set[str]) -> str | None:
    """Return the kind of an object if its members leave no doubt."""
    return next((kind for kind, sign in _SIGNS if sign <= keys), None)


def kind_by_members(keys: Set[str]) -> str | None:
    """Return the kind of an object that is known to be of this format."""
    if keys & _OF_EVALUATION:
        return EVALUATION
    return BENCHMARK if keys & _OF_BENCHMARK else None


class InferevalFormat(PairedFormat):
    """A benchmark of inferences, and the evaluations of models on it."""

    __slots__ = ()

    name = NAME
    label = "infereval"
    title = "infereval: a benchmark of inferences, and a model's verdicts on it"
    noun = "item"
    versions: Mapping[str, Sequence[str]] = {VERSION: (BENCHMARK, EVALUATION)}
    places: ClassVar[Mapping[str, Place]] = {EVALUATION: "rows", BENCHMARK: "aggregate"}
    compared = frozenset({"files", "answers", "paths"})
    seals_itself = True
    event_members = frozenset({"event"})

    def detect_kind(self, file: Beginning) -> str | None:
        seen = file.seen
        if seen.kind != OBJECT and (seen.kind != LINES or is_rows_name(file.name)):
            return None
        return kind_by_signs(seen.keys)

    def detect_late(self, file: Beginning, /) -> str | None:
        # Evaluations may have all that tells them behind their items.
        if ITEMS not in file.seen.keys or file.seen.kind != OBJECT or file.seen.is_whole:
            return None
        if file.document is None:
            return UNSURE
        is_object = isinstance(file.document, dict)
        return kind_by_signs(frozenset(file.document) if is_object else frozenset())

    def claims_line(self, keys: Set[str], /) -> bool:
        return kind_by_signs(keys) is not None

    def is_like(self, keys: Set[str], /) -> bool:
        return ITEMS in keys

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        # A benchmark alone counts as an aggregate, as it has no rows.
        if inputs is not None:
            raise UsageError(f"--inputs-file does not go with files of {NAME}")
        if path == STDIN and aggregate == STDIN:
            raise UsageError("standard input can be named only once")
        if path != STDIN and os.path.isdir(path):
            raise UsageError("--aggregate needs exactly one evaluation, not a folder")
        kind = self.load("files").detect_named(path)
        if kind is None:
            yield NoInput(path, f"this is {NOT_OURS}; {other_formats()}", format=NAME)
        elif kind == BENCHMARK and aggregate is not None:
            name = printable(path)
            raise UsageError(
                f"--aggregate names the benchmark of an evaluation, but {name} is not an evaluation"
            )
        elif kind == BENCHMARK:
            yield Run(None, path, format=NAME)
        else:
            yield Run(path, aggregate, format=NAME)

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        runs: Iterator[Run | NoInput] = self.load("pairs").pair_runs(documents, named=named)
        return runs

    def make_seal(self, run: Run, options: Options, /) -> SealedText:
        text: SealedText = self.load("benchmark_hash").sealed_evaluation(run, options)
        return text


FORMAT: Final[PairedFormat] = InferevalFormat()
