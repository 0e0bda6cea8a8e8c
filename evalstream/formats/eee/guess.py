"""Guess from its first row what a file follows, and confirm the guess by its first block.

A probe reads up to 256 rows before the rows are checked. The check itself counts the version and
the recipes of every row, so where its first rows agree with the first one, the probe would find
the same, and is not needed.
"""

from __future__ import annotations

from collections.abc import Callable

from evalstream.engine import row_pass
from evalstream.engine.layout import JSONL
from evalstream.engine.open_rows import OpenRows
from evalstream.engine.result import BlockChecker, BlockResult
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.probe import PROBED_ROWS, guessed_context, probe_context
from evalstream.formats.eee.row_engine import EngineContext
from evalstream.io.file import FileSource
from evalstream.model.block import Lines
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.rules.base import Where
from evalstream.stats.duplicates import DuplicateMatch
from evalstream.stats.tally import Tally


class Guess:
    """Checks blocks in order under a guessed context; the first block confirms or replaces it.

    `context` is final once the first block is checked.
    """

    def __init__(self, guessed: RowContext, probe: Callable[[], RowContext]) -> None:
        from evalstream.formats.eee.row_engine import RowEngine

        self.context, self._probe = guessed, probe
        # It serves one file, so a search among the compiled ones is in vain.
        self._checker: BlockChecker = RowEngine(guessed)
        self._is_final = False

    def run(self, lines: Lines) -> BlockResult:
        """Check whole lines of an input; the first block again if its rows refute the guess."""
        result = self._checker.run(lines)
        if self._is_final:
            return result
        self._is_final = True
        if _confirms(result.tally, self.context, is_all=lines.final):
            return result
        probed = self._probe()
        if _decisive(probed) == _decisive(self.context):
            return result
        self.context, self._checker = probed, probed.checker()
        return self._checker.run(lines)

    def is_native(self, _sample: bytes) -> bool:
        """Return False: this process checks all blocks, in order."""
        return False

    def expect(self, size: int) -> None:
        """Prepare for `size` more bytes."""
        self._checker.expect(size)


class GuessedContext(EngineContext, frozen=True, kw_only=True):
    """The context while rows are read; afterwards `guess` has the one that the rows follow."""

    guess: Guess

    @property
    def is_ordered(self) -> bool:
        """Whether this process must check all blocks itself, in order."""
        return True

    def checker(self) -> BlockChecker:  # type: ignore[override]  # only the engine runs it
        """Return the checker of blocks."""
        return self.guess

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Return the violation of a row with the score or input of an earlier one."""
        return self.guess.context.duplicate(match, where)


def context_of_rows(
    options: Options, aggregate: Aggregate | None, opened: OpenRows | None, head: bytes
) -> RowContext:
    """Return the context for opened rows: a guess where that saves the probe, else the probe's."""
    if opened is not None and _is_small_file(opened, options):
        guessed = guessed_context(options, aggregate, head)
        if guessed is not None:
            guess = Guess(guessed, lambda: probe_context(options, aggregate, head))
            return GuessedContext(
                options=options, selection=guessed.selection, links=options.links, guess=guess
            )
    return probe_context(options, aggregate, head)


def settle_context(context: RowContext) -> RowContext:
    """Return the context that the rows follow, after they are read."""
    return context.guess.context if isinstance(context, GuessedContext) else context


def _is_small_file(opened: OpenRows, options: Options) -> bool:
    """Tell whether this process checks the blocks of a file, in order."""
    return (
        options.executor in ("auto", "serial")
        and isinstance(opened.source, FileSource)
        and opened.layout.kind == JSONL
        and opened.source.size < row_pass.WORTH_A_POOL_BYTES
    )


def _confirms(tally: Tally, context: RowContext, *, is_all: bool) -> bool:
    """Tell whether the rows of a first block show that a probe would find the guessed context.

    They do if they are all rows that a probe reads, and each follows the version and the first
    recipe of the context, has no hash, or has one that no recipe explains. For another recipe than
    the preferred one each explained row must also allow the same recipes: otherwise one that more
    rows allow may come first.
    """
    recipe, rows = context.recipes[0], tally.rows
    if tally.unread or not (is_all or tally.lines >= PROBED_ROWS):
        return False
    hashes = tally.recipes.total() + tally.hash_forms.count("absent")
    if tally.versions.total() != rows or hashes != rows:
        return False
    if any(_version(declared) != context.version for declared in tally.versions):
        return False
    explained = [names for names in tally.recipes if names]
    if not all(recipe in names for names in explained):
        return False
    is_preferred = recipe == versions.VERSIONS[context.version].preferred_recipe
    return is_preferred or explained == [frozenset(context.recipes)]


def _version(declared: str) -> str:
    return versions.nearest_version(declared, instance=True)


def _decisive(context: RowContext) -> tuple[str, str, tuple[str, ...]]:
    """Return what a probe adds to a context; of the recipes only the first one counts."""
    return context.version, context.algorithm, context.recipes[:1]
