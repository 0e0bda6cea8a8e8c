"""The context of rows: everything the row rules must know before rows are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.context import CheckContext
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import Result
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Where
from evalstream.stats.duplicates import DuplicateKind, DuplicateMatch

if TYPE_CHECKING:
    from evalstream.formats.eee.row_engine import RowEngine


OF_SCORERS: Final[Mapping[str, Any]] = {
    "severity": Severity.INFO,
    "message": (
        "output differs from that of the same sample under another result; the converter of "
        "Inspect shows the answer or the explanation of each scorer there"
    ),
}
"""What ES608 says where converters are known to write several outputs of a sample."""


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

    def checker(self) -> RowEngine:
        """Return the row engine of this context, compiled once per process."""
        return _make_engine(self)

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Return the violation of a row with the score or input of an earlier one."""
        violation = _duplicate_rules()[match.kind](match, where)
        is_usual = match.kind is DuplicateKind.OTHER_OUTPUT and self._shows_answers_of_scorers
        return violation._replace(**OF_SCORERS) if is_usual else violation

    @property
    def _shows_answers_of_scorers(self) -> bool:
        """Whether the converter of Inspect wrote rows of several scorers.

        It writes the answer or the explanation of the scorer in place of the output.
        """
        if "inspect" not in (self.library or "").casefold():
            return False
        scorers = {result.id.rpartition(":")[0] for result in self.results if result.id}
        return len(scorers - {""}) > 1


@cache
def _duplicate_rules() -> Mapping[DuplicateKind, Callable[[DuplicateMatch, Where], Violation]]:
    """Return the functions that report a repeated row, by the kind of its repetition."""
    from evalstream.formats.eee.rules import coverage, sample_hash

    return {**sample_hash.DUPLICATE_RULES, **coverage.DUPLICATE_RULES}


@lru_cache(maxsize=8)
def _make_engine(context: RowContext) -> RowEngine:
    from evalstream.formats.eee.row_engine import RowEngine

    return RowEngine(context)
