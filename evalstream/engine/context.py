"""The context of a check: what is known before its rows are looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from evalstream.model.block import Lines
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.rules.base import Where
from evalstream.rules.catalogue import Selection
from evalstream.stats.duplicates import DuplicateMatch

if TYPE_CHECKING:
    from evalstream.engine.result import BlockResult


class BlockChecker(Protocol):
    """Checks blocks: a pure function of the bytes and the context that it was made of."""

    def run(self, lines: Lines) -> BlockResult:
        """Check some whole lines of an input."""

    def expect(self, size: int) -> None:
        """Get ready for `size` bytes more, and before workers are forked."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What is known before the rows are looked at; a format adds what its rules need.

    Equal contexts give equal results. A context is hashable and can be pickled, as workers get it
    with each block. `selection` holds the rules that are reported. With `links` the check gathers
    what links rows to those of other runs.
    """

    options: Options
    selection: Selection = field(default_factory=Selection)
    links: bool = False

    @property
    def enabled(self) -> frozenset[str]:
        """The codes that are reported."""
        return self.selection.enabled

    @property
    def is_ordered(self) -> bool:
        """Whether this process has to check all blocks itself, one after the other."""
        return False

    def checker(self) -> BlockChecker:
        """Return what checks the blocks of this context, compiled once per process."""
        raise NotImplementedError

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Say what is wrong with a row that matches an earlier one."""
        raise NotImplementedError
