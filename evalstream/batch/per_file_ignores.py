"""Rules that are skipped for the runs of some files only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Final

from evalstream.io.names import is_remote, printable, split_path
from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.model.run import STDIN

STDIN_NAMES: Final = (STDIN, "<stdin>")
"""The patterns that match rows on standard input."""

_ANY_DEPTH: Final = "**"


class PerFileIgnore(NamedTuple):
    """A pattern of files, and the rules to skip there, by code, beginning of a code, or name."""

    pattern: str
    codes: tuple[str, ...]


def parse_per_file_ignore(text: str) -> PerFileIgnore:
    """Parse `PATTERN:CODES`, with commas between the codes. Raises UsageError."""
    pattern, _, rest = text.rpartition(":")
    codes = tuple(code.strip() for code in rest.split(",") if code.strip())
    if not pattern or not codes:
        raise UsageError(
            f"--per-file-ignores: {printable(text)!r} is not PATTERN:CODES, such as "
            "'old/*.jsonl:ES204'"
        )
    return PerFileIgnore(pattern, codes)


def with_per_file_ignores(options: Options, files: Iterable[str | None]) -> Options:
    """Return the options for a run with these files: the matching rules are ignored there.

    A pattern without a slash is compared with the name of a file. Any other is compared with its
    path from the working directory, or with its URL: `*`, `?` and `[…]` match within a name, `**`
    any number of folders, and a pattern of a folder matches all files below it. `-` and `<stdin>`
    match standard input.
    """
    names = [name for name in files if name is not None]
    ignored, folder = dict.fromkeys(options.ignore), os.getcwd()
    for text in options.per_file_ignores:
        matcher, codes = _compile_pattern(text, folder)
        if any(map(matcher.covers, names)):
            ignored |= dict.fromkeys(codes)
    return replace(options, ignore=tuple(ignored), per_file_ignores=())


class _Matcher:
    """The files that a pattern stands for; relative ones are below a folder."""

    def __init__(self, pattern: str, folder: str) -> None:
        self._is_stdin = pattern in STDIN_NAMES
        self._is_name = "/" not in pattern
        is_whole = self._is_name or is_remote(pattern)
        text = pattern if is_whole else os.path.normpath(os.path.join(folder, pattern))
        self._parts = [
            None if part == _ANY_DEPTH else re.compile(translate(part)) for part in split_path(text)
        ]

    def covers(self, file: str) -> bool:
        """Tell whether a path, a URL or `-` is one of the files."""
        if self._is_stdin or file == STDIN:
            return self._is_stdin and file == STDIN
        shown = printable(file)
        if self._is_name:
            return self._fits(split_path(shown)[-1:])
        return self._fits(split_path(shown if is_remote(file) else os.path.abspath(shown)))

    def _fits(self, names: Sequence[str]) -> bool:
        """Tell whether the pattern matches these names, or the first of them as a folder."""
        reached = self._with_empty({0})
        for name in names:
            if len(self._parts) in reached:
                return True
            stay = {at for at in reached if self._parts[at] is None}
            on = {at + 1 for at in reached if (part := self._parts[at]) and part.match(name)}
            reached = self._with_empty(stay | on)
        return len(self._parts) in reached

    def _with_empty(self, reached: set[int]) -> set[int]:
        """Add the positions that are reached if `**` matches zero folders."""
        for at, part in enumerate(self._parts):
            if part is None and at in reached:
                reached.add(at + 1)
        return reached


@lru_cache(maxsize=256)
def _compile_pattern(text: str, folder: str) -> tuple[_Matcher, tuple[str, ...]]:
    pattern, codes = parse_per_file_ignore(text)
    return _Matcher(pattern, folder), codes
