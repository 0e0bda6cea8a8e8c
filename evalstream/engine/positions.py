"""The lines and columns of findings about documents, looked up when there are findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from evalstream.model.finding import Locator, PlacedViolation, Position, Violation

if TYPE_CHECKING:
    from evalstream.parsing.object_splitter import Envelope


def json_locator(text: bytes) -> Locator:
    """Return what finds positions in the bytes of a JSON document."""

    def locate(pointers: Iterable[str]) -> Mapping[str, Position]:
        # A sound document needs no positions, and not this module either.
        from evalstream.parsing.json_positions import find_positions

        return find_positions(text, pointers)

    return locate


def part_locator(text: bytes, base: str, start: Position) -> Locator:
    """Return what finds positions below a pointer, whose value is `text` and begins at `start`."""

    def locate(pointers: Iterable[str]) -> Mapping[str, Position]:
        below = [pointer for pointer in pointers if f"{pointer}/".startswith(f"{base}/")]
        found = json_locator(text)(pointer.removeprefix(base) for pointer in below)
        return {base + pointer: move_behind(start, one) for pointer, one in found.items()}

    return locate


def envelope_locator(envelope: Envelope) -> Locator:
    """Return what finds positions in an object outside its large array."""

    def locate(pointers: Iterable[str]) -> Mapping[str, Position]:
        move, found = envelope_mover(envelope), json_locator(envelope.text)(pointers)
        return {pointer: move(one) for pointer, one in found.items()}

    return locate


def envelope_mover(envelope: Envelope) -> Callable[[Position], Position]:
    """Return what turns positions in the text of an envelope into those in the whole object."""
    if envelope.cut is None:
        return lambda position: position
    from evalstream.parsing.json_positions import locate_offsets

    bracket = locate_offsets(envelope.text, [envelope.cut])[envelope.cut]
    columns = None if envelope.column is None else envelope.column - (bracket.column or 0)

    def move(position: Position) -> Position:
        if (position.line, position.column or 0) <= (bracket.line, bracket.column or 0):
            return position
        return _move(position, envelope.lines, columns if position.line == bracket.line else 0)

    return move


def move_behind(start: Position, position: Position) -> Position:
    """Return the position in a document of one in a part of it that begins at `start`."""
    before = None if start.column is None else start.column - 1
    return _move(position, start.line - 1, before if position.line == 1 else 0)


def place_in_part(
    violations: Iterable[Violation], text: bytes, base: str, start: Position
) -> list[PlacedViolation]:
    """Add the positions of pointers below `base`, whose value is `text`, or else its line."""
    unplaced = [PlacedViolation(violation) for violation in violations]
    placed = place_violations(unplaced, part_locator(text, base, start))
    return [one._replace(line=one.line or start.line) for one in placed]


def _move(position: Position, lines: int, columns: int | None) -> Position:
    """Return a position some lines below, and some columns to the right if that is known."""
    is_known = position.column is not None and columns is not None
    column = (position.column or 0) + (columns or 0)
    return Position(position.line + lines, column if is_known else None)


def place_violations(
    violations: Iterable[PlacedViolation], locator: Locator | None
) -> list[PlacedViolation]:
    """Add the positions of their pointers to violations without a line."""
    placed = list(violations)
    pointers = [one.violation.pointer if one.line is None else None for one in placed]
    wanted = [pointer for pointer in pointers if pointer is not None]
    if locator is None or not wanted:
        return placed
    positions = locator(wanted)
    return [
        one._replace(line=found.line, column=found.column)
        if pointer is not None and (found := positions.get(pointer))
        else one
        for one, pointer in zip(placed, pointers, strict=True)
    ]
