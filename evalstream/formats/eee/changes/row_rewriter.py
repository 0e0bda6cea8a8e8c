"""Rewrite blocks of rows: those that the compiled rewriter does not take on the exact path."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, Final

from evalstream.engine.block_rewriting import LeftRow, RewrittenBlock
from evalstream.formats.eee.changes.places import other_ids, repair_place
from evalstream.formats.eee.changes.rows import (
    RowMigration,
    RowMigrator,
    RowRefused,
    keep_in_metadata,
    refuse_another_id,
    replaced_id,
)
from evalstream.formats.eee.versions import ANNOTATION_PREFIX, KNOWN_VERSIONS, nearest_version
from evalstream.model.changes import MOST_PLACES, Applied, Change, ChangeTally, Example, Occurrences
from evalstream.model.data_class import DataClass
from evalstream.parsing.json import FAST_DEPTH
from evalstream.parsing.json_tree import JsonType, Node, Splices, parse_tree, read_string
from evalstream.parsing.native.rewrite import CompiledPlace, LineChange
from evalstream.parsing.reshape import Place, RowPlace, reshape
from evalstream.parsing.strict_json import parse_exactly
from evalstream.rules.base import RepairAction

SALVAGE: Final = "`evalstream salvage` separates whole rows from damaged parts"
"""The remedy for a row that cannot be read."""

_Placed = tuple[int, Occurrences]
"""Where a change is among those of its first row, and how often it was made."""


class RowRewriter:
    """Migrates or repairs blocks of rows. It is pickled as what it was made of."""

    def __init__(self, how: RowMigration | RowRepairs) -> None:
        self._how = how

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite whole lines, which end in a newline and are not blank."""
        exact = _ExactRows(self)
        if self._compile_places is None:
            for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
                exact.rewrite(number, line)
            return RewrittenBlock(b"".join(exact.lines), exact.rows, exact.tally, exact.left)
        lines = self._compile_places.rewrite(data)
        parts, done = exact.lines, 0
        for number, start, stop, place in lines.left():
            parts.append(lines.data[done:place])
            exact.rewrite(number, data[start:stop])
            done = place
        parts.append(lines.data[done:])
        tally = self._tally(data, lines.changes, exact.tally)
        return RewrittenBlock(b"".join(parts), lines.rows + exact.rows, tally, exact.left)

    def is_native(self, sample: bytes) -> bool:
        """Tell whether compiled code rewrites most lines of a sample."""
        whole = sample[: sample.rfind(b"\n") + 1]
        if self._compile_places is None or not whole:
            return False
        lines = self._compile_places.rewrite(whole)
        return sum(1 for _ in lines.left()) * 3 < lines.rows

    def _tally(self, data: bytes, made: Sequence[LineChange], exact: ChangeTally) -> ChangeTally:
        """Return the changes of all rows, as the exact path alone would count them."""
        found = {change: (order, seen) for order, (change, seen) in enumerate(exact.seen.items())}
        rows: dict[int, bytes] = {}
        for change, times, lines, order, start, stop in made:
            if start not in rows:
                rows[start] = data[start:stop]
            example = partial(self.example, change, rows[start])
            here = order, Occurrences(times, lines, example)
            other = found.get(change)
            found[change] = here if other is None else _add_changes(here, other)
        tally = ChangeTally()
        in_order = sorted(found.items(), key=lambda one: (one[1][1].lines[0], one[1][0]))
        for change, (_, seen) in in_order:
            tally.add(change, seen.shown, lines=seen.lines, times=seen.times)
        return tally

    def example(self, change: Change, row: bytes) -> Example:
        """Return how a change that is made in a row is made there."""
        _, applied = self.exact.rewrite(row.decode())
        return next(one.example for one in applied if one.change == change)

    @cached_property
    def exact(self) -> RowMigrator | RowRepairer:
        """The function that rewrites single rows."""
        how = self._how
        return RowMigrator(how) if isinstance(how, RowMigration) else RowRepairer(how)

    @cached_property
    def _compile_places(self) -> CompiledPlace | None:
        return CompiledPlace.from_place(self._how.place())

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_rewriter, (pickle.dumps(self._how),)


class _ExactRows:
    """Rows that the exact path rewrote, with their newlines, and those that it did not."""

    def __init__(self, rewriter: RowRewriter) -> None:
        self._rewriter = rewriter
        self.lines: list[bytes] = []
        self.rows = 0
        self.tally = ChangeTally()
        self.left: list[LeftRow] = []

    def rewrite(self, number: int, line: bytes) -> None:
        """Rewrite a row."""
        try:
            text, applied = self._rewriter.exact.rewrite(line.decode())
        except ValueError as error:
            self.left.append(LeftRow(number, _reason(line, error)))
            return
        self.tally.add_each(applied, number)
        self.lines.append(f"{text}\n".encode())
        self.rows += 1


def _add_changes(one: _Placed, other: _Placed) -> _Placed:
    order, first = min(one, other, key=lambda placed: placed[1].lines[0])
    lines = tuple(sorted((*one[1].lines, *other[1].lines)))[:MOST_PLACES]
    return order, Occurrences(one[1].times + other[1].times, lines, first.shown)


@lru_cache(maxsize=2)
def _load_rewriter(how: bytes) -> RowRewriter:
    """Return a rewriter; a worker keeps it for further blocks."""
    return RowRewriter(pickle.loads(how))  # noqa: S301 - our own task


def _reason(line: bytes, error: ValueError) -> str:
    if isinstance(error, RowRefused):
        return str(error)
    issues = parse_exactly(line, FAST_DEPTH).issues
    if not issues:
        return f"the row cannot be read: {error}"
    return f"{issues[0].name}: {issues[0].message}; {SALVAGE}"


class RowRepairs(DataClass, frozen=True):
    """How the rows of a run are repaired.

    `version` is the one that most rows follow, and that rows without a version are repaired by;
    those of unknown versions are repaired by the nearest one, as they are checked. `actions` are
    those of the rules whose findings are mended. With `evaluation_id` each row gets that id,
    provided that its own is that of the first row, `foreign_id`, if that has one.
    """

    version: str
    actions: Collection[RepairAction]
    evaluation_id: str | None = None
    foreign_id: str | None = None

    def place(self) -> RowPlace:
        """Return the places of the rows of its version; the exact path takes the others."""
        place = repair_place(self.version, self.actions, self.evaluation_id)
        if self.evaluation_id is None or self.foreign_id is None:
            return place
        return place._replace(exact=(*place.exact, other_ids(self.evaluation_id, self.foreign_id)))


class RowRepairer:
    """Repairs rows on the exact path."""

    def __init__(self, repairs: RowRepairs) -> None:
        self._repairs = repairs
        self._places: dict[tuple[str, bool], Place] = {}

    def rewrite(self, text: str) -> tuple[str, list[Applied]]:
        """Return the text of a repaired row, and the changes in it.

        Raises ValueError for a text that is not one JSON object, and for a row of a third run.
        """
        tree = parse_tree(text)
        if tree.type is not JsonType.OBJECT:
            raise ValueError("the line is not a JSON object")
        wanted, foreign = self._repairs.evaluation_id, self._repairs.foreign_id
        if wanted is not None:
            refuse_another_id(read_string(text, tree.value("evaluation_id")), wanted, foreign)
        splices = Splices(text, tree)
        applied = reshape(splices, self._place(*self._version(text, tree)))
        keep_in_metadata(splices, replaced_id(splices, applied))
        return splices.apply(), applied

    def _version(self, text: str, tree: Node) -> tuple[str, bool]:
        """Return the version that a row is checked by, and whether it is in annotation form."""
        version = read_string(text, tree.value("schema_version"))
        if version is None:
            return self._repairs.version, False
        nearest = nearest_version(version, instance=True)
        # A variant of the declared number has been recognised by the other rows.
        if self._repairs.version.partition("+")[0] == nearest:
            nearest = self._repairs.version
        return nearest, version in KNOWN_VERSIONS and version.startswith(ANNOTATION_PREFIX)

    def _place(self, version: str, annotated: bool) -> Place:
        known = self._places.get((version, annotated))
        if known is None:
            actions, evaluation_id = self._repairs.actions, self._repairs.evaluation_id
            known = repair_place(version, actions, evaluation_id, annotated=annotated).place
            self._places[version, annotated] = known
        return known
