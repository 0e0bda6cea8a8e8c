"""Expand patterns of names, such as `data/**/*.json`, to files and folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.io.names import WILD, is_remote, split_root
from evalstream.model.errors import CannotCheck
from evalstream.model.run import NoInput
from evalstream.parsing.lazy_regex import LazyPattern

_WILD_IN_URL: Final = LazyPattern(r"[*\[]")
"""In a URL a question mark starts the query."""

_WEB: Final = ("http://", "https://")


def is_pattern(path: str) -> bool:
    """Tell whether an input is a pattern: it has wildcards, and no file has this name.

    Raises OSError, or CannotCheck, if a store cannot be asked.
    """
    if not is_remote(path):
        return WILD.search(path) is not None and not os.path.lexists(path)
    if path.lower().startswith(_WEB):
        return False
    # Modules for stores and for matching are imported only when they are needed.
    from evalstream.discovery.remote import is_readable

    return _WILD_IN_URL.search(split_root(path)[1]) is not None and not is_readable(path)


def literal_folder(pattern: str) -> str:
    """Return the part of a local pattern before its first wildcard: the folder of all matches."""
    parts = pattern.split("/")
    first = next(at for at, part in enumerate([*parts, "*"]) if WILD.search(part))
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def is_many(path: str) -> bool:
    """Tell whether the name of an input stands for many files."""
    return path.endswith("/") if is_remote(path) else is_pattern(path)


def expand_patterns(
    inputs: Iterable[str | NoInput], exclude: Iterable[str] = ()
) -> Iterator[str | NoInput]:
    """Replace each pattern by its matches, in the order of a folder's listing.

    `*`, `?` and `[…]` match within a name, `**` matches any number of folders. Hidden names match
    only a pattern part that begins with a dot; links and names that match `exclude` never match.
    """
    for one in inputs:
        try:
            if isinstance(one, str) and is_pattern(one):
                from evalstream.discovery.pattern_matches import matches

                yield from matches(one, tuple(exclude))
            else:
                yield one
        except (OSError, CannotCheck) as error:
            yield NoInput(str(one), f"{error}", readable=False)
