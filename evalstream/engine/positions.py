"""The lines and columns of findings about documents, looked up when there are findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evalstream.model.finding import Locator, PlacedViolation, Position


def json_locator(text: bytes) -> Locator:
    """Return what finds positions in the bytes of a JSON document."""

    def locate(pointers: Iterable[str]) -> Mapping[str, Position]:
        # A sound document needs no positions, and not this module either.
        from evalstream.parsing.json_positions import find_positions

        return find_positions(text, pointers)

    return locate


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
