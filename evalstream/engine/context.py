"""The context of a check: everything known before its rows are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from evalstream.model.block import Lines
from evalstream.model.data_class import DataClass, field
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.rules.base import Where
from evalstream.rules.catalogue import Selection
from evalstream.stats.duplicates import DuplicateMatch

if TYPE_CHECKING:
    from evalstream.engine.result import BlockResult


class BlockChecker(Protocol):
    """Checks blocks: a pure function of the bytes and of its context."""

    def run(self, lines: Lines) -> BlockResult:
        """Check whole lines of an input."""

    def expect(self, size: int) -> None:
        """Prepare for `size` more bytes, before workers are forked."""

    def is_native(self, sample: bytes) -> bool:
        """Tell whether compiled code does most work on rows like the first ones of an input."""


class CheckContext(DataClass, frozen=True):
    """Everything known before the rows are read; each format adds what its rules need.

    Equal contexts give equal results. A context is hashable and can be pickled, as workers receive
    it with each block. `selection` holds the rules that are reported. With `links` the check
    collects the words that link rows to those of other runs.
    """

    options: Options
    selection: Selection = field(default_factory=Selection)
    links: bool = False

    @property
    def enabled_codes(self) -> frozenset[str]:
        """The codes that are reported."""
        return self.selection.enabled

    @property
    def is_ordered(self) -> bool:
        """Whether this process must check all blocks itself, in order."""
        return False

    def checker(self) -> BlockChecker:
        """Return the checker of this context's blocks, compiled once per process."""
        raise NotImplementedError

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Return the violation of a row that matches an earlier one."""
        raise NotImplementedError
