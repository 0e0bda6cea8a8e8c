"""Mechanical changes undone: driven by what the report says was changed, on parsed values."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from migration_reference import TURNS, Row
from spelled_json import Number, parsed_text, text_of

from evalstream.model.changes import Change

MIGRATED = "migrated."


def undone(row: Any, changes: Iterable[Change], version: Any) -> Any:
    """Return a row as it was before the changes, which are all mechanical.

    What was a text and what was not cannot be told apart where a text reads like JSON; see
    `same_source`.
    """
    made = list(changes)
    for change in (*_of(made, "kept"), *_of(made, "renamed"), *_without(made, "kept", "renamed")):
        _UNDO[change.kind.name](row, change.pointer.split("/")[1:], version)
    return row


def same_source(source: Any, found: Any) -> bool:
    """Tell whether a reversed row is the source.

    Null is as good as no member, and so is an empty object; a text that reads like JSON in another
    type is as good as that value, and a list of one as good as its item; digests compare without
    prefix and case.
    """
    if isinstance(source, dict) and isinstance(found, dict):
        names = source.keys() | found.keys()
        return all(same_source(source.get(name), found.get(name)) for name in names)
    if isinstance(source, list) and isinstance(found, list):
        return len(source) == len(found) and all(map(same_source, source, found))
    if source == found and type(source) is type(found):
        return True
    if {_empty(source), _empty(found)} == {True} or source == [found]:
        return True
    if isinstance(source, str) and isinstance(found, str):
        return source.lower().endswith(found) and len(found) in {32, 64}
    return parsed_text(source) == found or text_of(source) == text_of(found)


def _empty(value: Any) -> bool:
    return value is None or value == {}


def _of(changes: list[Change], name: str) -> Iterator[Change]:
    return (change for change in changes if change.kind.name == name)


def _without(changes: list[Change], *names: str) -> Iterator[Change]:
    return (change for change in changes if change.kind.name not in names)


def _owners(value: Any, steps: list[str]) -> Iterator[tuple[Any, Any]]:
    """Iterate over the containers and keys at the end of a path with wildcards."""
    keys: list[Any] = [steps[0]]
    if steps[0] == "*" and isinstance(value, (list, dict)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    elif not isinstance(value, dict):
        return
    for key in keys:
        if len(steps) == 1:
            yield value, key
        elif isinstance(value, list) or key in value:
            yield from _owners(value[key], steps[1:])


def _each(undo: Callable[[Any], Any]) -> Callable[[Any, list[str], Any], None]:
    def undo_all(row: Any, steps: list[str], _version: Any) -> None:
        for owner, key in _owners(row, steps):
            if isinstance(owner, list) or key in owner:
                owner[key] = undo(owner[key])

    return undo_all


def _undo_version(row: Row, _steps: list[str], version: Any) -> None:
    row["schema_version"] = version


def _undo_null(row: Row, steps: list[str], _version: Any) -> None:
    for owner, key in _owners(row, steps):
        if steps[-1] != "*":
            owner.setdefault(key, None)


def _undo_name(row: Row, steps: list[str], _version: Any) -> None:
    if steps == ["interactions"]:
        row["interactions"] = row.pop("messages")
        return
    old, new = TURNS
    for owner, key in _owners(row, steps):
        if key in owner and isinstance(owner[key], str) and owner[key].startswith(new):
            owner[key] = old + owner[key].removeprefix(new)


def _undo_kept(row: Row, _steps: list[str], _version: Any) -> None:
    metadata = row["metadata"]
    for name in [name for name in metadata if name.startswith(MIGRATED)]:
        row[name.removeprefix(MIGRATED)] = parsed_text(metadata.pop(name))


def _only_item(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


_UNDO: dict[str, Callable[[Any, list[str], Any], None]] = {
    "version": _undo_version,
    "kept": _undo_kept,
    "renamed": _undo_name,
    "null-dropped": _undo_null,
    "to-text": _each(parsed_text),
    "to-list": _each(_only_item),
    "to-number": _each(lambda value: value.spelling == "1" if isinstance(value, Number) else value),
    "digest": _each(lambda value: value),
}
