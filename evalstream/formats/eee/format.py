"""The format Every Eval Ever, as the registry loads it: signs of its documents, and their pairs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from evalstream.formats.base import Cell, DeclaredRows, Place, RowFormat
from evalstream.formats.eee import AGGREGATE_SIGNS, NAME
from evalstream.io.names import is_remote
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run
from evalstream.parsing.json import fast, member, text_or_none
from evalstream.rules.base import RepairAction

if TYPE_CHECKING:
    from evalstream.formats.base import Detector
    from evalstream.formats.rewriting import Migrator, RunRepair
    from evalstream.io.beginning import Beginning
    from evalstream.io.progress import Progress
    from evalstream.model.finding import Show
    from evalstream.model.run_summary import RunSummary
    from evalstream.rules.cross_run import CrossRunRules


_OF_ROWS: Final = frozenset({"evaluation_id", "sample_id"})
_TEXTS: Final = (
    *("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id"),
    *("sample_id", "sample_hash", "interaction_type", "error"),
)
_OF_MANY: Final = frozenset({"schema_version", "model_id", "sample_id", "error"})
"""Members that lines of other formats have, too."""
_VALUES: Final = (
    *("input", "output", "messages", "interactions", "answer_attribution", "evaluation"),
    *("token_usage", "performance", "metadata"),
)

_SURE: Final = 3
"""How many members of rows make an object a row, even if others are missing."""

_FEW_BYTES: Final = 1 << 18
"""Most bytes of a text that is parsed whole, as msgspec takes longer to load: it loads inspect."""


class EeeFormat(RowFormat):
    """Rows, one per sample, and the aggregate that sums them up."""

    __slots__ = ()

    name = NAME
    label = "Every Eval Ever"
    title = "Every Eval Ever: one row per sample, and the aggregate that sums them up"
    noun = "row"
    places: ClassVar[Mapping[str, Place]] = {"instance": "rows", "aggregate": "aggregate"}
    options = frozenset(
        {
            *("schema", "schema_version", "recipe", "seal_to", "expect_rows", "expect_samples"),
            *("routing", "skip_noise", "source"),
        }
    )
    seals = ("checksum", "hash_algorithm", "total_rows", "file_path")
    aggregate_signs = AGGREGATE_SIGNS
    aggregate_members = AGGREGATE_SIGNS | {
        *("schema_version", "evaluation_id", "evaluation_timestamp", "retrieved_timestamp"),
        *("source_metadata", "eval_library", "model_info"),
    }
    row_members = frozenset({*_TEXTS, "answer_attribution"} - _OF_MANY)
    columns: ClassVar[Mapping[str, tuple[tuple[str, ...], Cell]]] = {
        **{name: ((name,), "text") for name in _TEXTS},
        "score": (("evaluation", "score"), "number"),
        "is_correct": (("evaluation", "is_correct"), "boolean"),
        **{name: ((name,), "json") for name in _VALUES},
    }

    @property
    def versions(self) -> Mapping[str, Sequence[str]]:
        from evalstream.formats.eee.versions import documents_by_version

        return documents_by_version()

    @property
    def judging_versions(self) -> Sequence[str]:
        from evalstream.formats.eee.versions import INSTANCE_VERSIONS

        return INSTANCE_VERSIONS

    @property
    def recipes(self) -> Sequence[str]:
        from evalstream.formats.eee.sample_hash import RECIPES

        return tuple(RECIPES)

    @property
    def cross_run(self) -> CrossRunRules:
        from evalstream.formats.eee.rules import datastore

        return datastore

    def detect_kind(self, file: Beginning) -> str | None:
        keys = file.seen.keys
        if self.aggregate_signs & keys:
            return "aggregate"
        return "instance" if keys >= _OF_ROWS or len(keys & self.row_members) >= _SURE else None

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, detect: Detector, /
    ) -> RunSummary:
        # Rows in a store are not looked at before their check, as local files are.
        is_unseen = run.rows is not None and run.aggregate is None and is_remote(run.rows)
        describe = partial(_describe_other, detect)
        is_open = is_unseen and options.input_format == "auto"
        summary: RunSummary = self.load("checker").check(
            run, options, show, progress, describe if is_open else None
        )
        return summary

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        if inputs is not None:
            raise UsageError(f"--inputs-file does not go with files of {self.name}")
        if os.path.isdir(path):
            raise UsageError("--aggregate goes with exactly one rows file (or - for stdin)")
        yield Run(path, aggregate)

    @property
    def migration_targets(self) -> Sequence[str]:
        from evalstream.formats.eee.versions import TARGETS

        return TARGETS

    def migrator(self, target: str, values: Mapping[str, Any]) -> Migrator:
        from evalstream.formats.eee.changes.run import bind_migration

        return bind_migration(target, values)

    def repair(self, text: bytes | None, actions: Collection[RepairAction]) -> RunRepair:
        from evalstream.formats.eee.changes.run import EeeRepair

        return EeeRepair(text, actions)

    @property
    def repairs(self) -> tuple[Set[str], Set[str]]:
        from evalstream.formats.eee.catalogue import repaired_codes

        return repaired_codes()

    def refuses_repair(self, code: str, severity: Severity) -> bool:
        from evalstream.formats.eee.catalogue import is_refused

        return is_refused(code, severity)

    def declared_in_text(self, text: bytes) -> DeclaredRows | None:
        # Most other documents have neither member.
        if b"evaluation_results" not in text and b"\\u" not in text:
            return None
        if len(text) <= _FEW_BYTES:
            with suppress(ValueError):
                document = fast(text)
                return self.read_declared_rows(document) if isinstance(document, dict) else None
        from msgspec import UNSET, MsgspecError

        try:
            top = _decoder().decode(text)
        # Before msgspec 0.21 its own errors have another class.
        except (MsgspecError, ValueError, RecursionError):
            return None
        details = top.detailed_evaluation_results
        if top.evaluation_results is UNSET and details is UNSET:
            return None
        return _declared_by(details)

    def read_declared_rows(self, document: Mapping[str, Any]) -> DeclaredRows | None:
        if self.aggregate_signs.isdisjoint(document):
            return None
        return _declared_by(document.get("detailed_evaluation_results"))

    def run_id(self, document: Any) -> str | None:
        return text_or_none(member(document, "evaluation_id"))

    def needs_no_rows(self, document: Mapping[str, Any]) -> bool:
        from evalstream.formats.eee.aggregate import Aggregate

        return Aggregate(dict(document)).is_documentation

    def read_uuid(self, path: str) -> str | None:
        from evalstream.formats.eee.datastore import read_uuid

        return read_uuid(path)

    def prepare(self, options: Options, size: int = 0) -> None:
        from evalstream.formats.eee.checker import prepare

        prepare(options, size=size)


@cache
def _decoder() -> Any:
    """Return the decoder of the members of an aggregate that matter here; it builds no others."""
    from msgspec import UNSET, Raw, UnsetType, defstruct, json

    results = ("evaluation_results", Raw | UnsetType, UNSET)
    return json.Decoder(defstruct("Top", [results, ("detailed_evaluation_results", Any, UNSET)]))


def _declared_by(details: Any) -> DeclaredRows:
    declared = details.get("file_path") if isinstance(details, dict) else None
    return DeclaredRows(declared if isinstance(declared, str) and declared else None)


def _describe_other(detect: Detector, head: bytes) -> str | None:
    """Describe a file of another format by its first bytes, None for any other file."""
    from evalstream.io.beginning import Beginning

    kind = detect(Beginning("", head))
    if kind is None or kind.format == NAME:
        return None
    what = f"a file of the format {kind.format} ({kind.document})"
    return f"this is {what}, not of Every Eval Ever; check it with --input-format {kind.format}"


FORMAT: Final[RowFormat] = EeeFormat()
