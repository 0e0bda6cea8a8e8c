"""Choose, before rows are checked, the hash algorithm, the recipes and the version of a file.

A probe reads up to 256 rows before the rows are checked. The check itself counts the version and
the recipes of every row, so where its first rows agree with the first one, the probe would find
the same, and a guess from that row is enough.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any, ClassVar, Final

from evalstream.engine import row_pass
from evalstream.engine.layout import JSONL
from evalstream.engine.open_rows import OpenRows
from evalstream.engine.result import BlockChecker, BlockResult
from evalstream.formats.eee import row_view, sample_hash, versions
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.catalogue import CATALOGUE
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.row_engine import EngineContext, RowEngine
from evalstream.formats.eee.sample_hash import RECIPES, equivalent_recipes, matching_recipes
from evalstream.model.block import Lines
from evalstream.model.finding import Violation
from evalstream.model.hashing import hash_function
from evalstream.model.options import Options
from evalstream.model.text import ALGORITHM_OF_LENGTH, is_hex_digest, normalise_digest
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import Where
from evalstream.stats.duplicates import DuplicateMatch
from evalstream.stats.tally import Tally

PROBED_ROWS: Final = 256
"""How many rows at the head of a file are probed: enough to find an unusual reference."""

UNANIMOUS: Final = 32
"""How many rows decide what a file follows if the file does not declare it."""


def probe_context(options: Options, aggregate: Aggregate | None, head: bytes) -> RowContext:
    """Return the context for the rows, from the options, the aggregate and the head."""
    rows = _Rows(head)
    version = _version(options, aggregate, rows)
    algorithm, recipes = _recipes(options, version, aggregate, rows)
    first = None if aggregate is None else next(iter(rows), None)
    return _context(options, aggregate, first, version, algorithm, recipes)


def guessed_context(
    options: Options, aggregate: Aggregate | None, head: bytes
) -> RowContext | None:
    """Return the context that the first row alone suggests.

    It is None where the row shows too little: it must declare a version, and a recipe must give
    its hash by the algorithm that a probe tries first. As long as all files follow the preferred
    recipe of their version, the version alone is read.
    """
    if options.schema_version != "auto" or options.recipe != "auto":
        return None
    algorithm = _algorithms(aggregate and aggregate.hash_algorithm)[0]
    library = None if aggregate is None else aggregate.library
    begins = _BEGINNING.match(head) if Guess.are_usual else None
    if begins is not None and aggregate is not None and aggregate.evaluation_id is not None:
        version = versions.nearest_version(begins[1].decode(), instance=True)
        names = equivalent_recipes(versions.VERSIONS[version].preferred_recipe)
        recipes = _recipes_of_one(names, version, library)
        own = {"evaluation_id": aggregate.evaluation_id}
        return _context(options, aggregate, own, version, algorithm, recipes)
    row = _row(head[: head.find(b"\n") + 1] or head)
    named = _nearest(row)
    if not named:
        return None
    names = _find_recipes(row, algorithm, versions.VERSIONS[named[0]].preferred_recipe)
    if not names:
        return None
    recipes = _recipes_of_one(names, named[0], library)
    return _context(options, aggregate, row, named[0], algorithm, recipes)


def _context(
    options: Options,
    aggregate: Aggregate | None,
    first: Mapping[str, Any] | None,
    version: str,
    algorithm: str,
    recipes: tuple[str, ...],
) -> RowContext:
    selection = CATALOGUE.selection(options)
    made = partial(EngineContext, options, selection, options.links, version, algorithm, recipes)
    if aggregate is None:
        return made()
    own_id = None if first is None else json.text_or_none(first["evaluation_id"])
    return made(
        evaluation_id=aggregate.evaluation_id,
        model_id=aggregate.model_id,
        evaluation_names=aggregate.evaluation_names,
        results=aggregate.joinable,
        library=aggregate.library,
        foreign_id=None if own_id == aggregate.evaluation_id else own_id,
    )


def rowless_context(options: Options) -> RowContext:
    """Return the context for a run without rows: the rules that hold, and nothing about rows."""
    return EngineContext(
        options=options, selection=CATALOGUE.selection(options), links=options.links
    )


_BEGINNING: Final = LazyPattern(rb'{"schema_version": ?"([0-9.]{1,16})"')
"""The beginning of most rows."""


class _Rows:
    """The rows at the head of a file; each is read once, when it is first needed.

    None stands for a line that is not a row.
    """

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._read: list[dict[str, Any] | None] = []
        self._starts = [0]
        while len(self._starts) <= PROBED_ROWS and self._starts[-1] < len(head):
            self._starts.append(head.find(b"\n", self._starts[-1]) + 1 or len(head))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[dict[str, Any] | None]:
        for place, (start, stop) in enumerate(pairwise(self._starts)):
            if place == len(self._read):
                self._read.append(_row(self._head[start:stop]))
            yield self._read[place]


_PROBED: Final = ("schema_version", "evaluation_id", "sample_hash", "input")
"""The members of a row that the probe reads."""


def _row(line: bytes) -> dict[str, Any] | None:
    # A decoder of three members is twice as fast, but loading it takes as long as 500 rows.
    probed = _probed_leniently(line) if "msgspec" in sys.modules else None
    if probed is not None:
        return probed
    try:
        row = json.fast(line)
    except ValueError:
        return None if line.isspace() else _probed_leniently(line)
    return {name: row.get(name) for name in _PROBED} if isinstance(row, dict) else None


def _probed_leniently(line: bytes) -> dict[str, Any] | None:
    """Read the probed members of a row, even if the rest is invalid."""
    # This import takes longer than reading all other rows.
    import msgspec

    try:
        row = _lenient()(line)
    # Before msgspec 0.21 its own errors have another class.
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return {name: getattr(row, name) for name in _PROBED}


@lru_cache(maxsize=1)
def _lenient() -> Callable[[bytes], Any]:
    import msgspec

    members = [(name, Any, None) for name in _PROBED]
    return msgspec.json.Decoder(msgspec.defstruct("Probed", members)).decode


def _votes(ballots: Iterable[Iterable[str]], voters: int) -> dict[str, int]:
    """Count votes, one ballot per voter, until the remaining ones cannot change the winner.

    As many votes for one candidate end the count: a stream may show no more rows at first.
    """
    votes: dict[str, int] = {}
    for left, names in zip(reversed(range(voters)), ballots, strict=True):
        for name in names:
            votes[name] = votes.get(name, 0) + 1
        second, most = sorted([0, 0, *votes.values()])[-2:]
        if most - second > left or (most >= UNANIMOUS and not second):
            break
    return votes


def _version(options: Options, aggregate: Aggregate | None, rows: _Rows) -> str:
    """Choose the version for rows that declare none."""
    if options.schema_version != "auto":
        return options.schema_version
    known = _votes(map(_nearest, rows), len(rows))
    if known:
        return max(known, key=known.__getitem__)
    if aggregate is not None and aggregate.version:
        return versions.nearest_version(aggregate.version, instance=True)
    return versions.DEFAULT_VERSION


def _nearest(row: dict[str, Any] | None) -> tuple[str, ...]:
    declared = None if row is None else row.get("schema_version")
    return (versions.nearest_version(declared, instance=True),) if isinstance(declared, str) else ()


def _recipes(
    options: Options, version: str, aggregate: Aggregate | None, rows: _Rows
) -> tuple[str, tuple[str, ...]]:
    """Choose the algorithm and the recipes that the file can follow, best first.

    The declared algorithm is tried first, then the other. The final choice among the recipes
    follows the same order, when all rows are known.
    """
    algorithms = _algorithms(aggregate and aggregate.hash_algorithm)
    every = ((name, _votes(_explanations(rows, name), len(rows))) for name in algorithms)
    algorithm, votes = next(((name, votes) for name, votes in every if votes), (algorithms[0], {}))
    if options.recipe != "auto":
        return algorithm, (options.recipe,)
    library = None if aggregate is None else aggregate.library
    return algorithm, _best_first(votes, version, library) if votes else ()


@lru_cache(maxsize=64)
def _recipes_of_one(names: frozenset[str], version: str, library: str | None) -> tuple[str, ...]:
    """Return the recipes that explain one row, the likely one first."""
    return _best_first(dict.fromkeys(names, 1), version, library)


def _best_first(votes: dict[str, int], version: str, library: str | None) -> tuple[str, ...]:
    """Return the recipes with the most votes, the likely one first."""
    most = max(votes.values())
    first = sample_hash.likely_recipe(votes, most, version, library)
    best = [name for name in RECIPES if votes.get(name) == most]
    return tuple(dict.fromkeys([first, *best]))


@cache
def _algorithms(declared: str | None) -> list[str]:
    return sorted(ALGORITHM_OF_LENGTH.values(), key=lambda name: (name != declared, name == "md5"))


def _explanations(rows: _Rows, algorithm: str) -> Iterator[frozenset[str]]:
    """Yield the recipes of each row's hash; the recipe of the previous row is tried first."""
    last = next(iter(RECIPES))
    for row in rows:
        names = _find_recipes(row, algorithm, last)
        last = last if last in names else min(names, default=last)
        yield names


def _find_recipes(row: dict[str, Any] | None, algorithm: str, first: str) -> frozenset[str]:
    digest, covered = (
        (None, None) if row is None else (row.get("sample_hash"), row_view.hash_input(row))
    )
    if covered is None or not isinstance(digest, str):
        return frozenset()
    bare, (raw, reference) = normalise_digest(digest), covered
    if isinstance(reference, str) or len(reference) <= 1:
        with suppress(UnicodeEncodeError):
            if hash_function(algorithm)(RECIPES[first](raw, reference)).hexdigest() == bare:
                return equivalent_recipes(first)
    if not is_hex_digest(bare) or ALGORITHM_OF_LENGTH[len(bare)] != algorithm:
        return frozenset()
    return matching_recipes(bare, raw, reference)


class Guess:
    """Checks blocks in order under a guessed context; the first block confirms or replaces it.

    `context` is final once the first block is checked. `are_usual` says that no file so far needed
    another context than its version alone suggests.
    """

    are_usual: ClassVar[bool] = True

    def __init__(self, guessed: RowContext, probe: Callable[[], RowContext]) -> None:
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
        Guess.are_usual = False
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
        and opened.stream is None
        and opened.layout.kind == JSONL
        and opened.source.size < row_pass.WORTH_A_POOL_BYTES
    )


def _confirms(tally: Tally, context: RowContext, *, is_all: bool) -> bool:
    """Tell whether the rows of a first block show that a probe would find the guessed context.

    They do if they are all rows that a probe reads, and each follows the version and the first
    recipe of the context, has no hash, or has one that no recipe explains. A probe must find the
    hash of one row, and no row may name another evaluation, which may be that of the file. For
    another recipe than the preferred one each explained row must also allow the same recipes:
    otherwise one that more rows allow may come first.
    """
    recipe, rows = context.recipes[0], tally.rows
    may_be_foreign = context.foreign_id is None and context.evaluation_id is not None
    if tally.unread or (tally.doubtful and may_be_foreign):
        return False
    hashes = tally.recipes.total() + tally.hash_forms.count("absent")
    is_probed = is_all or tally.lines >= PROBED_ROWS
    if not is_probed or tally.versions.total() != rows or hashes != rows:
        return False
    declared = (versions.nearest_version(one, instance=True) for one in tally.versions)
    explained = [(names, line) for names, _, line in tally.recipes.entries() if names]
    is_alike = all(one == context.version for one in declared)
    is_found = any(line <= PROBED_ROWS for _, line in explained)
    if not (is_alike and is_found and all(recipe in names for names, _ in explained)):
        return False
    is_preferred = recipe == versions.VERSIONS[context.version].preferred_recipe
    return is_preferred or [names for names, _ in explained] == [frozenset(context.recipes)]


def _decisive(context: RowContext) -> tuple[Any, ...]:
    """Return what a probe adds to a context; of the recipes only the first one counts."""
    return context.version, context.algorithm, context.recipes[:1], context.foreign_id
