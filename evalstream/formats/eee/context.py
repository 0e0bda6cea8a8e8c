"""The context of rows: everything the row rules must know before rows are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalstream.engine.result import CheckContext
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import Result
from evalstream.rules.base import RowCheck


class RowContext(CheckContext, frozen=True):
    """Everything known before the rows are read.

    `version` is for rows that declare none, `algorithm` is the algorithm of sample_hash, `recipes`
    are those that the file can follow, best first (empty: not known). The values from the
    aggregate are None without one; `results` are the results of the aggregate, which rows are
    joined with, and `library` is the harness that wrote the run, as the aggregate names it.
    `foreign_id` is the evaluation_id of the first row if it is not that of the aggregate.
    """

    version: str = ""
    algorithm: str = "sha256"
    recipes: tuple[str, ...] = ()
    evaluation_id: str | None = None
    model_id: str | None = None
    evaluation_names: frozenset[str] | None = None
    results: tuple[Result, ...] = ()
    library: str | None = None
    foreign_id: str | None = None

    def choose_version(self, row: Mapping[str, Any]) -> str:
        """Return the version that checks a row: the requested one, else the declared one."""
        if self.options.schema_version != "auto":
            return self.options.schema_version
        declared = row.get("schema_version")
        if isinstance(declared, str):
            return versions.nearest_version(declared, instance=True)
        return self.version

    def finds_unknown_version(self, declared: object) -> bool:
        """Tell whether rows that declare this version have it reported as unknown."""
        if self.options.schema is not None or self.options.schema_version != "auto":
            return False
        return isinstance(declared, str) and not versions.is_known(declared, instance=True)


def in_any_context(check: RowCheck) -> Callable[[RowContext], RowCheck]:
    """Return what binds a check of rows that needs no context."""
    return lambda _context: check
