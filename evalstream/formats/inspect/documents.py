"""The documents of Inspect: logs as zip archives (`.eval`) and as JSON.

The facts come from the released package inspect_ai, up to 0.3.285.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from evalstream.io.beginning import LINES, OBJECT, Beginning
from evalstream.io.names import is_rows_name
from evalstream.parsing.lazy_regex import LazyPattern

NAME: Final = "inspect"
TITLE: Final = "Inspect: logs of evaluations, as archives (.eval) and as JSON"
VERSIONS: Final = (1, 2)
"""The versions of the layout that are known; inspect_ai 0.3.285 writes version 2."""

LOG: Final = "log"
ENDING: Final = ".eval"
ZIP: Final = b"PK\x03\x04"
SAMPLES: Final = "samples"
EXTRA: Final = "inspect"
"""The extra that logs are read with."""

_FIRST_MEMBER: Final = LazyPattern(rb"PK\x03\x04.{26}_journal/start\.json", re.DOTALL)
_MEMBERS: Final = frozenset({"status", "eval"})
_INNER: Final = frozenset({"eval/created", "eval/run_id", "eval/model"})
_TASK: Final = "eval/task"


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a log of Inspect, or None for any other file.

    A file named `.eval` counts as a log whatever it holds: the harness reads it by that name.
    """
    if file.name.lower().endswith(ENDING):
        return LOG
    if file.head.startswith(ZIP):
        return LOG if _FIRST_MEMBER.match(file.head) else None
    seen = file.seen
    if seen.kind != OBJECT and (seen.kind != LINES or is_rows_name(file.name)):
        return None
    return LOG if is_log(seen.keys, seen.inner) else None


def is_log(keys: Set[str], inner: Set[str]) -> bool:
    """Tell whether an object with such members, and members of members, is a log."""
    return keys >= _MEMBERS and _TASK in inner and not _INNER.isdisjoint(inner)
