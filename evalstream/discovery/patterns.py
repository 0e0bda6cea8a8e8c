"""Patterns of names, as `data/**/*.json`, and the files and folders that they stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.io.names import split_root
from evalstream.io.remote import is_remote
from evalstream.model.errors import CannotCheck
from evalstream.model.run import NoInput

WILD: Final = re.compile(r"[*?\[]")
_WILD_IN_URL: Final = re.compile(r"[*\[]")
"""In a URL a question mark begins what is asked of the server."""

_WEB: Final = ("http://", "https://")


def is_pattern(path: str) -> bool:
    """Tell whether an input is a pattern: it has wildcards, and no file is called so.

    Raises OSError, or CannotCheck, where a store cannot be asked.
    """
    if not is_remote(path):
        return WILD.search(path) is not None and not os.path.lexists(path)
    if path.lower().startswith(_WEB):
        return False
    # What asks stores, and what matches, is loaded where there is something to ask or to match.
    from evalstream.discovery.remote import is_readable

    return _WILD_IN_URL.search(split_root(path)[1]) is not None and not is_readable(path)


def is_many(path: str) -> bool:
    """Tell whether an input stands for many files by its name."""
    return path.endswith("/") if is_remote(path) else is_pattern(path)


def expanded(
    inputs: Iterable[str | NoInput], exclude: Iterable[str] = ()
) -> Iterator[str | NoInput]:
    """Put in place of each pattern what it matches, in the order of a folder's listing.

    `*`, `?` and `[…]` match within a name, `**` any number of folders. Hidden names are matched
    where the pattern begins with a dot as they do; links are not, nor what `exclude` matches.
    """
    for one in inputs:
        try:
            if isinstance(one, str) and is_pattern(one):
                from evalstream.discovery.pattern_matches import matches
                from evalstream.io.file_names import Exclusion

                yield from matches(one, Exclusion(exclude))
            else:
                yield one
        except (OSError, CannotCheck) as error:
            yield NoInput(str(one), f"{error}", readable=False)
