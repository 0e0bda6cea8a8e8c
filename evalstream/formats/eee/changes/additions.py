"""Members that are added to objects of a document, which may be missing or null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evalstream.parsing.json import pointer
from evalstream.parsing.json_tree import JsonType, Node, Splices

Path = tuple[str | int, ...]

MISSING: Final = "is missing or not an object"


class AggregateRefused(ValueError):
    """An aggregate that cannot be changed as asked; the message says why."""


class Additions:
    """Collects members by the path of their object; they are written all at once.

    Each object that gets members is written once, so that it exists only once.
    """

    def __init__(self, splices: Splices) -> None:
        self._splices = splices
        self._members: dict[Path, dict[str, str]] = {}

    def set(self, path: Path, name: str, value: str) -> None:
        """Give an object a member with a JSON text, in place of one of that name."""
        self._members.setdefault(path, {})[name] = value

    def keep(self, path: Path, name: str, value: str) -> None:
        """Give an object a new member. Raises AggregateRefused if it has one of that name."""
        holder = value_at(self._splices.tree, path)
        has_it = holder is not None and holder.member(name) is not None
        if has_it or name in self._members.get(path, {}):
            raise AggregateRefused(f"{pointer(path)} already has a member {name}")
        self.set(path, name, value)

    def check(self) -> None:
        """Raise AggregateRefused where an object around new members is missing."""
        for path in self._members:
            self._place(path)

    def write(self) -> str:
        """Return the text with all splices and members. Raises AggregateRefused as `check` does."""
        splices = self._splices.copy()
        for path, members in self._members.items():
            holder, node = self._place(path)
            if node is None:
                splices.add_object(holder, str(path[-1]), members)
            elif node.type is JsonType.NULL:
                splices.replace(node, splices.object_text(holder, members))
            else:
                for key, value in members.items():
                    _write_member(splices, node, key, value)
        return splices.apply()

    def _place(self, path: Path) -> tuple[Node, Node | None]:
        """Return the object around a member, and the value of the member: null or an object."""
        holder, node = value_at(self._splices.tree, path[:-1]), value_at(self._splices.tree, path)
        if holder is None or holder.type is not JsonType.OBJECT:
            raise AggregateRefused(f"{pointer(path[:-1])} {MISSING}")
        if node is None or self._splices.is_dropped(holder, str(path[-1])):
            return holder, None
        if node.type not in {JsonType.NULL, JsonType.OBJECT}:
            raise AggregateRefused(f"{pointer(path)} is not an object")
        return holder, node


def _write_member(splices: Splices, holder: Node, name: str, value: str) -> None:
    known = holder.member(name)
    if known is None or splices.is_dropped(holder, name):
        splices.add(holder, name, value)
    else:
        splices.replace(known.value, value)


def value_at(node: Node | None, path: Sequence[str | int]) -> Node | None:
    """Return the value at a path of names and indices, or None if there is none."""
    for key in path:
        if node is None:
            return None
        if isinstance(key, int):
            node = node.items[key] if key < len(node.items) else None
        else:
            found = node.member(key)
            node = None if found is None else found.value
    return node
