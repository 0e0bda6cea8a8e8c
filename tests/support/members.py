"""Every member of a document, and values of all kinds to put there."""

from collections.abc import Iterator
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, "", " ", "x", "a/b", "1e5", "unknown", "Infinity", True),
    *(0, -1, 1.5, 1e308, 10**30, [], ["a"], {}, {"a": "b"}),
)


def members(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Iterate over the paths of all members and items."""
    inner = value.items() if isinstance(value, dict) else ()
    for key, member in inner or (enumerate(value) if isinstance(value, list) else ()):
        yield (*path, key)
        yield from members(member, (*path, key))
