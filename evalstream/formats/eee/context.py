"""The context of rows: what the rules of Every Eval Ever need to know before they look at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evalstream.engine.context import CheckContext
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import Result
from evalstream.model.finding import Violation
from evalstream.rules.base import Where
from evalstream.stats.duplicates import DuplicateMatch

if TYPE_CHECKING:
    from evalstream.formats.eee.row_engine import RowEngine


@dataclass(frozen=True, slots=True)
class RowContext(CheckContext):
    """What is known before the rows are looked at.

    `version` is the one of rows that declare none, `algorithm` is the one in force for sample_hash,
    `recipes` the ones that the file can follow, best first (empty: not settled). What the
    aggregate demands is None without one; `results` are the aggregate's results, which rows are
    joined with, and `library` names the harness that wrote the run, as the aggregate does.
    """

    version: str = ""
    algorithm: str = "sha256"
    recipes: tuple[str, ...] = ()
    evaluation_id: str | None = None
    model_id: str | None = None
    evaluation_names: frozenset[str] | None = None
    results: tuple[Result, ...] = ()
    library: str | None = None

    def version_of(self, row: Mapping[str, Any]) -> str:
        """Return the version that judges a row: the one that was asked for, else the declared."""
        if self.options.schema_version != "auto":
            return self.options.schema_version
        declared = row.get("schema_version")
        if isinstance(declared, str):
            return versions.nearest_version(declared, instance=True)
        return self.version

    def checker(self) -> RowEngine:
        """Return the engine of these rows, compiled once per process."""
        return _compiled(self)

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Say what is wrong with a row that scores or shows what an earlier one does."""
        from evalstream.formats.eee.rules import coverage, sample_hash

        rules = {**sample_hash.DUPLICATE_RULES, **coverage.DUPLICATE_RULES}
        return rules[match.kind](match, where)


@lru_cache(maxsize=8)
def _compiled(context: RowContext) -> RowEngine:
    from evalstream.formats.eee.row_engine import RowEngine

    return RowEngine(context)
